"""The value of a scalar: exact where it is rational, else to 100 digits.

Two scalars are held to be equal if they agree at fixed points to 60 digits. That is strong
evidence, not proof; ``operations`` refuses what would make it weak, and so do long exact
constants under a root, where 60 equal digits would prove nothing.
"""

from __future__ import annotations

import zlib
from fractions import Fraction

from .limits import MAX_WORK, Unreadable
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
)
from .tree import Call, Node, Num, Sym

#: Points where some variables are below zero.
NEGATIVE = range(2, 12)
_LONG = 9  # significant digits that make a rounded decimal as good as the exact value
_PRINTED = 13  # digits of a number that a program printed: the last ones may be off
_NOISE = 10**12  # ... by one part in so many
_FLOAT = range(16, 19)  # digits of a float whose very last bits are off
_TERMS = 60  # of a sum that is worked out
_SAMPLES = (3, 4, 5, 7, 8, 12)  # terms by which sums without end are told apart
_MIXED = 4  # the first of the points where some are and some are not


def points(names: set[str]) -> list[int]:
    """Return the points that tell expressions in ``names`` apart.

    Point 0 is around 1, point 1 between 0 and 1, point 2 below 0, point 3 around 25. Two variables
    that are always of one sign would hide the difference of ``a/b`` and ``|a/b|``: at points 4 to
    11 the sign of each is a bit of its name's digest, and those are taken that tell names apart.
    """
    digests = [zlib.crc32(name.encode()) for name in names - {"pi", "e", "i"}]
    mixed = [bit for bit in range(8) if len({digest >> bit & 1 for digest in digests}) == 2]
    return [0, 1, 2, 3, *(_MIXED + bit for bit in mixed[:4])]


def _variable(name: str, point: int) -> Fraction:
    """The value of a variable at a point: each has its own."""
    draw = zlib.crc32(f"{name}:{point}".encode()) % 8081
    if point >= _MIXED:
        sign = -1 if zlib.crc32(name.encode()) >> (point - _MIXED) & 1 else 1
        return sign * Fraction(2027 + draw, 4051)
    low, scale = ((2027, 4049), (1, 9001), (-11000, 4057), (20260, 1013))[point]
    return Fraction(low + draw, scale)


class Evaluator:
    """Values of the nodes of one verdict, remembered, with a limit on the work."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Value, Node]] = {}
        self._work = MAX_WORK
        self.unfinished = False  #: whether a sum without end was met

    def value(self, node: Node, point: int) -> Value:
        """Return the value of ``node`` at ``point`` (0 to 11; -1: there are no variables).

        Raises:
            Unreadable: no scalar, undefined there, or beyond the limits.
        """
        key = (id(node), point)
        found = self._known.get(key)
        if found is None:  # the node is kept, so that no other can get its id
            found = self._known[key] = (self._compute(node, point), node)
        return found[0]

    def _compute(self, node: Node, point: int) -> Value:
        if isinstance(node, Num):
            return node.value
        if isinstance(node, Sym):
            return self._symbol(node.name, point)
        if not isinstance(node, Call):
            raise Unreadable("no scalar")
        return self._series(node, point) if node.name == "sum" else self._called(node, point)

    def _called(self, node: Call, point: int) -> Value:
        if node.name in ("sin", "cos", "tan", "cot", "sec", "csc"):
            args = [self._angle(node.args[0], point)]
        else:
            args = [self.value(arg, point) for arg in node.args]
        operation = OPERATIONS.get(node.name)
        if operation is None:
            raise Unreadable(f"{node.name} has no value")
        self._charge(args)
        value = checked(operation(*map(inexact, args) if node.name in INEXACT else args))
        if isinstance(value, Fraction):
            return value
        self._work -= 8
        if point < 0 and any(map(is_long, args)):
            raise Unreadable("too long for the identity test")
        return value

    def _series(self, node: Call, point: int) -> Value:
        """A sum with few terms, worked out; of any other a value that its terms and bounds fix.

        That value is linear in the terms, as the sum is: two are the same sum if they have the
        same one. If they have not, nothing is known; ``unfinished`` says so.
        """
        letter, *bounds, body = node.args
        if not isinstance(letter, Sym):
            raise Unreadable("a sum over no letter")
        low, high = (self.value(bound, point) for bound in bounds)
        if _is_whole(low) and _is_whole(high) and high - low < _TERMS:
            terms = [(Fraction(1), k) for k in range(int(low), int(high) + 1)]
        else:
            self.unfinished = True
            terms = [(_weight(low, high, k), k) for k in _SAMPLES]
        total: Value = Fraction(0)
        for weight, k in terms:
            self._charge([total, total, total])
            term = self.value(replaced(body, letter, Num(Fraction(k))), point)
            total = checked(OPERATIONS["+"](total, multiply(weight, term)))
        return total

    def _angle(self, node: Node, point: int) -> Value:
        if isinstance(node, Call) and node.name == "deg":
            return multiply(self.value(node.args[0], point), context().pi / 180)
        return self.value(node, point)

    def _symbol(self, name: str, point: int) -> Value:
        if name == "pi":
            return +context().pi
        if name == "e":
            return +context().e
        if name == "i":
            return context().mpc(0, 1)
        if point < 0 or name in ("inf", "\\ldots") or len(name) > 20:
            raise Unreadable(f"{name} has no value")
        return _variable(name, point)

    def _charge(self, args: list[Value]) -> None:
        for value in args:
            if isinstance(value, Fraction):
                bits = value.numerator.bit_length() + value.denominator.bit_length()
                self._work -= 1 + (bits >> 8) ** 2 // 8
            else:
                self._work -= 4
        if self._work < 0:
            raise Unreadable("too much work")


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
        return digits in _FLOAT and bool(gap * 2**51 < abs(value))
    return digits >= _PRINTED and bool(gap * _NOISE <= abs(value))
