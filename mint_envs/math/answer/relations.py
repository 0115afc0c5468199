"""Equations and inequalities: what they solve to, and when two say the same."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from .explicit import is_solution
from .ground import Comparing
from .limits import Unreadable
from .names import (
    in_the_same_letter,
    is_asked,
    is_called,
    is_constant,
    is_fraction,
    is_name,
)
from .operations import Value, is_real, quotient
from .places import complex_places
from .scalars import names_of_scalar
from .tree import (
    INFINITY,
    Apply,
    Group,
    Interval,
    Matrix,
    Node,
    Num,
    Quantity,
    Relation,
    Sym,
    Text,
    negative,
)
from .value import agree

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!=", "~": "~"}
_ENDING = 10**9  # what divides it is the denominator of a decimal that ends
_UP, _DOWN = ("<", "<="), (">", ">=")


def solved(comparer: Comparing, relation: Relation) -> Node | None:
    """Return ``v`` of ``x = v`` and ``x = ... = v``, or of a computation ``2 + 3 = v``.

    The steps between must agree, so that ``x = 5 + 1 = 7`` has no value.
    """
    if set(relation.operators) - {"=", "~"}:
        return None
    sides = _named_first(list(relation.sides))
    if is_called(sides):
        sides = sides[1:]
    elif not all(map(is_constant, sides)):
        return None
    exact = [side for side, sign in _signed(sides, relation.operators) if sign != "~"]
    if not exact:
        return sides[-1]
    if any(not comparer.same(exact[-1], side) for side in exact[:-1]):
        return None
    if relation.operators[-1] == "~" and _needs_no_rounding(comparer, exact[-1]):
        return sides[-1]
    return exact[-1]


def _named_first(sides: list[Node]) -> list[Node]:
    """``x = 3`` of ``3 = x``, and ``z = 2`` of ``x = y = z = 2``."""
    if len(sides) == 2 and is_name(sides[1]) and not is_name(sides[0]):
        sides.reverse()
    while len(sides) > 2 and is_name(sides[0]) and is_name(sides[1]):
        sides = sides[1:]
    return sides


def _needs_no_rounding(comparer: Comparing, node: Node) -> bool:
    """Whether who writes ``node \\approx 1.3`` commits to 1.3: of 1.25, of a computation.

    Beside a root or a fraction in lowest terms a decimal only says how large it is.
    """
    if isinstance(node, Quantity):
        return _needs_no_rounding(comparer, node.value)
    if isinstance(node, Num):
        return node.places >= 0
    if is_fraction(node):
        return False
    try:
        value = comparer.evaluator.value(node)
    except Unreadable:
        return False
    return isinstance(value, Fraction) and _ENDING % value.denominator == 0


def _signed(sides: list[Node], operators: tuple[str, ...]) -> list[tuple[Node, str]]:
    """Each side with the sign before it; the first of several counts as exact."""
    signs = list(operators[-len(sides) :]) if len(sides) <= len(operators) else ["=", *operators]
    return list(zip(sides, signs, strict=True))


def approximation(relation: Relation) -> tuple[Node, Num] | None:
    """Return (exact, decimal) of ``\\sqrt2 \\approx 1.414``; None if it is nothing of the kind."""
    if relation.operators[-1] != "~" or not isinstance(relation.sides[-1], Num):
        return None
    return relation.sides[-2], relation.sides[-1]


def as_region(node: Node) -> Node:
    """Return ``x >= 3`` as ``[3, inf)``, ``1 < x < 2`` as ``(1, 2)``; other nodes as they are."""
    if not isinstance(node, Relation):
        return node
    if any(isinstance(side, Apply) and side.name == "abs" for side in node.sides):
        return _by_size(node)
    if len(node.sides) == 2:
        return _half(node)
    if len(node.sides) == 3 and is_name(node.sides[1]):
        return _between(node)
    return node


def _by_size(node: Relation) -> Node:
    """``|x| < 2`` as (-2, 2), ``1 \\le |x| \\le 2`` as two intervals; bounds are above 0."""
    sizes = [side for side in node.sides if isinstance(side, Apply) and side.name == "abs"]
    bounds = [side for side in node.sides if side not in sizes]
    if len(sizes) != 1 or not isinstance(sizes[0].args[0], Sym) or not all(map(_is_above, bounds)):
        return node
    plain = tuple(side if side in bounds else sizes[0].args[0] for side in node.sides)
    region = as_region(Relation(plain, node.operators))
    if not isinstance(region, Interval):
        return node
    if region.low == negative(INFINITY):
        return Interval(negative(region.high), region.high, region.high_open, region.high_open)
    turned = Interval(
        negative(region.high), negative(region.low), region.high_open, region.low_open
    )
    return Group("union", (turned, region))


def _is_above(node: Node) -> bool:
    """A number that is above 0 as it is written."""
    if isinstance(node, Apply):
        return node.name in ("/", "*", "root") and all(map(_is_above, node.args))
    return (isinstance(node, Num) and node.value > 0) or node == Sym("pi")


def _half(node: Relation) -> Node:
    """``x > a`` and the like, or ``x != a``."""
    (left, right), (sign,) = node.sides, node.operators
    if is_name(right) and not is_name(left):
        left, right, sign = right, left, _TURNED[sign]
    if not is_name(left) or sign in ("=", "~"):
        return node
    if sign == "!=":
        return Group("minus", (Sym("reals"), Group("set", (right,))))
    if sign in _UP:
        return Interval(negative(INFINITY), right, True, sign == "<")
    return Interval(right, INFINITY, sign == ">", True)


def _between(node: Relation) -> Node:
    """``a < x <= b``, or the other way round."""
    sides, signs = node.sides, node.operators
    if signs[0] in _DOWN and signs[1] in _DOWN:
        sides, signs = sides[::-1], (_TURNED[signs[1]], _TURNED[signs[0]])
    if signs[0] in _UP and signs[1] in _UP:
        return Interval(sides[0], sides[2], signs[0] == "<", signs[1] == "<")
    return node


def both_bounds(items: Sequence[Node]) -> Interval | None:
    """``x > -1 and x <= 4`` as one interval; None if the items are no two such bounds."""
    halves = [as_region(item) for item in items]
    low = [h for h in halves if isinstance(h, Interval) and h.high == INFINITY]
    high = [h for h in halves if isinstance(h, Interval) and h.low == negative(INFINITY)]
    if len(halves) != 2 or len(low) != 1 or len(high) != 1:
        return None
    return Interval(low[0].low, high[0].high, low[0].low_open, high[0].high_open)


def value_or_self(comparer: Comparing, node: Node) -> Node:
    """Return what ``node`` solves to, if it is an equation; else ``node``."""
    value = solved(comparer, node) if isinstance(node, Relation) else node
    return node if value is None else value


def without_points(comparer: Comparing, node: Node) -> Node | None:
    """Return ``\\R \\setminus \\{1, 2\\}`` as a union of intervals; None if it is no such thing."""
    if not isinstance(node, Group) or node.kind != "minus":
        return None
    whole, points = _interval(node.items[0]), node.items[1]
    if whole is None or not isinstance(points, Group) or points.kind != "set":
        return None
    value = comparer.evaluator.value
    try:
        low = None if whole.low == negative(INFINITY) else value(whole.low)
        high = None if whole.high == INFINITY else value(whole.high)
        ordered = sorted(comparer.members(points), key=lambda item: value(item))
        inside = [
            point
            for point in ordered
            if (low is None or value(point) > low) and (high is None or value(point) < high)
        ]
        cut = {0 if value(point) == low else 1 for point in ordered if value(point) in (low, high)}
    except (Unreadable, TypeError):
        return None
    pieces = list(pairwise([whole.low, *inside, whole.high]))
    first, last = whole.low_open or 0 in cut, whole.high_open or 1 in cut
    made = [
        Interval(a, b, first if at == 0 else True, last if at == len(pieces) - 1 else True)
        for at, (a, b) in enumerate(pieces)
    ]
    return Group("union", tuple(made)) if len(made) > 1 else made[0]


def _interval(node: Node) -> Interval | None:
    """An interval, all real numbers, or ``\\{x \\mid x < 3\\}``."""
    if node == Sym("reals"):
        return Interval(negative(INFINITY), INFINITY, True, True)
    if isinstance(node, Group) and node.kind == "builder" and len(node.items) == 2:
        node = as_region(node.items[1])
    if isinstance(node, Group) and node.kind == "tuple" and len(node.items) == 2:
        node = Interval(*node.items, True, True)
    return node if isinstance(node, Interval) else None


def same_as_relation(comparer: Comparing, relation: Relation, other: Node) -> bool | None:
    """A relation beside an answer of another kind."""
    region = as_region(relation)
    if isinstance(region, Group) or (isinstance(region, Interval) and _has_ends(other)):
        return comparer.same(region, other)
    if _is_told_singly(comparer, relation, other) or _approximates(comparer, relation, other):
        return True
    if _is_all_alike(comparer, relation, other):
        return True
    value = _told(comparer, relation)
    if value is not None:
        return comparer.same(value, other) or is_solution(comparer, relation, other)
    if isinstance(other, Group):
        return None if other.kind in ("set", "list", "builder") else False
    if isinstance(other, Interval | Text | Matrix | Quantity) or is_constant(other):
        return False
    return is_solution(comparer, relation, other) or None


def _has_ends(node: Node) -> bool:
    return isinstance(node, Interval) or (isinstance(node, Group) and node.kind == "tuple")


def _is_told_singly(comparer: Comparing, relation: Relation, other: Node) -> bool:
    """``(f(n), g(n)) = (n, 1)`` beside ``f(n) = n, g(n) = 1``."""
    if not isinstance(other, Group) or other.kind not in ("set", "list"):
        return False
    single = one_by_one(relation)
    return single is not None and bool(same_named(comparer, single.items, other.items))


def _is_all_alike(comparer: Comparing, relation: Relation, other: Node) -> bool:
    """``x = y = z = 2`` beside ``(2, 2, 2)``."""
    *names, value = relation.sides
    if not isinstance(other, Group) or other.kind != "tuple" or len(other.items) != len(names):
        return False
    named = set(relation.operators) == {"="} and all(isinstance(name, Sym) for name in names)
    if not named or len(set(names)) < max(len(names), 2) or not all(map(is_name, names)):
        return False
    return all(comparer.same(value, item) for item in other.items)


def one_by_one(relation: Relation) -> Group | None:
    """``(f(n), g(n)) = (n, 1)`` as ``f(n) = n, g(n) = 1``; None if it is no such equation."""
    sides = [side for side in relation.sides if isinstance(side, Group) and side.kind == "tuple"]
    if set(relation.operators) != {"="} or len(sides) != len(relation.sides) or len(sides) != 2:
        return None
    names, values = sides[0].items, sides[1].items
    if len(names) != len(values) or not all(map(is_name, names)):
        return None
    pairs = zip(names, values, strict=True)
    return Group("list", tuple(Relation(pair, ("=",)) for pair in pairs))


def _told(comparer: Comparing, relation: Relation) -> Node | None:
    value = solved(comparer, relation)
    if value is None and (is_asked(relation) or _is_identity(comparer, relation)):
        return relation.sides[-1]
    return value


def _is_identity(comparer: Comparing, relation: Relation) -> bool:
    """``x^2 + x - x + 1 = x^2 + 1``: a computation with letters, and no equation."""
    sides = relation.sides
    if set(relation.operators) != {"="} or not all(isinstance(side, Apply) for side in sides):
        return False
    return all(comparer.same_scalar(sides[-1], side) for side in sides[:-1])


def _approximates(comparer: Comparing, relation: Relation, other: Node) -> bool:
    """``\\sqrt2 \\approx 1.414`` is 1.414 too, if that is the root rightly rounded."""
    pair = approximation(relation)
    if pair is None or not comparer.same(pair[1], other):
        return False
    exact, decimal = pair
    if is_name(exact):
        return True
    try:
        return _is_rounding(decimal, comparer.evaluator.value(exact))
    except (Unreadable, AttributeError):
        return False


def _is_rounding(decimal: Num, value: Value) -> bool:
    """Whether ``decimal`` is ``value`` rounded or cut at its last place, and not a unit off."""
    written = decimal.value
    if not isinstance(value, Fraction):
        written = value.context.mpf(written.numerator) / written.denominator
    gap = abs(value - written) * 10 ** max(decimal.places, 0)
    return bool(2 * gap <= 1 or (gap < 1 and abs(written) < abs(value)))


def same_relation(comparer: Comparing, a: Relation, b: Relation) -> bool:
    if all(map(is_constant, (*a.sides, *b.sides))):  # two computations
        first, second = solved(comparer, a), solved(comparer, b)
        if first is not None and second is not None:
            return comparer.same(first, second)
    regions = as_region(a), as_region(b)
    if isinstance(regions[0], Interval) and isinstance(regions[1], Interval):
        return _variable(a) == _variable(b) and comparer.same(*regions)
    b = in_the_same_letter(a, b)
    if is_name(a.sides[0]) and _same_name(a.sides[0], b.sides[0]):
        first, second = solved(comparer, a), solved(comparer, b)
        same = first is not None and second is not None and comparer.same(first, second)
        if same or (first is not None and second is not None and a.sides[0] == b.sides[0]):
            return same
    if len(a.sides) == len(b.sides) == 2:
        solves = (is_solution(comparer, x, z.sides[1], z.sides[0]) for x, z in ((a, b), (b, a)))
        return _same_equation(comparer, a, b) or (a.operators == b.operators and any(solves))
    return a.operators == b.operators and comparer.same_all(a.sides, b.sides)


def _same_name(a: Node, b: Node) -> bool:
    """The same name; ``y`` and ``f(x)`` both name a function's value."""
    if a == b:
        return True
    return any(x == Sym("y") and isinstance(z, Apply) and is_name(z) for x, z in ((a, b), (b, a)))


