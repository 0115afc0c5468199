"""The policy losses, by the names the service gives them, with their derivatives.

All are sums over act tokens, as on the service: length normalisation is folded into the
advantages by the trainer (``trainers.advantages``). With r = exp(lp - lp_old):

======================  ===================================  ======================================
``loss_fn``             loss per token                       ``loss_fn_config`` (default)
======================  ===================================  ======================================
importance_sampling     -r * A
ppo                     -min(r * A, clip(r, low, high) * A)  clip_low_threshold (0.8),
cispo                   -stopgrad(clip(r, low, high)) lp A   clip_high_threshold (1.2)
dro                     -(lp * A - beta/2 (lp - lp_old)^2)   beta (0.05)
gspo                    -min(s * A, clip(s, low, high) * A)  as ppo; s is the geometric mean of the
                                                             ratios of the response
cross_entropy           -lp * A                              whoever drew it: ``mint-grpo sft``
======================  ===================================  ======================================

The thresholds bound the ratio itself; they are not distances from 1. There is no KL term:
``kl_penalty_coef`` changes the advantages (``trainers.advantages.kl_penalties``).

Beside its own, the config of every loss takes limits for the ratio, of a token or of a sequence:
``token_cap`` and ``sequence_cap`` (what is above counts as much as the cap does), ``token_mask``
and ``sequence_mask`` (what is above the mask, or below 1 / mask, is not learned from).

A loss is one entry of ``LOSSES``. One whose terms at a token hang on the whole response, as where
the ratio is that of the sequence, says ``whole``: it is given all act tokens of an episode at once.
A service knows the first four and the last, without limits; ``folded`` makes others of the first.

Source: the Tinker documentation of losses, with which SkyRL 0.3.0 agrees; GSPO: arXiv 2507.18071.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .backends import Datum

Floats = npt.NDArray[np.float64]
Terms = tuple[Floats, Floats]  # (loss per token, the derivative of their sum by lp)

_CLIP = {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}


def importance_sampling(lp: Floats, old: Floats, adv: Floats, config: Mapping[str, float]) -> Terms:
    """-r * A."""
    weighted = -np.exp(lp - old) * adv
    return weighted, weighted


def ppo(lp: Floats, old: Floats, adv: Floats, config: Mapping[str, float]) -> Terms:
    """-min(r * A, clip(r) * A); no gradient where the clipped branch is the smaller."""
    ratio = np.exp(lp - old)
    clipped = np.clip(ratio, config["clip_low_threshold"], config["clip_high_threshold"])
    free = ratio * adv <= clipped * adv
    return -np.where(free, ratio * adv, clipped * adv), -np.where(free, ratio * adv, 0.0)


def cispo(lp: Floats, old: Floats, adv: Floats, config: Mapping[str, float]) -> Terms:
    """-stopgrad(clip(r)) * lp * A."""
    ratio = np.exp(lp - old)
    weight = np.clip(ratio, config["clip_low_threshold"], config["clip_high_threshold"]) * adv
    return -weight * lp, -weight


def dro(lp: Floats, old: Floats, adv: Floats, config: Mapping[str, float]) -> Terms:
    """-(lp * A - beta/2 * (lp - lp_old)^2)."""
    beta, gap = config["beta"], lp - old
    return -(lp * adv - 0.5 * beta * gap**2), -(adv - beta * gap)


def gspo(lp: Floats, old: Floats, adv: Floats, config: Mapping[str, float]) -> Terms:
    """-min(s * A, clip(s) * A) with s = exp(mean(lp - old)), of one response.

    A token pulls at s by its part of the mean, so its slope is s times the mean of the advantages.
    """
    ratio = np.exp((lp - old).mean())
    clipped = np.clip(ratio, config["clip_low_threshold"], config["clip_high_threshold"])
    free = ratio * adv <= clipped * adv
    slope = -np.where(free, ratio * adv, 0.0).mean()
    return -np.where(free, ratio * adv, clipped * adv), np.full(len(lp), slope)


def cross_entropy(lp: Floats, old: Floats, adv: Floats, config: Mapping[str, float]) -> Terms:
    """-lp * A; what drew the tokens does not matter."""
    return -lp * adv, -adv


class Loss(NamedTuple):
    """One loss.

    Args:
        terms: (lp, old, adv, config) to the loss of each token, and the derivative of their sum by
            the log-probability of each.
        config: the keys of its config and their defaults.
        whole: it must be given all act tokens of one episode, in order, and nothing else.
    """

    terms: Callable[[Floats, Floats, Floats, Mapping[str, float]], Terms]
    config: Mapping[str, float]
    whole: bool = False


LOSSES: dict[str, Loss] = {
    "importance_sampling": Loss(importance_sampling, {}),
    "ppo": Loss(ppo, _CLIP),
    "cispo": Loss(cispo, _CLIP),
    "dro": Loss(dro, {"beta": 0.05}),
    "gspo": Loss(gspo, _CLIP, whole=True),
    "cross_entropy": Loss(cross_entropy, {}),
}
#: What a ratio is that of, where it is limited.
LEVELS = ("token", "sequence")
LIMITS = tuple(f"{level}_{kind}" for level in LEVELS for kind in ("cap", "mask"))


def loss_terms(
    loss_fn: str, lp: Floats, old: Floats, adv: Floats, config: Mapping[str, float]
) -> Terms:
    """Return (loss, d loss / d lp), one value per token.

    Args:
        loss_fn: a name of ``LOSSES``.
        lp, old: log-probabilities of the trainer and of the sampler, shape (tokens,): act tokens,
            those of one episode if the loss is ``whole``.
        adv: advantages, shape (tokens,).
        config: thresholds; missing keys take their defaults (see ``check_loss``).
    """
    loss = LOSSES[loss_fn]
    full = {**loss.config, **config}
    weight, kept = np.ones(len(lp)), np.ones(len(lp))
    for level in LEVELS:
        ratio = _ratio(level, lp - old)
        if cap := config.get(f"{level}_cap"):
            weight *= np.minimum(1.0, cap / ratio)
        if mask := config.get(f"{level}_mask"):
            kept *= (1 / mask <= ratio) & (ratio <= mask)
    losses, slopes = loss.terms(lp, old, adv * weight, full)
    return losses * kept, slopes * kept


def _ratio(level: str, gaps: Floats) -> Floats:
    """Return the ratio of each token, or the geometric mean of them all in the place of each."""
    ratio: Floats = np.exp(gaps if level == "token" else np.full(len(gaps), gaps.mean()))
    return ratio


def takes_whole(loss_fn: str, config: Mapping[str, float]) -> bool:
    """Return whether the terms have to be worked out of whole responses."""
    return LOSSES[loss_fn].whole or any(f"sequence_{kind}" in config for kind in ("cap", "mask"))


def out_of_bounds(
    loss_fn: str, lp: Floats, old: Floats, config: Mapping[str, float]
) -> npt.NDArray[np.bool_]:
    """Return which act tokens of one episode have a ratio beyond a bound of the loss or a limit."""
    found = np.zeros(len(lp), dtype=bool)
    for level, low, high in _bounds(loss_fn, config):
        ratio = _ratio(level, lp - old)
        found |= (ratio < low) | (ratio > high)
    return found


def _bounds(loss_fn: str, config: Mapping[str, float]) -> Iterator[tuple[str, float, float]]:
    full = {**LOSSES[loss_fn].config, **config}
    if "clip_low_threshold" in full:
        own = "sequence" if LOSSES[loss_fn].whole else "token"
        yield own, full["clip_low_threshold"], full["clip_high_threshold"]
    for level in LEVELS:
        if cap := config.get(f"{level}_cap"):
            yield level, 0.0, cap
        if mask := config.get(f"{level}_mask"):
            yield level, 1 / mask, mask


def folded(
    datums: Sequence[Datum], logprobs: Sequence[Floats], loss_fn: str, config: Mapping[str, float]
) -> list[Datum]:
    """Return datums whose ``importance_sampling`` has the gradient that ``loss_fn`` has on these.

    Its derivative is -r * A, so A becomes minus the derivative of the loss over r. That holds for
    the weights that ``logprobs`` (one array for each datum, as long as its tokens) were made with.
    """
    made = []
    for datum, lp in zip(datums, logprobs, strict=True):
        acts = np.flatnonzero(datum.mask)
        given = (lp[acts], datum.logprobs[acts], datum.advantages[acts])
        _, slopes = loss_terms(loss_fn, *given, config)
        advantages = np.zeros(len(lp))
        advantages[acts] = -slopes / np.exp(given[0] - given[1])
        made.append(Datum(datum.tokens, datum.mask, datum.logprobs, advantages))
    return made


def known_loss(loss_fn: str) -> str:
    """Return the name of a loss; raise ValueError if there is none of that name."""
    if loss_fn not in LOSSES:
        raise ValueError(f"loss_fn={loss_fn!r} is unknown; valid: {', '.join(LOSSES)}")
    return loss_fn


def check_loss(loss_fn: str, config: Mapping[str, float]) -> None:
    """Raise ValueError for an unknown loss, an unknown key, or thresholds out of order."""
    valid = LOSSES[known_loss(loss_fn)].config
    for key in config:
        if key not in valid and key not in LIMITS:
            names = ", ".join(valid) or "none"
            raise ValueError(f"loss_fn_config key {key!r} is not one of {loss_fn} ({names})")
    full = {**valid, **config}
    if "clip_low_threshold" in full:
        low, high = full["clip_low_threshold"], full["clip_high_threshold"]
        if not 0 <= low <= 1 <= high:
            raise ValueError(
                f"clip thresholds bound the ratio: 0 <= low <= 1 <= high, got {low} and {high}"
            )
    for key in LIMITS:
        if not full.get(key, 1.0) >= 1:
            option = f"ratio_{key.rpartition('_')[2]}"
            raise ValueError(f"{option}={full[key]} must be at least 1, or 0 for none")
    if full.get("beta", 0.0) < 0:
        raise ValueError(f"beta={full['beta']} must be at least 0")
