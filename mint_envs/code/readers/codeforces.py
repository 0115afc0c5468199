"""open-r1's codeforces: official tests, a checker where several answers are right, limits."""

from __future__ import annotations

from typing import Any

from ...datasets import Row
from ...errors import SettingError
from ..checkers import Checker
from ..limits import contest_limits
from ..problems import CodeProblem
from .reader import Reader, parsed, script_plan

_SECTIONS = {"description": "", "input_format": "Input", "output_format": "Output", "note": "Note"}


def _read_codeforces(row: Row) -> CodeProblem:
    if row.get("interaction_format"):
        raise SettingError("interaction_format: interactive problems cannot be judged yet")
    if (row.get("input_mode") or "stdio") != "stdio":
        raise SettingError(f"input_mode={row['input_mode']!r}: only 'stdio' can be judged yet")
    if row.get("official_tests_complete") is False:
        raise SettingError("official_tests_complete is false: the row holds only some of its tests")
    tests = parsed(row["official_tests"])
    code = row.get("generated_checker")
    plan = script_plan(
        [(test["input"], test["output"]) for test in tests],
        "tokens",
        limits=contest_limits(row.get("time_limit"), row.get("memory_limit")),
        checker=Checker(str(code), "python", "number") if code else None,
    )
    return CodeProblem(_statement(row), plan, name=str(row.get("id") or ""))


def _statement(row: Row) -> str:
    parts = [str(row.get("title") or "").strip()]
    for key, heading in _SECTIONS.items():
        if text := str(row.get(key) or "").strip():
            parts.append(f"{heading}\n{text}".strip())
    examples: Any = parsed(row.get("examples") or [])
    parts += [f"Example\n{one['input'].strip()}\n\n{one['output'].strip()}" for one in examples]
    return "\n\n".join(filter(None, parts))


READER = Reader(
    "open-r1 codeforces",
    ("official_tests",),
    _read_codeforces,
    ("time_limit", "memory_limit", "generated_checker", "interaction_format", "input_mode"),
)
