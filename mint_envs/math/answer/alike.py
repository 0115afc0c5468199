"""Answers of different kinds that say the same: ``5:8`` is 5/8, ``n = 1 (mod 3)`` is ``3k + 1``."""

from __future__ import annotations

from fractions import Fraction

from .ground import Comparing
from .names import is_fraction, variables
from .relations import solved, value_or_self
from .tree import Apply, Group, Node, Num, Relation, Sym


def condition(builder: Group) -> Node:
    """What ``\\{x \\mid ...\\}`` says of x."""
    _, *conditions = builder.items
    return conditions[0] if len(conditions) == 1 else Group("list", tuple(conditions))


_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "!=", "!=": "="}


def without_otherwise(cases: Group, other: Group) -> Group:
    """Two cases with the second "otherwise" written out, if the other has no such."""
    rows = [row.items for row in cases.items if isinstance(row, Group) and len(row.items) == 2]
    last = Sym("otherwise")
    theirs = any(isinstance(row, Group) and last in row.items for row in other.items)
    if theirs or len(rows) != 2 or len(cases.items) != 2 or rows[1][1] != last:
        return cases
    condition = rows[0][1]
    if not isinstance(condition, Relation) or len(condition.sides) != 2:
        return cases
    sign = _OPPOSITE.get(condition.operators[0])
    if sign is None:
        return cases
    rest = Relation(condition.sides, (sign,))
    return Group("cases", (cases.items[0], Group("tuple", (rows[1][0], rest))))


def is_quotient(ratio: Group, other: Node) -> bool:
    """``5:8`` is 5/8; as ratios are compared as they are written, only in lowest terms."""
    parts = [item.value for item in ratio.items if isinstance(item, Num)]
    if len(parts) != len(ratio.items) or len(parts) != 2 or not parts[1]:
        return False
    value = Fraction(parts[0]) / parts[1]
    if parts != [value.numerator, value.denominator]:
        return False
    if isinstance(other, Apply) and is_fraction(other):
        above, below = other.args
        return (above, below) == ratio.items
    return isinstance(other, Num) and other.value == value and other.places < 0


def same_residue(comparer: Comparing, group: Group, other: Node) -> bool:
    """``n = 1 (mod 3)`` is 1, and ``3k + 1``."""
    residue = value_or_self(comparer, group.items[0])
    modulus = group.items[1]
    if isinstance(other, Relation):
        value = solved(comparer, other)
        return value is not None and bool(variables(value)) and same_residue(comparer, group, value)
    if not isinstance(residue, Num) or not isinstance(modulus, Num):
        return isinstance(residue, Num | Sym | Apply) and comparer.same(residue, other)
    letters = variables(other)
    if len(letters) != 1:
        return isinstance(group.items[0], Num | Sym | Apply) and comparer.same(residue, other)
    multiple = Apply("*", (modulus, Sym(letters.pop())))
    starts = (residue, Num(residue.value - modulus.value))
    return any(comparer.same(Apply("+", (multiple, start)), other) for start in starts)
