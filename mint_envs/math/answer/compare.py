"""Whether two answers say the same: by structure, then scalar by scalar.

``Comparer.same(a, b)`` is symmetric. It returns False as well for what it cannot decide, and
then leaves the reason in ``doubt``: the verdict is *unknown* rather than *different*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from . import alike, relations
from .limits import MAX_ITEMS, MAX_PAIRS, Overworked
from .said import NOTHING, Said
from .scalars import Scalars, names_of_scalar
from .tree import (
    INFINITY,
    Apply,
    Based,
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
from .units import LETTERS, canonical, compatible, is_forgiven, measures
from .words import counted_things, is_plain_noun, same_text

_SCALARS = (Num, Sym, Apply)
_SETS = ("set", "list")
_MOST_SIGNS = 4  # of one tuple


class Comparer(Scalars):
    """Compares answers within the work limit of one verdict."""

    def __init__(self, said: Said = NOTHING, prose: bool = False) -> None:
        super().__init__(said)
        self.prose = prose  #: in a sentence 3:4 is no fraction
        self._pairs = MAX_PAIRS

    def same(self, a: Node, b: Node) -> bool:
        self._pairs -= 1
        if self._pairs < 0:
            raise Overworked("too much to compare")
        if a == b:
            return True
        if _rank(a) > _rank(b):  # one order of the rules, so that verdicts are symmetric
            a, b = b, a
        for first, second in ((a, b), (b, a)):
            verdict = self._unlike(first, second)
            if verdict is not None:
                return verdict
        if isinstance(a, _SCALARS) and isinstance(b, _SCALARS):
            return self.same_scalar(a, b)
        return type(a) is type(b) and self._alike(a, b)

    def _unlike(self, a: Node, b: Node) -> bool | None:
        """The rules for two answers of different kinds, ``a`` first; None: no rule."""
        if isinstance(a, Relation) and not isinstance(b, Relation):
            return relations.same_as_relation(self, a, b)
        if _is_set(a) and not _is_set(b):
            return self._set_and_other(a, b)
        if isinstance(a, Quantity) and not isinstance(b, Quantity):
            return self._quantity_and_other(a, b)
        if isinstance(a, Group) and a.kind == "tuple":
            return self._tuple_and_other(a, b)
        if isinstance(a, Text) and not isinstance(b, Text):
            return self._text_and_other(a, b)
        return self._region_and_other(a, b)

    def _region_and_other(self, a: Node, b: Node) -> bool | None:
        if a == Sym("reals") and isinstance(b, Interval):
            return b.low == negative(INFINITY) and b.high == INFINITY
        if isinstance(a, Group) and a.kind == "mod" and isinstance(b, Num | Apply | Sym | Relation):
            return alike.same_residue(self, a, b)
        if isinstance(a, Group) and a.kind == "ratio" and isinstance(b, Num | Apply):
            return not self.prose and alike.is_quotient(a, b)
        if isinstance(a, Group) and a.kind == "minus":
            return self._same_region(a, b)
        both = isinstance(b, Group) and b.kind == "builder"
        if isinstance(a, Group) and a.kind == "builder" and not both:
            return self.same(alike.condition(a), b)
        return None

    def _same_region(self, a: Node, b: Node) -> bool | None:
        """``\\R \\setminus \\{0\\}`` is ``(-inf, 0) \\cup (0, inf)``."""
        region = relations.without_points(self, a)
        return None if region is None or region == a else self.same(region, b)

    def _alike(self, a: Node, b: Node) -> bool:
        """Two answers of one kind that is no scalar."""
        if isinstance(a, Group) and isinstance(b, Group):
            return self._same_group(a, b)
        if isinstance(a, Interval) and isinstance(b, Interval):
            ends = (a.low_open, a.high_open) == (b.low_open, b.high_open)
            return ends and self.same(a.low, b.low) and self.same(a.high, b.high)
        if isinstance(a, Relation) and isinstance(b, Relation):
            return relations.same_relation(self, a, b)
        if isinstance(a, Quantity) and isinstance(b, Quantity):
            return self._same_quantity(a, b)
        if isinstance(a, Matrix) and isinstance(b, Matrix):
            shapes = [len(row) for row in a.rows] == [len(row) for row in b.rows]
            return shapes and self.same_all(sum(a.rows, ()), sum(b.rows, ()))
        if isinstance(a, Text) and isinstance(b, Text):
            return same_text(a, b)
        return isinstance(a, Based) and isinstance(b, Based) and _same_based(a, b)

    def same_all(self, a: Sequence[Node], b: Sequence[Node]) -> bool:
        """In order."""
        return len(a) == len(b) and all(map(self.same, a, b))

    def same_any_order(self, a: Sequence[Node], b: Sequence[Node]) -> bool:
        """Each of ``a`` is one of ``b``, with none left over."""
        if len(a) != len(b) or len(a) > MAX_ITEMS:
            return False
        rest = list(b)
        for item in self._unmatched(a, rest):
            found = next((other for other in rest if self.same(item, other)), None)
            if found is None:
                return False
            rest.remove(found)
        return True

    @staticmethod
    def _unmatched(items: Sequence[Node], rest: list[Node]) -> list[Node]:
        """The items that are not in ``rest`` as they stand; the others are taken from it."""
        left = []
        for item in items:
            if item in rest:
                rest.remove(item)
            else:
                left.append(item)
        return left

    # --- sets, lists, tuples

    def _same_group(self, a: Group, b: Group) -> bool:
        if _is_set(a) and _is_set(b):
            named = relations.same_named(self, a.items, b.items)
            if named is not None:
                return named
            return self.same_any_order(self.members(a), self.members(b))
        if a.kind != b.kind:
            return False
        if a.kind == "mod" and self.same(a.items[1], b.items[1]):
            first, second = (relations.value_or_self(self, group.items[0]) for group in (a, b))
            return self.same(first, second) or _congruent(first, second, a.items[1])
        if a.kind == "cases":
            a, b = alike.without_otherwise(a, b), alike.without_otherwise(b, a)
        if a.kind in ("union", "meet", "cases"):
            return self.same_any_order(a.items, b.items)
        return self.same_all(a.items, b.items)

    def _set_and_other(self, a: Node, b: Node) -> bool | None:
        assert isinstance(a, Group)
        if isinstance(b, Group) and b.kind == "builder" and a.kind == "list":
            return self.same(a, alike.condition(b))
        if isinstance(b, Group) and b.kind == "tuple":
            return self._set_and_tuple(a, b)
        if isinstance(b, Relation | Interval) or (isinstance(b, Group) and b.kind == "union"):
            found = self._set_and_region(a, b)
            if found is not None:
                return found
        if isinstance(b, Text) and not a.items:
            return b.words in ("no solution", "none", "empty set", "no real solution")
        members, others = self.members(a), self.members(Group("set", (b,)))
        if len(members) > 1 and _choices(members) == "".join(sorted(_letters(b).upper())):
            return True
        if a.kind == "list" and len(members) == len(others) == 1:
            return self.same(members[0], others[0])
        return self.same_any_order(members, others)

    def _set_and_tuple(self, a: Group, b: Group) -> bool:
        """``x = 1, y = 2`` is ``(1, 2)``."""
        ordered = relations.in_order_of_names(a.items)
        if ordered is not None:
            return self.same_all(ordered, b.items)
        members = self.members(a)
        if len(members) > 1 and any(map(_has_sign, b.items)):
            return self.same_any_order(members, self.members(Group("set", (b,))))
        return len(members) == 1 and self.same(members[0], b)

    def _set_and_region(self, a: Group, b: Node) -> bool | None:
        """``x < 1 or x > 2``, ``x > 1 and x < 2`` beside intervals and inequalities."""
        if isinstance(b, Group):
            return self.same_any_order([relations.as_region(item) for item in a.items], b.items)
        region = relations.as_region(b)
        if isinstance(region, Interval):
            both = relations.both_bounds(a.items)
            return None if both is None else self.same(both, region)
        return (isinstance(b, Relation) and bool(relations.same_as_relation(self, b, a))) or None

    def members(self, group: Group) -> list[Node]:
        """The different members of a set or list; ``\\pm`` stands for two."""
        flat: list[Node] = []
        for item in group.items:
            value = relations.solved(self, item) if isinstance(item, Relation) else item
            item = item if value is None else value
            if isinstance(item, Group) and _is_set(item) and group.kind == "list" and item.items:
                flat.extend(self.members(item))
            elif _has_sign(item):
                flat.extend(_with_sign(item, positive) for positive in (True, False))
            elif (
                isinstance(item, Group) and item.kind == "tuple" and any(map(_has_sign, item.items))
            ):
                flat.extend(_signed_tuples(item))
            else:
                flat.append(item)
        return self._distinct(flat)

    def _distinct(self, items: list[Node]) -> list[Node]:
        kept: list[Node] = []
        for item in items[:MAX_ITEMS]:
            if not any(self.same(item, other) for other in kept):
                kept.append(item)
        return kept

    def _tuple_and_other(self, a: Group, b: Node) -> bool | None:
        if isinstance(b, Interval):
            is_open = b.low_open and b.high_open
            return is_open and self.same_all(a.items, (b.low, b.high))
        if isinstance(b, Matrix):
            entries = sum(b.rows, ())
            return 1 in (len(b.rows), len(b.rows[0])) and self.same_all(a.items, entries)
        if isinstance(b, Group) and b.kind == "union" and len(a.items) == 2:
            return False
        return None

    # --- quantities and words

    def _same_quantity(self, a: Quantity, b: Quantity) -> bool:
        if {a.unit, b.unit} == {"degree", "radian"}:
            degrees, radians = (a, b) if a.unit == "degree" else (b, a)
            return self.same(_turned(degrees), radians.value)
        factor = compatible(a.unit, b.unit)
        if factor is None:
            if not (measures(a.unit) and measures(b.unit)) and self.same(a.value, b.value):
                self.doubt = f"the units {a.unit!r} and {b.unit!r}"
            return False
        value = a.value if factor == 1 else Apply("*", (a.value, Num(factor)))
        return self.same(value, b.value)

    def _quantity_and_other(self, a: Quantity, b: Node) -> bool | None:
        """A missing unit is forgiven; a percentage is its number or its value."""
        if a.unit == "percent":
            share = Apply("/", (a.value, Num(Fraction(100))))
            return self.same(share, b) or (self.same(a.value, b) and not _below_one(a.value))
        if isinstance(b, Apply) and b.name == "*" and _is_letter(b.args[-1]):
            unit = canonical(_letters(b.args[-1]))
            value = b.args[0] if len(b.args) == 2 else Apply("*", b.args[:-1])
            return self._same_quantity(a, Quantity(value, unit))
        if a.unit == "degree" and _is_in_radians(b):
            return self.same(_turned(a), b)
        if isinstance(b, Num | Apply | Sym):
            if is_forgiven(a.unit):
                return self.same(a.value, b)
            self.doubt = f"the words {a.unit!r} after a number"
            return False
        return None

    def _text_and_other(self, a: Text, b: Node) -> bool | None:
        if a.kind == "choice":
            return self._choice_and_other(a.words, b)
        if a.kind == "time" and isinstance(b, Group) and b.kind == "ratio":
            return _clock(b) == tuple(
                int(part) % 12 if i == 0 else int(part) for i, part in enumerate(a.words.split(":"))
            )
        if b == INFINITY:
            return a.words in ("infinity", "infinite", "infinitely many")
        if isinstance(b, Num):
            said = counted_things(a.words)
            return said is not None and said[0] == b.value and is_plain_noun(said[1])
        if isinstance(b, Quantity):
            said = counted_things(a.words)
            return said is not None and self.same(
                Quantity(Num(Fraction(said[0])), canonical(said[1])), b
            )
        if len(a.words) < 4 and isinstance(b, Apply) and (letters := _letters(b)):
            return a.words == letters.lower()
        return None

    def _choice_and_other(self, letter: str, b: Node) -> bool:
        """Choice A is the letter, in whichever form; of F and later both cases may be variables."""
        names = names_of_scalar(b) if isinstance(b, Sym | Apply) else frozenset()
        if len(names) != 1:
            return False
        (name,) = names
        called = (name.upper() if letter in "ABCDE" else name) == letter
        return called and (isinstance(b, Sym) or self.same_scalar(Sym(name), b))

    # --- scalars

    def same_scalar(self, a: Node, b: Node) -> bool:
        if _has_sign(a) or _has_sign(b):
            return self.same_any_order(*(self.members(Group("set", (node,))) for node in (a, b)))
        return self.agreeing(a, b)


def _rank(node: Node) -> int:
    """The place of a kind in the order of ``_unlike``'s rules."""
    if isinstance(node, Group):
        return 1 if _is_set(node) else 3 if node.kind == "tuple" else 5
    return {Relation: 0, Quantity: 2, Text: 4}.get(type(node), 5)


