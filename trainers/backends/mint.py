"""The ``mint`` backend: a MinT (Tinker-compatible) service, through its real SDK.

What can go wrong, and what happens then:

- Before anything else a preflight says in seconds whether the host answers, takes the key and has
  the model; the SDK alone needs five minutes for the first.
- 429, 5xx and broken connections are retried with growing pauses and jitter, or as ``Retry-After``
  says (``mint_http.ServiceHTTP``, on tenacity). Every wait ends after ``timeout_s``.
- **No update is applied twice.** A ``forward_backward`` or ``optim_step`` whose answer was lost is
  not sent again, since only the service knows whether it was carried out. The model is made anew
  from the last saved state instead (or from the seed, if nothing was saved) and the updates since
  then are repeated on it from memory. A service that restarted and forgot the model is treated
  the same way: the run goes on, with the weights it would have had.
- What remains (retries exhausted, time-out, a refusal) raises ``BackendError``. The state returned
  by the last ``save`` is whole: pass it as ``resume_from``. If the service comes back, this very
  object goes on too, at the state before the call that failed.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeVar

from mint_envs.errors import TokenizerError
from mint_envs.tokens import Codec

from ..errors import BackendError
from . import (
    AdamParams,
    Datum,
    Floats,
    LoraParams,
    Sample,
    SampleRequest,
    SamplingParams,
    UpdateResult,
)
from . import mint_wire as wire
from .mint_sdk import Lost, Service

log = logging.getLogger("trainers.mint")
DEFAULT_BASE_URL = "https://mint.macaron.xin"
#: Updates kept in memory for repetition; after so many without a save the backend saves by itself.
_JOURNAL = 50
_ROLLING_S = 7200  # how long a rolling save lives
T = TypeVar("T")


@dataclass(frozen=True)
class _Update:
    """One update in the SDK's types, kept until the next save."""

    data: list[Any]
    loss_fn: str
    loss_fn_config: dict[str, float] | None
    adam: Any


