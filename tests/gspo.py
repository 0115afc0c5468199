"""A loss with the ratio of the whole response, as one would add it to ``trainers.losses``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trainers.losses import Floats, Loss, Terms


def gspo(lp: Floats, old: Floats, adv: Floats, config: Mapping[str, float]) -> Terms:
    """-min(s * A, clip(s) * A), where s is the geometric mean of the ratios of a response."""
    ratio = np.exp((lp - old).mean())
    clipped = np.clip(ratio, config["clip_low_threshold"], config["clip_high_threshold"])
    free = ratio * adv <= clipped * adv
    slope = -np.where(free, ratio * adv, 0.0).mean()
    return -np.where(free, ratio * adv, clipped * adv), np.full(len(lp), slope)


GSPO = Loss(gspo, {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}, whole=True)
