"""CodeContests (google-deepmind/code_contests): scripts, with all of the three kinds of tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...datasets import Row
from ...errors import SettingError
from ..limits import contest_limits
from ..problems import CodeProblem
from .reader import Reader, script_plan

_KINDS = ("public_tests", "private_tests", "generated_tests")
_PYTHON3 = (3, "PYTHON3")


def _read_code_contests(row: Row) -> CodeProblem:
    for key in ("input_file", "output_file"):
        if row.get(key):
            raise SettingError(f"{key}={row[key]!r}: programs that read or write files by name "
                               "cannot be judged yet")  # fmt: skip
    pairs: list[tuple[Any, Any]] = []
    for kind in _KINDS:
        tests = row.get(kind) or {}
        pairs += zip(tests.get("input") or [], tests.get("output") or [], strict=True)
    limits = contest_limits(_seconds(row.get("time_limit")), _megabytes(row))
    plan = script_plan(pairs, "codecontests", limits=limits)
    return CodeProblem(str(row["description"]).strip(), plan, _python(row.get("solutions") or {}))


def _seconds(value: Any) -> float | None:
    """Return seconds of ``{"seconds": 2, "nanos": 500000000}``, or of a number."""
    if isinstance(value, Mapping):
        return float(value.get("seconds") or 0) + float(value.get("nanos") or 0) / 1e9
    return value if value is None else float(value)


def _megabytes(row: Row) -> float | None:
    return float(row["memory_limit_bytes"]) / (1 << 20) if row.get("memory_limit_bytes") else None


def _python(solutions: Mapping[str, Any]) -> str:
    languages, texts = solutions.get("language") or [], solutions.get("solution") or []
    found = (text for kind, text in zip(languages, texts, strict=True) if kind in _PYTHON3)
    return next(found, "")


READER = Reader(
    "CodeContests",
    ("description", "public_tests"),
    _read_code_contests,
    ("time_limit", "memory_limit_bytes"),
)
