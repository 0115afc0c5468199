"""HumanEval, and what has its form: a prompt to complete, an entry point, ``check(candidate)``."""

from __future__ import annotations

from ...datasets import Row
from ..cases import Plan
from ..plan import plan_of_tests
from ..problems import CodeProblem
from .reader import Reader


def _read_human_eval(row: Row) -> CodeProblem:
    prompt, entry = row["prompt"], row["entry_point"]
    plan = plan_of_tests({"code": row["test"], "entry_point": entry, "prompt": prompt})
    return human_eval_problem(row, plan)


def human_eval_problem(row: Row, plan: Plan) -> CodeProblem:
    """Return the problem of a row with ``prompt`` and ``entry_point``, and a plan made of it."""
    prompt, entry = row["prompt"], row["entry_point"]
    body = row.get("canonical_solution") or ""
    question = f"Complete the function `{entry}`.\n\n{prompt.strip()}"
    wrong = (f"{prompt}    raise ValueError\n",)
    return CodeProblem(question, plan, prompt + body if body else "", wrong, entry)


READER = Reader("HumanEval", ("prompt", "entry_point", "test"), _read_human_eval)
