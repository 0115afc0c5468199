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
- Samples may be drawn beside an update, from other threads. Whoever changes the model, or makes it
  anew, holds a lock; samples under way on a model that was let go are drawn again on the new one.
- What remains (retries exhausted, time-out, a refusal) raises ``BackendError``. The state returned
  by the last ``save`` is whole: pass it as ``resume_from``. If the service comes back, this very
  object goes on too, at the state before the call that failed.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

from mint_envs.errors import TokenizerError
from mint_envs.tokens import Codec

from ..errors import BackendError
from ..losses import LIMITS, folded
from . import (
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
from . import mint_wire as wire
from .mint_sdk import Lost, Service

log = logging.getLogger("trainers.mint")
DEFAULT_BASE_URL = "https://mint.macaron.xin"
#: Updates kept in memory for repetition; after so many without a save the backend saves by itself.
_JOURNAL = 50
_ROLLING_S = 7200  # how long a rolling save lives
_MOST_ANEW = 5  # samples are drawn again so often, if the model is let go under them each time
#: What the loss of every service is called whose gradient others can be folded into.
_PLAIN = "importance_sampling"
T = TypeVar("T")


@dataclass(frozen=True)
class _Update:
    """One update in the SDK's types, kept until the next save."""

    data: list[Any]
    loss_fn: str
    loss_fn_config: dict[str, float] | None
    adam: Any


class MintBackend(Backend):
    """A LoRA model on a MinT service. See the module's text for what happens on faults.

    Args:
        base_model: a model of the service, such as ``Qwen/Qwen3-0.6B``.
        lora: which LoRA weights to train.
        api_key: the key, of any form. It goes nowhere but into the request header.
        base_url: the service, ``http(s)://host[:port]``; the MinT service if empty.
        tokenizer: a Hugging Face name or folder, or a tokenizer object; by default the SDK loads
            the one of ``base_model``, which needs the Hugging Face hub.
        init_from: a path of the same kind, of which the weights alone are taken.
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
    overlaps = True  # samples can be drawn beside an update
    # The SDK's clients, made when they are needed.
    _training: Any
    _sampler: Any  # on the weights as they are now, unless it is
    _stale: bool
    _base_sampler: Any  # on the frozen base model

    def __init__(
        self,
        base_model: str,
        lora: LoraParams,
        api_key: str | None,
        base_url: str | None = None,
        tokenizer: Any = None,
        resume_from: str | None = None,
        init_from: str | None = None,
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
        self.model, self._lora, self._init = base_model, lora, init_from
        self._saved = resume_from  # where a model that has to be made anew starts
        self._journal: list[_Update] = []  # what has been done to it since
        self._names: Counter[str] = Counter()
        self._ttl_s, self._keep = round(ttl_days * 86_400) or None, keep
        self._kept: list[tuple[str, str]] = []  # saves that are not rolling, oldest first
        url = (base_url or DEFAULT_BASE_URL).rstrip("/")
        self._service = Service(url, api_key, timeout_s, retries, backoff_s)
        self._types = self._service.sdk.types
        self._lock = threading.RLock()
        self._epoch = 0  # how often the model was let go
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

        Beside an update they are drawn by the weights before it. Asked for nothing it waits for the
        update, and takes up the new weights.

        Raises:
            BackendError: the service failed, or gave samples without log-probabilities.
        """
        lost = False
        for last in [False] * (_MOST_ANEW - 1) + [True]:
            sampler, epoch = self._sampler_now(wait=not requests)
            try:
                return self._sample(sampler, requests, params)
            except BackendError as error:
                with self._lock:  # an update that meets the same loss makes the model anew
                    let_go = self._epoch != epoch
                    if last or not (let_go or (isinstance(error, Lost) and not lost)):
                        raise
                    if not let_go:
                        lost = True
                        self._lose(error)
        raise AssertionError("unreachable")

    def logprobs(self, datums: Sequence[Datum], base: bool = False) -> list[Floats]:
        """Return the log-probability of each act token; of the model's a forward pass tells it."""
        verb = self._base_logprobs if base else self._logprobs
        return self._alone(lambda: verb(datums))

    def update(
        self,
        datums: Sequence[Datum],
        loss_fn: str,
        loss_fn_config: dict[str, float],
        adam: AdamParams,
    ) -> UpdateResult:
        """Take one optimizer step on the summed loss; both requests go out before any wait.

        Without data there is no step. A loss that services do not know, or with a limit of ratios,
        takes a forward pass first, from which its gradient is folded into the advantages.

        Raises:
            BackendError: the service failed, or refuses the loss. The step is not taken then.
        """
        if not datums:
            return UpdateResult()
        with self._lock:
            if self._folds(loss_fn, loss_fn_config):
                logprobs = self.logprobs(datums)
                datums = folded(datums, logprobs, loss_fn, loss_fn_config)
                loss_fn, loss_fn_config = _PLAIN, {}
            types = self._types
            update = _Update(
                [wire.to_datum(types, datum, loss_fn) for datum in datums],
                loss_fn,
                dict(loss_fn_config) or None,
                wire.to_adam(types, adam),
            )
            forward, step = self._alone(lambda: self._apply(update))
            self._journal.append(update)
            if len(self._journal) >= _JOURNAL:
                self._shorten_journal()
        return wire.to_result(forward, step, datums)

    def check_loss(self, loss_fn: str, loss_fn_config: dict[str, float]) -> None:
        """Ask the service by a forward pass, which learns nothing, whether it takes the loss.

        Raises:
            BackendError: it does not, or has no forward pass and the loss has to be folded.
        """
        folds = self._folds(loss_fn, loss_fn_config)
        if loss_fn == _PLAIN and not folds:
            return
        name, config = (_PLAIN, None) if folds else (loss_fn, dict(loss_fn_config) or None)
        one = Datum((0, 0), *[np.array([0.0, 1.0])] * 3)
        data = [wire.to_datum(self._types, one, name)]
        what = f"--loss-fn {loss_fn}{' with a limit of ratios' * (folds and loss_fn == name)}"
        try:
            self._service.wait([self._trainer().forward(data, name, config)], what)
        except Lost as error:
            if folds:  # else it shows at the first update
                raise BackendError(f"{what} needs a forward pass on the service: {error}") from None
            log.debug("%s", error)

    def _folds(self, loss_fn: str, config: dict[str, float]) -> bool:
        """Return whether a loss has to be folded, since the wire has no word for it."""
        return loss_fn not in wire.losses(self._types) or any(key in config for key in LIMITS)

    def save(self, name: str, rolling: bool = False) -> tuple[str, str]:
        """Save under ``name``; return (path for ``create_sampling_client``, path to resume from).

        The second holds the optimizer's state too. Of a path the last part is the name: the service
        need not know the folders of this machine. Characters outside ``[A-Za-z0-9_-]`` become
        ``-``, since servers refuse them; a name given again gets a number.
        """
        with self._lock:
            name = self._unused(re.sub(r"[^A-Za-z0-9_-]+", "-", PurePath(name).name))
            ttl_s = _ROLLING_S if rolling else self._ttl_s
            saved = self._alone(lambda: self._save(name, ttl_s)), str(self._saved)
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

    def _sample(
        self, sampler: Any, requests: Sequence[SampleRequest], params: SamplingParams
    ) -> list[list[Sample]]:
        types = self._types
        futures = [
            sampler.sample(
                wire.to_prompt(types, request.context), request.n, wire.to_params(types, params, i)
            )
            for i, request in enumerate(requests)
        ]
        answers = self._service.wait(futures, "sampling")
        return [
            wire.from_answer(answer, request.n, params, self._vocab_size, self._decode)
            for request, answer in zip(requests, answers, strict=True)
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

    def _sampler_now(self, wait: bool) -> tuple[Any, int]:
        """Return a sampling client and the epoch of its model.

        It is on the weights as they are now; or, unless that is to be waited for, on those before
        the update that is under way.
        """
        epoch, sampler = self._epoch, self._sampler
        if sampler is not None and not (self._stale or wait):
            return sampler, epoch
        if not self._lock.acquire(blocking=wait or sampler is None):
            return sampler, epoch
        try:
            return self._alone(self._current_sampler), self._epoch
        finally:
            self._lock.release()

    def _current_sampler(self) -> Any:
        """Return a sampling client on the weights as they are now."""
        if self._sampler is None or self._stale:
            trainer = self._trainer()
            self._sampler = self._on_trainer(
                lambda: self._service.call(
                    trainer.save_weights_and_get_sampling_client, "weights for sampling"
                )
            )
            self._stale = False
        return self._sampler

    # -- training -----------------------------------------------------------------------------

    def _apply(self, update: _Update) -> tuple[Any, Any]:
        trainer = self._trainer()
        done = self._on_trainer(lambda: self._submit(trainer, update))
        self._stale = True
        return done

    def _logprobs(self, datums: Sequence[Datum]) -> list[Floats]:
        """Return the log-probabilities by the weights as they are, which learn nothing from it."""
        data = [wire.to_datum(self._types, datum, _PLAIN) for datum in datums]
        trainer = self._trainer()
        (forward,) = self._on_trainer(
            lambda: self._service.wait([trainer.forward(data, _PLAIN)], "the forward pass")
        )
        return wire.all_logprobs(forward, datums)

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
            self._alone(lambda: self._save_state(name, _ROLLING_S))
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

    def _alone(self, verb: Callable[[], T]) -> T:
        """Return ``verb()``, which no other thread disturbs; if the model is lost, make it anew and
        try once more."""
        with self._lock:
            try:
                return verb()
            except Lost as lost:
                self._lose(lost)
                return verb()

    def _lose(self, lost: BackendError) -> None:
        """Let go of a model that is lost: whoever needs one next makes it anew."""
        start, many = self._saved or "the seed", len(self._journal)
        log.warning(
            "the model is lost (%s); starting anew from %s and repeating %d updates",
            lost, start, many,
        )  # fmt: skip
        self._drop()

    def _trainer(self) -> Any:
        """Return the training client, made anew from the last state and the journal if need be."""
        if self._training is None:
            service = self._service.client()
            training = self._service.call(
                lambda: self._service.make_model(
                    service, self.model, self._lora, self._saved, self._init
                ),
                f"resuming {self._saved}" if self._saved else "making the model",
            )
            for update in self._journal:
                self._on_trainer(lambda update=update: self._submit(training, update))  # type: ignore[misc]
            self._training = training
        return self._training

    def _drop(self) -> None:
        self._forget()  # first: what is cut off by the other is to see why
        self._service.drop()

    def _forget(self) -> None:
        self._epoch += 1
        self._training = self._sampler = self._base_sampler = None
        self._stale = False
