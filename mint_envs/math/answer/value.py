"""The value of a scalar: exact where it is rational, else to 100 digits.

Two scalars are held to be equal if they agree at fixed points to 60 digits. That is strong
evidence, not proof; ``operations`` refuses what would make it weak, and so do long exact
constants under a root, where 60 equal digits would prove nothing.
"""

from __future__ import annotations

import zlib
from fractions import Fraction

from .limits import MAX_WORK, Overworked, Unreadable
from .names import replaced
from .operations import (
    INEXACT,
    OPERATIONS,
    Value,
    checked,
    context,
    inexact,
    is_long,
    is_real,
    multiply,
    nearest,
)
from .places import CONSTANTS, NOWHERE, WITHOUT, Place
from .tree import Apply, Node, Num, Sym

_LONG = 9  # significant digits that make a rounded decimal as good as the exact value
_PRINTED = 13  # digits of a number that a program printed: the last ones may be off
_NOISE = 10**12  # ... by one part in so many
_FLOAT = 16  # digits of a float, or more, whose very last bits are off
_TERMS = 60  # of a sum that is worked out
_SAMPLES = (3, 4, 5, 7, 8, 12)  # terms by which sums without end are told apart
_VALUELESS = frozenset(("inf", "\\ldots"))
_STEPS = frozenset(("floor", "ceil"))


class Evaluator:
    """Values of the nodes of one verdict, remembered; ``work`` is what may still be done."""

    def __init__(self, work: int = MAX_WORK) -> None:
        self._known: dict[tuple[int, int], tuple[Value, Node, Place]] = {}
        self._constants: dict[int, bool] = {}
        self.work = work
        self.unfinished = False  #: whether a sum without end was met

    def value(self, node: Node, place: Place = NOWHERE) -> Value:
        """Return the value of ``node`` at ``place``.

        Raises:
            Unreadable: no scalar, undefined there, or beyond the limits.
        """
        if place is not NOWHERE and self._is_constant(node):  # it is the same everywhere
            place = WITHOUT[place.real, place.whole]
        key = (id(node), id(place))
        found = self._known.get(key)
        if found is None:  # both are kept, so that no other can get their ids
            found = self._known[key] = (self._compute(node, place), node, place)
        return found[0]

    def _is_constant(self, node: Node) -> bool:
        """Whether no letter is in ``node``; asked only of what ``_known`` keeps."""
        if not isinstance(node, Apply):
            return isinstance(node, Num) or (isinstance(node, Sym) and node.name in CONSTANTS)
        found = self._constants.get(id(node))
        if found is None:
            found = self._constants[id(node)] = all(map(self._is_constant, node.args))
        return found

    def _compute(self, node: Node, place: Place) -> Value:
        if isinstance(node, Num):
            return node.value
        if isinstance(node, Sym):
            return self._symbol(node.name, place)
        if not isinstance(node, Apply):
            raise Unreadable("no scalar")
        return self._series(node, place) if node.name == "sum" else self._called(node, place)

    def _called(self, node: Apply, place: Place) -> Value:
        args = self._arguments(node, place)
        operation = OPERATIONS.get(node.name)
        if operation is None:
            raise Unreadable(f"{node.name} has no value")
        self._charge(args)
        value = checked(operation(*map(inexact, args) if node.name in INEXACT else args))
        if isinstance(value, Fraction):
            return value
        self.work -= 8
        if (place is NOWHERE or place.whole) and any(map(is_long, args)):
            raise Unreadable("too long for the identity test")
        if place.real and not is_real(value):
            raise Unreadable("not real")
        return value

    def _arguments(self, node: Apply, place: Place) -> list[Value]:
        if node.name in ("sin", "cos", "tan", "cot", "sec", "csc"):
            return [self._angle(node.args[0], place)]
        args = [self.value(arg, place) for arg in node.args]
        return [nearest(arg) for arg in args] if place.whole and node.name in _STEPS else args

    def _series(self, node: Apply, place: Place) -> Value:
        """A sum with few terms, worked out; of any other a value that its terms and bounds fix.

        That value is linear in the terms, as the sum is: two are the same sum if they have the
        same one. If they have not, nothing is known; ``unfinished`` says so.
        """
        letter, *bounds, body = node.args
        if not isinstance(letter, Sym):
            raise Unreadable("a sum over no letter")
        low, high = (self.value(bound, place) for bound in bounds)
        if _is_whole(low) and _is_whole(high) and high - low < _TERMS:
            terms = [(Fraction(1), k) for k in range(int(low), int(high) + 1)]
        else:
            self.unfinished = True
            terms = [(_weight(low, high, k), k) for k in _SAMPLES]
        total: Value = Fraction(0)
        for weight, k in terms:
            self._charge([total, total, total])
            term = self.value(replaced(body, letter, Num(Fraction(k))), place)
            total = checked(OPERATIONS["+"](total, multiply(weight, term)))
        return total

    def _angle(self, node: Node, place: Place) -> Value:
        if isinstance(node, Apply) and node.name == "deg":
            return multiply(self.value(node.args[0], place), context().pi / 180)
        return self.value(node, place)

    def _symbol(self, name: str, place: Place) -> Value:
        if name == "pi":
            return +context().pi
        if name == "e":
            return +context().e
        if name == "i":
            return context().mpc(0, 1)
        value = None if name in _VALUELESS else place.value(name)
        if value is None or len(name) > 20:
            raise Unreadable(f"{name} has no value")
        return value

    def _charge(self, args: list[Value]) -> None:
        for value in args:
            if isinstance(value, Fraction):
                bits = value.numerator.bit_length() + value.denominator.bit_length()
                self.work -= 1 + (bits >> 8) ** 2 // 8
            else:
                self.work -= 4
        if self.work < 0:
            raise Overworked("too much work")


def _is_whole(value: Value) -> bool:
    return isinstance(value, Fraction) and value.denominator == 1


def _weight(low: Value, high: Value, k: int) -> Fraction:
    return Fraction(1000 + zlib.crc32(f"{low}:{high}:{k}".encode()) % 8081, 4049)


def agree(left: Value, right: Value) -> bool:
    """Return whether two values are the same number."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left == right
    if left == 0 or right == 0:  # an exact zero, and a value that is not
        return False
    left, right = inexact(left), inexact(right)
    return bool(abs(left - right) <= context().tolerance * max(abs(left), abs(right)))


def rounds_to(value: Value, written: Node) -> bool:
    """Whether ``written`` is a decimal of many digits that rounds (or cuts) ``value`` rightly.

    Or one that a program printed, whose last digits are noise.
    """
    if not isinstance(written, Num) or written.places < 1 or not is_real(value):
        return False
    digits = len(str(abs(int(written.value * 10**written.places))))
    if digits < _LONG:
        return False
    decimal: Value = written.value
    if not isinstance(value, Fraction):
        decimal = value.context.mpf(written.value.numerator) / written.value.denominator
    gap = abs(value - decimal)
    return bool(gap * 10**written.places < 1 or _is_noise(gap, value, digits))


def _is_noise(gap: Value, value: Value, digits: int) -> bool:
    """Of a value that a short decimal is equal to, only the last bits of a float are noise."""
    if isinstance(value, Fraction) and (10**60) % value.denominator == 0:
        return digits >= _FLOAT and bool(gap * 2**51 < abs(value))
    return digits >= _PRINTED and bool(gap * _NOISE <= abs(value))
