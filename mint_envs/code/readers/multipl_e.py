"""MultiPL-E: prompts to complete. Of its languages only Python's tests can be kept apart."""

from __future__ import annotations

import re

from ...datasets import Row
from ...errors import SettingError
from ..plan import plan_of_tests
from ..problems import CodeProblem
from .reader import Reader

_CHECKED = re.compile(r"(?<!def )\bcheck\((\w+)\)")


def _read_multipl_e(row: Row) -> CodeProblem:
    if row["language"] not in ("py", "python"):
        raise SettingError(
            f"language={row['language']!r}: its tests are part of the program, which would make "
            "its own verdict. Python's rows can be read"
        )
    found = _CHECKED.search(row["tests"])
    if found is None:
        raise SettingError("tests: no check(...) says what is tested")
    prompt, entry = row["prompt"], found[1]
    plan = plan_of_tests({"code": row["tests"], "entry_point": entry, "prompt": prompt})
    question = f"Complete the function `{entry}`.\n\n{prompt.strip()}"
    return CodeProblem(question, plan, name=entry)


def _is_multipl_e(row: Row) -> bool:
    return isinstance(row["tests"], str) and "name" in row


READER = Reader(
    "MultiPL-E", ("prompt", "language", "tests"), _read_multipl_e, ("language",), _is_multipl_e
)
