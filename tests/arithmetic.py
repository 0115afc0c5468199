r"""What a formula of numbers, ``x``, ``+-/^``, brackets and ``\frac{}{}`` is worth, read by itself.

It knows nothing of the grader. ``1/2x`` has two readings, so there are two conventions, and a text
has a value in each: None where it is no formula.
"""

from __future__ import annotations

import re
from fractions import Fraction

_SIGN = re.compile(r"\\frac|\d+|\S")


class _NoFormula(Exception):
    pass


def value(text: str, x: Fraction, tight: bool) -> Fraction | None:
    """The value of ``text`` at ``x``; ``tight``: ``1/2x`` is one by two x."""
    reader = _Reader(_SIGN.findall(text), x, tight)
    try:
        found = reader.sum()
        return None if reader.rest else found
    except (_NoFormula, ZeroDivisionError, IndexError):
        return None


class _Reader:
    def __init__(self, signs: list[str], x: Fraction, tight: bool) -> None:
        self.rest, self.x, self.tight = signs, x, tight

    def sum(self) -> Fraction:
        total = self.term()
        while self.rest and self.rest[0] in "+-":
            total += self.term()
        return total

    def term(self) -> Fraction:
        sign = 1
        while self.rest and self.rest[0] in "+-":
            sign = -sign if self.rest.pop(0) == "-" else sign
        found = self.chunk()
        while self.rest and self.rest[0] not in "+-)}":
            if self.rest[0] == "/":
                self.rest.pop(0)
                found /= self.chunk()
            else:
                found *= self.chunk()
        return sign * found

    def chunk(self) -> Fraction:
        """One factor, or with ``tight`` all that are written side by side."""
        found = self.power()
        while self.tight and self.rest and self.rest[0] not in "+-)}/":
            found *= self.power()
        return found

    def power(self) -> Fraction:
        found = self.atom()
        if self.rest and self.rest[0] == "^":
            self.rest.pop(0)
            minus = self.rest[0] == "-"
            if minus:
                self.rest.pop(0)
            raised = self.atom(mixed=False)
            if raised.denominator != 1 or abs(raised) > 9:
                # No value, but one that tells powers apart.
                return found + 1000 * (-raised if minus else raised)
            return found ** int(-raised if minus else raised)
        return found

    def atom(self, mixed: bool = True) -> Fraction:
        sign = self.rest.pop(0)
        if sign.isdigit():
            return Fraction(sign) + (self.part() if mixed else 0)
        if sign == "x":
            return self.x
        if sign == "\\frac":
            return self.group("{", "}") / self.group("{", "}")
        if sign in "({":
            self.rest.insert(0, sign)
            return self.group(sign, ")" if sign == "(" else "}")
        raise _NoFormula

    def group(self, opening: str, closing: str) -> Fraction:
        if self.rest.pop(0) != opening:
            raise _NoFormula
        found = self.sum()
        if self.rest.pop(0) != closing:
            raise _NoFormula
        return found

    def part(self) -> Fraction:
        r"""What is added by ``1/2`` of ``3 1/2``, and by ``\frac{1}{2}`` of ``3\frac{1}{2}``."""
        above, sign, below = (*self.rest[:3], "", "", "")[:3]
        if above.isdigit():
            if sign != "/" or not below.isdigit() or self.rest[3:4] == ["/"]:
                raise _NoFormula
            del self.rest[:3]
            return Fraction(int(above), int(below))
        signs = self.rest[:7]
        if [*signs[:2], *signs[3:5], *signs[6:]] == ["\\frac", "{", "}", "{", "}"]:
            above, below = signs[2], signs[5]
            if above.isdigit() and below.isdigit():
                del self.rest[:7]
                return Fraction(int(above), int(below))
        return Fraction(0)
