"""HumanEval+ and MBPP+ (EvalPlus): many inputs of a function, and what it must return for each.

Most of their tests are one loop over two literal lists. That loop is read, so that each input is a
test of its own whose value is compared outside, by EvalPlus' rule: equal, or near where floats are
wanted. Tests of another form run as they are written.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any

from ...datasets import Row
from ...errors import SettingError
from ...sandbox import Limits, shared
from ...sandbox.inside.wire import decode
from ..asserts import literal
from ..cases import Plan, ValueTest
from ..limits import RowLimits
from ..plan import plan_of_tests
from ..problems import CodeProblem
from ..values import Tolerance
from .human_eval import human_eval_problem
from .reader import Reader, literal_text, room_for, sequences, solution_of, text_of

_LOOP = re.compile(
    r"for i, \(inp, exp\) in enumerate\(zip\(inputs, results\)\):\s+"
    r"assertion\((\w+)\(\*inp\), exp, ([\d.e-]+)\)"
)
_ROOM = 1e-6
#: Seconds of a run at most, and what limits of Python programs are multiplied by; MiB of memory.
_MOST_S, _PYTHON, _MEMORY_MB = 30.0, 5.0, 4096


def _read_human_eval_plus(row: Row) -> CodeProblem:
    prompt, entry = row["prompt"], row["entry_point"]
    plan = _plan_of_loop(row["test"], entry, prompt) or _plan_as_written(
        row["test"], {"code": row["test"], "entry_point": entry, "prompt": prompt}
    )
    return human_eval_problem(row, plan)


def _read_mbpp_plus(row: Row) -> CodeProblem:
    plan = _plan_of_loop(row["test"]) or _plan_as_written(
        row["test"], {"code": _as_function(row["test"])}
    )
    text = text_of(row, ("text", "prompt", "content"))
    example = row["test_list"][0].strip()
    return CodeProblem(f"{text}\n\nFor example: {example}", plan, solution_of(row))


def _plan_of_loop(code: str, entry: str = "", prompt: str = "") -> Plan | None:
    """Return the plan of the loop, or None if the tests are not just that."""
    tree = ast.parse(code)
    parts = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    body = parts["check"].body if "check" in parts else tree.body
    lists = {_assigned(node): node.value for node in body if isinstance(node, ast.Assign)}
    loops = [match for node in body if (match := _LOOP.fullmatch(ast.unparse(node)))]
    if len(loops) != 1 or not {"inputs", "results"} <= lists.keys() or not _plain_rule(parts):
        return None
    known, inputs = _literals(lists["inputs"])
    also, results = _literals(lists["results"])
    if not (known and also and len(inputs) == len(results)):
        return None
    name, room = entry or loops[0][1], float(loops[0][2])
    tests = tuple(
        _value_test(name, arguments, wanted, room)
        for arguments, wanted in zip(inputs, results, strict=True)
    )
    return _plan_of_tests(name, prompt, tests)


def _plan_of_tests(name: str, prompt: str, tests: tuple[ValueTest, ...]) -> Plan:
    """Return the plan, with half a second for each input and 30 at most."""
    before = prompt.partition(f"def {name}(")[0] if prompt else ""
    seconds = min(len(tests) / 2, _MOST_S) / _PYTHON
    limits = RowLimits(max(seconds, 0.1), None, room_for(tests).output_mb, contest=True)
    return Plan("values", tests, before, limits=limits)


def _plan_as_written(code: str, tests: dict[str, str]) -> Plan:
    """Return the plan of another form: one run of all inputs gets the time of many.

    Tests that reckon with a reference of their own get the memory that EvalPlus gives to all: with
    the usual GiB the reference of one row does not come to its end. Rows of others, who have not
    EvalPlus' own comparison, have the limits that are set.
    """
    if "is_floats" not in code:
        return plan_of_tests(tests)
    memory_mb = _MEMORY_MB if "ref_func" in code else None
    limits = RowLimits(_MOST_S / _PYTHON, memory_mb, contest=True)
    return replace(plan_of_tests(tests), limits=limits)


def _as_function(code: str) -> str:
    """Return test code whose last statement, a loop over all inputs, is a test function."""
    tree = ast.parse(code)
    if isinstance(tree.body[-1], ast.For):
        tree.body[-1:] = [_function("test_inputs", tree.body[-1:])]
    return ast.unparse(ast.fix_missing_locations(tree))


def _function(name: str, body: list[ast.stmt]) -> ast.stmt:
    made = ast.parse(f"def {name}(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = body
    return made


def _assigned(node: ast.stmt) -> str:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def _literals(node: ast.expr) -> tuple[bool, list[Any]]:
    """Return (True, items) of a literal list in which ``inf`` and ``nan`` may stand."""
    return literal(_Infinite().visit(node))


class _Infinite(ast.NodeTransformer):
    """Writes the numbers that have no literal."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node


