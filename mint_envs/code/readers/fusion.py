"""Samples of SandboxFusion: ``content`` and ``test``, in the forms of the sets they came of."""

from __future__ import annotations

import json
from typing import Any

from ...datasets import Row
from ...errors import SettingError
from ..plan import plan_of_tests
from ..problems import CodeProblem
from .live_code_bench import typed_plan, unpickled
from .reader import Reader, parsed, script_plan, solution_of, text_of


def _read_fusion(row: Row) -> CodeProblem:
    text, test = text_of(row), row["test"]
    labels = parsed(row.get("labels") or {})
    language = labels.get("programming_language") or labels.get("language") or "python"
    if language != "python":
        raise SettingError(f"language={language!r}: its tests are part of the program")
    tests = _listed(test)
    if tests is None:
        entry = labels.get("entry_point") or ""
        plan = plan_of_tests({"code": test, "entry_point": entry})
        return CodeProblem(text, plan, _completed(str(row["content"]), solution_of(row)))
    if "testtype" in tests[0]:
        return CodeProblem(text, typed_plan(tests, tests[0].get("name")), solution_of(row))
    pairs = [(one["input"]["stdin"], one["output"]["stdout"]) for one in tests]
    return CodeProblem(text, script_plan(pairs, "tokens"), solution_of(row))


def _completed(content: str, solution: str) -> str:
    """Return a solution; one that is the rest of a function goes after its head."""
    return f"{content}\n{solution}" if solution.strip("\n")[:1].isspace() else solution


def _listed(test: Any) -> Any:
    """Return a list of tests, or None if they are a program's text."""
    if isinstance(test, list):
        return test
    if test.startswith("eJ"):  # what zlib packs, in base64
        return _typed(parsed(unpickled(test)["input_output"]))
    try:
        found = json.loads(test)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def _typed(cases: Any) -> list[Any]:
    """Return the tests of LiveCodeBench's older form as those of its newer."""
    kind = "functional" if cases.get("fn_name") else "stdin"
    return [
        {"input": one, "output": other, "testtype": kind, "name": cases.get("fn_name")}
        for one, other in zip(cases["inputs"], cases["outputs"], strict=True)
    ]


READER = Reader("SandboxFusion", ("content", "test"), _read_fusion)
