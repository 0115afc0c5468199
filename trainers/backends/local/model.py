"""The model: loaded, put on a device, given LoRA weights, and its float32 master copies."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import Tensor
from transformers.pytorch_utils import Conv1D

from mint_envs.hub import offline_if_unreachable

from ...errors import BackendError
from .. import LoraParams
from . import attention
from .weights import model_folder

_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "c_attn", "query_key_value")


def pick_device(name: str | None) -> torch.device:
    """Return the named device, or CUDA, then Apple's, then the CPU.

    Raises:
        BackendError: torch does not know the name, or has no such device here.
    """
    if name is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        first = str(error).splitlines()[0]
        raise BackendError(f"device={name!r} cannot be used here: {first}") from error
    return device


def pick_threads(wanted: int | None) -> int:
    """Return ``wanted``, or as many as there are idle cores, at least 1.

    More OpenMP threads than free cores wait for each other: work of 0.4 s was seen to take 10 s.
    The load average would not do: after an installation it is high for a minute.
    """
    if wanted is not None:
        return wanted
    affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if affinity else os.cpu_count() or 1
    times = psutil.cpu_times_percent(interval=0.3)
    busy = float(times.user + times.system) / 100  # a fraction of all; low priority left aside
    return max(1, cores - round(busy * (os.cpu_count() or 1)))


def pick_dtype(name: str | None, device: torch.device) -> torch.dtype:
    """Return the named dtype, or bfloat16 where the hardware computes in it, else float32."""
    if name is not None:
        if name not in ("bfloat16", "float32"):
            raise BackendError(f"dtype={name!r}: valid are 'bfloat16' and 'float32'")
        return torch.bfloat16 if name == "bfloat16" else torch.float32
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    if device.type != "cpu":
        return torch.float32
    return min((torch.float32, torch.bfloat16), key=_product_seconds)


def _product_seconds(dtype: torch.dtype) -> float:
    """Time a product such as the model's. Emulated bfloat16 is far slower than float32."""
    x, w = torch.randn(256, 576, dtype=dtype), torch.randn(1536, 576, dtype=dtype)
    seconds = []
    for _ in range(6):
        start = time.perf_counter()
        torch.nn.functional.linear(x, w)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


