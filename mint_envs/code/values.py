"""Comparison of a program's value, in its wire form, with the expected one.

The *expected* value is walked, so its size bounds the work: a program cannot make the comparison
slow by what it returns (colliding hashes, deep nesting, a gigabyte), nor take part in it.
Types count as in Python: ``2 == 2.0``, ``True == 1``, but a list is not a tuple.
"""

from __future__ import annotations

import decimal
import fractions
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import SettingError

_MAX_DEPTH = 100
_MAX_DIGITS = 100_000
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class _NoNumber(Exception):
    """A wire form that is no number."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a number may be off: ``|a - b| <= max(absolute, relative * |expected|)``."""

    absolute: float = 0.0
    relative: float = 0.0


EXACT = Tolerance()


class ListOrTuple(list[Any]):
    """A wanted list that may as well be a tuple: where the wanted values came as JSON."""


class Either(tuple[Any, ...]):
    """Wanted values of which any will do."""


def plain_data(value: Any, where: str, depth: int = 0) -> Any:
    """Return ``value`` if it is plain data (an array becomes lists).

    Raises:
        SettingError: it is not; an expected value must be comparable without running anything.
    """
    if type(value) in _PLAIN:
        return value
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    if depth < _MAX_DEPTH and type(value) in (list, tuple, set, frozenset):
        return type(value)(plain_data(item, where, depth + 1) for item in value)
    if depth < _MAX_DEPTH and isinstance(value, Mapping):
        return {key: plain_data(item, where, depth + 1) for key, item in value.items()}
    raise SettingError(
        f"{where}: the expected value is a {type(value).__name__}, not plain data (numbers, text, "
        "lists, tuples, sets, dicts). Compare something plain of it, such as f(1).name"
    )


def wire_equals(wire: Any, want: Any, tolerance: Tolerance = EXACT, depth: int = 0) -> bool:
    """Return whether the wire form equals the expected plain value."""
    if isinstance(want, Either):
        return any(wire_equals(wire, one, tolerance, depth + 1) for one in want)
    return depth <= _MAX_DEPTH and _same_value(wire, want, tolerance, depth)


def _same_value(wire: Any, want: Any, tolerance: Tolerance, depth: int) -> bool:
    if want is None or isinstance(want, str):
        return bool(wire == want)
    if isinstance(want, bool | int | float | complex):
        return _same_number(wire, want, tolerance)
    if not (isinstance(wire, list) and len(wire) == 2):
        return False
    tag, items = wire
    if isinstance(want, bytes):
        return bool(tag == "b" and items == want.hex())
    if not isinstance(items, list) or len(items) != len(want) or tag not in _tags(want):
        return False
    if isinstance(want, list | tuple):
        return all(
            wire_equals(item, other, tolerance, depth + 1)
            for item, other in zip(items, want, strict=True)
        )
    return (_same_dict if isinstance(want, dict) else _same_set)(items, want, tolerance, depth + 1)


def truth(wire: Any) -> bool:
    """Return the truth value of a wire form, as Python would see the plain value."""
    if isinstance(wire, list) and len(wire) == 2 and wire[0] in tuple("ltszdbx"):
        return bool(wire[1])
    if isinstance(wire, str):
        return bool(wire)
    try:
        return bool(wire_number(wire))  # a signalling NaN may be asked this, but not be compared
    except _NoNumber:
        return False


def wire_number(wire: Any) -> Any:
    """Return the number of a wire form; raises ``_NoNumber`` if it is none."""
    if isinstance(wire, bool | int):
        return wire
    if not isinstance(wire, list):
        raise _NoNumber
    try:
        tag, *texts = wire
        if sum(map(len, texts)) > _MAX_DIGITS:
            raise _NoNumber
        return _NUMBERS[tag](*texts)
    except (TypeError, ValueError, KeyError, ArithmeticError):
        raise _NoNumber from None


_NUMBERS: dict[str, Any] = {
    "i": lambda text: int(text, 16),
    "f": float.fromhex,
    "c": lambda real, imaginary: complex(float.fromhex(real), float.fromhex(imaginary)),
    "n": decimal.Decimal,
    "q": lambda top, bottom: fractions.Fraction(int(top, 16), int(bottom, 16)),
}