def _plain_rule(parts: dict[str, ast.FunctionDef]) -> bool:
    """Whether ``assertion`` is EvalPlus' usual one: it changes neither value before it compares."""
    rule = parts.get("assertion")
    if rule is None or "is_floats" not in parts or "ref_func" in parts:
        return False
    return not any(_assigned(node) in ("out", "exp") for node in rule.body)


def _value_test(name: str, arguments: Any, wanted: Any, room: float) -> ValueTest:
    return _wanted_test(f"{name}({', '.join(map(literal_text, arguments))})", wanted, room)


def _wanted_test(text: str, wanted: Any, room: float) -> ValueTest:
    room = room or (_ROOM if _is_floats(wanted) else 0.0)
    if not room:
        return ValueTest(text, wanted)
    return ValueTest(text, sequences(wanted, 3), tolerance=Tolerance(room, 1e-7))


def _is_floats(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, float) for item in value)
    return isinstance(value, float)


# -- the release without expected values -----------------------------------------------------------


def _read_raw(row: Row) -> CodeProblem:
    """Inputs alone: wanted is what the row's own solution returns for them, in the sandbox."""
    prompt, entry, room = row["prompt"], row["entry_point"], float(row.get("atol") or 0)
    if str(row["task_id"]).startswith("Mbpp"):
        raise SettingError("the inputs of MBPP+ are written as JSON, which lacks tuples and sets: "
                           "take the release MbppPlus-OriginFmt")  # fmt: skip
    if "_poly" in str(row.get("contract")) + prompt:
        raise SettingError("its answers are judged by a function that the release does not hold: "
                           "take HumanEvalPlus-OriginFmt")  # fmt: skip
    inputs = [*row["base_input"], *row["plus_input"]]
    calls = [f"{entry}({', '.join(map(literal_text, one))})" for one in inputs]
    limits = Limits(cpu_s=60.0, output=64 << 20)
    outcome = shared(None).run(prompt + row["canonical_solution"], calls, limits=limits)
    records = [outcome.records.get(index, ("", None)) for index in range(len(calls))]
    if any(kind != "value" for kind, _ in records):
        raise SettingError(f"canonical_solution: {outcome.failure or 'it fails on an input'}")
    tests = tuple(
        _wanted_test(text, decode(value), room)
        for text, (_, value) in zip(calls, records, strict=True)
    )
    return human_eval_problem(row, _plan_of_tests(entry, prompt, tests))


READERS = (
    Reader(
        "HumanEval+ (inputs alone)",
        ("prompt", "entry_point", "base_input", "plus_input", "canonical_solution"),
        _read_raw,
    ),
    Reader(
        "HumanEval+",
        ("prompt", "entry_point", "test"),
        _read_human_eval_plus,
        when=lambda row: "is_floats" in str(row["test"]),
    ),
    Reader("MBPP+", ("test_list", "test"), _read_mbpp_plus),
)
