"""APPS (hendrycks/apps): scripts, and functions where ``input_output`` names one."""

from __future__ import annotations

from typing import Any

from ...datasets import Row
from ..cases import Plan
from ..problems import CodeProblem
from .reader import (
    Reader,
    call_plan,
    first_solution,
    parsed,
    script_plan,
    text_of,
    unwrapped,
    whole_keys,
)


def _read_apps(row: Row) -> CodeProblem:
    return apps_problem(row, "apps")


def apps_problem(row: Row, rule: str) -> CodeProblem:
    """Return the problem of a row with ``input_output``, whose output is judged by ``rule``."""
    cases, text = parsed(row["input_output"]), text_of(row)
    if starter := str(row.get("starter_code") or "").strip():
        text = f"{text}\n\n{starter}"
    plan = cases_plan(cases, rule)
    name = cases.get("fn_name") or ""
    return CodeProblem(text, plan, first_solution(row.get("solutions")), name=name)


def cases_plan(cases: Any, rule: str) -> Plan:
    """Return the plan of ``{"inputs": [...], "outputs": [...]}``, perhaps with ``fn_name``."""
    name, pairs = cases.get("fn_name"), zip(cases["inputs"], cases["outputs"], strict=True)
    if name is None:
        return script_plan(pairs, rule, imports=True)
    return call_plan(name, [(_arguments(values), unwrapped(wanted)) for values, wanted in pairs])


def _arguments(values: Any) -> Any:
    """A single argument that is a mapping has whole numbers as keys, which JSON has as text."""
    return [whole_keys(values[0])] if isinstance(values, list) and len(values) == 1 else values


READER = Reader("APPS", ("input_output",), _read_apps)