def _variable(relation: Relation) -> Node | None:
    name = next((side for side in relation.sides if is_name(side)), None)
    return name.args[0] if isinstance(name, Apply) and name.name == "abs" else name


def _same_equation(comparer: Comparing, a: Relation, b: Relation) -> bool:
    """Whether one is the other times a constant: ``2x + 4y = 3`` and ``y = 3/4 - x/2``."""
    if a.operators == b.operators == ("=",) and any(isinstance(side, Matrix) for side in a.sides):
        return all(map(comparer.same, a.sides, b.sides))
    try:
        factor = _factor(comparer, _difference(a), _difference(b))
    except Unreadable as error:
        comparer.doubt = str(error)
        return False
    if factor is None:
        return False
    sign, other = a.operators[0], b.operators[0]
    if sign in ("=", "!="):
        return sign == other
    return is_real(factor) and other == (sign if factor > 0 else _TURNED[sign])


def _difference(relation: Relation) -> Node:
    left, right = relation.sides
    if not all(isinstance(side, Num | Sym | Apply) for side in (left, right)):
        raise Unreadable("an equation of no scalars")
    return Apply("+", (left, negative(right)))


def _factor(comparer: Comparing, a: Node, b: Node) -> Value | None:
    """Return the constant k with a = k b at every fixed point; None if there is none."""
    factor = None
    for place in complex_places(names_of_scalar(a) | names_of_scalar(b))[:6]:
        left, right = comparer.evaluator.value(a, place), comparer.evaluator.value(b, place)
        if left == 0 or right == 0:
            return None
        ratio = quotient(left, right)
        if factor is not None and not agree(factor, ratio):
            return None
        factor = ratio
    return factor


