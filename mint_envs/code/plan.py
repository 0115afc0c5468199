"""What is tested, and where: tests as users give them become a ``Plan``.

Only a plain call of the program is evaluated where the program can reach. Whatever else a test
does with the result (a comparison, ``isinstance``, a loop of asserts) is either done outside, on
the value, or runs as a *split check*: the tests in a process of their own, the program behind a
stub, and plain values between them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import SettingError
from .asserts import value_test
from .cases import IoTest, Plan, ValueTest
from .names import BUILTINS, expression_names, global_names, modules_in, root_of, uses_only
from .packages import refuse_missing
from .roles import Roles
from .scripts import io_test
from .testcode import code_plan
from .values import plain_data, shorten

__all__ = ["IoTest", "Plan", "ValueTest", "make_plan", "pair_plan", "plan_of_tests"]


def make_plan(tests: Any, python: str | None = None) -> Plan:
    """As ``plan_of_tests``, of tests whose packages are there, in ``python`` if that is given.

    Raises:
        SettingError: as ``plan_of_tests``, or a package that they import is missing.
    """
    plan = plan_of_tests(tests)
    refuse_missing(plan.imports, python)
    return plan


def plan_of_tests(tests: Any) -> Plan:
    """Return the plan of tests in any of the three forms.

    Args:
        tests: pairs of expression and expected value; dicts with ``stdin`` and ``stdout`` (and
            ``compare``, ``tolerance``, ``checker``); or one dict with ``code``, and ``entry_point``
            (what is tested: ``f`` or ``Solution().f``), ``setup``, ``prompt`` where the code needs
            them.

    Raises:
        SettingError: they are none of these, there are none, or the verdict would be the
            program's own.
    """
    if isinstance(tests, Plan):
        return tests
    if isinstance(tests, Mapping) and "code" in tests:
        return code_plan(tests)
    items = [tests] if isinstance(tests, Mapping) else tests
    if isinstance(items, str | bytes) or not isinstance(items, Sequence) or not items:
        raise SettingError(f"tests={shorten(repr(tests))}: {_FORMS}")
    if all(isinstance(item, Mapping) for item in items):
        return Plan("main", tuple(io_test(item, i) for i, item in enumerate(items)))
    return pair_plan(items)


_FORMS = (
    'give a list of (expression, expected) pairs, a list of {"stdin": ..., "stdout": ...}, or '
    '{"code": test code, "entry_point": name}, with at least one test'
)


def _pair(item: Any, number: int) -> tuple[str, Any]:
    if isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 2:
        raise SettingError(f"test {number} is {shorten(repr(item))}: {_FORMS}")
    text, expected = item
    if not isinstance(text, str):
        raise SettingError(f"test {number}: the expression {text!r} is no text; {_FORMS}")
    return text.strip(), plain_data(expected, f"test {number} ({shorten(text, 40)})")


# -- (expression, expected) -----------------------------------------------------------------------


def pair_plan(items: Sequence[Any], entry: str = "") -> Plan:
    """Return the plan of pairs; ``entry`` is the name of what is tested, where that is known.

    Raises:
        SettingError: as ``make_plan``.
    """
    pairs = [_pair(item, i) for i, item in enumerate(items)]
    tests = [_split_comparison(text, expected) for text, expected in pairs]
    tests = [replace(test, names=expression_names(test.text, entry)) for test in tests]
    if all(_may_run_with_program(test) for test in tests):
        return Plan("values", tuple(tests))
    stubs: set[str] = set()
    modules: set[str] = set()
    for test in tests:
        free = global_names(test.text).free
        used = free & modules_in(_parsed_test(test.text))
        modules |= used
        stubs |= _called_names(test.text, set(free - used))
    setup = "\n".join(f"import {name}" for name in sorted(modules))
    roles = Roles(ast.Module([ast.Expr(_parsed_test(t.text)) for t in tests], []), stubs)
    roles.refuse_comparisons()
    return Plan("split", tuple(tests), setup=setup, stubs=tuple(sorted(stubs)), roles=roles.of())


def _split_comparison(text: str, expected: Any) -> ValueTest:
    """Turn ``("f(2) == 4", True)`` into ``("f(2)", 4)``: the comparison is ours to make."""
    tree = _parsed_test(text)
    if expected is True and not _plain_call(tree):
        test = value_test(tree, lambda node: _plain_call(node) or isinstance(node, ast.Attribute))
        if test is not None and test.get("how") != "true":
            return ValueTest(**test)
    return ValueTest(text, expected)


def _parsed_test(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SettingError(f"the test {shorten(text)!r} is no Python expression: {error}") from None


def _may_run_with_program(test: ValueTest) -> bool:
    """Whether the value of a test is the program's to give: a call, and what is looked up in it.

    An object that equals everything would make ``("int(f(3) == 9)", 1)`` its own verdict.
    """
    node: ast.expr = _parsed_test(test.text)
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return not _holds_bool(test.expected)
    return _plain_call(node) or _picked_call(node)


def _picked_call(node: ast.expr) -> bool:
    """``(Solution().f if 'Solution' in globals() else f)(1)``"""
    pick = node.func if isinstance(node, ast.Call) else None
    return (
        isinstance(pick, ast.IfExp)
        and ast.unparse(pick.test) == "'Solution' in globals()"
        and isinstance(pick.orelse, ast.Name)
        and isinstance(pick.body, ast.Attribute)
        and _plain_call(pick.body.value)
    )


def _holds_bool(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_bool(item) for item in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return any(_holds_bool(item) for item in value)
    return isinstance(value, bool)


def _plain_call(node: ast.AST) -> bool:
    """``f(1)``, ``Solution().f(1)``, ``box.get(1)``: calls of names that are the program's."""
    root = root_of(node)
    if root is None or (root.id in sys.stdlib_module_names and root.id in modules_in(node)):
        return False
    return root.id not in BUILTINS or uses_only(node, root.id)


def _called_names(text: str, free: set[str]) -> set[str]:
    """Return ``free``, the names of the program in an expression, if it calls or hands on these.

    Raises:
        SettingError: it uses one in another way, so the program itself would make the verdict.
    """
    tree = _parsed_test(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {id(part) for c in calls for part in (c.func, *c.args, *(k.value for k in c.keywords))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in free and id(node) not in called:
            raise SettingError(
                f"the test ({shorten(text)!r}, ...) is refused: {node.id!r} belongs to the "
                "program, so the program would make its own verdict. Give a plain call and the "
                "value that it must return."
            )
    return free