class Model:
    """A causal LM with LoRA weights.

    Compute is in ``dtype``; the LoRA weights are learned in float32 master copies, which are
    cast once after each step.

    Raises:
        BackendError: the model cannot be loaded, or has no such layers to train.
    """

    def __init__(
        self,
        base_model: str,
        lora: LoraParams,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self.device, self.dtype = device, dtype
        folder = model_folder(base_model)
        self.tokenizer = _load_tokenizer(folder, base_model)
        model = _load(folder, base_model, dtype).to(device)
        self.config = model.config
        self.stop_tokens = _stop_tokens(model)
        self.peft = _with_lora(model, lora)
        self.trained = [p for p in self.peft.parameters() if p.requires_grad]
        self.masters = [p.detach().float().clone() for p in self.trained]
        base = self.peft.get_base_model()
        self.body = getattr(base, base.base_model_prefix)
        self.head = base.get_output_embeddings()
        self.vocab = min(len(self.tokenizer), self.head.out_features)
        self.max_context = _max_context(self.config)
        self.ids = int(base.get_input_embeddings().weight.shape[0])
        self._check_against_plain(base_model)

    @torch.no_grad()
    def _check_against_plain(self, name: str) -> None:
        """Compare one short pass with the model's own attention and output layer.

        Some architectures do more between hidden states and logits (soft caps, scales), or in
        attention, than the fast path does; a model that differs is refused, not mis-trained.
        """
        ids = torch.tensor([self.tokenizer.encode("What is 4 + 5?\nIt is 9.")], device=self.device)
        with attention.LOCK:
            with attention.active(attention.Whole()):
                hidden = self.body(input_ids=ids, use_cache=False).last_hidden_state[0]
            ours = self.logits(hidden).float().log_softmax(-1)
            try:
                self.peft.set_attn_implementation("sdpa")
            except ValueError:  # an architecture that has only its own
                self.peft.set_attn_implementation("eager")
            plain = self.peft(input_ids=ids, use_cache=False).logits[0, :, : self.vocab]
            self.peft.set_attn_implementation(attention.NAME)
        plain = plain.float().log_softmax(-1)
        divergence = float((plain.exp() * (plain - ours)).sum(-1).mean())
        if not divergence < (1e-5 if self.dtype == torch.float32 else 0.1):
            raise BackendError(
                f"base_model={name!r}: this architecture ({self.config.model_type}) computes its "
                "logits in a way that the local backend does not support. Try a Llama-, Qwen- or "
                "Mistral-like model."
            )

    def logits(self, hidden: Tensor) -> Tensor:
        """Return logits [N, V] of hidden states [N, D], without the vocabulary's padding."""
        logits: Tensor = self.head(hidden)
        return logits if logits.shape[-1] == self.vocab else logits[:, : self.vocab]

    def take_gradients(self) -> None:
        """Add the gradients to those of the masters, in float32."""
        for weight, master in zip(self.trained, self.masters, strict=True):
            if weight.grad is not None:
                grad = weight.grad.float()
                master.grad = grad if master.grad is None else master.grad.add_(grad)
                weight.grad = None

    @torch.no_grad()
    def cast_masters(self) -> None:
        """Copy the masters into the weights that compute."""
        for weight, master in zip(self.trained, self.masters, strict=True):
            weight.copy_(master)


def _max_context(config: Any) -> int:
    """Return the longest context: the positions, or the window where attention has one."""
    limit = int(getattr(config, "max_position_embeddings", 0) or 1 << 20)
    kinds = getattr(config, "layer_types", None) or []
    window = getattr(config, "sliding_window", None)
    slides = "sliding_attention" in kinds or not kinds
    if window and slides and getattr(config, "use_sliding_window", True):
        return min(limit, int(window))
    return limit


def _stop_tokens(model: Any) -> tuple[int, ...]:
    """Return the ids that end a turn by the generation config: one, several, or none."""
    ends = getattr(model.generation_config, "eos_token_id", None)
    return () if ends is None else tuple(ends) if isinstance(ends, Sequence) else (int(ends),)


def _load_tokenizer(folder: str, name: str) -> Any:
    from transformers import AutoTokenizer

    try:
        with _hub(folder):
            return AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # many kinds, down to those of the parsers of its files
        raise BackendError(_cannot_load(folder, name, error)) from error


def _load(folder: str, name: str, dtype: torch.dtype) -> Any:
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging as hf_logging

    hf_logging.disable_progress_bar()
    try:
        with _hub(folder):
            model = AutoModelForCausalLM.from_pretrained(
                folder, dtype=dtype, attn_implementation=attention.NAME
            )
    except Exception as error:  # many kinds, down to those of the parsers of its files
        raise BackendError(_cannot_load(folder, name, error)) from error
    model.requires_grad_(False)
    return model.eval()


def _hub(folder: str) -> AbstractContextManager[object]:
    """Keep the hub's client from retrying for a minute; a folder does not concern it."""
    return nullcontext() if Path(folder).is_dir() else offline_if_unreachable()


def _cannot_load(folder: str, name: str, error: Exception) -> str:
    first = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    if folder != name:  # our own, converted once
        return f"{name} cannot be loaded: {first}. Delete {folder}; it is then made anew."
    return (
        f"base_model={name!r} cannot be loaded: {first}. Give a folder with a transformers model, "
        "or a name that this machine can fetch from the Hugging Face hub."
    )


def _with_lora(model: Any, lora: LoraParams) -> Any:
    from peft import LoraConfig, get_peft_model

    targets = sorted(_targets(model, lora))
    if not targets:
        raise BackendError(
            "nothing to train: set at least one of train_mlp, train_attn, train_unembed"
        )
    config = LoraConfig(r=lora.rank, lora_alpha=2 * lora.rank, target_modules=targets)
    torch.manual_seed(lora.seed)
    logging.getLogger("peft").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        # The output layer shares its weight with the input embedding; only the former is adapted.
        warnings.simplefilter("ignore")
        return get_peft_model(model, config, autocast_adapter_dtype=False)


def _targets(model: Any, lora: LoraParams) -> Iterator[str]:
    """Yield the names of the linear layers that the three switches choose."""
    head = model.get_output_embeddings()
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear | Conv1D):
            continue
        if module is head:
            wanted = lora.train_unembed
        else:
            wanted = lora.train_attn if _is_attention(name) else lora.train_mlp
        if wanted:
            yield name


def _is_attention(name: str) -> bool:
    parts = name.split(".")
    return parts[-1] in _ATTENTION or any("attn" in part or "attention" in part for part in parts)


def adapter_files(folder: Path) -> tuple[Path, Path]:
    """Return the paths of LoRA weights (peft's format) and of the optimizer's state."""
    return folder / "adapter_model.safetensors", folder / "optimizer.pt"