def _choices(nodes: Sequence[Node]) -> str:
    """``"ABD"`` for the choices A, B and D; ``"?"`` if they are no choices."""
    names = [node.name if isinstance(node, Sym) else "?" for node in nodes]
    return "".join(sorted(names)) if all(name in "ABCDEFGH" for name in names) else "?"


def _is_letter(node: Node) -> bool:
    return isinstance(node, Sym) and node.name in LETTERS


def _congruent(a: Node, b: Node, modulus: Node) -> bool:
    """Whether two whole numbers leave the same remainder."""
    if not (isinstance(a, Num) and isinstance(b, Num) and isinstance(modulus, Num)):
        return False
    return bool(modulus.value) and ((a.value - b.value) / modulus.value).denominator == 1


def _is_set(node: Node) -> bool:
    return isinstance(node, Group) and node.kind in _SETS


def _has_sign(node: Node) -> bool:
    if isinstance(node, Apply):
        return node.name in ("pm", "mp") or any(map(_has_sign, node.args))
    return isinstance(node, Quantity) and _has_sign(node.value)


def _with_sign(node: Node, positive: bool) -> Node:
    """``node`` with each ``\\pm`` read as plus (or minus), each ``\\mp`` the other way."""
    if isinstance(node, Quantity):
        return Quantity(_with_sign(node.value, positive), node.unit)
    if not isinstance(node, Apply):
        return node
    args = tuple(_with_sign(arg, positive) for arg in node.args)
    if node.name in ("pm", "mp"):
        plus = positive == (node.name == "pm")
        return Apply("+", (args[0], args[1] if plus else negative(args[1])))
    return Apply(node.name, args)


