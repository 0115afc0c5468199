"""Pictures of what was learned: ``curve.svg`` of a run, and several runs in one.

python -m mint_envs.reports.curves RUN_DIR... -o curves.svg                    held-out accuracy
python -m mint_envs.reports.curves RUN_DIR... --metric reward --metric entropy    of training
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..atomic import write_whole
from ..jsonl import whole_rows
from .drawing import NEEDED, can_draw
from .plots import canvas, svg_file

Floats = npt.NDArray[np.float64]

_HELD_OUT = "held-out accuracy, greedy"


def draw_run(folder: Path) -> None:
    """Draw the run in ``folder`` into its ``curve.svg``: training and held-out accuracy by step.

    Of a run on responses that were given it is the loss.
    """
    rows = _rows(folder / "metrics.jsonl")
    if not rows:
        return
    figure, axes = _axes(folder.name)
    steps = _column(rows, "step")
    if "rows" in rows[-1]:  # of responses that were given
        axes.plot(steps, _column(rows, "loss"), color="tab:blue", label="training loss")
        evals = _rows(folder / "eval.jsonl")
        if evals:
            held_out, at = _column(evals, "eval/loss"), _column(evals, "step")
            axes.plot(at, held_out, "o-", color="tab:orange", label="held-out loss")
        _write(figure, axes, folder / "curve.svg")
        return
    key = "accuracy" if any(row.get("accuracy") for row in rows) else "reward"
    values = _column(rows, key)
    axes.plot(steps, values, color="tab:blue", alpha=0.25, linewidth=1)
    axes.plot(steps, smooth(values), color="tab:blue", label=f"training {key} (mean of 5)")
    if any(row.get("reward") != row.get(key) for row in rows):
        axes.plot(steps, smooth(_column(rows, "reward")), color="tab:green", label="reward")
    if any("watch/reward" in row for row in rows):
        for key, label in (("believed", "reward of a sample"), ("reward", "by the second grader")):
            seen = smooth(_column(rows, f"watch/{key}"))
            axes.plot(steps, seen, "--", label=label)
    evals = _rows(folder / "eval.jsonl")
    if evals:
        held_out = _column(evals, "eval/accuracy")
        label = "accuracy, not held out" if evals[-1].get("eval/held_out") == 0 else _HELD_OUT
        axes.plot(_column(evals, "step"), held_out, "o-", color="tab:orange", label=label)
    _write(figure, axes, folder / "curve.svg")


def draw_runs(folders: Sequence[Path], out: Path, title: str = _HELD_OUT) -> None:
    """Draw the held-out accuracy of several runs into one picture.

    Raises:
        ValueError: a folder has no evaluations.
    """
    figure, axes = _axes(title)
    for folder in folders:
        evals = _rows(folder / "eval.jsonl")
        if not evals:
            raise ValueError(f"{folder} has no evaluations: train with --eval-every")
        axes.plot(_column(evals, "step"), _column(evals, "eval/accuracy"), "o-", label=folder.name)
    _write(figure, axes, out)


def draw_metrics(folders: Sequence[Path], metrics: Sequence[str], out: Path) -> None:
    """Draw metrics of training by step: a picture for each side by side, a line for each run.

    Raises:
        ValueError: no step of a run has a metric.
    """
    figure, _ = canvas(size=(3.6 * len(metrics), 3.0))
    figure.clear()
    for axes, metric in zip(
        figure.subplots(1, len(metrics), squeeze=False)[0], metrics, strict=True
    ):
        axes.set_title(metric, fontsize=11)
        axes.set_xlabel("step")
        axes.grid(alpha=0.3)
        for folder in folders:
            rows = _rows(folder / "metrics.jsonl")
            values = _column(rows, metric)
            if np.isnan(values).all():
                raise ValueError(f"{folder} has no metric {metric!r}: see its metrics.jsonl")
            axes.plot(_column(rows, "step"), smooth(values, 3), label=folder.name)
    _write(figure, figure.axes[0], out)


def smooth(values: Floats, window: int = 5) -> Floats:
    """Return the mean of each value and up to ``window - 1`` before it; NaN where all are NaN."""
    known = ~np.isnan(values)
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - window, 0)
    sums, counts = (
        np.insert(np.cumsum(row), 0, 0.0) for row in (np.where(known, values, 0.0), known)
    )
    among = counts[ends] - counts[starts]
    means: Floats = (sums[ends] - sums[starts]) / np.where(among, among, np.nan)
    return means


def _axes(title: str) -> tuple[Any, Any]:
    figure, axes = canvas(title, (7, 3.6))
    axes.set_xlabel("step")
    axes.update_datalim([(0, 0), (0, 1)], updatex=False)  # rewards of others may lie outside
    return figure, axes


def _write(figure: Any, axes: Any, path: Path) -> None:
    axes.legend(loc="best", frameon=False)
    write_whole(path, svg_file(figure))


def _column(rows: Sequence[dict[str, Any]], key: str) -> Floats:
    return np.array([row.get(key, np.nan) for row in rows], dtype=np.float64)


def _rows(path: Path) -> list[dict[str, Any]]:
    return whole_rows(path) if path.exists() else []


def main() -> None:
    """Draw several runs into one picture, from the command line."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIR")
    parser.add_argument("-o", "--out", type=Path, default=Path("curves.svg"))
    parser.add_argument("--title", default=_HELD_OUT)
    parser.add_argument(
        "--metric", action="append", help="of metrics.jsonl, mean of 3 steps; more than once"
    )
    options = parser.parse_args()
    if not can_draw():
        parser.error(NEEDED)
    try:
        if options.metric:
            draw_metrics(options.runs, options.metric, options.out)
        else:
            draw_runs(options.runs, options.out, options.title)
    except ValueError as error:
        parser.error(str(error))
    print(f"Drew {options.out}")


if __name__ == "__main__":
    main()
