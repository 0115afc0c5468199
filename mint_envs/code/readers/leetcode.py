"""LeetCodeDataset (newfacade): ``check(candidate)`` on a method of the class Solution."""

from __future__ import annotations

from dataclasses import replace

from ...datasets import Row
from ..plan import plan_of_tests
from ..problems import CodeProblem
from .reader import Reader


def _read_leetcode(row: Row) -> CodeProblem:
    prompt, entry = str(row.get("prompt") or ""), str(row["entry_point"])
    plan = plan_of_tests({"code": row["test"], "entry_point": entry, "prompt": prompt})
    plan = replace(plan, preamble=prompt)  # nothing but imports, and classes such as ListNode
    text = f"{str(row['problem_description']).strip()}\n\n{str(row['starter_code']).strip()}"
    return CodeProblem(text, plan, str(row.get("completion") or ""), name=entry)


READER = Reader(
    "LeetCodeDataset",
    ("problem_description", "starter_code", "entry_point", "test"),
    _read_leetcode,
)
