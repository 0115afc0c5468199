"""Assertions that can be made outside: a call, and what its value must be."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .values import Tolerance

IsCall = Callable[[ast.AST], bool]


def value_test(node: ast.expr, is_call: IsCall) -> dict[str, Any] | None:
    """Return the fields of a ``ValueTest`` that says the same as ``assert node``, or None.

    ``f(1) == 2``, ``2 == f(1)``, ``f(1) is None``, ``f(1)``, ``not f(1)``,
    ``abs(f(1) - 2) < 0.1`` and ``math.isclose(f(1), 2)``.
    """
    if is_call(node):
        found = _isclose(node, is_call)
        return found or {"text": ast.unparse(node), "how": "true"}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and is_call(node.operand):
        return {"text": ast.unparse(node.operand), "how": "false"}
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _comparison(node.left, node.ops[0], node.comparators[0], is_call)
    return _isclose(node, is_call)


def literal(node: ast.AST) -> tuple[bool, Any]:
    """Return (True, value) of a literal, ``set()`` or ``float("inf")``; else (False, None)."""
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        made = _MADE.get(ast.unparse(node).replace('"', "'").lower())
        return (False, None) if made is None else (True, made())
    return False, None


_MADE: dict[str, Callable[[], Any]] = {
    "set()": set,
    "frozenset()": frozenset,
    "dict()": dict,
    "list()": list,
    "tuple()": tuple,
    "float('inf')": lambda: float("inf"),
    "float('nan')": lambda: float("nan"),
}


def _comparison(
    left: ast.expr, operator: ast.cmpop, right: ast.expr, is_call: IsCall
) -> dict[str, Any] | None:
    if isinstance(operator, ast.Eq | ast.Is):
        if is_call(right) and not is_call(left):
            left, right = right, left
        known, value = literal(right)
        if isinstance(operator, ast.Is) and value is not None:
            return None  # identity is more than being equal
        if is_call(left) and known and value == value:
            return {"text": ast.unparse(left), "expected": value}
        return None
    if isinstance(operator, ast.Lt | ast.LtE):
        return _distance(left, right, is_call)
    return None


def _distance(left: ast.expr, right: ast.expr, is_call: IsCall) -> dict[str, Any] | None:
    """``abs(f(1) - 2) < 1e-6``."""
    known, room = literal(right)
    inside = left.args[0] if isinstance(left, ast.Call) and len(left.args) == 1 else None
    if not (known and isinstance(room, int | float)):
        return None
    if not (isinstance(left, ast.Call) and ast.unparse(left.func) == "abs"):
        return None
    if not (isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Sub)):
        return None
    return _near_test(inside.left, inside.right, Tolerance(absolute=room), is_call)


def _near_test(
    one: ast.expr, other: ast.expr, tolerance: Tolerance, is_call: IsCall
) -> dict[str, Any] | None:
    if is_call(other):
        one, other = other, one
    known, value = literal(other)
    if not (is_call(one) and known and isinstance(value, int | float)):
        return None
    return {"text": ast.unparse(one), "expected": value, "tolerance": tolerance}


def _isclose(node: ast.AST, is_call: IsCall) -> dict[str, Any] | None:
    if not (isinstance(node, ast.Call) and len(node.args) == 2):
        return None
    if ast.unparse(node.func) not in ("math.isclose", "isclose"):
        return None
    rooms = {"rel_tol": 1e-9, "abs_tol": 0.0}
    for keyword in node.keywords:
        _, value = literal(keyword.value)
        if keyword.arg not in rooms or not isinstance(value, int | float):
            return None
        rooms[keyword.arg] = float(value)
    tolerance = Tolerance(rooms["abs_tol"], rooms["rel_tol"])
    return _near_test(node.args[0], node.args[1], tolerance, is_call)
