"""Arithmetic on exact and inexact numbers, with guards instead of tolerance.

A value is a ``Fraction`` where it is rational, else a number of mpmath with 100 digits. Refused
(``Unreadable``) is what would make sixty equal digits worthless: sums that cancel, results that
are huge or tiny. A result that is mere noise beside what it was made of is the exact 0.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mpmath import MPContext

from .limits import MAX_BITS, Unreadable

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


def quotient(left: Value, right: Value) -> Value:
    """Return ``left / right`` for the comparison with ``agree``; neither is zero."""
    return _divide(left, right)


def is_real(value: Value) -> bool:
    return isinstance(value, Fraction) or not hasattr(value, "_mpc_")


def is_long(value: Value) -> bool:
    """Whether an exact number has so many digits that sixty of them say too little."""
    if not isinstance(value, Fraction):
        return False
    return value.numerator.bit_length() + value.denominator.bit_length() > _LONGEST


def inexact(value: Value) -> Value:
    if not isinstance(value, Fraction):
        return value
    return context().mpf(value.numerator) / value.denominator


def checked(value: Value) -> Value:
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
    left, right = inexact(left), inexact(right)
    total = left + right
    return _unless_cancelled(total, max(context().mag(left), context().mag(right)))


def _unless_cancelled(total: Value, size: int) -> Value:
    if total == 0 or context().mag(total) < size - _NOISE:
        return Fraction(0)
    if context().mag(total) < size - _LOSS:
        raise Unreadable("a sum that cancels")
    return total


def multiply(left: Value, right: Value) -> Value:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left * right
    if left == 0 or right == 0:
        return Fraction(0)
    return inexact(left) * inexact(right)


def _folded(operation: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    """``operation`` over many values, within the limits at every step."""

    def apply(*values: Value) -> Value:
        total = values[0]
        for value in values[1:]:
            total = checked(operation(total, value))
        return total

    return apply


def _divide(left: Value, right: Value) -> Value:
    if right == 0:
        raise Unreadable("division by zero")
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left / right
    return Fraction(0) if left == 0 else inexact(left) / inexact(right)


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            return _whole_power(base, exponent.numerator)
        if isinstance(base, Fraction) and exponent.denominator <= 64:
            return _rational_power(base, exponent)
    if base == 0:
        raise Unreadable("a power of zero")
    base, exponent = inexact(base), inexact(exponent)
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
            root = context().sqrt(inexact(base)) if degree == 2 else None
            if root is None:
                return context().power(inexact(base), inexact(exponent))
            exact = _exact_root(-base, 2)
            root = root if exact is None else context().mpc(0, inexact(exact))
            return root**exponent.numerator
        root = _rational_power(-base, Fraction(1, degree))
        return _whole_power(multiply(Fraction(-1), root), exponent.numerator)
    exact = _exact_root(base, degree)
    if exact is not None:
        return _whole_power(exact, exponent.numerator)
    return _whole_power(context().root(inexact(base), degree), exponent.numerator)


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
        return context().gamma(inexact(value) + 1)
    if not 0 <= value <= 1000:
        raise Unreadable("too large")
    return Fraction(math.factorial(int(value)))


def _of_integers(function: Callable[..., int]) -> Callable[..., Value]:
    def apply(*values: Value) -> Value:
        if not all(isinstance(v, Fraction) and v.denominator == 1 for v in values):
            raise Unreadable("a divisor of no whole numbers")
        return Fraction(function(*map(int, values)))

    return apply


def _remainder(value: Value, modulus: Value) -> Value:
    if not all(isinstance(v, Fraction) and v.denominator == 1 for v in (value, modulus)):
        raise Unreadable("a remainder of no whole numbers")
    if modulus <= 0:
        raise Unreadable("a remainder by no positive number")
    return value % modulus


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
        result = checked(result * (above - step) / (step + 1))
    if below > 60:
        raise Unreadable("a binomial that is too large")
    return result


def nearest(value: Value) -> Value:
    """Return the whole number that ``value`` is, but for noise; else ``value``."""
    if isinstance(value, Fraction) or not is_real(value):
        return value
    whole = context().nint(value)
    return Fraction(int(whole)) if abs(value - whole) < context().tolerance else value


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


OPERATIONS: dict[str, Callable[..., Value]] = {
    "+": _folded(_add),
    "*": _folded(multiply),
    "/": _divide,
    "^": _power,
    "root": _root,
    "neg": lambda value: -value,
    "det": lambda value: value,  # of the sum that it is
    "!": _factorial,
    "!!": _double_factorial,
    "binom": _binomial,
    "gcd": _of_integers(math.gcd),
    "mod": _remainder,
    "lcm": _of_integers(math.lcm),
    "max": _extreme(max),
    "min": _extreme(min),
    "abs": _absolute,
    "deg": lambda value: value,
    "%": lambda value: _divide(value, Fraction(100)),
    "floor": _rounding(math.floor),
    "ceil": _rounding(math.ceil),
    "ln": _function("ln"),
    "log": _function("log10"),
    **{
        name: _function(called)
        for name, called in (
            ("sin", "sin"), ("cos", "cos"), ("tan", "tan"), ("cot", "cot"), ("sec", "sec"),
            ("csc", "csc"), ("arcsin", "asin"), ("arccos", "acos"), ("arctan", "atan"),
            ("sinh", "sinh"), ("cosh", "cosh"), ("tanh", "tanh"),
        )
    },
}  # fmt: skip
INEXACT = frozenset("ln log sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh".split())
