"""Which weights are learned: LoRA on linear layers, and on the fused experts of a mixture."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

from ...errors import BackendError
from .. import LoraParams

_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "c_attn", "query_key_value")
#: Kernels of these models read the weights of such layers past the layer; peft refuses them.
_BYPASSED = frozenset({"out_proj", "conv1d"})
_BYPASSING = frozenset({"falcon_h1", "mamba", "mamba2", "falcon_mamba", "nemotron_h"})

#: Less of the weights is not worth a line: filters, decays, routers.
_SHARE = 0.05


def with_lora(model: Any, lora: LoraParams) -> Any:
    """Return peft's model around ``model``, with new LoRA weights.

    Raises:
        BackendError: there is nothing to train, or peft cannot train it.
    """
    from peft import LoraConfig, get_peft_model

    targets, experts = sorted(_targets(model, lora)), sorted(_experts(model, lora))
    if not targets and not experts:
        raise BackendError(
            "nothing to train: set at least one of train_mlp, train_attn, train_unembed"
        )
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=2 * lora.rank,
        target_modules=targets or None,
        target_parameters=experts or None,
    )
    torch.manual_seed(lora.seed)
    logging.getLogger("peft").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            # The output layer shares its weight with the input embedding; only it is adapted.
            warnings.simplefilter("ignore")
            return get_peft_model(model, config, autocast_adapter_dtype=False)
    except (ValueError, TypeError, RuntimeError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise BackendError(
            f"peft cannot train {model.config.model_type}: {first} Other layers may do: "
            "train_mlp, train_attn and train_unembed choose them."
        ) from error


def left_out(model: Any) -> tuple[str, ...]:
    """Return a line if weights stay frozen that no switch can reach; embeddings are left aside."""
    everything = LoraParams()
    reached = {*_targets(model, everything), *_experts(model, everything)}
    frozen: dict[str, int] = {}
    total = 0
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Embedding) or module is model.get_output_embeddings():
            continue
        for own, weight in module.named_parameters(recurse=False):
            total += weight.numel()
            if weight.ndim > 1 and not {name, f"{name}.{own}"} & reached:
                layer = name.rpartition(".")[2] if own == "weight" else own
                frozen[layer] = frozen.get(layer, 0) + weight.numel()
    share = sum(frozen.values()) / max(total, 1)
    if share < _SHARE:
        return ()
    names = sorted(frozen, key=lambda layer: -frozen[layer])[:4]
    return (f"{share:.0%} of the weights stay as they are, beyond LoRA: {', '.join(names)}.",)


def _targets(model: Any, lora: LoraParams) -> Iterator[str]:
    """Yield the names of the linear layers that the three switches choose."""
    head = model.get_output_embeddings()
    bypassing = model.config.model_type in _BYPASSING
    for name, module in model.named_modules():
        # A router may be one too, that returns two values.
        if not isinstance(module, torch.nn.Linear | Conv1D) or "Router" in type(module).__name__:
            continue
        if bypassing and name.rpartition(".")[2] in _BYPASSED:
            continue
        if module is head:
            wanted = lora.train_unembed
        else:
            wanted = lora.train_attn if _is_attention(name) else lora.train_mlp
        if wanted:
            yield name


def _experts(model: Any, lora: LoraParams) -> Iterator[str]:
    """Yield the names of parameters that hold the matrices of all experts of a layer: [E, m, n]."""
    if not lora.train_mlp:
        return
    for name, module in model.named_modules():
        if "expert" in name.lower() + type(module).__name__.lower():
            for own, weight in module.named_parameters(recurse=False):
                if weight.ndim == 3:
                    yield f"{name}.{own}"


def _is_attention(name: str) -> bool:
    parts = name.split(".")
    return parts[-1] in _ATTENTION or any("attn" in part or "attention" in part for part in parts)
