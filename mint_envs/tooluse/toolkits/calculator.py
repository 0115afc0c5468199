"""A calculator: an expression is read and worked out here, never evaluated as a program."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from .tools import ToolError, Toolkit, tool

Number = int | float
_MAX_LENGTH, _MAX_DEPTH, _MAX_BITS = 1000, 50, 4096

_TOKEN = re.compile(
    r"\s*+(?:([0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)|(\*\*|//|[-+*/%^(),])|([a-z]+))"
)


def _rounded(value: Number, digits: int | None = None) -> Number:
    """Round; Python works out 10 ** -digits for an integer, however large that is."""
    if digits is not None and abs(digits) > _MAX_BITS:
        raise ToolError("too many digits to round to")
    return round(value, digits)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt, "abs": abs, "round": _rounded, "min": min, "max": max,
    "floor": math.floor, "ceil": math.ceil, "gcd": math.gcd,
}  # fmt: skip
_LEVELS = ({"+", "-"}, {"*", "/", "//", "%"})


class Calculator(Toolkit):
    """Arithmetic. It has no state."""

    name = "calculator"
    call_s = None
    stateless = True

    def initial(self, rng: np.random.Generator) -> dict[str, Any]:
        return {}

    @tool
    def calculate(
        self,
        expression: Annotated[str, "for example (12 + 7) * 3 / 4, 2 ** 10, sqrt(2), max(3, 5)"],
    ) -> Number:
        """Return the value of an arithmetic expression: + - * / // % ** and parentheses."""
        return calculate(expression)


def calculate(expression: str) -> Number:
    """Return the value of an arithmetic expression.

    Raises:
        ToolError: it is no expression, too long, divides by zero, or its value is too large.
    """
    if len(expression) > _MAX_LENGTH:
        raise ToolError(f"the expression is longer than {_MAX_LENGTH} characters")
    reader = _Reader(_tokens(expression))
    try:
        value = reader.level(0, 0)
    except ZeroDivisionError as error:
        raise ToolError("division by zero") from error
    except (OverflowError, ValueError, TypeError) as error:
        raise ToolError(f"this cannot be worked out: {error}") from error
    if reader.next:
        raise ToolError(f"unexpected {reader.next!r}")
    return value


def _tokens(expression: str) -> list[str]:
    found, at, text = [], 0, expression.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ToolError(f"unexpected {text[at:].strip()[:20]!r}; write + - * / // % **")
        found.append(match[0].strip())
        at = match.end()
    return found


class _Reader:
    """Reads tokens from left to right, by precedence."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens[::-1]

    @property
    def next(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def _take(self, *wanted: str) -> str:
        if not self._tokens or (wanted and self.next not in wanted):
            what = f"{' or '.join(wanted)} is missing" if wanted else "the expression is cut"
            raise ToolError(what)
        return self._tokens.pop()

    def level(self, level: int, depth: int) -> Number:
        """Read terms joined by the operators of this level; the next level binds tighter."""
        if depth > _MAX_DEPTH:
            raise ToolError(f"more than {_MAX_DEPTH} parentheses inside each other")
        if level == len(_LEVELS):
            return self._signed(depth)
        value = self.level(level + 1, depth)
        while self.next in _LEVELS[level]:
            operator = self._take()
            value = _apply(operator, value, self.level(level + 1, depth))
        return value

    def _signed(self, depth: int) -> Number:
        negative = False
        while self.next in ("+", "-"):
            negative ^= self._take() == "-"
        value = self._power(depth)
        return -value if negative else value

    def _power(self, depth: int) -> Number:
        base = self._single(depth)
        if self.next not in ("**", "^"):
            return base
        self._take()
        if depth >= _MAX_DEPTH:
            raise ToolError(f"more than {_MAX_DEPTH} powers inside each other")
        return _bounded_power(base, self._signed(depth + 1))  # from right to left

    def _single(self, depth: int) -> Number:
        token = self._take()
        if token == "(":
            value = self.level(0, depth + 1)
            self._take(")")
            return value
        if token in _FUNCTIONS:
            return self._function(token, depth)
        if token[0].isdigit() or token[0] == ".":
            return _real(float(token) if set(token) & set(".eE") else int(token))
        raise ToolError(f"unexpected {token!r}")

    def _function(self, name: str, depth: int) -> Number:
        self._take("(")
        arguments = [self.level(0, depth + 1)]
        while self._take(",", ")") == ",":
            arguments.append(self.level(0, depth + 1))
        return _real(_FUNCTIONS[name](*arguments))


def _apply(operator: str, left: Number, right: Number) -> Number:
    if operator == "+":
        return _real(left + right)
    if operator == "-":
        return _real(left - right)
    if operator == "*":
        return _real(left * right)
    if operator == "/":
        return _quotient(left, right)
    return _real(left // right if operator == "//" else left % right)


def _quotient(left: Number, right: Number) -> Number:
    """Return 6 / 3 as 2, not 2.0."""
    if isinstance(left, int) and isinstance(right, int) and right and left % right == 0:
        return left // right
    return _real(left / right)


def _bounded_power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 1:
        if abs(base) > 1 and base.bit_length() * exponent > _MAX_BITS:
            raise ToolError("the value is too large")
        return int(base**exponent)
    return _real(base**exponent)


def _real(value: Any) -> Number:
    """Refuse what is no real number, or has too many digits to be of use."""
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise ToolError("the value is not a real number")
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise ToolError("the value is too large")
    number: Number = value
    return number
