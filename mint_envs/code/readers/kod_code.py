"""KodCode: pytest functions that import what they test from ``solution``."""

from __future__ import annotations

from ...datasets import Row
from ..plan import plan_of_tests
from ..problems import CodeProblem
from .reader import Reader, parsed


def _read_kod_code(row: Row) -> CodeProblem:
    question, solution, test = row["question"], row["solution"], row["test"]
    plan = plan_of_tests({"code": test})
    text = str(question).strip()
    told = parsed(row.get("test_info") or [])
    declared = [info.get("function_declaration") for info in told if isinstance(info, dict)]
    if names := [line.strip() for line in declared if line and line.strip() not in text]:
        text = "\n".join([text, "", "Write:", *names])
    return CodeProblem(text, plan, str(solution))


READER = Reader("KodCode", ("question", "solution", "test"), _read_kod_code)
