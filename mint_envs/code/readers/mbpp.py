"""MBPP: asserts on a function that is named in them."""

from __future__ import annotations

from ...datasets import Row
from ..plan import plan_of_tests
from ..problems import CodeProblem
from .reader import Reader, parsed, solution_of, text_of


def _read_mbpp(row: Row) -> CodeProblem:
    labels = parsed(row.get("labels") or {})
    more = row.get("challenge_test_list") or labels.get("challenge_test_list") or []
    setup = row.get("test_setup_code") or labels.get("test_setup_code") or ""
    setup = "\n".join([setup, *(row.get("test_imports") or [])])
    asserts = [*row["test_list"], *more]
    plan = plan_of_tests({"code": asserts, "setup": setup})
    text = text_of(row, ("text", "prompt", "content"))
    return CodeProblem(f"{text}\n\nFor example: {asserts[0].strip()}", plan, solution_of(row))


READER = Reader("MBPP", ("test_list",), _read_mbpp)
