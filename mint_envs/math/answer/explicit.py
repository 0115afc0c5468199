"""What an equation in two letters is solved to: ``6/x`` of ``xy = 6``."""

from __future__ import annotations

from fractions import Fraction

from .ground import Comparing
from .limits import Overworked, Unreadable
from .names import replaced
from .places import CONSTANTS, whole_numbers
from .scalars import names_of_scalar
from .tree import Apply, Node, Num, Relation, Sym, negative

#: Letters that an equation is solved for.
_DEPENDENT = frozenset(("y", "z", "r", "rho"))
_SCALARS = (Num, Sym, Apply)


def is_solution(
    comparer: Comparing, relation: Relation, value: Node, name: Node | None = None
) -> bool:
    """Whether ``value`` is what ``relation`` is solved to; ``name``: for this letter.

    The equation is to be linear in that letter, and to say nothing at places where ``value`` is
    defined: ``(x-1)y = x-1`` says less than ``y = 1``.
    """
    if relation.operators != ("=",) or not isinstance(value, _SCALARS):
        return False
    left, right = relation.sides
    if not (isinstance(left, _SCALARS) and isinstance(right, _SCALARS)):
        return False
    inside = names_of_scalar(value) - CONSTANTS
    letters = (names_of_scalar(left) | names_of_scalar(right)) - CONSTANTS - inside
    if len(letters) != 1 or len(inside) != 1 or not letters <= _DEPENDENT:
        return False
    letter = Sym(*letters)
    if name is not None and name != letter:
        return False
    return _is_linear(comparer, Apply("+", (left, negative(right))), letter, value)


def _is_linear(comparer: Comparing, difference: Node, letter: Sym, value: Node) -> bool:
    at = [replaced(difference, letter, Num(Fraction(step))) for step in (0, 1, 2)]
    slope, next_slope = (Apply("+", (at[k + 1], negative(at[k]))) for k in (0, 1))
    zero = Num(Fraction(0))
    if not comparer.same_scalar(replaced(difference, letter, value), zero):
        return False
    if comparer.same_scalar(slope, zero) or not comparer.same_scalar(slope, next_slope):
        return False
    return not _is_idle_somewhere(comparer, slope, value)


def _is_idle_somewhere(comparer: Comparing, slope: Node, value: Node) -> bool:
    """Whether the letter falls out of the equation at a place where ``value`` is defined."""
    for place in whole_numbers(*(names_of_scalar(value) - CONSTANTS)):
        try:
            if comparer.evaluator.value(slope, place) == 0:
                comparer.evaluator.value(value, place)
                return True
        except Overworked:
            raise
        except Unreadable:
            continue
    return False
