"""The model: loaded, put on a device, given LoRA weights, and its float32 master copies."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import Tensor

from mint_envs.hub import offline_if_unreachable

from ...errors import BackendError
from .. import LoraParams
from .lora import left_out, with_lora
from .products import Together, stand_together
from .weights import model_folder


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
        raise BackendError(
            f"device={name!r} cannot be used here: {first}. Leave --device out, or give cpu"
        ) from error
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


class _Given:
    """What a body returns, where only its hidden states are there."""

    def __init__(self, hidden: Tensor) -> None:
        self.last_hidden_state = hidden

    def __getitem__(self, index: int) -> Tensor | None:
        return self.last_hidden_state if index == 0 else None

    def __getattr__(self, name: str) -> None:
        return None


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
        from transformers import GenerationConfig

        self.name, self.device, self.dtype = base_model, device, dtype
        folder = model_folder(base_model)
        self.tokenizer = _load_tokenizer(folder, base_model)
        model = _load(folder, base_model, dtype).to(device)
        self.config = model.config
        self.kind = str(model.config.model_type)
        self.stop_tokens = _stop_tokens(model)
        model.generation_config = GenerationConfig()  # of its own it would cap, forbid and repeat
        self.notes = left_out(model)  # what a user should know, a line each
        self.peft = with_lora(model, lora)
        self.groups: list[Together] = []  # layers that compute together
        self.trained = [p for p in self.peft.parameters() if p.requires_grad]
        self.masters = [p.detach().float().clone() for p in self.trained]
        self.causal = self.peft.get_base_model()
        self.body = _body(self.causal)
        self.head = self.causal.get_output_embeddings()
        self.vocab = min(len(self.tokenizer), self.head.weight.shape[0])
        self.ids = int(self.causal.get_input_embeddings().weight.shape[0])
        texts = model.config.get_text_config()
        self.positions = int(getattr(texts, "max_position_embeddings", 0) or 1 << 20)
        self.window = _window(texts)

    def set_attention(self, kind: str) -> None:
        """Let the model's attention be computed by ``kind``; models of old have only their own."""
        self.causal.set_attn_implementation(kind)

    def stand_together(self) -> None:
        """Let layers that read one input be able to compute together; see ``products``."""
        self.set_attention("eager")
        ids = [token % self.ids for token in (1, 2, 3)]
        with torch.no_grad(), suppress(Exception):  # of its own code: then none do
            self.groups = stand_together(self.peft, lambda: self.plain(ids))

    def plain(self, tokens: Sequence[int]) -> Tensor:
        """Return the logits [T, V] of one text by the model's own forward pass, in float32."""
        ids = torch.tensor([list(tokens)], device=self.device)
        logits: Tensor = self.causal(input_ids=ids, use_cache=False).logits[0, :, : self.vocab]
        return logits.float()

    def logits(self, hidden: Tensor) -> Tensor:
        """Return logits [N, V] of hidden states [N, D], without the vocabulary's padding.

        By the model's own way from one to the other: some scale, or cap, before or after.
        """
        given = _Given(hidden[None])
        self.body.forward = lambda *_, **__: given
        try:
            ids = torch.zeros((1, len(hidden)), dtype=torch.long, device=self.device)
            logits: Tensor = self.causal(input_ids=ids, use_cache=False).logits.squeeze(0)
        finally:
            del self.body.forward
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


def _body(causal: Any) -> Any:
    """Return the part of a causal LM that makes hidden states, as its forward pass calls it."""
    for found in (causal.get_decoder(), causal.base_model, getattr(causal, "model", None)):
        if found is not None and found is not causal:
            return found
    raise BackendError(
        f"{causal.config.model_type} has no part that makes hidden states alone, so it cannot be "
        "trained here. Take another model."
    )


def _window(config: Any) -> int:
    """Return how many last tokens all layers see: a window where attention has one."""
    kinds = getattr(config, "layer_types", None) or []
    sizes = []
    window = getattr(config, "sliding_window", None)
    slides = "sliding_attention" in kinds or not kinds
    if window and slides and getattr(config, "use_sliding_window", True):
        sizes.append(int(window))
    if "chunked_attention" in kinds:
        sizes.append(int(config.attention_chunk_size))
    return min(sizes, default=1 << 62)


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
                folder, dtype=dtype, attn_implementation="eager"
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


def adapter_files(folder: Path) -> tuple[Path, Path]:
    """Return the paths of LoRA weights (peft's format) and of the optimizer's state."""
    return folder / "adapter_model.safetensors", folder / "optimizer.pt"
