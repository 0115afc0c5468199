"""Find the tool calls in what a model wrote: ``parse_calls``.

The policy is one for all formats. JSON is strict and read from its tag on, so that a tag inside
a string is harmless; nothing is repaired. Thoughts (``mint_envs.thinking``) are ignored. Good calls
of a message are kept and bad ones reported. Types are not coerced, except in the two formats that
have none. No text whatever raises, and time is linear in its length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from ...errors import SettingError, did_you_mean
from ...thinking import blanked
from ..toolkits.schemas import ToolTable
from . import json_calls as formats_json
from . import python_calls as formats_python
from . import text_calls as formats_text
from .scan import Attempt
from .strict import CallFault, too_large

#: The format by name, and what finds the attempts in a text.
FORMATS: dict[str, Callable[[str], formats_json.Found]] = {
    "hermes": formats_json.hermes,
    "qwen3_coder": formats_text.qwen3_coder,
    "llama3_json": formats_json.llama3_json,
    "llama_pythonic": formats_python.llama_pythonic,
    "mistral": formats_json.mistral,
    "glm45": formats_text.glm45,
    "deepseek_v3": formats_json.deepseek_v3,
    "deepseek_v31": formats_json.deepseek_v31,
    "gemma_tool_code": formats_python.gemma_tool_code,
    "openai_message": formats_json.openai_message,
    "harmony": formats_json.harmony,
    "kimi_k2": formats_json.kimi_k2,
}

#: More attempts than this in one message, and none of them counts.
MAX_CALLS = 16

#: Kinds of faults of calls that were read, but do not fit the schema of the tool.
MISFITS = frozenset(
    ("missing_argument", "unknown_argument", "wrong_type", "not_in_enum", "invalid_value")
)

#: What tells a format by the text of a chat template, the more special first.
_SIGNS = (
    ("<function=", "qwen3_coder"),
    ("<arg_key>", "glm45"),
    ("<|tool_call_argument_begin|>", "kimi_k2"),
    ("<|channel|>", "harmony"),
    ("[TOOL_CALLS]", "mistral"),
    ("```json\\n", "deepseek_v3"),
    ("```json\n", "deepseek_v3"),
    ("tool\u2581sep", "deepseek_v31"),
    ("<tool_call>", "hermes"),
    ("<|python_start|>", "llama_pythonic"),
    ("ipython", "llama3_json"),
    ("tool_code", "gemma_tool_code"),
)


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt at a call.

    ``status``: ``"ok"`` or ``"error"``. ``name``: as written, ``""`` where none could be read.
    ``arguments``: a dictionary, or None when the call could not be read. ``error``: the kind of
    fault (``"truncated"``, ``"invalid_json"``, ``"wrong_type"``, ...), None for a good call.
    ``span``: (start, end) in characters, tags included. ``message``: the fault in a sentence.
    """

    status: Literal["ok", "error"]
    name: str
    arguments: dict[str, Any] | None
    error: str | None
    span: tuple[int, int]
    message: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "ok"


def parse_calls(
    text: str,
    format: str = "hermes",
    tools: Sequence[Mapping[str, Any]] | ToolTable | None = None,
) -> list[Call]:
    """Return every attempt at a call in ``text``, in order, good and bad.

    Args:
        text: what the model wrote, special tokens included. Any string whatever.
        format: one of ``FORMATS``.
        tools: the tools on offer (see ``ToolTable``): calls are then checked against their
            schemas. Without them every name and argument is accepted as written.

    Returns:
        A list of ``Call``. A message with more than 16 attempts gives one error and no call.

    Raises:
        SettingError: an unknown format, text that is no string, or broken tools.
    """
    if format not in FORMATS:
        raise SettingError(f"format={format!r} is unknown. {did_you_mean(str(format), FORMATS)}")
    if not isinstance(text, str):
        raise SettingError(f"text must be a string, not {type(text).__name__}")
    table = ToolTable.of(tools)
    said = blanked(text)
    items = FORMATS[format](said)
    found = list(islice(items, MAX_CALLS))
    more = sum(1 for _ in items)
    if more:
        return [_too_many(found[0].start, len(text), MAX_CALLS + more)]
    return [_checked_attempt(item, said, table) for item in found]


def format_of(template: str) -> str:
    """Return the format that the text of a chat template speaks; ``"hermes"`` if none is seen."""
    return next((name for sign, name in _SIGNS if sign in template), "hermes")


def _too_many(start: int, end: int, count: int) -> Call:
    message = f"{count} calls in one message; at most {MAX_CALLS} are allowed"
    return Call("error", "", None, "too_many_calls", (start, end), message)


def _checked_attempt(item: Attempt, text: str, table: ToolTable | None) -> Call:
    arguments, span = item.arguments, (item.start, min(item.end, len(text)))
    fault = item.fault or _size_fault(item, text)
    if fault is None and table is not None:
        if item.untyped:
            arguments = table.coerce(item.name, arguments)
        fault = table.check(item.name, arguments)
    if fault is not None:
        return Call("error", item.name, arguments, fault.kind, span, fault.message)
    return Call("ok", item.name, arguments, None, span)


def _size_fault(item: Attempt, text: str) -> CallFault | None:
    """What the JSON reader has not measured: names in headers, and arguments in plain text."""
    raw = text[item.start : item.end] if item.untyped else item.name
    if any("\ud800" <= c <= "\udfff" for c in raw):
        return CallFault("invalid_text", "the call holds half of a surrogate pair")
    return too_large(raw)