class MintBackend:
    """A LoRA model on a MinT service. See the module's text for what happens on faults.

    Args:
        base_model: a model of the service, such as ``Qwen/Qwen3-0.6B``.
        lora: which LoRA weights to train.
        api_key: the key, of any form. It goes nowhere but into the request header.
        base_url: the service, ``http(s)://host[:port]``; the MinT service if empty.
        tokenizer: a Hugging Face name or folder, or a tokenizer object; by default the SDK loads
            the one of ``base_model``, which needs the Hugging Face hub.
        resume_from: the second path that ``save`` returned; optimizer state included.
        timeout_s: the longest wait for one answer (a batch of samples, an update), in seconds.
        retries: how often one request is sent again.
        backoff_s: the first pause between tries, in seconds; doubled each time, up to 30 s.
        ttl_days: how long what is saved lives there, in days; 0: for ever. Rolling: two hours.
        keep: how many of the newest saves that are not rolling stay; older ones are deleted.

    Raises:
        BackendError: no key or SDK, unreachable host, refused key, unknown model, no tokenizer.
    """

    name = "mint"
    # The SDK's clients, made when they are needed.
    _training: Any
    _sampler: Any  # on the weights as they are now
    _base_sampler: Any  # on the frozen base model

    def __init__(
        self,
        base_model: str,
        lora: LoraParams,
        api_key: str | None,
        base_url: str | None = None,
        tokenizer: Any = None,
        resume_from: str | None = None,
        timeout_s: float = 600.0,
        retries: int = 8,
        backoff_s: float = 1.0,
        ttl_days: float = 7.0,
        keep: int = 2,
    ) -> None:
        if not api_key:
            raise BackendError(
                "the mint backend needs a key. Set MINT_API_KEY (in the environment or .env), or "
                "train on this machine with --backend local"
            )
        self.model, self._lora = base_model, lora
        self._saved = resume_from  # where a model that has to be made anew starts
        self._journal: list[_Update] = []  # what has been done to it since
        self._names: Counter[str] = Counter()
        self._ttl_s, self._keep = round(ttl_days * 86_400) or None, keep
        self._kept: list[tuple[str, str]] = []  # saves that are not rolling, oldest first
        url = (base_url or DEFAULT_BASE_URL).rstrip("/")
        self._service = Service(url, api_key, timeout_s, retries, backoff_s)
        self._types = self._service.sdk.types
        self._forget()
        self._service.preflight(base_model)
        codec = self._codec(tokenizer)
        self.tokenizer, self._vocab_size = codec.tokenizer, codec.vocab_size
        self._decode = codec.decode
        self._trainer()

    def _codec(self, tokenizer: Any) -> Codec:
        """Load the tokenizer; a given one before a model is made on the service."""
        try:
            if tokenizer is None:
                tokenizer = self._service.call(self._trainer().get_tokenizer, "the tokenizer")
            return Codec(tokenizer)
        except (BackendError, TokenizerError) as error:
            raise BackendError(
                f"{str(error).rstrip('.')}. Name a tokenizer's folder or model with --tokenizer"
            ) from None

    # -- the four verbs -----------------------------------------------------------------------

    def sample(
        self, requests: Sequence[SampleRequest], params: SamplingParams
    ) -> list[list[Sample]]:
        """Return ``n`` samples for each request, in order; all requests are in flight at once.

        A response ends before the first id that the tokenizer does not have (models have more
        output rows than their tokenizer has tokens), as if it had been cut for length there.

        Raises:
            BackendError: the service failed, or gave samples without log-probabilities.
        """
        return self._recovering(lambda: self._sample(requests, params))

    def base_logprobs(self, datums: Sequence[Datum]) -> list[Floats]:
        """Return the frozen base model's log-probability of each act token (0 off the mask)."""
        return self._recovering(lambda: self._base_logprobs(datums))

    def update(
        self,
        datums: Sequence[Datum],
        loss_fn: str,
        loss_fn_config: dict[str, float],
        adam: AdamParams,
    ) -> UpdateResult:
        """Take one optimizer step on the summed loss; both requests go out before any wait.

        Without data there is no step.

        Raises:
            BackendError: the service failed, or refuses the loss. The step is not taken then.
        """
        if not datums:
            return UpdateResult()
        types = self._types
        update = _Update(
            [wire.to_datum(types, datum) for datum in datums],
            loss_fn,
            dict(loss_fn_config) or None,
            wire.to_adam(types, adam),
        )
        forward, step = self._recovering(lambda: self._apply(update))
        self._journal.append(update)
        if len(self._journal) >= _JOURNAL:
            self._shorten_journal()
        return wire.to_result(forward, step, datums)

    def save(self, name: str, rolling: bool = False) -> tuple[str, str]:
        """Save under ``name``; return (path for ``create_sampling_client``, path to resume from).

        The second holds the optimizer's state too. Of a path the last part is the name: the service
        need not know the folders of this machine. Characters outside ``[A-Za-z0-9_-]`` become
        ``-``, since servers refuse them; a name given again gets a number.
        """
        name = self._unused(re.sub(r"[^A-Za-z0-9_-]+", "-", PurePath(name).name))
        ttl_s = _ROLLING_S if rolling else self._ttl_s
        saved = self._recovering(lambda: self._save(name, ttl_s)), str(self._saved)
        if not rolling:
            self._kept.append(saved)
            self._delete_old()
        return saved

    def _delete_old(self) -> None:
        """Delete the oldest saves, until as many are left as are to be kept."""
        while len(self._kept) > self._keep:
            for path in self._kept.pop(0):
                rest = self._service.client().create_rest_client()
                try:
                    self._service.wait(
                        [rest.delete_checkpoint_from_tinker_path(path)], f"deleting {path}"
                    )
                except BackendError as error:  # said once: not every server deletes
                    log.warning("%s; what is saved is not deleted from here on", error)
                    self._keep = 1 << 62
                    return

    def close(self) -> None:
        """End the session; everything saved stays. The next verb would start a new one."""
        self._drop()

    # -- sampling -----------------------------------------------------------------------------

    def _sample(self, requests: Sequence[SampleRequest], params: SamplingParams) -> Any:
        sampler, types = self._current_sampler(), self._types
        futures = [
            sampler.sample(
                wire.to_prompt(types, request.context), request.n, wire.to_params(types, params, i)
            )
            for i, request in enumerate(requests)
        ]
        answers = self._service.wait(futures, "sampling")
        return [
            self._samples(request, answer, params)
            for request, answer in zip(requests, answers, strict=True)
        ]

    def _samples(self, request: SampleRequest, answer: Any, params: SamplingParams) -> list[Sample]:
        if len(answer.sequences) != request.n:
            raise BackendError(
                f"the service gave {len(answer.sequences)} samples where {request.n} were asked for"
            )
        return [
            wire.from_sequence(sequence, params, self._vocab_size, self._decode)
            for sequence in answer.sequences
        ]

    def _base_logprobs(self, datums: Sequence[Datum]) -> list[Floats]:
        if self._base_sampler is None:
            service = self._service.client()
            self._base_sampler = self._service.call(
                lambda: service.create_sampling_client(base_model=self.model), "the base model"
            )
        types = self._types
        futures = [
            self._base_sampler.compute_logprobs(wire.to_prompt(types, d.tokens)) for d in datums
        ]
        answers = self._service.wait(futures, "the base model's log-probabilities")
        return [
            wire.from_prompt_logprobs(datum, answer)
            for datum, answer in zip(datums, answers, strict=True)
        ]

    def _current_sampler(self) -> Any:
        """Return a sampling client on the weights as they are now."""
        if self._sampler is None:
            trainer = self._trainer()
            self._sampler = self._on_trainer(
                lambda: self._service.call(
                    trainer.save_weights_and_get_sampling_client, "weights for sampling"
                )
            )
        return self._sampler

    # -- training -----------------------------------------------------------------------------

    def _apply(self, update: _Update) -> tuple[Any, Any]:
        trainer = self._trainer()
        self._sampler = None
        return self._on_trainer(lambda: self._submit(trainer, update))

    def _submit(self, trainer: Any, update: _Update) -> tuple[Any, Any]:
        forward = trainer.forward_backward(update.data, update.loss_fn, update.loss_fn_config)
        step = trainer.optim_step(update.adam)
        forward_out, step_out = self._service.wait(
            [forward, step], f"the update ({update.loss_fn})"
        )
        return forward_out, step_out

    def _shorten_journal(self) -> None:
        name = self._unused("recovery")
        try:
            self._recovering(lambda: self._save_state(name, _ROLLING_S))
        except BackendError as error:  # the update itself is taken; the next one tries again
            log.warning("%s", error)

    def _save(self, name: str, ttl_s: int | None) -> str:
        self._save_state(name, ttl_s)
        trainer = self._trainer()
        (sampler,) = self._on_trainer(
            lambda: self._service.wait(
                [trainer.save_weights_for_sampler(name, ttl_s)], f"saving {name}"
            )
        )
        return str(sampler.path)

    def _save_state(self, name: str, ttl_s: int | None) -> None:
        """Save the state; from here on a new model starts there, and nothing is to be repeated."""
        trainer = self._trainer()
        (state,) = self._on_trainer(
            lambda: self._service.wait([trainer.save_state(name, ttl_s, True)], f"saving {name}")
        )
        self._saved = str(state.path)
        self._journal.clear()

    def _unused(self, name: str) -> str:
        """Return ``name`` with a number if it was used: the state that we would return to, should
        this save fail half-way, must not be written over."""
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}-{self._names[name]}"

    def _on_trainer(self, call: Callable[[], T]) -> T:
        """Make ``call``; if it fails or is interrupted, the model's state is unknown: drop it."""
        try:
            return call()
        except BaseException:
            self._drop()
            raise

    # -- the model on the service, and how it is made anew --------------------------------------

    def _recovering(self, verb: Callable[[], T]) -> T:
        """Return ``verb()``; if the model is lost, make it anew and try once more."""
        try:
            return verb()
        except Lost as lost:
            start = self._saved or "the seed"
            log.warning(
                "the model is lost (%s); starting anew from %s and repeating %d updates",
                lost,
                start,
                len(self._journal),
            )
            self._drop()
            return verb()

    def _trainer(self) -> Any:
        """Return the training client, made anew from the last state and the journal if need be."""
        if self._training is None:
            service = self._service.client()
            training = self._service.call(
                lambda: self._make_model(service),
                f"resuming {self._saved}" if self._saved else "making the model",
            )
            for update in self._journal:
                self._on_trainer(lambda update=update: self._submit(training, update))  # type: ignore[misc]
            self._training = training
        return self._training

    def _make_model(self, service: Any) -> Any:
        """Return a new training client, with the weights and optimizer of the last saved state."""
        lora = self._lora
        if self._saved:
            info = service.create_rest_client().get_weights_info_by_tinker_path(self._saved)
            self._check_state(info.result(self._service.timeout_s))
        training = service.create_lora_training_client(
            base_model=self.model,
            rank=lora.rank,
            seed=lora.seed,
            train_mlp=lora.train_mlp,
            train_attn=lora.train_attn,
            train_unembed=lora.train_unembed,
        )
        if self._saved:
            training.load_state_with_optimizer(self._saved).result(self._service.timeout_s)
        return training

    def _check_state(self, info: Any) -> None:
        if info.base_model != self.model or info.lora_rank not in (None, self._lora.rank):
            raise BackendError(
                f"{self._saved} is of {info.base_model} at rank {info.lora_rank}, this run is of "
                f"{self.model} at rank {self._lora.rank}. Resume with the settings of that run"
            )

    def _drop(self) -> None:
        self._service.drop()
        self._forget()

    def _forget(self) -> None:
        self._training = self._sampler = self._base_sampler = None
