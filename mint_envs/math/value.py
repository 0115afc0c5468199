"""The value of a scalar: exact where it is rational, else to 100 digits.

Two scalars are held to be equal if they agree at fixed points to 60 digits. That is strong
evidence, not proof, and it is made safe by guards rather than by tolerance: sums that cancel,
results that are huge or tiny, and long numbers under a root are refused (``Unreadable``), since
there 60 equal digits would prove nothing. An exact zero is always the exact number 0.
"""

from __future__ import annotations

import math
import threading
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mpmath import MPContext

from .limits import MAX_BITS, MAX_WORK, Unreadable
from .tree import Call, Node, Num, Sym

Value = Any  # Fraction, or mpf or mpc of mpmath

_DIGITS = 100
_NOISE = 250  # bits: a result this much smaller than what it was made of is zero
_LOSS = 100  # bits: a cancellation that costs more than this is refused
_LARGEST = 96  # bits: inexact values beyond 2**96 or below 2**-96 are refused
_LONGEST = 190  # bits of an exact constant that enters inexact arithmetic

_local = threading.local()


def context() -> Any:
    """Return this thread's mpmath context; contexts change their precision while they work."""
    found = getattr(_local, "context", None)
    if found is None:
        found = _local.context = MPContext()
        found.dps = _DIGITS
        found.tolerance = found.mpf(10) ** -60
    return found


def _variable(name: str, point: int) -> Fraction:
    """The value of a variable at a point: each has its own.

    Point 0 is around 1, point 1 between 0 and 1, point 2 below 0, point 3 around 25.
    """
    draw = zlib.crc32(f"{name}:{point}".encode()) % 8081
    low, scale = ((2027, 4049), (1, 9001), (-11000, 4057), (20260, 1013))[point]
    return Fraction(low + draw, scale)


class Evaluator:
    """Values of the nodes of one verdict, remembered, with a limit on the work."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Value, Node]] = {}
        self._work = MAX_WORK

    def value(self, node: Node, point: int) -> Value:
        """Return the value of ``node`` at ``point`` (0 to 3; -1: there are no variables).

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
        if node.name in ("sin", "cos", "tan", "cot", "sec", "csc"):
            args = [self._angle(node.args[0], point)]
        else:
            args = [self.value(arg, point) for arg in node.args]
        operation = _OPERATIONS.get(node.name)
        if operation is None:
            raise Unreadable(f"{node.name} has no value")
        self._charge(args)
        value = _checked(operation(*map(_inexact, args) if node.name in _INEXACT else args))
        if point < 0 and not isinstance(value, Fraction) and any(map(_is_long, args)):
            raise Unreadable("too long for the identity test")
        return value

    def _angle(self, node: Node, point: int) -> Value:
        if isinstance(node, Call) and node.name == "deg":
            return _multiply(self.value(node.args[0], point), context().pi / 180)
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