def names_of(items: Sequence[Node]) -> list[Node]:
    """Return the names of ``x = 1, y = 2``; empty unless every item is such an equation."""
    names = [
        item.sides[0]
        for item in items
        if isinstance(item, Relation) and set(item.operators) == {"="} and is_name(item.sides[0])
    ]
    return names if len(names) == len(items) else []


def same_named(comparer: Comparing, a: Sequence[Node], b: Sequence[Node]) -> bool | None:
    """Compare ``x = 1, y = 2`` name by name; None unless both sides name several things."""
    first, second = names_of(a), names_of(b)
    if len(set(first)) < 2 or not second:
        return None
    if len(set(first)) != len(first) or set(first) != set(second) or len(first) != len(second):
        return comparer.same_any_order(a, b) if len(a) == len(b) else False
    values = {item.sides[0]: item for item in b if isinstance(item, Relation)}
    return all(comparer.same(item, values[name]) for item, name in zip(a, first, strict=True))


def in_order_of_names(items: Sequence[Node]) -> list[Node] | None:
    """Return the values of ``y = 2, x = 1`` in the order of their names: ``[1, 2]``."""
    names = names_of(items)
    if len(names) < 2 or not all(isinstance(name, Sym) for name in names):
        return None
    if len(set(names)) < len(names):
        return None
    pairs = sorted(zip(names, items, strict=True), key=lambda pair: pair[0].name)  # type: ignore[union-attr]
    return [item.sides[-1] for _, item in pairs if isinstance(item, Relation)]
