"""From rewards to advantages, and what is folded into them.

The service's losses are sums over tokens and know no KL term, so everything else that shapes
the gradient goes into the advantage of each token: the baseline of the group, the normalisation
by length, and the KL penalty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from .errors import TrainerError

Floats = npt.NDArray[np.float64]


def no_signal(rewards: Sequence[float]) -> bool:
    """Return whether all rewards of a group are equal: then it teaches nothing.

    The largest is compared with the smallest. Centred floats would not do: the mean of three
    times 0.1 is not 0.1, which leaves an "advantage" of 1e-17.
    """
    return max(rewards) == min(rewards)


def group_advantages(rewards_G: Sequence[float], kind: str = "mean") -> Floats:
    """Return the advantage of each of the G responses of one group.

    Args:
        rewards_G: measured rewards of the group.
        kind: ``"mean"``, r - mean (MinT's default); ``"std"``, that over the standard deviation
            (GRPO); ``"rloo"``, r minus the mean of the *others*; ``"dr_grpo"``, r - mean with
            a constant length normalisation (see ``length_weights``).

    Raises:
        TrainerError: rewards are too large to be centred.
    """
    rewards = np.asarray(rewards_G, dtype=np.float64)
    scale = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        centred: Floats = rewards - rewards.mean()
        if not np.isfinite(centred @ centred):
            raise TrainerError(too_large(rewards))
    if kind == "std":
        scale = 1.0 / (float(rewards.std()) + 1e-6)
    elif kind == "rloo":
        scale = len(rewards) / max(len(rewards) - 1, 1)
    return centred * scale


def too_large(rewards: Iterable[float]) -> str:
    """Return what to say of rewards that make numbers that are not finite."""
    largest = max(map(abs, rewards), default=0.0)
    return f"rewards are as large as {largest:g}: let the environment scale them to about [-1, 1]"


def overlong_penalty(length: int, max_tokens: int) -> float:
    """Return what is added to the reward of a response of ``length`` tokens: from 0 to -1.

    0 up to four fifths of ``max_tokens``, then down in a line to -1 at its end (DAPO's soft
    overlong punishment, with its proportions).
    """
    room = max_tokens / 5
    return -max(0.0, length - (max_tokens - room)) / room


def length_weights(lengths: Sequence[int], kind: str, max_tokens: int) -> Floats:
    """Return what the advantage of each of n sequences is multiplied by.

    Args:
        lengths: act tokens of each sequence that is trained on.
        kind: ``"none"``, 1: the loss is a sum over tokens, as on the service (long batches pull
            harder; Adam hides most of it); ``"token"``, 1 / all tokens; ``"sequence"``,
            1 / (own tokens * n); ``"constant"``, 1 / (max_tokens * n), as Dr. GRPO has it.
        max_tokens: longest response.
    """
    sizes = np.asarray(lengths, dtype=np.float64)
    if kind == "token":
        return np.full(len(sizes), 1.0 / sizes.sum())
    if kind == "sequence":
        return 1.0 / (sizes * len(sizes))
    if kind == "constant":
        return np.full(len(sizes), 1.0 / (max_tokens * len(sizes)))
    return np.ones(len(sizes))


def kl_penalties(
    sampled: Sequence[Floats], base: Sequence[Floats], masks: Sequence[Floats], coef: float
) -> tuple[list[Floats], float]:
    """Return what to add to the token advantages for ``kl_penalty_coef``, and the KL itself.

    The penalty of a token is ``coef * (mean gap - gap)`` with gap = log-prob of the sampler minus
    that of the frozen base model, so a token that drifted further than the batch's mean is held
    back. MinT's page says that coef * KL is "added to the loss"; no loss of the service has such
    a term, so it is folded into the advantages, as Tinker's cookbook does.

    Args:
        sampled, base: log-probabilities per token, one array for each datum.
        masks: 1.0 on acts; nothing is added elsewhere.
        coef: at least 0.
    """
    gaps = [(s - b) * m for s, b, m in zip(sampled, base, masks, strict=True)]
    count = sum(float(m.sum()) for m in masks)
    mean = sum(float(gap.sum()) for gap in gaps) / max(count, 1.0)
    return [coef * (mean - gap) * m for gap, m in zip(gaps, masks, strict=True)], mean
