"""The two pictures of transcripts, as SVG elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .plots import canvas, svg_element
from .surveys import Survey

_BINS = 10
_FAR = 1e9  # a reward beyond this is drawn at it: sums of larger ones may overflow
_MOST_STEPS = 1000  # rows of shades


def draw_curve(survey: Survey) -> str:
    """Mean reward by step, and held-out accuracy where there is one; ``""`` without steps."""
    steps, rewards = _with_steps(survey)
    if not steps.size:
        return ""
    known, at = np.unique(steps, return_inverse=True)
    means = np.bincount(at, rewards) / np.bincount(at)
    figure, axes = canvas("reward by step")
    axes.plot(known, means, color="tab:blue", label="mean reward, training")
    evals = [row for row in survey.evals if "eval/reward" in row]
    if evals:
        values = [row["eval/reward"] for row in evals]
        at_steps = [row["step"] for row in evals]
        axes.plot(at_steps, values, "o-", color="tab:orange", label="evaluation")
    axes.set_ylim(min(0.0, *axes.get_ylim()), max(1.0, axes.get_ylim()[1]))
    axes.set_xlabel("step")
    axes.legend(frameon=False)
    return svg_element(figure, "curve")


def draw_rewards(survey: Survey) -> str:
    """The distribution of rewards: by step as shades, or as one histogram without steps."""
    rewards = _drawn(survey.rewards)
    if not rewards.size:
        return ""
    low, high = min(0.0, rewards.min()), max(1.0, rewards.max())
    edges = np.linspace(low, high, _BINS + 1)
    steps = survey.steps
    if np.isnan(steps).any() or np.unique(steps).size < 2:
        return _histogram(rewards, edges)
    extent = (steps.min() - 0.5, steps.max() + 0.5, low, high)
    return _shades(_shares(steps, rewards, edges), extent)


def _histogram(rewards: NDArray[np.float64], edges: NDArray[np.float64]) -> str:
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


def _drawn(rewards: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(rewards, -_FAR, _FAR)


def _with_steps(survey: Survey) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    steps = survey.steps
    known = ~np.isnan(steps)
    return steps[known], _drawn(survey.rewards)[known]


def _shares(
    steps: NDArray[np.float64], rewards: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of each bin of reward (columns) in each step (rows)."""
    first, last = steps.min(), steps.max()
    rows = int(min(last - first + 1, _MOST_STEPS))
    row = ((steps - first) * (rows - 1) // max(last - first, 1.0)).astype(int)
    counts, _, _ = np.histogram2d(row, rewards, [np.arange(rows + 1) - 0.5, edges])
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))
