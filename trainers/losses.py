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
======================  ===================================  ======================================

The thresholds bound the ratio itself; they are not distances from 1. There is no KL term:
``kl_penalty_coef`` changes the advantages (``trainers.advantages.kl_penalties``).

A loss is one entry of ``LOSSES``. One whose terms at a token hang on the whole response, as where
the ratio is that of the sequence, says ``whole``: it is given all act tokens of an episode at once.
A service knows the four above, and refuses others by name.

Source: the Tinker documentation of losses; SkyRL 0.3.0 agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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
}


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
    return loss.terms(lp, old, adv, {**loss.config, **config})


def known_loss(loss_fn: str) -> str:
    """Return the name of a loss; raise ValueError if there is none of that name."""
    if loss_fn not in LOSSES:
        raise ValueError(f"loss_fn={loss_fn!r} is unknown; valid: {', '.join(LOSSES)}")
    return loss_fn


def check_loss(loss_fn: str, config: Mapping[str, float]) -> None:
    """Raise ValueError for an unknown loss, an unknown key, or thresholds out of order."""
    valid = LOSSES[known_loss(loss_fn)].config
    for key in config:
        if key not in valid:
            names = ", ".join(valid) or "none"
            raise ValueError(f"loss_fn_config key {key!r} is not one of {loss_fn} ({names})")
    full = {**valid, **config}
    if "clip_low_threshold" in full:
        low, high = full["clip_low_threshold"], full["clip_high_threshold"]
        if not 0 <= low <= 1 <= high:
            raise ValueError(
                f"clip thresholds bound the ratio: 0 <= low <= 1 <= high, got {low} and {high}"
            )
    if full.get("beta", 0.0) < 0:
        raise ValueError(f"beta={full['beta']} must be at least 0")
