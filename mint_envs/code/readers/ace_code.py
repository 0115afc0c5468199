"""AceCode (TIGER-Lab/AceCode-89K): a list of asserts."""

from __future__ import annotations

from ...datasets import Row
from ..plan import plan_of_tests
from ..problems import CodeProblem
from .reader import Reader, parsed


def _read_ace_code(row: Row) -> CodeProblem:
    plan = plan_of_tests({"code": parsed(row["test_cases"])})
    return CodeProblem(str(row["question"]).strip(), plan)


READER = Reader("AceCode", ("question", "test_cases"), _read_ace_code)
