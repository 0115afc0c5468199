"""What a model of a given format is told, and how results come back to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from ...core import ChatStyle, Message
from ...errors import SettingError, TokenizerError
from ...templates import ChatTemplate, Way, called
from ...thinking import spoken
from ..toolkits.schemas import ToolTable
from .calls import Call, parse_calls, write_calls
from .learn import Learned, format_for, learn
from .registry import Format
from .strict import read_whole
from .writers import Step, as_json

#: Names and ids that a template may print as they are; special tokens are none.
_PLAIN = re.compile(r"[\w.:/-]{1,128}")


@dataclass(frozen=True, slots=True)
class Framing:
    """One format in one chat style.

    ``lists_tools``: the chat template itself lists the tools and says how to call them.
    ``tool_role``: results are messages of the role ``tool``, else one message of the user's.
    ``native``: a library lists the tools and calls them; the prompt says nothing of it.
    ``told``: the template lists the tools, but never says how to call one: the prompt does.
    ``way``: how the template takes calls; with it, results are rendered after the real calls.
    ``answer``: what the template writes before and behind an answer.
    """

    format: str = "hermes"
    lists_tools: bool = False
    tool_role: bool = False
    native: bool = False
    told: bool = False
    way: Way | None = None
    answer: tuple[str, str] = ("", "")
    own: Format | None = field(default=None, compare=False, repr=False)
    chat: ChatTemplate | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, format: str, style: ChatStyle) -> Framing:
        """Return the framing; ``format="auto"`` takes what the template speaks.

        Raises:
            SettingError: ``format`` is "auto", and the template takes tools, but no known format
                reads its calls, nor can one be derived.
        """
        if style.calls_tools:
            return cls(lists_tools=True, tool_role=True, native=True)
        chat = style.chat
        if chat is None:
            return cls("hermes" if format == "auto" else format)
        if format == "auto":
            return cls._speaking(format_for(chat), chat, style)
        with suppress(SettingError):
            learned = learn(chat)
            if learned.format.name == format:
                return cls._speaking(learned, chat, style)
        return cls(format, tool_role=style.tool_role)

    @classmethod
    def _speaking(cls, learned: Learned, chat: ChatTemplate, style: ChatStyle) -> Framing:
        return cls(
            learned.format.name,
            chat.lists_tools,
            style.tool_role or learned.way is not None,
            told=learned.how == "told",
            way=learned.way,
            answer=chat.answer_frame,
            own=learned.format,
            chat=chat,
        )

    # -- what is told -------------------------------------------------------------------------

    def system(self, rules: str, tools: Sequence[Mapping[str, Any]], end: str = "") -> Message:
        """Return the first message: how to call a tool, ``rules``, the tools, ``end``.

        What is ours in it may spell the tags of a call as the special tokens that they are; the
        tools may come from anywhere.
        """
        how = f"You work with tools. To call one, write\n{self._example()}\n"
        if self.lists_tools:
            ours = f"{how}{rules}" if self.told else ""
            wrapped = [
                {"type": "function", "function": dict(tool.get("function", tool))} for tool in tools
            ]
            made = Message(role="system", content=f"{ours or rules}{end}", tools=wrapped)
            return {**made, "trusted": len(ours)} if ours else made
        ours = f"{how}{rules}\n\nTools:\n"
        listed = "\n".join(map(as_json, tools))
        return Message(role="system", content=f"{ours}{listed}{end}", trusted=len(ours))

    def _example(self) -> str:
        return write_calls([("the_tool", {"argument": "value"})], self._format)

    @property
    def _format(self) -> str | Format:
        return self.own or self.format

    # -- calls --------------------------------------------------------------------------------

    def read(self, text: str, tools: ToolTable | None) -> list[Call]:
        """Return the calls in a message of the model."""
        return parse_calls(text, self._format, tools)

    def calls(self, calls: Sequence[Step]) -> str:
        """Return the message that makes these calls, as the template writes it where it does."""
        if calls and self.chat is not None and self.way is not None:
            with suppress(TokenizerError):
                text = self.chat.written_calls(calls, self.way)
                found = [(call.name, call.arguments) for call in self.read(text, None)]
                if [name for name, _ in found] == [name for name, _ in calls]:
                    return text
        return write_calls(calls, self._format)

    def made(self, calls: Sequence[Step], ids: Sequence[str] = ()) -> Message:
        """Return the message of an assistant that makes these calls, for a prompt."""
        if self.way is not None:
            ids = ids or [made_id(place) for place in range(len(calls))]
            listed = called(calls, self.way, ids)
            content: Any = self.way.content
            return Message(role="assistant", content=content, tool_calls=listed)
        text = self.calls(calls)
        return Message(role="assistant", content=text, trusted=len(text))

    def results(self, texts: Sequence[str], calls: Sequence[Call] = ()) -> list[Message]:
        """Return the messages that bring the results of one message's calls, in their order."""
        if self.way is not None:
            return [self._result(place, text, calls) for place, text in enumerate(texts)]
        if self.tool_role:
            return [Message(role="tool", content=text) for text in texts]
        framed = (f"<tool_response>\n{text}\n</tool_response>" for text in texts)
        return [Message(role="user", content="\n".join(framed))]

    def _result(self, place: int, text: str, calls: Sequence[Call]) -> Message:
        """Return a result under the id that the model gave to its call; a wild name is unknown."""
        call = calls[place] if place < len(calls) else None
        name, own = (call.name, call.id) if call else ("", "")
        name = name if _PLAIN.fullmatch(name) else "unknown"
        own = own if _PLAIN.fullmatch(own) else made_id(place)
        return Message(role="tool", content=text, name=name, tool_call_id=own)

    def history(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages of a row, with their calls and results as they are written here.

        What follows results that are a message of the user's here goes into that message.
        """
        found: list[Message] = []
        left = list(messages)
        while left:
            one = left.pop(0)
            more = [one]
            if one.get("tool_calls"):
                results = list(takewhile(lambda m: m["role"] == "tool", left))
                del left[: len(results)]
                more = self._history_of_calls(one, results)
            elif found and one["role"] == found[-1]["role"] == "user":
                found[-1] = _said_together(found[-1], one)
                continue
            found += more
        return found

    def _history_of_calls(self, message: Message, results: Sequence[Message]) -> list[Message]:
        """Return a message that calls, and its results, by their ids or else in their order."""
        calls = [
            Call("ok", own["name"], own["arguments"], None, (0, 0), id=one["id"])
            for one in message["tool_calls"]
            for own in [one["function"]]
        ]
        made = self.made([(c.name, c.arguments or {}) for c in calls], [c.id for c in calls])
        if message["content"]:
            told = made["content"] if self.way is None else ""
            made = {**made, "content": f"{message['content']}\n{told}".strip(), "trusted": 0}
        by_id = {call.id: call for call in calls}
        order = {call.id: place for place, call in enumerate(calls)}
        results = sorted(
            results, key=lambda one: order.get(one.get("tool_call_id", ""), len(order))
        )
        answered = [
            by_id.get(result.get("tool_call_id", ""), calls[min(place, len(calls) - 1)])
            for place, result in enumerate(results)
        ]
        texts = [result["content"] for result in results]
        return [made, *(results if self.native else self.results(texts, answered))]

    def final(self, text: str) -> str:
        """Return what the last message says, thoughts left out."""
        if self.format == "openai_message":
            found = read_whole(text)
            inner = found.value.get("content") if isinstance(found.value, dict) else None
            text = inner if isinstance(inner, str) else text
        before, behind = self.answer
        return spoken(spoken(text).removeprefix(before).removesuffix(behind))


def _said_together(first: Message, then: Message) -> Message:
    return {**first, "content": f"{first['content']}\n\n{then['content']}"}


def made_id(place: int) -> str:
    """Return the id of a call that its model gave none: nine characters, as Mistral's wants it."""
    return f"call{place:05d}"
