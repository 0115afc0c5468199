"""PrimeIntellect's verifiable-coding-problems, SYNTHETIC-1, open-r1's: ``verification_info``."""

from __future__ import annotations

import ast
import json
from typing import Any

from ...datasets import Row
from ...errors import SettingError
from ...sandbox import language_name
from ..cases import Plan
from ..problems import CodeProblem
from .reader import Reader, call_plan, first_solution, script_plan, text_of, unwrapped

_TYPES = {"stdin_stdout", "function_call"}


def _read_verifiable(row: Row) -> CodeProblem:
    told = _verification(row["verification_info"])
    if not isinstance(told, dict) or "test_cases" not in told:
        task = row.get("task_type") or "it has no test_cases"
        raise SettingError(f"verification_info: no problem of code ({task})")
    language = language_name(str(told.get("language") or "python"))
    plan = cases_of_types(told["test_cases"], "lines", language)
    return CodeProblem(text_of(row), plan, first_solution(row.get("gold_standard_solution")))


def _verification(value: Any) -> Any:
    """Return what is told as an object, as JSON, or as Python writes a dict."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return ast.literal_eval(value)


def cases_of_types(cases: Any, rule: str, language: str = "") -> Plan:
    """Return the plan of tests with ``type``, ``input``, ``output`` and perhaps ``fn_name``.

    Raises:
        SettingError: they are of several types, or call several functions.
    """
    types = {case.get("type") or "stdin_stdout" for case in cases}
    if len(types) != 1 or not types <= _TYPES:
        raise SettingError(f"type: {', '.join(sorted(types)) or 'there is no test'}")
    pairs = [(case["input"], case["output"]) for case in cases]
    if types == {"stdin_stdout"}:
        return script_plan(pairs, rule, imports=rule == "taco", language=language)
    names = {case.get("fn_name") for case in cases}
    if len(names) != 1 or language not in ("", "python"):
        raise SettingError(f"fn_name: {names}, in {language or 'python'}")
    return call_plan(names.pop(), [(one, unwrapped(other)) for one, other in pairs])


READER = Reader(
    "PrimeIntellect, SYNTHETIC-1, open-r1 verifiable", ("verification_info",), _read_verifiable
)
