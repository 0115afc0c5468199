"""TACO (BAAI): the form of APPS, with limits, and a rule of its own."""

from __future__ import annotations

import re
from typing import Any

from ...datasets import Row
from ...errors import SettingError
from ..limits import contest_limits
from ..problems import CodeProblem
from .apps import apps_problem
from .reader import Reader, with_limits

_OWN = ("raw_tags", "skill_types", "Expected Time Complexity", "Expected Auxiliary Space")
_AMOUNT = re.compile(r"\s*([\d.]+)\s*(seconds?|s|megabytes?|mb|mib|bytes)?\s*", re.IGNORECASE)


def _read_taco(row: Row) -> CodeProblem:
    problem = apps_problem(row, "taco")
    seconds, memory = (_amount(key, row.get(key)) for key in ("time_limit", "memory_limit"))
    if problem.plan.kind != "main" or not (seconds or memory):
        return problem
    return with_limits(problem, contest_limits(seconds, memory))


def _amount(key: str, value: Any) -> float | None:
    """Return ``2.0`` of "2.0 seconds", ``256.0`` of "256.0 megabytes"."""
    if value in (None, ""):
        return None
    match = _AMOUNT.fullmatch(str(value))
    if match is None:
        raise SettingError(f"{key}={value!r} is not understood")
    amount = float(match[1])
    return amount / (1 << 20) if (match[2] or "").lower() == "bytes" else amount


def _is_taco(row: Row) -> bool:
    return any(key in row for key in _OWN)


READER = Reader("TACO", ("input_output",), _read_taco, ("time_limit", "memory_limit"), _is_taco)