def _signed_tuples(node: Group) -> Iterator[Group]:
    """``(1,2), (1,-2), (-1,2), (-1,-2)`` for ``(\\pm 1, \\pm 2)``; ``\\mp`` ties all signs."""
    if len([item for item in node.items if _has_sign(item)]) > _MOST_SIGNS:
        yield node
        return
    if any(map(_is_turned, node.items)):
        for positive in (True, False):
            yield Group("tuple", tuple(_with_sign(item, positive) for item in node.items))
        return
    choices = [(True, False) if _has_sign(item) else (True,) for item in node.items]
    for signs in product(*choices):
        yield Group("tuple", tuple(map(_with_sign, node.items, signs)))


def _is_turned(node: Node) -> bool:
    return isinstance(node, Apply) and (node.name == "mp" or any(map(_is_turned, node.args)))


def _letters(node: Node) -> str:
    """The letters of a product of variables: ``ab`` was read as a times b."""
    if isinstance(node, Text) and node.words.isalpha():
        return node.words
    if isinstance(node, Sym):
        return node.name
    if isinstance(node, Apply) and node.name == "*":
        parts = [_letters(arg) for arg in node.args]
        return "".join(parts) if all(parts) else ""
    return ""


def _is_in_radians(node: Node) -> bool:
    if isinstance(node, Apply) and node.name in ("arcsin", "arccos", "arctan"):
        return True
    return isinstance(node, Apply | Sym) and "pi" in names_of_scalar(node)


def _turned(degrees: Quantity) -> Node:
    """In radians."""
    return Apply("/", (Apply("*", (degrees.value, Sym("pi"))), Num(Fraction(180))))


def _below_one(node: Node) -> bool:
    return isinstance(node, Num) and abs(node.value) <= 1


def _clock(ratio: Group) -> tuple[int, ...]:
    values = [int(item.value) for item in ratio.items if isinstance(item, Num)]
    return tuple(value % 12 if index == 0 else value for index, value in enumerate(values))


def _same_based(a: Based, b: Based) -> bool:
    return a.base == b.base and a.digits.lstrip("0") == b.digits.lstrip("0")