def agree(left: Value, right: Value) -> bool:
    """Return whether two values are the same number."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left == right
    if left == 0 or right == 0:  # an exact zero, and a value that is not
        return False
    left, right = _inexact(left), _inexact(right)
    return bool(abs(left - right) <= context().tolerance * max(abs(left), abs(right)))


def quotient(left: Value, right: Value) -> Value:
    """Return ``left / right`` for the comparison with ``agree``; neither is zero."""
    return _divide(left, right)


def is_real(value: Value) -> bool:
    return isinstance(value, Fraction) or not hasattr(value, "_mpc_")


def _is_long(value: Value) -> bool:
    """Whether an exact number has so many digits that sixty of them say too little."""
    if not isinstance(value, Fraction):
        return False
    return value.numerator.bit_length() + value.denominator.bit_length() > _LONGEST


def _inexact(value: Value) -> Value:
    if not isinstance(value, Fraction):
        return value
    return context().mpf(value.numerator) / value.denominator


def _checked(value: Value) -> Value:
    """Return ``value`` if it is within the limits; parts that are mere noise are taken away."""
    if isinstance(value, Fraction):
        if value.numerator.bit_length() + value.denominator.bit_length() > MAX_BITS:
            raise Unreadable("too large")
        return value
    if not is_real(value):
        value = _without_noise(value)
    if value == 0:
        return Fraction(0)
    size = context().mag(value)
    if not isinstance(size, int) or abs(size) > _LARGEST:
        raise Unreadable("too large or too small")
    return value


def _without_noise(value: Value) -> Value:
    size = context().mag(value)
    real, imaginary = value.real, value.imag
    if imaginary == 0 or context().mag(imaginary) < size - _NOISE:
        return real
    if real != 0 and context().mag(real) < size - _NOISE:
        return context().mpc(0, imaginary)
    return value


def _add(left: Value, right: Value) -> Value:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left + right
    if left == 0 or right == 0:
        return right if left == 0 else left
    left, right = _inexact(left), _inexact(right)
    total = left + right
    return _unless_cancelled(total, max(context().mag(left), context().mag(right)))


def _unless_cancelled(total: Value, size: int) -> Value:
    if total == 0 or context().mag(total) < size - _NOISE:
        return Fraction(0)
    if context().mag(total) < size - _LOSS:
        raise Unreadable("a sum that cancels")
    return total


def _multiply(left: Value, right: Value) -> Value:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left * right
    if left == 0 or right == 0:
        return Fraction(0)
    return _inexact(left) * _inexact(right)


def _folded(operation: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    """``operation`` over many values, within the limits at every step."""

    def apply(*values: Value) -> Value:
        total = values[0]
        for value in values[1:]:
            total = _checked(operation(total, value))
        return total

    return apply


def _divide(left: Value, right: Value) -> Value:
    if right == 0:
        raise Unreadable("division by zero")
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left / right
    return Fraction(0) if left == 0 else _inexact(left) / _inexact(right)


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            return _whole_power(base, exponent.numerator)
        if isinstance(base, Fraction) and exponent.denominator <= 64:
            return _rational_power(base, exponent)
    if base == 0:
        raise Unreadable("a power of zero")
    base, exponent = _inexact(base), _inexact(exponent)
    if abs(exponent) * (1 + abs(context().mag(base))) > _LARGEST:
        raise Unreadable("too large")
    return context().power(base, exponent)


def _whole_power(base: Value, exponent: int) -> Value:
    if base == 0 and exponent <= 0:
        raise Unreadable("a power of zero")
    if isinstance(base, Fraction):
        bits = max(base.numerator.bit_length(), base.denominator.bit_length(), 1)
        if abs(exponent) > MAX_BITS and bits == 1:  # 1 or -1
            return base ** (exponent % 2)
        if abs(exponent) * bits > MAX_BITS:
            raise Unreadable("too large")
        return base**exponent
    if abs(exponent) * (1 + abs(context().mag(base))) > 4 * _LARGEST:
        raise Unreadable("too large")
    return base**exponent


def _rational_power(base: Fraction, exponent: Fraction) -> Value:
    """A root: exact if it is rational, the real one if a negative number has one."""
    if base == 0:
        if exponent < 0:
            raise Unreadable("division by zero")
        return Fraction(0)
    degree = exponent.denominator
    if base < 0:
        if degree % 2 == 0:
            root = context().sqrt(_inexact(base)) if degree == 2 else None
            if root is None:
                return context().power(_inexact(base), _inexact(exponent))
            exact = _exact_root(-base, 2)
            root = root if exact is None else context().mpc(0, _inexact(exact))
            return root**exponent.numerator
        root = _rational_power(-base, Fraction(1, degree))
        return _whole_power(_multiply(Fraction(-1), root), exponent.numerator)
    exact = _exact_root(base, degree)
    if exact is not None:
        return _whole_power(exact, exponent.numerator)
    return _whole_power(context().root(_inexact(base), degree), exponent.numerator)


def _exact_root(value: Fraction, degree: int) -> Fraction | None:
    above, below = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    return None if above is None or below is None else Fraction(above, below)


def _whole_root(value: int, degree: int) -> int | None:
    if degree == 2:
        guess = math.isqrt(value)
    elif value.bit_length() > 900:
        return None
    else:
        guess = round(value ** (1 / degree))
    return guess if guess**degree == value else None


def _root(value: Value, degree: Value) -> Value:
    if not isinstance(degree, Fraction) or degree == 0:
        raise Unreadable("a root of no fixed degree")
    if isinstance(value, Fraction) and degree.denominator == 1 and abs(degree) <= 64:
        return _rational_power(value, 1 / degree)
    return _power(value, 1 / degree)


def _factorial(value: Value) -> Value:
    if not isinstance(value, Fraction):
        raise Unreadable("a factorial of no whole number")
    if value.denominator != 1:
        if abs(value) > 30:
            raise Unreadable("too large")
        return context().gamma(_inexact(value) + 1)
    if not 0 <= value <= 1000:
        raise Unreadable("too large")
    return Fraction(math.factorial(int(value)))


def _of_integers(function: Callable[..., int]) -> Callable[..., Value]:
    def apply(*values: Value) -> Value:
        if not all(isinstance(v, Fraction) and v.denominator == 1 for v in values):
            raise Unreadable("a divisor of no whole numbers")
        return Fraction(function(*map(int, values)))

    return apply


def _extreme(function: Callable[..., Value]) -> Callable[..., Value]:
    def apply(*values: Value) -> Value:
        if not all(map(is_real, values)):
            raise Unreadable("the order of complex numbers")
        return function(*values)

    return apply


def _double_factorial(value: Value) -> Value:
    if not isinstance(value, Fraction) or value.denominator != 1 or not 0 <= value <= 1000:
        raise Unreadable("a double factorial of no small whole number")
    return Fraction(math.prod(range(int(value), 0, -2)))


def _binomial(above: Value, below: Value) -> Value:
    if not isinstance(below, Fraction) or below.denominator != 1 or not 0 <= below <= 400:
        raise Unreadable("a binomial that is too large")
    if not isinstance(above, Fraction) or above.numerator.bit_length() > 60:
        raise Unreadable("a binomial that is too large")
    if above.denominator == 1 and above >= 0:
        return Fraction(math.comb(int(above), int(below)))
    result = Fraction(1)
    for step in range(min(int(below), 60)):
        result = _checked(result * (above - step) / (step + 1))
    if below > 60:
        raise Unreadable("a binomial that is too large")
    return result


def _rounding(function: Callable[[Any], int]) -> Callable[[Value], Value]:
    def apply(value: Value) -> Value:
        if isinstance(value, Fraction):
            return Fraction(function(value))
        if not is_real(value):
            raise Unreadable("rounding of a complex number")
        if abs(value - context().nint(value)) < context().tolerance:
            raise Unreadable("rounding next to a whole number")
        return Fraction(int(context().floor(value)) + (function is math.ceil))

    return apply


def _absolute(value: Value) -> Value:
    return abs(value)


def _function(name: str, zeros: tuple[int, ...] = ()) -> Callable[[Value], Value]:
    """A function of mpmath on an inexact value; results that are noise are zero."""

    def apply(value: Value) -> Value:
        try:
            result = getattr(context(), name)(value)
        except (ValueError, ZeroDivisionError, OverflowError, ArithmeticError) as error:
            raise Unreadable(f"{name} is undefined there") from error
        if result != 0 and context().mag(result) < -_NOISE:
            return Fraction(0)
        return result

    return apply


_OPERATIONS: dict[str, Callable[..., Value]] = {
    "+": _folded(_add),
    "*": _folded(_multiply),
    "/": _divide,
    "^": _power,
    "root": _root,
    "neg": lambda value: -value,
    "!": _factorial,
    "!!": _double_factorial,
    "binom": _binomial,
    "gcd": _of_integers(math.gcd),
    "lcm": _of_integers(math.lcm),
    "max": _extreme(max),
    "min": _extreme(min),
    "abs": _absolute,
    "deg": lambda value: value,
    "%": lambda value: _divide(value, Fraction(100)),
    "floor": _rounding(math.floor),
    "ceil": _rounding(math.ceil),
    "ln": _function("ln"),
    **{
        name: _function(called)
        for name, called in (
            ("sin", "sin"), ("cos", "cos"), ("tan", "tan"), ("cot", "cot"), ("sec", "sec"),
            ("csc", "csc"), ("arcsin", "asin"), ("arccos", "acos"), ("arctan", "atan"),
            ("sinh", "sinh"), ("cosh", "cosh"), ("tanh", "tanh"),
        )
    },
}  # fmt: skip
_INEXACT = frozenset("ln sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh".split())
