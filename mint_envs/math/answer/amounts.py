"""Values with units: ``15 \\text{ cm}^2``, ``5 ft 6 in``, ``7 remainder 2``, ``204 base 5``."""

from __future__ import annotations

import re
from fractions import Fraction

from . import units
from .limits import Unreadable
from .names import is_constant
from .series import Series
from .tree import (
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
from .words import multiple, power

CONDITIONS = frozenset("for where with if when as since because such given assuming 其中".split())
REMAINDERS = frozenset(("R", "r", "remainder", "余"))


_FOR_ALL = re.compile(
    r"(?:for|where|with|when|if) "
    r"(?:all|any|every|each|some|real|integers?|positive|natural|whole)\b|where\b|with\b|since\b|because\b|given\b|其中"
)


def says_no_more(group: Group) -> bool:
    """Whether the condition of ``group`` only says what its letters are: "3k, k an integer".

    ``5 \\text{ if } x>0`` is not 5.
    """
    if group.kind != "given":
        return False
    value, condition = group.items
    said = condition.words if isinstance(condition, Text) else ""
    if _FOR_ALL.match(said):
        return True
    if isinstance(value, Relation) and "=" in said:
        return False  # "cos t = 0 when t = ..."
    return not is_constant(value) and not re.search(r"\b(?:even|odd)\b", said)


_EVERYWHERE = re.compile(
    r"for (?:all|any|every|each) (?:(?:real|positive|integers?|natural|numbers?) ){0,3}"
    r"[a-z](?: in [zrnq+]{1,2})?"
)


def is_for_all(node: Node) -> bool:
    """``f(x) = 1 for all x in Z``: a condition that leaves nothing out."""
    if not isinstance(node, Group) or node.kind != "given":
        return False
    condition = node.items[1]
    return isinstance(condition, Text) and bool(_EVERYWHERE.fullmatch(condition.words))


def _measured(node: Node) -> Node:
    """``30^\\circ``, ``50\\%``, ``-\\$5``: a mark that is a unit where it stands outermost."""
    if not isinstance(node, Apply):
        return node
    if node.name in ("deg", "%"):
        return Quantity(node.args[0], "degree" if node.name == "deg" else "percent")
    inner = _measured(node.args[0]) if node.name == "neg" else node
    return Quantity(negative(inner.value), inner.unit) if isinstance(inner, Quantity) else node


def _times(node: Node, times: Fraction) -> Node:
    """``2.4`` and ``\\$2.4``, thousands of them."""
    if isinstance(node, Quantity):
        return Quantity(_times(node.value, times), node.unit)
    return Apply("*", (node, Num(times)))


def compounded(large: Node, small: Node) -> list[Node]:
    """``2 hours and 30 minutes`` as one quantity; nothing if it is no such thing."""
    if not (isinstance(large, Quantity) and isinstance(small, Quantity)):
        return []
    factor = units.compatible(large.unit, small.unit)
    if factor is None or factor <= 1 or not large.unit or not small.unit:
        return []
    whole = Apply("*", (large.value, Num(factor)))
    return [Quantity(Apply("+", (whole, small.value)), small.unit)]


class Amounts(Series):
    """The rules of the grammar's ``amount``."""

    def amount(self) -> Node:
        node = _measured(self.sum())
        if self.text in REMAINDERS and self.ahead(1).isdigit():
            self.here += 1
            return Group("remainder", (node, self.sum()))
        if self.kind == "w" and self.text.lower() not in CONDITIONS:
            node = self.unit(node)
        if self.kind == "n" and isinstance(node, Quantity):
            return self.compound(node)
        return node

    def compound(self, large: Quantity) -> Node:
        """``5 ft 6 in``."""
        both = compounded(large, self.amount())
        if not both:
            raise Unreadable("a number after a unit")
        return both[0]

    def unit(self, node: Node) -> Node:
        """``node`` with the unit that the following words name; a base is written so too."""
        start = self.here
        times = multiple(self.text)
        if times is not None:
            self.here += 1
            node = _times(node, times)
        elif (raised := power(self.text)) and isinstance(node, Num | Apply | Sym):
            self.here += 1
            node = Apply("^", (node, Num(Fraction(raised))))
        if self.text.lower() in ("base", "in") and isinstance(node, Num):
            based = self.spoken_base(node)
            if based is not None:
                return based
        said = self.collect(
            lambda kind, text: (
                (kind == "m" and text not in ("^", "/", "{", "}", "*", "."))
                or (kind == "n" and self.texts[self.here - 1] not in ("^", "{"))
                or text.lower() in CONDITIONS
            )
        )
        unit = units.canonical(said)
        if isinstance(node, Num | Apply | Sym):
            return Quantity(node, unit) if unit else node
        if isinstance(node, Quantity):
            known = units.compatible(node.unit, unit) is not None
            return node if known else Quantity(node.value, f"{node.unit} {unit}")
        if isinstance(node, Group | Interval | Matrix | Relation):
            return node
        self.here = start
        return node

    def spoken_base(self, node: Num) -> Node | None:
        """``204 base 5``, ``204 in base five``."""
        at = self.here + (self.text.lower() == "in")
        if at + 1 < len(self.texts) and self.texts[at].lower() == "base":
            base = self.base_of(self.texts[at + 1])
            if base is not None and node.value.denominator == 1:
                self.here = at + 2
                return Based(str(node.value), base)
        return None
