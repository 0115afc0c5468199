"""``curve.svg``: what a run learned, as a picture."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .atomic import write_whole

Floats = npt.NDArray[np.float64]


def draw_curve(folder: Path) -> None:
    """Draw accuracy by step, smoothed and raw, and held-out accuracy, into ``curve.svg``."""
    rows = _rows(folder / "metrics.jsonl")
    if not rows:
        return
    from matplotlib.figure import Figure  # slow to import; no pyplot, which keeps global state

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.add_subplot()
    steps = np.array([row["step"] for row in rows])
    key = "accuracy" if any(row["accuracy"] for row in rows) else "reward"
    values = np.array([row[key] for row in rows])
    axes.plot(steps, values, color="tab:blue", alpha=0.25, linewidth=1)
    axes.plot(steps, smooth(values), color="tab:blue", label=f"training {key} (mean of 5)")
    if any(row["reward"] != row[key] for row in rows):
        axes.plot(
            steps, smooth(np.array([r["reward"] for r in rows])), color="tab:green", label="reward"
        )
    evals = _rows(folder / "eval.jsonl")
    if evals:
        axes.plot(
            [row["step"] for row in evals],
            [row["eval/accuracy"] for row in evals],
            "o-",
            color="tab:orange",
            label="held-out accuracy, greedy",
        )
    axes.set(xlabel="step", ylim=(-0.02, 1.02), title=folder.name)
    axes.grid(alpha=0.3)
    axes.legend(loc="best", frameon=False)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    write_whole(folder / "curve.svg", text.getvalue())


def smooth(values: Floats, window: int = 5) -> Floats:
    """Return the mean of each value and up to ``window - 1`` before it."""
    sums = np.cumsum(np.insert(values, 0, 0.0))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - window, 0)
    means: Floats = (sums[ends] - sums[starts]) / (ends - starts)
    return means


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
