"""Strict JSON inside longer text: read one value from a place, and say exactly where it ends.

Python's own reader lets NaN, infinities, repeated keys and lone surrogates through, all of which
break a JSON writer or another reader later. Nothing is repaired here: repair hides the very
signal that training is to learn from.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

#: Limits on one call.
MAX_DEPTH, MAX_BYTES, MAX_DIGITS = 64, 64 * 1024, 4300

#: Characters that are decoded at first, and how near to their end nothing is sure: the longest word
#: is ``-Infinity``.
_WINDOW, _EDGE = 1024, 16

# What may stand at the very end of a text that was cut in the middle of a value.
_CUT = re.compile(r"-|\.|[eE][+-]?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|\\(?:u[0-9a-fA-F]{0,3})?")
_SPACE = re.compile(r"[ \t\r\n]*")


class CallFault(NamedTuple):
    """Why something is no call: a ``kind`` to count by, and a sentence for the model."""

    kind: str
    message: str


class Value(NamedTuple):
    """What was read: the value or the fault, and the place where reading stopped."""

    value: Any
    end: int
    fault: CallFault | None = None


def skip_space(text: str, at: int) -> int:
    """Return the first place from ``at`` that holds no JSON white space."""
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def read_value(text: str, at: int = 0) -> Value:
    """Read the JSON value that begins exactly at ``at``; what follows it is not looked at."""
    try:
        decoder, faults = _spare.pop()
    except IndexError:
        faults = []
        decoder = _decoder(faults)
    try:
        value, end = _decoded(decoder, faults, text, at)
        fault = _limits(value, text[at:end]) or (faults[0] if faults else None)
        return Value(None if fault else value, end, fault)
    except json.JSONDecodeError as error:
        return _json_fault(text, error.msg, at + error.pos)
    except RecursionError:
        return Value(None, len(text), _TOO_DEEP)
    finally:
        _spare.append((decoder, faults))


#: Decoders that nobody uses just now, each with the list of its faults, which ``_decoded``
#: clears. Threads have one each.
_spare: list[tuple[json.JSONDecoder, list[CallFault]]] = []


def _decoded(
    decoder: json.JSONDecoder, faults: list[CallFault], text: str, at: int
) -> tuple[Any, int]:
    """Decode from a window that grows until the value, or what is wrong with it, lies inside.

    Python's error counts the lines of all that it is given, up to the place: given the whole text
    every time, many broken values would take time with the square of its length.
    """
    window = _WINDOW
    while True:
        piece = text[at : at + window]
        last = at + window >= len(text)
        faults.clear()
        try:
            value, end = decoder.raw_decode(piece)
        except json.JSONDecodeError as error:
            if last or not _at_the_edge(piece, error.msg, error.pos):
                raise
        else:
            if last or end + _EDGE < len(piece):
                return value, at + end
        window *= 16


def _at_the_edge(piece: str, message: str, place: int) -> bool:
    """Tell whether a fault may come from the end of the window, and not from the text."""
    return message.startswith("Unterminated string") or place + _EDGE >= len(piece)


def read_whole(text: str) -> Value:
    """Read a text that is one JSON value and nothing else."""
    found = read_value(text, skip_space(text, 0))
    rest = skip_space(text, found.end)
    if found.fault is None and rest < len(text):
        return Value(None, rest, CallFault("invalid_json", "something follows the JSON value"))
    return found


def _decoder(faults: list[CallFault]) -> json.JSONDecoder:
    """Return a reader that notes what it must not accept, and reads on to the value's end."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            faults.append(CallFault("duplicate_key", "a key stands twice in one object"))
        return found

    def constant(name: str) -> None:
        faults.append(CallFault("invalid_json", f"{name} is not JSON"))

    def real(digits: str) -> float:
        number = float(digits)
        if not math.isfinite(number):
            faults.append(CallFault("invalid_json", "a number is too large"))
        return number

    def whole(digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            faults.append(CallFault("invalid_json", f"a number has more than {MAX_DIGITS} digits"))
            return 0
        return int(digits)

    return json.JSONDecoder(
        object_pairs_hook=pairs, parse_constant=constant, parse_float=real, parse_int=whole
    )


_TOO_DEEP = CallFault("too_deep", f"more than {MAX_DEPTH} levels of nesting")


def too_large(raw: str) -> CallFault | None:
    """Return the fault of a call longer than ``MAX_BYTES`` in UTF-8."""
    if len(raw) * 4 <= MAX_BYTES or len(raw.encode("utf-8", "surrogatepass")) <= MAX_BYTES:
        return None
    return CallFault("too_large", f"a call is longer than {MAX_BYTES} bytes")


def _limits(value: Any, raw: str) -> CallFault | None:
    if fault := too_large(raw):
        return fault
    if raw.count("{") + raw.count("[") > MAX_DEPTH and deeper_than(value, MAX_DEPTH):
        return _TOO_DEEP
    if not _all_encodable(value, raw):
        return CallFault("invalid_json", "a string holds half of a surrogate pair")
    return None


def deeper_than(value: Any, levels: int) -> bool:
    """Tell whether lists and dictionaries are nested more than ``levels`` deep."""
    layer = [value]
    for _ in range(levels):
        layer = [
            inner
            for outer in layer
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not layer:
            return False
    return any(isinstance(outer, dict | list) for outer in layer)


def encodable(text: str) -> bool:
    """Tell whether a text has bytes: half of a surrogate pair has none."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _all_encodable(value: Any, raw: str) -> bool:
    """Only an escape, or a surrogate in the text itself, can make a string without bytes."""
    if not encodable(raw) or "\\u" not in raw:
        return encodable(raw)
    try:
        return encodable(json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError):
        return False


def _json_fault(text: str, message: str, place: int) -> Value:
    rest = text[place : place + 8].rstrip()
    if message.startswith("Unterminated string"):
        return Value(None, len(text), CallFault("truncated", "the JSON is cut inside a string"))
    if place + 8 >= len(text) and (not rest or _CUT.fullmatch(rest)):
        return Value(None, len(text), CallFault("truncated", "the JSON is cut before its end"))
    return Value(None, place, CallFault("invalid_json", f"not valid JSON: {message}"))
