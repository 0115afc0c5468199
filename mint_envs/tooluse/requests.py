"""What a row asks, whatever its form: its messages, its episode, and what it wants of its task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..core import Episode, Message
from ..errors import require
from .families import Request
from .formats.framing import Framing
from .turns import TurnLimits

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
        return list(messages)
    own = [m["content"] for m in messages if m["role"] == "system"]
    rest = [m for m in messages if m["role"] != "system"]
    return [framing.system(rules, tools, "".join(f"\n\n{text}" for text in own)), *rest]


def checked_messages(turns: Any) -> tuple[Message, ...]:
    """Return messages; what else they hold is left out."""
    require(
        isinstance(turns, list)
        and bool(turns)
        and all(isinstance(m, Mapping) and isinstance(m.get("content"), str) for m in turns),
        "the request must be a text, or a list of messages with role and content",
    )
    return tuple(Message(role=str(m.get("role", "user")), content=m["content"]) for m in turns)
