"""How hard problems are: a file with a line for each, as ``mint-envs eval --write-pass-rates`` has.

A line is ``{"problem_id": ..., "pass_rate": 0.25, "samples": 4, "index": 7}``, with ``seed`` in
place of ``index`` where problems are drawn. A problem that is not in the file was not measured,
which is another thing than hard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import DatasetError, require
from .jsonl import Row, read_rows
from .problems import NUMBERS, ProblemRef


@dataclass(frozen=True, slots=True)
class PassRate:
    """The share of ``samples`` responses to a problem that passed; ``ref`` is where it stands."""

    rate: float
    samples: int
    ref: ProblemRef | None = None

    def to_row(self, problem_id: str) -> Row:
        """Return its line of the file."""
        place = self.ref.to_row() if self.ref else {}
        return {
            "problem_id": problem_id, "pass_rate": self.rate, "samples": self.samples, **place
        }  # fmt: skip


def read_pass_rates(file: str) -> dict[str, PassRate]:
    """Return the pass rates of a file, by problem_id, in its order.

    Raises:
        DatasetError: it cannot be read, is empty, or a line is none of it (named).
    """
    found: dict[str, PassRate] = {}
    lines: dict[str, int] = {}
    for number, row in read_rows(Path(file)):
        where = f"line {number} of pass_rates={file!r}"
        name = row.get("problem_id")
        if not isinstance(name, str) or not name:
            raise DatasetError(
                f"{where} has no problem_id; it has {', '.join(row) or '(nothing)'}. Such a file "
                "is written by `mint-envs eval ID --write-pass-rates FILE`"
            )
        if name in found:
            raise DatasetError(f"{where} is of the problem of line {lines[name]}: keep one of them")
        found[name], lines[name] = _pass_rate(row, where), number
    if not found:
        raise DatasetError(f"pass_rates={file!r} is empty: it needs a line for each problem")
    return found


def _pass_rate(row: Mapping[str, Any], where: str) -> PassRate:
    rate = row.get("pass_rate")
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        raise DatasetError(f"{where}: pass_rate={rate!r} must be a number from 0 to 1")
    samples = row.get("samples", 1)
    if type(samples) is not int or samples < 1:
        raise DatasetError(f"{where}: samples={samples!r} must be a whole number from 1 up")
    return PassRate(float(rate), samples, ProblemRef.from_row(row, NUMBERS))


def check_range(low: float | None, high: float | None) -> None:
    """Raise SettingError unless these are a lowest and a highest pass rate, or None."""
    for name, value in (("min_pass_rate", low), ("max_pass_rate", high)):
        good = value is None or (not isinstance(value, bool) and isinstance(value, int | float))
        require(good and 0 <= (value or 0) <= 1, f"{name}={value!r} must be a number from 0 to 1")
    require(
        (0 if low is None else low) <= (1 if high is None else high),
        f"min_pass_rate={low} is above max_pass_rate={high}: no problem is between them",
    )
