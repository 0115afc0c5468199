"""The two pictures of transcripts, as SVG elements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from .plots import canvas, svg_element
from .transcripts import Rollouts, Transcript

_BINS = 10
_FAR = 1e9  # a reward beyond this is drawn at it: sums of larger ones may overflow


def draw_curve(rollouts: Rollouts) -> str:
    """Mean reward by step, and held-out accuracy where there is one; ``""`` without steps."""
    means = _means(rollouts.transcripts)
    if not means:
        return ""
    figure, axes = canvas("reward by step")
    axes.plot(list(means), list(means.values()), color="tab:blue", label="mean reward, training")
    evals = [row for row in rollouts.evals if "eval/reward" in row]
    if evals:
        values = [row["eval/reward"] for row in evals]
        steps = [row["step"] for row in evals]
        axes.plot(steps, values, "o-", color="tab:orange", label="evaluation")
    axes.set_ylim(min(0.0, *axes.get_ylim()), max(1.0, axes.get_ylim()[1]))
    axes.set_xlabel("step")
    axes.legend(frameon=False)
    return svg_element(figure, "curve")


def draw_rewards(transcripts: Sequence[Transcript]) -> str:
    """The distribution of rewards: by step as shades, or as one histogram without steps."""
    rewards = [_drawn(one.reward) for one in transcripts if one.reward is not None]
    if not rewards:
        return ""
    low, high = min(0.0, *rewards), max(1.0, *rewards)
    edges = np.linspace(low, high, _BINS + 1)
    steps = {one.step for one in transcripts if one.reward is not None}
    known = [step for step in steps if step is not None]
    if len(known) < max(2, len(steps)):
        return _histogram(rewards, edges)
    extent = (min(known) - 0.5, max(known) + 0.5, low, high)
    return _shades(_shares(transcripts, edges), extent)


def _histogram(rewards: Sequence[float], edges: Any) -> str:
    figure, axes = canvas("episodes by reward")
    axes.hist(rewards, edges, color="tab:blue")
    axes.set_xlabel("reward")
    return svg_element(figure, "rewards")


def _shades(shares: Any, extent: tuple[float, float, float, float]) -> str:
    figure, axes = canvas("rewards by step: share of the episodes")
    look = {"aspect": "auto", "cmap": "Blues", "vmin": 0, "vmax": 1, "interpolation": "nearest"}
    image = axes.imshow(shares.T, origin="lower", extent=extent, **look)
    figure.colorbar(image, ax=axes)
    axes.set(xlabel="step", ylabel="reward")
    axes.grid(False)
    return svg_element(figure, "rewards")


def _drawn(reward: float) -> float:
    return max(-_FAR, min(_FAR, reward))


def _means(transcripts: Sequence[Transcript]) -> dict[int, float]:
    by_step = _by_step(transcripts)
    return {step: float(np.mean(by_step[step])) for step in sorted(by_step)}


def _by_step(transcripts: Sequence[Transcript]) -> dict[int, list[float]]:
    by_step: dict[int, list[float]] = defaultdict(list)
    for one in transcripts:
        if one.step is not None and one.reward is not None:
            by_step[one.step].append(_drawn(one.reward))
    return by_step


def _shares(transcripts: Sequence[Transcript], edges: Any) -> Any:
    """Return the share of each bin of reward (columns) in each step (rows)."""
    by_step = _by_step(transcripts)
    first, last = min(by_step), max(by_step)
    shares = np.zeros((min(last - first + 1, 1000), len(edges) - 1))
    for step, rewards in by_step.items():
        row = (step - first) * (len(shares) - 1) // max(last - first, 1)
        shares[row] = np.histogram(rewards, edges)[0] / len(rewards)
    return shares
