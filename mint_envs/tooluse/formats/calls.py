"""Find the tool calls in what a model wrote: ``parse_calls``.

The policy is one for all formats. JSON is strict and read from its tag on, so that a tag inside
a string is harmless; nothing is repaired. Thoughts (``mint_envs.thinking``) are ignored. Good calls
of a message are kept and bad ones reported. Types are not coerced, except in the two formats that
have none. No text whatever raises, and time is linear in its length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from ...errors import SettingError
from ...thinking import first_closed, opens_thought, thoughts, without
from ..toolkits.schemas import ToolTable
from .registry import Format, format_named
from .scan import Attempt, failed
from .strict import CallFault, encodable, too_large
from .writers import Step

#: More attempts than this in one message, and none of them counts.
MAX_CALLS = 16

#: Kinds of faults of calls that were read, but do not fit the schema of the tool.
MISFITS = frozenset(
    ("missing_argument", "unknown_argument", "wrong_type", "not_in_enum", "invalid_value")
)


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt at a call.

    ``status``: ``"ok"`` or ``"error"``. ``name``: as written, ``""`` where none could be read.
    ``arguments``: a dictionary, or None when the call could not be read. ``error``: the kind of
    fault (``"truncated"``, ``"invalid_json"``, ``"wrong_type"``, ...), None for a good call.
    ``span``: (start, end) in characters, tags included. ``message``: the fault in a sentence.
    ``id``: what the model itself called the call, ``""`` where its format has no ids.
    """

    status: Literal["ok", "error"]
    name: str
    arguments: dict[str, Any] | None
    error: str | None
    span: tuple[int, int]
    message: str = ""
    id: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "ok"


def parse_calls(
    text: str,
    format: str | Format = "hermes",
    tools: Sequence[Mapping[str, Any]] | ToolTable | None = None,
) -> list[Call]:
    """Return every attempt at a call in ``text``, in order, good and bad.

    Args:
        text: what the model wrote, special tokens included. Any string whatever.
        format: one of ``FORMATS``, by its name.
        tools: the tools on offer (see ``ToolTable``): calls are then checked against their
            schemas. Without them every name and argument is accepted as written.

    Returns:
        A list of ``Call``. A message with more than 16 attempts gives one error and no call.

    Raises:
        SettingError: an unknown format, text that is no string, or broken tools.
    """
    spoken = format_named(format)
    if not isinstance(text, str):
        raise SettingError(f"text must be a string, not {type(text).__name__}")
    table = ToolTable.of(tools)
    silent = thoughts(text)
    said = without(text, silent, " ") if silent else text
    items = iter(spoken.find(said))
    if spoken.plain:
        items = iter(_plain_attempts(text, said, silent, spoken, list(items)))
    found = list(islice(items, MAX_CALLS))
    if len(found) == MAX_CALLS and (more := sum(1 for _ in items)):
        return [_too_many(found[0].start, len(text), MAX_CALLS + more)]
    return [_checked_attempt(item, said, table) for item in found]


def write_calls(calls: Sequence[Step], format: str | Format = "hermes") -> str:
    """Return the message that makes these calls, in one of ``FORMATS``; ``""`` for none.

    Raises:
        SettingError: an unknown format.
    """
    write = format_named(format).write
    return write(calls) if calls else ""


def _plain_attempts(
    text: str,
    said: str,
    silent: Sequence[tuple[int, int]],
    format: Format,
    found: list[Attempt],
) -> list[Attempt]:
    """Return what was found, or what is in a text all of whose line breaks are those of Windows."""
    if silent:
        found = _apart(text, silent, found, format)
    bad = not found or any(item.fault for item in found)
    if bad and "\r" in said and "\r\n" in said and said.count("\n") == said.count("\r\n"):
        again = list(format.find(said.replace("\r\n", "\n")))
        found = again if again and not any(item.fault for item in again) else found
    return found


def _apart(
    text: str, silent: Sequence[tuple[int, int]], found: list[Attempt], format: Format
) -> list[Attempt]:
    """Refuse calls whose values hold marks of thoughts: where the thought ends cannot be told."""
    assert format.plain is not None
    crossed = any(one.start < b and a < one.end for one in found for a, b in silent)
    for a, b in silent:  # what a thought behind a call says of calls may be the end of a value
        crossed |= bool(a) and _left_over(text[a:b], *format.plain)
        crossed |= any(one.end <= a for one in found) and format.plain[0] in text[a:b]
    start, end = silent[0]
    whole = first_closed(text) == end and opens_thought(text)  # nothing stands before it
    if not (
        crossed or start or whole
    ):  # closed, not opened: by the template, perhaps, or in a value
        crossed = _in_a_value(text[:end], text[end:], *format.plain, format.opened)
    if not crossed:
        return found
    return [failed(0, len(text), "invalid_markup", "a call holds the mark of a thought")]


def _in_a_value(before: str, after: str, opening: str, closing: str, opened: bool) -> bool:
    """Tell whether the mark that ends ``before`` may stand in a value, and close no thought."""
    if opening not in before and closing not in after:
        return False
    cut = before.rfind(opening) > before.rfind(closing)
    late = opening in before[first_closed(before) :]
    return cut or late or _left_over(after, opening, closing) or (opening in before and not opened)


def _left_over(text: str, opening: str, closing: str) -> bool:
    """Tell whether a value is closed that was not opened."""
    return 0 <= text.find(closing) < (text.find(opening) % (len(text) + 1))


def _too_many(start: int, end: int, count: int) -> Call:
    message = f"{count} calls in one message; at most {MAX_CALLS} are allowed"
    return Call("error", "", None, "too_many_calls", (start, end), message)


def _checked_attempt(item: Attempt, text: str, table: ToolTable | None) -> Call:
    arguments, span = item.arguments, (item.start, min(item.end, len(text)))
    fault = item.fault or _size_fault(item, text)
    if fault is None and table is not None:
        if item.untyped:
            arguments = table.coerce(item.name, arguments, item.python)
        fault = table.check(item.name, arguments)
    if fault is not None:
        return Call("error", item.name, arguments, fault.kind, span, fault.message, item.id)
    return Call("ok", item.name, arguments, None, span, id=item.id)


def _size_fault(item: Attempt, text: str) -> CallFault | None:
    """What the JSON reader has not measured: names in headers, and arguments in plain text."""
    raw = text[item.start : item.end] if item.untyped else item.name
    if not encodable(raw):
        return CallFault("invalid_text", "the call holds half of a surrogate pair")
    return too_large(raw)
