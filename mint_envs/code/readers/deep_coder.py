"""DeepCoder (agentica-org/DeepCoder-Preview-Dataset): tests in the forms of the sets it came of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...datasets import Row
from ...errors import SettingError
from ..cases import Plan
from ..packages import NODES
from ..plan import plan_of_tests
from ..problems import CodeProblem
from .apps import cases_plan
from .live_code_bench import typed_plan
from .reader import IMPORTS, Reader, first_solution, parsed, text_of
from .verifiable import cases_of_types

#: What the harness of its rows from LeetCode has for tests of lists and trees.
_HELPERS = """
def list_node(values):
    head = None
    for value in reversed(values):
        head = ListNode(value, head)
    return head


def is_same_list(one, other):
    while one is not None and other is not None:
        if one.val != other.val:
            return False
        one, other = one.next, other.next
    return one is None and other is None


def tree_node(values):
    nodes = [None if value is None else TreeNode(value) for value in values]
    below = iter(nodes[1:])
    for node in nodes:
        if node is not None:
            node.left, node.right = next(below, None), next(below, None)
    return nodes[0] if nodes else None


def is_same_tree(one, other):
    pairs = [(one, other)]
    while pairs:
        a, b = pairs.pop()
        if a is None or b is None:
            if a is not b:
                return False
        elif a.val != b.val:
            return False
        else:
            pairs += [(a.left, b.left), (a.right, b.right)]
    return True
"""
_NODES = f"{IMPORTS}\n{NODES['ListNode']}\n{NODES['TreeNode']}"


def _read_deep_coder(row: Row) -> CodeProblem:
    tests, text = parsed(row["tests"]), text_of(row)
    if starter := str(row.get("starter_code") or "").strip():
        text = text if starter in text else f"{text}\n\n{starter}"
    return CodeProblem(text, _plan(row, tests), first_solution(row.get("solutions")))


def _plan(row: Row, tests: Any) -> Plan:
    if isinstance(tests, dict) and "functional" in tests:
        plan = plan_of_tests({"code": tests["functional"], "setup": f"{_NODES}{_HELPERS}"})
        return replace(plan, preamble=_NODES)
    if isinstance(tests, dict):
        return cases_plan(tests, "taco")
    if any("testtype" in test for test in tests):
        return typed_plan(tests, _function_name(row, tests))
    return cases_of_types(tests, "taco")


def _function_name(row: Row, tests: Any) -> Any:
    """Return what is called: the metadata of the row, or of its first test, say it."""
    for told in (parsed(row.get("metadata") or {}), tests[0].get("metadata") or {}):
        if isinstance(told, dict) and told.get("func_name"):
            return told["func_name"]
    if any(test.get("testtype") == "functional" for test in tests):
        raise SettingError("metadata: no func_name says what is called")
    return None


def _is_deep_coder(row: Row) -> bool:
    try:
        tests = parsed(row["tests"])
    except ValueError:
        return False
    if isinstance(tests, dict):
        return "inputs" in tests or "functional" in tests
    return (
        isinstance(tests, list)
        and bool(tests)
        and all(isinstance(test, dict) and {"input", "output"} <= test.keys() for test in tests)
    )


READER = Reader("DeepCoder", ("tests",), _read_deep_coder, when=_is_deep_coder)