def _same_number(wire: Any, want: Any, tolerance: Tolerance) -> bool:
    try:
        value = wire_number(wire)
        if value == want or (value != value and want != want):
            return True
        if tolerance == EXACT:
            return False
        room = max(tolerance.absolute, tolerance.relative * abs(want))
        distance = abs(complex(value) - complex(want))
        return math.isfinite(distance) and distance <= room
    except (_NoNumber, ArithmeticError, TypeError, ValueError):
        return False


def _tags(want: Any) -> tuple[str, ...]:
    if isinstance(want, list):
        return ("l", "t") if isinstance(want, ListOrTuple) else ("l",)
    if isinstance(want, tuple):
        return ("t",)
    return ("d",) if isinstance(want, dict) else ("s", "z")


def _key(wire: Any) -> Any:
    """Return a simple hashable value of a wire form; raises ``_NoNumber`` or what Python raises."""
    if wire is None or isinstance(wire, str):
        return wire
    if isinstance(wire, list) and len(wire) == 2 and isinstance(wire[1], list) and wire[0] == "t":
        return tuple(_key(item) for item in wire[1])
    if isinstance(wire, list) and len(wire) == 2 and wire[0] == "b":
        return bytes.fromhex(wire[1])
    return wire_number(wire)


def _find_member(wire: Any, left: Any, depth: int) -> Any:
    """Return the member of ``left`` that equals the wire form; raises ``_NoNumber`` if none does.

    Only lookups in the expected set are done by hash; nothing is built of the program's values.
    """
    try:
        key = _key(wire)
        if key in left:
            return key
    except (_NoNumber, ValueError, TypeError, RecursionError, OverflowError):
        pass
    for member in left:  # sets, and what is not equal to itself; one miss ends the comparison
        if wire_equals(wire, member, EXACT, depth):
            return member
    raise _NoNumber


def _same_set(items: list[Any], want: Any, tolerance: Tolerance, depth: int) -> bool:
    left = set(want)
    try:
        for item in items:
            left.remove(_find_member(item, left, depth))
    except _NoNumber:
        return False
    return True


def _same_dict(items: list[Any], want: Any, tolerance: Tolerance, depth: int) -> bool:
    left = dict(want)
    for pair in items:
        if not (isinstance(pair, list) and len(pair) == 2):
            return False
        try:
            value = left.pop(_find_member(pair[0], left, depth))
        except _NoNumber:
            return False
        if not wire_equals(pair[1], value, tolerance, depth):
            return False
    return True


def show_wire(wire: Any, room: int = 80) -> str:
    """Return a wire form as short text, at most ``room`` characters and a little."""
    if isinstance(wire, list) and len(wire) == 2 and isinstance(wire[1], list):
        if room < 4:
            return "..."
        pieces: list[str] = []
        for item in wire[1]:
            pieces.append(show_wire(item, room // 2))
            room -= len(pieces[-1]) + 2
            if room <= 0:
                pieces.append("...")
                break
        pair = _BRACKETS.get(str(wire[0]), "[]")
        return pair[0] + ", ".join(pieces) + pair[1]
    try:
        text = repr(wire[:200] if isinstance(wire, str) else wire_number(wire))
    except (_NoNumber, ValueError):
        text = "None" if wire is None else "?"
    return shorten(text, max(room, 8))


_BRACKETS = {"t": "()", "s": "{}", "z": "{}", "d": "{}", "x": "<>"}


def text_form(value: Any) -> str:
    """Return an expected value as Python writes it, or its hash if a number in it is too long."""
    try:
        return repr(value)
    except ValueError:  # more digits than Python turns into text
        return f"a value with a number of more than 4300 digits ({_digest(value)})"


def _digest(value: Any) -> str:
    if isinstance(value, int):
        return f"{value % (1 << 61):x}"
    if isinstance(value, Mapping):
        return " ".join(f"{_digest(key)}:{_digest(item)}" for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return " ".join(map(_digest, value))
    return repr(value)


def shorten(text: str, room: int = 80) -> str:
    """Return ``text`` on at most ``room`` characters, fit for a terminal and for UTF-8."""
    text = text if len(text) <= room else text[: room - 3] + "..."
    return visible(text)


def visible(text: str) -> str:
    """Escape what a program should not send to a terminal or a log: controls, half surrogates."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
