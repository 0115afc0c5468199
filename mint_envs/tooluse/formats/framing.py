"""What a model of a given format is told, and how results come back to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import ChatStyle, Message
from ...thinking import spoken
from .calls import format_of
from .strict import read_whole
from .writers import Step, as_json, write_calls


@dataclass(frozen=True, slots=True)
class Framing:
    """One format in one chat style.

    ``lists_tools``: the chat template itself lists the tools and says how to call them.
    ``tool_role``: results are messages of the role ``tool``, else one message of the user's.
    ``native``: a library lists the tools and calls them; the prompt says nothing of it.
    """

    format: str = "hermes"
    lists_tools: bool = False
    tool_role: bool = False
    native: bool = False

    @classmethod
    def of(cls, format: str, style: ChatStyle) -> Framing:
        """Return the framing; ``format="auto"`` takes what the template speaks."""
        if style.calls_tools:
            return cls(lists_tools=True, tool_role=True, native=True)
        spoken = format_of(style.template)
        found = spoken if format == "auto" else format
        return cls(found, style.lists_tools and found == spoken, style.tool_role)

    def system(self, rules: str, tools: Sequence[Mapping[str, Any]], end: str = "") -> Message:
        """Return the first message: how to call a tool, ``rules``, the tools, ``end``.

        What is ours in it may spell the tags of a call as the special tokens that they are; the
        tools may come from anywhere.
        """
        if self.lists_tools:
            wrapped = [{"type": "function", "function": dict(tool)} for tool in tools]
            return Message(role="system", content=f"{rules}{end}", tools=wrapped)
        how = f"You work with tools. To call one, write\n{self._example()}\n"
        ours = f"{how}{rules}\n\nTools:\n"
        listed = "\n".join(map(as_json, tools))
        return Message(role="system", content=f"{ours}{listed}{end}", trusted=len(ours))

    def _example(self) -> str:
        return write_calls([("the_tool", {"argument": "value"})], self.format)

    def calls(self, calls: Sequence[Step]) -> str:
        """Return the message that makes these calls."""
        return write_calls(calls, self.format)

    def results(self, texts: Sequence[str]) -> list[Message]:
        """Return the messages that bring the results of one message's calls, in their order."""
        if self.tool_role:
            return [Message(role="tool", content=text) for text in texts]
        framed = (f"<tool_response>\n{text}\n</tool_response>" for text in texts)
        return [Message(role="user", content="\n".join(framed))]

    def final(self, text: str) -> str:
        """Return what the last message says, thoughts left out."""
        if self.format == "openai_message":
            found = read_whole(text)
            inner = found.value.get("content") if isinstance(found.value, dict) else None
            text = inner if isinstance(inner, str) else text
        return spoken(text)
