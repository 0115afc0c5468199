"""Tests that must not see one another: an argument of one is the answer to another.

All arguments of a run lie in the program's process before it answers the first call. So tests of
which one gives away another's answer (the next prime of 2, 3 and 5; encode and decode) are run in
processes of their own, one after the other, of which none can tell the next.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..sandbox.inside.giveaway import telltales
from .asserts import literal

#: Of what is worked out: items of ``[0] * 5``, and what may be raised to what.
_MOST_ITEMS, _HIGHEST = 100_000, 1000


@dataclass(frozen=True, slots=True)
class Telling:
    """What a test tells, in the words of ``giveaway``.

    Args:
        what: the function that is called.
        shown: what its arguments show.
        wanted: what others must not show.
        silent: whether it wants None.
        bare: whether it has no arguments.
    """

    what: str = ""
    shown: frozenset[object] = frozenset()
    wanted: frozenset[object] = frozenset()
    silent: bool = False
    bare: bool = False


def telling(text: str, wanted: list[Any]) -> Telling:
    """Return what an expression tells whose value must be the one in ``wanted``, if there is one.

    What a call answers of its own arguments (the larger of two) no other call gives away.
    """
    try:
        tree = ast.parse(text, mode="eval").body
        arguments = list(_argument_values(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Telling()
    shown = telltales(arguments)
    what = ast.unparse(tree.func) if isinstance(tree, ast.Call) else text
    hidden = frozenset(telltales(wanted) - shown)
    return Telling(what, frozenset(shown), hidden, wanted == [None], not arguments)


def groups(tests: Sequence[Telling]) -> list[list[int]]:
    """Return the places of tests in groups within which none tells another's answer.

    That is one group, mostly. Calls that share a state stay together.
    """
    if _share_state(tests):
        return [list(range(len(tests)))]
    found: list[_Group] = []
    for place, test in enumerate(tests):
        group = next((each for each in found if each.may_hold(test)), None)
        if group is None:
            found.append(group := _Group())
        group.add(place, test)
    return [group.places for group in found]


class _Group:
    """Tests that may be in one run."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self._shown: set[object] = set()
        self._wanted: set[object] = set()

    def may_hold(self, test: Telling) -> bool:
        return self._shown.isdisjoint(test.wanted) and self._wanted.isdisjoint(test.shown)

    def add(self, place: int, test: Telling) -> None:
        self.places.append(place)
        self._shown |= test.shown
        self._wanted |= test.wanted


def _share_state(tests: Sequence[Telling]) -> bool:
    """Whether a test asks for what one of another function has put somewhere before.

    ``put(1, 2)``, which returns None, tells on purpose what ``get(1)`` is; ``push(4)``, ``pop()``.
    A function that returns None now and then is no such thing.
    """
    answering = {test.what for test in tests if not test.silent}
    seen: dict[object, set[str]] = defaultdict(set)
    put: dict[object, set[str]] = defaultdict(set)
    for test in tests:
        tellers = seen if test.bare else put
        if any(tellers[mark] - {test.what} for mark in test.wanted & tellers.keys()):
            return True
        for mark in test.shown:
            seen[mark].add(test.what)
            if test.silent and test.what not in answering:
                put[mark].add(test.what)
    return False


def _argument_values(tree: ast.expr) -> Iterator[Any]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from _values_within(argument)


def _values_within(node: ast.AST) -> Iterator[Any]:
    """Yield the values of an argument: one, or those that it is made of."""
    known, value = literal(node)
    if not known and isinstance(node, ast.BinOp):
        known, value = _arithmetic(node)
    if known:
        yield value
        return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Call):  # has its arguments looked at by itself
            yield from _values_within(child)


def _arithmetic(node: ast.AST) -> tuple[bool, Any]:
    """Return (True, value) of small arithmetic with literals; else (False, None)."""
    if not isinstance(node, ast.BinOp):
        return literal(node)
    (known, left), (also, right) = _arithmetic(node.left), _arithmetic(node.right)
    try:
        return (True, _small_result(node.op, left, right)) if known and also else (False, None)
    except (TypeError, ArithmeticError):
        return False, None


def _small_result(operation: ast.operator, left: Any, right: Any) -> Any:
    """Return what an operation gives; raises TypeError where that is not sure to be small."""
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    if isinstance(operation, ast.Add) and (numbers or type(left) is type(right)):
        return left + right
    if isinstance(operation, ast.Sub) and numbers:
        return left - right
    if isinstance(operation, ast.Mult) and (numbers or len(left) * right <= _MOST_ITEMS):
        return left * right
    if isinstance(operation, ast.Pow) and numbers and max(abs(left), abs(right)) <= _HIGHEST:
        return left**right
    raise TypeError
