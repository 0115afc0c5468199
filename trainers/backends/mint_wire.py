"""Our values to the SDK's types and back. ``types`` is the module ``mint.types``."""

from __future__ import annotations

import bisect
import typing
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import BackendError
from . import AdamParams, Datum, Floats, Sample, SamplingParams, UpdateResult


def to_prompt(types: Any, tokens: Sequence[int]) -> Any:
    """Return the SDK's ModelInput."""
    return types.ModelInput.from_ints([int(token) for token in tokens])


def to_params(types: Any, params: SamplingParams, index: int) -> Any:
    """Return the SDK's parameters for request number ``index``.

    Their ``stop`` takes strings or ids, not both; ``response_end`` sees to the rest. (A field
    ``stop_token_ids`` does not exist there, and would be dropped silently.)
    """
    stop: tuple[str | int, ...] = params.stop or params.stop_tokens
    seed = np.random.SeedSequence([abs(params.seed), index]).generate_state(1)[0]
    return types.SamplingParams(
        max_tokens=params.max_tokens,
        temperature=params.temperature,
        stop=list(stop) or None,
        seed=int(seed) & 0x3FFFFFFF,  # servers add the sample's number to it, in 31 bits
    )


def to_datum(types: Any, datum: Datum, loss_fn: str) -> Any:
    """Return the SDK's Datum: position t predicts token t + 1, so all but the tokens shift.

    What ``cross_entropy`` multiplies by is called weights there, and it takes nothing else.
    """

    def shifted(values: Floats) -> Any:
        return np.asarray(values[1:], dtype=np.float32)

    inputs = {"target_tokens": np.asarray(datum.tokens[1:], dtype=np.int64)}
    if loss_fn == "cross_entropy":
        inputs["weights"] = shifted(datum.advantages)
    else:
        # Weights of 0 on the prompt matter for ``dro`` alone: its quadratic term does not vanish
        # where the advantage does.
        inputs["weights"] = shifted(datum.mask)
        inputs["logprobs"] = shifted(datum.logprobs)
        inputs["advantages"] = shifted(datum.advantages)
    return types.Datum(model_input=to_prompt(types, datum.tokens[:-1]), loss_fn_inputs=inputs)


def to_adam(types: Any, adam: AdamParams) -> Any:
    """Return the SDK's AdamParams, whose own defaults (0.95, 1e-12) are not the documents'."""
    return types.AdamParams(
        learning_rate=adam.lr,
        beta1=adam.betas[0],
        beta2=adam.betas[1],
        eps=adam.eps,
        weight_decay=adam.weight_decay,
        grad_clip_norm=adam.grad_clip,
    )


def from_sequence(
    sequence: Any, params: SamplingParams, vocab_size: int, decode: Callable[[list[int]], str]
) -> Sample:
    """Return the SDK's sampled sequence as a Sample, cut where ``response_end`` says."""
    tokens = [int(token) for token in sequence.tokens]
    logprobs = floats(sequence.logprobs, len(tokens), "samples")
    end = response_end(tokens, params, vocab_size, decode)
    return Sample(tuple(tokens[:end]), tuple(logprobs[:end]))


def from_answer(
    answer: Any,
    n: int,
    params: SamplingParams,
    vocab_size: int,
    decode: Callable[[list[int]], str],
) -> list[Sample]:
    """Return the samples of one request.

    Raises:
        BackendError: there are not ``n`` of them.
    """
    if len(answer.sequences) != n:
        raise BackendError(
            f"the service gave {len(answer.sequences)} samples where {n} were asked for"
        )
    return [from_sequence(one, params, vocab_size, decode) for one in answer.sequences]


def response_end(
    tokens: list[int],
    params: SamplingParams,
    vocab_size: int,
    decode: Callable[[list[int]], str],
) -> int:
    """Return how many tokens count, as not every server knows every kind of stop.

    A response ends after its first stop token or stop string, and before the first id that the
    tokenizer does not have: models have more output rows than their tokenizer has tokens.
    """
    end = _first_end(tokens, params, vocab_size)

    def stopped(k: int) -> bool:
        text = decode(tokens[:k])
        return any(stop in text for stop in params.stop)

    if params.stop and stopped(end):
        end = bisect.bisect_left(range(1, end + 1), True, key=stopped) + 1
    return end


def _first_end(tokens: list[int], params: SamplingParams, vocab_size: int) -> int:
    for i, token in enumerate(tokens):
        if not 0 <= token < vocab_size:
            return i
        if token in params.stop_tokens:
            return i + 1
    return len(tokens)


def from_prompt_logprobs(datum: Datum, logprobs: Sequence[float | None] | None) -> Floats:
    """Return ``compute_logprobs``'s answer as an array: act tokens only, 0 elsewhere."""
    given = list(logprobs or ())
    if len(given) == len(datum.tokens) - 1:  # SkyRL 0.3.0 leaves the first token out
        given.insert(0, None)
    given += [None] * (len(datum.tokens) - len(given))
    acts = np.flatnonzero(datum.mask).tolist()
    values = [given[i] for i in acts]
    out = np.zeros(len(datum.tokens))
    out[acts] = floats(values, len(acts), "prompt log-probabilities")
    return out


def floats(values: Any, length: int, what: str) -> list[float]:
    """Return ``values`` as ``length`` finite floats, or raise: a missing one is not 0."""
    numbers = [float("nan" if value is None else value) for value in values or ()]
    if len(numbers) != length or not np.all(np.isfinite(numbers)):
        raise BackendError(
            f"the service gave {what} of {length} tokens without a log-probability for each. "
            "The importance ratio needs them: use a server that returns them"
        )
    return numbers


def losses(types: Any) -> tuple[str, ...]:
    """Return the names of losses that the SDK sends."""
    return typing.get_args(types.LossFnType)


def all_logprobs(forward: Any, datums: Sequence[Datum]) -> list[Floats]:
    """Return the log-probabilities of act tokens (0 elsewhere) that a forward pass gave."""
    found = _told_logprobs(forward, datums)
    if not found and datums:
        raise BackendError(
            "the service's forward pass gives no log-probabilities: this loss needs them. Choose "
            "another --loss-fn, and leave --ratio-cap and --ratio-mask out"
        )
    return found


def to_result(forward: Any, step: Any, datums: Sequence[Datum]) -> UpdateResult:
    """Return the metrics of both requests, and the log-probabilities if every datum has them."""
    metrics = {**dict(forward.metrics or {}), **dict(step.metrics or {})}
    told = {name: float(value) for name, value in metrics.items()}
    return UpdateResult(told, _told_logprobs(forward, datums))


def _told_logprobs(forward: Any, datums: Sequence[Datum]) -> list[Floats]:
    """Return what a pass tells of every datum; nothing if it leaves one out."""
    outputs = [output.get("logprobs") for output in forward.loss_fn_outputs]
    if len(outputs) != len(datums) or any(output is None for output in outputs):
        return []
    return [_aligned(datum, output) for datum, output in zip(datums, outputs, strict=True)]


def _aligned(datum: Datum, output: Any) -> Floats:
    """Return the outputs, one a target, as one a token; servers may pad them at the end."""
    targets = np.asarray(output.to_numpy(), dtype=np.float64).ravel()[: len(datum.tokens) - 1]
    out = np.zeros(len(datum.tokens))
    out[1:] = targets
    return np.where(np.asarray(datum.mask) > 0, out, 0.0)
