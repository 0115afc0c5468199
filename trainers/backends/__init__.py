"""What the trainer needs of a model: the ``Backend`` protocol and the values that cross it.

A backend is a tokenizer and four verbs. ``local`` (torch on this machine), ``mint`` (the
service) and ``bandit`` (the test double) are the three that exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """Draw ``n`` responses to one context."""

    context: tuple[int, ...]
    n: int


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How to sample.

    Args:
        max_tokens: longest response, in tokens.
        temperature: 0 is greedy (then log-probabilities are those at temperature 1).
        stop: strings that end a response, beside the end-of-turn tokens; kept in the response.
        stop_tokens: ids that end a response; kept in the response.
        seed: the same seed, weights and requests give the same responses (a service may ignore it).
    """

    max_tokens: int
    temperature: float = 1.0
    stop: tuple[str, ...] = ()
    stop_tokens: tuple[int, ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """One response: its tokens and, per token, the log-probability it was drawn with."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass(frozen=True)
class Datum:
    """One episode to learn from. All arrays have length T, one entry per token of ``tokens``.

    Args:
        tokens: the whole context, acts and observations in order.
        mask: 1.0 on acts, 0.0 elsewhere. The first token is never an act.
        logprobs: the sampler's log-probability of each act token, 0 elsewhere.
        advantages: what multiplies the loss of each act token, 0 elsewhere.
    """

    tokens: tuple[int, ...]
    mask: Floats
    logprobs: Floats
    advantages: Floats

    def __post_init__(self) -> None:
        lengths = {len(self.tokens), len(self.mask), len(self.logprobs), len(self.advantages)}
        if len(lengths) != 1:
            raise ValueError(f"a Datum's tokens and arrays differ in length: {sorted(lengths)}")


@dataclass(frozen=True, slots=True)
class AdamParams:
    """One optimizer step. Names of the MinT documents; the SDK's beta1, beta2 are ``betas``."""

    lr: float
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    grad_clip: float = 0.0  # largest gradient norm; 0 is no clipping


@dataclass(frozen=True, slots=True)
class LoraParams:
    """Which LoRA weights to train, by the MinT documents' names."""

    rank: int = 16
    train_mlp: bool = True
    train_attn: bool = True
    train_unembed: bool = True
    seed: int = 0


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What an update reports: scalars to log, and the trainer's log-probabilities.

    ``logprobs`` has one array per datum, aligned with ``Datum.tokens`` (0 off the mask), as they
    were before the step; it is empty if the backend does not tell.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    logprobs: list[Floats] = field(default_factory=list)


class Backend(Protocol):
    """A model that samples, learns and saves. Four verbs, and a tokenizer."""

    name: str  # "local", "mint" or "bandit"
    model: str  # what ``Model:`` prints
    tokenizer: Any  # what the environments take as ``tokenizer=``
    max_context: int = 1 << 62  # the longest context with its response, in tokens
    stop_tokens: tuple[int, ...] = ()  # ids that end a turn, beside those of the tokenizer
    notes: tuple[str, ...] = ()  # what a user should know of how the model is run, a line each
    overlaps: bool = False  # whether it samples beside its updates

    def close(self) -> None:
        """Let go of what a service holds; what was saved stays."""
        return

    def sample(
        self, requests: Sequence[SampleRequest], params: SamplingParams
    ) -> list[list[Sample]]:
        """Return ``n`` samples for each request, in order. Blocks until all are there."""
        ...

    def logprobs(self, datums: Sequence[Datum], base: bool = False) -> list[Floats]:
        """Return the log-probability of each act token (0 off the mask), as the weights are now.

        ``base``: by the frozen model that they were put on.
        """
        ...

    def update(
        self,
        datums: Sequence[Datum],
        loss_fn: str,
        loss_fn_config: dict[str, float],
        adam: AdamParams,
    ) -> UpdateResult:
        """Take one optimizer step on the summed loss of all act tokens."""
        ...

    def save(self, name: str, rolling: bool = False) -> tuple[str, str]:
        """Save under ``name``; return (path to sample from, path to resume training from).

        A ``rolling`` one is wanted until the next is there; a service may drop it soon after.
        """
        ...
