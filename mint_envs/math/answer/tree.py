"""What an answer is once it has been read: a small immutable tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Num:
    """An exact number. ``places`` counts the decimals as written (-1: not a decimal)."""

    value: Fraction
    places: int = -1


@dataclass(frozen=True, slots=True)
class Sym:
    """A variable or constant: ``x``, ``theta``, ``x_1``, ``pi``, ``e``, ``i``, ``inf``."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation on scalars: ``+ * / ^ neg pm ! % deg root binom sin ...``."""

    name: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Several parts. ``kind`` is set, tuple or list; union, meet or minus of regions; ratio, cases,
    builder (``{x | x > 0}``), mod (value, modulus), remainder, or given (value, condition).
    """

    kind: str
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Interval:
    low: Node
    high: Node
    low_open: bool
    high_open: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """``sides[0] operators[0] sides[1] operators[1] ...``; operators are = ~ != < <= > >=."""

    sides: tuple[Node, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A scalar with a unit or a counted noun, in the canonical spelling of ``units``."""

    value: Node
    unit: str


@dataclass(frozen=True, slots=True)
class Based:
    """Digits in a base other than ten."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Text:
    """Words, a choice letter, a time or a date. ``kind`` is words, choice, time or date."""

    words: str
    kind: str = "words"


Node = Num | Sym | Apply | Group | Matrix | Interval | Relation | Quantity | Based | Text

INFINITY = Sym("inf")
REALS = Sym("reals")
EMPTY = Group("set", ())


def negative(node: Node) -> Node:
    """Return ``-node``, with the sign taken into a number."""
    if isinstance(node, Num):
        return Num(-node.value, node.places)
    if isinstance(node, Apply) and node.name == "neg":
        return node.args[0]
    if isinstance(node, Matrix):
        return Matrix(tuple(tuple(map(negative, row)) for row in node.rows))
    return Apply("neg", (node,))


def parts(node: Node) -> tuple[Node, ...]:
    """The nodes that ``node`` is made of."""
    if isinstance(node, Apply):
        return node.args
    if isinstance(node, Group):
        return node.items
    if isinstance(node, Relation):
        return node.sides
    if isinstance(node, Matrix):
        return sum(node.rows, ())
    if isinstance(node, Interval):
        return (node.low, node.high)
    return (node.value,) if isinstance(node, Quantity) else ()


def changed(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """Return ``node`` with each part changed for what ``change`` returns, unless that is None."""
    found = change(node)
    if found is not None:
        return found
    if isinstance(node, Apply):
        return Apply(node.name, tuple(changed(arg, change) for arg in node.args))
    if isinstance(node, Group):
        return Group(node.kind, tuple(changed(item, change) for item in node.items))
    if isinstance(node, Relation):
        return Relation(tuple(changed(side, change) for side in node.sides), node.operators)
    if isinstance(node, Matrix):
        return Matrix(tuple(tuple(changed(cell, change) for cell in row) for row in node.rows))
    if isinstance(node, Interval):
        low, high = changed(node.low, change), changed(node.high, change)
        return Interval(low, high, node.low_open, node.high_open)
    if isinstance(node, Quantity):
        return Quantity(changed(node.value, change), node.unit)
    return node
