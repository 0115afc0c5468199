"""``LocalBackend``: the four verbs on a model in this process."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from mint_envs.atomic import whole_folder

from ...errors import BackendError
from ...losses import loss_terms, takes_whole
from .. import (
    AdamParams,
    Backend,
    Datum,
    Floats,
    LoraParams,
    Sample,
    SampleRequest,
    SamplingParams,
    UpdateResult,
)

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when torch is first imported

import torch

from . import attention
from .learning import Slope
from .memory import in_memory
from .model import Model, adapter_files, pick_device, pick_dtype, pick_threads
from .paths import choose
from .weights import DEFAULT_MODEL


class LocalBackend(Backend):
    """LoRA training and sampling on this machine.

    Args:
        base_model: a Hugging Face name or folder; the default model needs no download by hand.
        lora: which weights to train.
        device: ``"cpu"``, ``"cuda"``, ``"mps"``; None takes the best there is.
        dtype: ``"bfloat16"`` or ``"float32"``; None takes the faster one.
        threads: CPU threads; None takes all cores, or one on a loaded machine.
        token_budget: tokens of one training pass; it bounds memory, that of sampling too.
        resume_from: a folder that ``save`` made, to go on from.
        init_from: a folder with an adapter in peft's format, whose weights are begun with.

    Calls from several threads are safe; one is at work at a time.

    Raises:
        BackendError: the model, device or checkpoint cannot be used.
    """

    name = "local"

    def __init__(
        self,
        base_model: str = DEFAULT_MODEL,
        lora: LoraParams | None = None,
        *,
        device: str | None = None,
        dtype: str | None = None,
        threads: int | None = None,
        token_budget: int | None = None,
        resume_from: str | Path | None = None,
        init_from: str | Path | None = None,
    ) -> None:
        self.threads = pick_threads(threads)
        torch.set_num_threads(self.threads)
        self.device = pick_device(device)
        self.dtype = pick_dtype(dtype, self.device)
        self.model = base_model
        self._model = model = Model(base_model, lora or LoraParams(), self.device, self.dtype)
        self.tokenizer: Any = model.tokenizer
        self._budget = token_budget or (1024 if self.device.type == "cpu" else 16384)
        with self._memory("trying the model"):
            self._path = choose(model, self._budget)
        self.notes, self.max_context = self._path.notes, self._path.max_context
        self.stop_tokens = model.stop_tokens
        self._optimizer: torch.optim.AdamW | None = None
        if resume_from is not None:
            self._restore(Path(resume_from))
        elif init_from is not None:
            self._begin_with(Path(init_from))

    # -- the four verbs ----------------------------------------------------------------------

    def sample(
        self, requests: Sequence[SampleRequest], params: SamplingParams
    ) -> list[list[Sample]]:
        """Return ``n`` samples for each request; see ``Backend.sample``."""
        room = self.max_context - params.max_tokens
        for request in requests:
            if not 0 < len(request.context) <= room:
                raise BackendError(
                    f"a prompt of {len(request.context)} tokens with max_tokens="
                    f"{params.max_tokens} does not fit the model's {self.max_context} tokens. "
                    "Lower max_tokens, or shorten the prompts."
                )
            low, high = min(request.context), max(request.context)
            if low < 0 or high >= self._model.ids:
                raise BackendError(
                    f"a prompt holds the token {low if low < 0 else high}, and {self.model} knows "
                    f"those from 0 to {self._model.ids - 1}: the environment needs this model's "
                    "tokenizer"
                )
        with attention.LOCK, self._memory("sampling"):
            return self._path.sampler.sample(requests, params)

    def logprobs(self, datums: Sequence[Datum], base: bool = False) -> list[Floats]:
        """Return log-probabilities by the model, with or without its LoRA weights."""
        model = self._model.peft.disable_adapter() if base else nullcontext()
        with attention.LOCK, self._memory("scoring"), model:
            return self._path.learner.logprobs(datums)

    def update(
        self,
        datums: Sequence[Datum],
        loss_fn: str,
        loss_fn_config: dict[str, float],
        adam: AdamParams,
    ) -> UpdateResult:
        """Take one AdamW step on the summed loss; see ``Backend.update``."""
        losses: list[float] = []
        with attention.LOCK, self._memory("learning"):
            slope = self._slope(datums, loss_fn, loss_fn_config, losses)
            logprobs = self._path.learner.backward(datums, slope, self._model.take_gradients)
            norm = self._step(adam)
        total = 0.0
        for loss in losses:
            total += loss
        return UpdateResult({"loss": total, "grad_norm": norm}, logprobs)

    def _slope(
        self, datums: Sequence[Datum], loss_fn: str, config: dict[str, float], losses: list[float]
    ) -> Slope:
        """Return the derivative of the loss for ``Learner.backward``; losses go into ``losses``.

        Tokens of an episode come in parts there. A loss that needs all of them at once is worked
        out before, from log-probabilities of a pass of their own: the weights are the same.
        """
        if takes_whole(loss_fn, config):
            slopes = []
            for datum, lp in zip(datums, self._path.learner.logprobs(datums), strict=True):
                acts = np.flatnonzero(datum.mask)
                given = (lp[acts], datum.logprobs[acts], datum.advantages[acts])
                loss, derivative = loss_terms(loss_fn, *given, config)
                losses.append(float(loss.sum()))
                slopes.append(np.zeros(len(lp)))
                slopes[-1][acts] = derivative
            return lambda lp, where: np.array([slopes[i][t] for i, t in where])

        def slope(lp: Floats, where: Sequence[tuple[int, int]]) -> Floats:
            old = np.array([datums[i].logprobs[t] for i, t in where])
            adv = np.array([datums[i].advantages[t] for i, t in where])
            loss, derivative = loss_terms(loss_fn, lp, old, adv, config)
            losses.append(float(loss.sum()))
            return derivative

        return slope

    def save(self, name: str, rolling: bool = False) -> tuple[str, str]:
        """Write LoRA weights (peft's format) and optimizer state into the folder ``name``."""
        from safetensors.torch import save

        model = self._model
        with attention.LOCK, whole_folder(Path(name)) as folder:
            model.peft.peft_config["default"].save_pretrained(folder)
            weights, optimizer = adapter_files(folder)
            adapter = self._adapter()
            # Through memory: on a full disk these libraries raise errors of their own, or abort.
            weights.write_bytes(save({name: w.contiguous() for name, w in adapter.items()}))
            state = None if self._optimizer is None else self._optimizer.state_dict()
            held = io.BytesIO()
            torch.save({"optimizer": state, "masters": model.masters}, held)
            optimizer.write_bytes(held.getbuffer())
        return str(name), str(name)

    # -- inside ------------------------------------------------------------------------------

    def _memory(self, doing: str) -> AbstractContextManager[None]:
        return in_memory(doing, self._budget, "--max-tokens")

    def _step(self, adam: AdamParams) -> float:
        """Clip, step and cast; return the gradient's norm before clipping."""
        masters = self._model.masters
        if self._optimizer is None:
            self._optimizer = torch.optim.AdamW(masters, lr=adam.lr)
        for group in self._optimizer.param_groups:
            group.update(lr=adam.lr, betas=adam.betas, eps=adam.eps, weight_decay=adam.weight_decay)
        limit = adam.grad_clip or float("inf")
        norm = float(torch.nn.utils.clip_grad_norm_(masters, limit))
        if np.isfinite(norm):
            self._optimizer.step()
            self._model.cast_masters()
        self._optimizer.zero_grad(set_to_none=True)
        return norm

    def _adapter(self) -> dict[str, torch.Tensor]:
        """Return the masters by the names that peft gives to them in a file."""
        from peft import get_peft_model_state_dict

        model = self._model
        masters = {id(w): m for w, m in zip(model.trained, model.masters, strict=True)}
        named = {n: masters[id(p)] for n, p in model.peft.named_parameters() if id(p) in masters}
        found: dict[str, torch.Tensor] = get_peft_model_state_dict(
            model.peft, named, save_embedding_layers=False
        )
        return found

    def _begin_with(self, folder: Path) -> None:
        """Take the weights of an adapter, and nothing of its optimizer."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        own = self._adapter()
        try:
            given = load_file(adapter_files(folder)[0])
        except (OSError, SafetensorError) as error:
            raise BackendError(
                f"--init-from {folder} has no adapter_model.safetensors that can be read. A whole "
                "model is given by --base-model"
            ) from error
        if {n: w.shape for n, w in own.items()} != {n: w.shape for n, w in given.items()}:
            raise BackendError(
                f"--init-from {folder} was made with other LoRA settings or another model"
            )
        with torch.no_grad():
            for name, master in own.items():
                master.copy_(given[name])
        self._model.cast_masters()

    def _restore(self, folder: Path) -> None:
        _, path = adapter_files(folder)
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            saved_masters, optimizer = state["masters"], state["optimizer"]
        except (
            OSError,
            RuntimeError,
            EOFError,
            pickle.UnpicklingError,
            LookupError,
            TypeError,
        ) as e:
            # Not torch's own words: they advise to load it as a program.
            why = e.strerror if isinstance(e, OSError) and e.filename else "it is damaged"
            raise BackendError(
                f"the checkpoint {folder} cannot be read: {why}. If an older one stands beside it, "
                "name that in state.json"
            ) from e
        masters = self._model.masters
        if [m.shape for m in saved_masters] != [m.shape for m in masters]:
            raise BackendError(
                f"the checkpoint {folder} was made with other LoRA settings or another model"
            )
        with torch.no_grad():
            for master, saved in zip(masters, saved_masters, strict=True):
                master.copy_(saved)
        self._model.cast_masters()
        if optimizer is not None:
            self._optimizer = torch.optim.AdamW(masters)
            self._optimizer.load_state_dict(optimizer)
