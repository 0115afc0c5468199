"""BigCodeBench: unittest classes on ``task_func``, which may use many packages."""

from __future__ import annotations

from dataclasses import replace

from ...datasets import Row
from ..plan import plan_of_tests
from ..problems import CodeProblem
from .reader import Reader


def _read_big_code_bench(row: Row) -> CodeProblem:
    head, entry = str(row.get("code_prompt") or row["complete_prompt"]), str(row["entry_point"])
    imports = head.partition(f"def {entry}")[0]
    plan = plan_of_tests({"code": row["test"], "entry_point": entry, "setup": imports})
    plan = replace(plan, preamble=imports)
    body = row.get("canonical_solution") or ""
    reference = str(row["complete_prompt"]) + body if body else ""
    return CodeProblem(str(row["instruct_prompt"]).strip(), plan, reference)


READER = Reader(
    "BigCodeBench",
    ("complete_prompt", "instruct_prompt", "test", "entry_point"),
    _read_big_code_bench,
)
