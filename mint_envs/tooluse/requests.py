"""What a row asks, whatever its form: its messages, its episode, and what it wants of its task."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..core import Episode, Message, text_of
from ..errors import SettingError, require
from .families import Request
from .formats.framing import Framing, made_id
from .turns import TurnLimits

_ROLES = ("system", "user", "assistant", "tool")
#: Where a call has its arguments: OpenAI's form, Anthropic's, and others.
_ARGUMENTS = ("arguments", "input", "parameters", "args")
#: What a model is told, beside how to call a tool.
RULES = """\
Several calls may stand in one message; their results come back in the same order. A message \
without a call ends the work. If the user asks a question, let that message end with the line \
"Answer: " and the answer alone. If only the user can tell you what you need to know, end a \
message without a call with the line "Question: " and your question."""


class Host(TurnLimits, Protocol):
    """What a row's problem asks of its task."""

    partial_credit: bool
    weights: tuple[float, ...]

    def work(
        self,
        toolkits: tuple[str, ...],
        workspace: int,
        state: Mapping[str, Any],
        wanted: Mapping[str, Any],
        request: Request,
        failure: str = "",
    ) -> Episode:
        """Begin an episode in which a state is to be reached."""
        ...


class RowProblem(ABC):
    """A problem that comes from a row. ``id`` is stable; ``messages``: the request."""

    id: str
    messages: tuple[Message, ...]

    @abstractmethod
    def prompt(self, framing: Framing) -> list[Message]:
        """Return the first messages."""

    @abstractmethod
    def offers(self) -> Sequence[Mapping[str, Any]]:
        """Return the tools on offer, sooner or later, in the form that the row has them in."""

    @abstractmethod
    def start(self, task: Host) -> Episode:
        """Begin an episode."""

    @abstractmethod
    def examples(self, task: Host) -> dict[Any, float]:
        """Return worked examples, the full mark first."""


def with_tools(
    framing: Framing, rules: str, tools: Sequence[Mapping[str, Any]], messages: Sequence[Message]
) -> list[Message]:
    """Return the messages of a row behind ours; a system message of its own goes into ours."""
    if framing.native:
        return framing.history(messages)
    own = [m["content"] for m in messages if m["role"] == "system"]
    rest = framing.history([m for m in messages if m["role"] != "system"])
    return [framing.system(rules, tools, "".join(f"\n\n{text}" for text in own)), *rest]


def checked_messages(turns: Any) -> tuple[Message, ...]:
    """Return messages, with the calls in them and whose the results are.

    Raises:
        SettingError, DatasetError: they are no messages, a part of one is no text, or a result
            follows no call.
    """
    require(
        isinstance(turns, list)
        and bool(turns)
        and all(isinstance(m, Mapping) and ("content" in m or m.get("tool_calls")) for m in turns),
        "the request must be a text, or a list of messages with role and content",
    )
    found: list[Message] = []
    for turn in turns:
        found.append(_checked_message(turn))
        if found[-1]["role"] == "tool":
            _check_result(found)
    return tuple(found)


def _check_result(messages: Sequence[Message]) -> None:
    """Check that the last message is the result of a call before it."""
    earlier = (m for m in reversed(messages) if m["role"] != "tool")
    calls = next(earlier, Message(role="", content="")).get("tool_calls") or ()
    require(bool(calls), "a result of a tool stands behind no message that calls one")
    own = messages[-1].get("tool_call_id")
    ids = [call["id"] for call in calls]
    require(own is None or own in ids, f"the result of {own!r} is that of none of the calls {ids}")


def _checked_message(turn: Mapping[str, Any]) -> Message:
    content = turn.get("content")
    require(
        turn.get("role", "user") in _ROLES and not turn.get("function_call"),
        f"a message of the role {turn.get('role')!r}, or one with function_call, is not read",
    )
    found = Message(role=str(turn.get("role", "user")), content=text_of(content or ""))
    if turn.get("tool_calls"):
        calls = [exact_or_openai(call) for call in turn["tool_calls"]]
        found["tool_calls"] = [
            {
                "type": "function",
                "id": str(own.get("id") or made_id(place)),
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for place, (call, own) in enumerate(zip(calls, turn["tool_calls"], strict=True))
        ]
    for key in ("name", "tool_call_id"):
        if found["role"] == "tool" and turn.get(key):
            found[key] = str(turn[key])
    return found


def exact_or_openai(call: Any) -> dict[str, Any]:
    """Return a call as ``{"name", "arguments"}`` from OpenAI's form, or with arguments as text.

    Raises:
        SettingError: it is no call.
    """
    inner = call.get("function", call) if isinstance(call, Mapping) else {}
    inner = inner if isinstance(inner, Mapping) else {}
    arguments = next((inner[name] for name in _ARGUMENTS if inner.get(name) is not None), None)
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = None
    if not isinstance(inner.get("name"), str) or not isinstance(arguments, Mapping):
        raise SettingError(
            f"{str(call)[:80]!r} is no call. Give {{'name': ..., 'arguments': {{...}}}}, or {{}}"
        )
    return {"name": inner["name"], "arguments": dict(arguments)}
