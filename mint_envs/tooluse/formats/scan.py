"""What the formats share: attempts at a call, and the walk over a text from marker to marker.

The walk is in one direction: what has been read as part of a call is not looked at again, so a
marker inside an argument is harmless, and time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from .strict import CallFault, Value, read_value, read_whole, skip_space


class Attempt(NamedTuple):
    """One attempt at a call, good or not. ``end`` is where the walk goes on."""

    start: int
    end: int
    name: str = ""
    arguments: Any = None
    fault: CallFault | None = None
    untyped: bool = False  # arguments are text that the schema must give a type
    id: str = ""  # that the model itself gave to the call
    python: bool = False  # where untyped: nested values may be written as Python does


Reader = Callable[[str, int, int], Attempt | None]
"""(text, start of the marker, end of the marker) -> attempt, or None where it is but prose."""


def walk(text: str, readers: dict[str, Reader], ends: tuple[str, ...]) -> Iterator[Attempt]:
    """Yield the attempts that begin at a marker; stop where the turn ends."""
    search = _finder((*readers, *ends)).search
    at = 0
    while match := search(text, at):
        marker, at = match.group(), match.end()
        if marker in ends:
            return
        if attempt := readers[marker](text, match.start(), at):
            at = max(at, attempt.end)
            yield attempt


@lru_cache(maxsize=64)
def _finder(marks: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, marks)))


def bare_calls(
    text: str, read: Callable[[str, int], tuple[list[Attempt], int]]
) -> Iterator[Attempt]:
    """Yield the attempts of a format without markers: a call stands at the beginning."""
    yield from read(text, skip_space(text, 0))[0]


def starts(text: str, at: int, marks: tuple[str, ...]) -> bool:
    """Tell whether one of ``marks``, or the end of the text, stands at ``at``."""
    return at >= len(text) or text.startswith(marks, at)


def failed(start: int, end: int, kind: str, message: str, name: str = "") -> Attempt:
    return Attempt(start, end, name, None, CallFault(kind, message))


# -- calls as JSON objects ------------------------------------------------------------------


def from_json(start: int, found: Value) -> Attempt:
    """Return the attempt that a JSON value is: ``{"name", "arguments"}`` or a cousin of it."""
    if found.fault:
        return Attempt(start, found.end, fault=found.fault)
    value = found.value
    if not isinstance(value, dict):
        return failed(start, found.end, "not_an_object", "a call is a JSON object")
    if "name" not in value and isinstance(value.get("function"), dict):
        value = value["function"]
    name = value.get("name")
    if not isinstance(name, str) or not name:
        return failed(start, found.end, "missing_name", "a call has a name, a string")
    arguments = value["arguments"] if "arguments" in value else value.get("parameters")
    own = value.get("id", value.get("call_id"))
    return named_call(start, found.end, name, arguments, own if isinstance(own, str) else "")


def named_call(start: int, end: int, name: str, arguments: Any, own: str = "") -> Attempt:
    """Return the attempt with these arguments, which may be a JSON text of an object."""
    if isinstance(arguments, str) and arguments.strip():
        found = read_whole(arguments)
        if found.fault and arguments.lstrip().startswith("{"):
            return Attempt(start, end, name, None, found.fault)
        arguments = found.value if found.fault is None else arguments
    elif arguments is None or arguments == "":
        arguments = {}
    if not isinstance(arguments, dict):
        return failed(start, end, "arguments_not_object", "arguments are a JSON object", name)
    return Attempt(start, end, name, arguments, None, False, own)


def json_arguments(text: str, start: int, at: int, name: str, close: tuple[str, ...]) -> Attempt:
    """Return the attempt whose arguments are the JSON object at ``at``, up to one of ``close``."""
    found = read_value(text, skip_space(text, at))
    attempt = (
        Attempt(start, found.end, name, None, found.fault)
        if found.fault
        else named_call(start, found.end, name, found.value)
    )
    return closed(text, attempt, close)


def closed(text: str, attempt: Attempt, close: tuple[str, ...]) -> Attempt:
    """Take the first mark of ``close`` into the span; refuse JSON that none of them follows.

    The text may also end there: a sampler that stops on the mark may leave it out.
    """
    if attempt.fault or not close:
        return attempt
    at = skip_space(text, attempt.end)
    if not starts(text, at, close):
        return failed(
            attempt.start, at, "invalid_json", "something follows the JSON value", attempt.name
        )
    if not text.startswith(close[0], at):
        return attempt
    return Attempt(attempt.start, at + len(close[0]), *attempt[2:])  # faster than _replace
