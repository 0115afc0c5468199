"""The turns of an episode: find the calls of a message, run them, bring their results back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..core import Message
from .formats.calls import MISFITS, Call
from .formats.framing import Framing
from .toolkits.schemas import ToolTable
from .toolkits.tools import ToolResult

Run = Callable[[str, dict[str, Any]], ToolResult]


class TurnLimits(Protocol):
    """What a task says of its turns."""

    framing: Framing
    max_turns: int
    max_tool_calls: int
    max_result: int


class Turns:
    """Counts and runs what the messages of one episode call.

    Args:
        limits: the task.
        table: the tools on offer, or None to take every call as it is written.
        run: runs one good call.
        misfits: whether calls that do not fit the schema of their tool are run, too.
    """

    def __init__(
        self, limits: TurnLimits, table: ToolTable | None, run: Run, misfits: bool = False
    ) -> None:
        self._limits, self.table, self._run = limits, table, run
        self._run_anyway = MISFITS if misfits else frozenset()
        self._turns = self._calls = self._failed = self._unrun = 0
        self._turns_before = self._calls_before = 0
        #: What ended the episode: ``"message"``, ``"max_turns"``, ``"max_tool_calls"``, ``"cut"``.
        self.end = ""
        #: What broke that is not the model's fault.
        self.failure = ""

    def take(self, text: str) -> list[Message] | None:
        """Run the calls of a message; return their results, or None if that was the last one."""
        limits = self._limits
        calls = limits.framing.read(text, self.table)
        self._turns += 1
        if not calls:
            self.end = "message"
            return None
        results = list(self._run_all(calls))  # the first ones' that may still run
        if self._no_more_calls:
            self.end = "max_tool_calls"
        elif self.full:
            self.end = "max_turns"
        return None if self.end else limits.framing.results(results, calls)

    def next_request(self, tools: ToolTable | None) -> None:
        """Go on: the user asks for something else, and the limits hold for that anew."""
        self.table, self.end = tools, ""
        self._turns_before, self._calls_before = self._turns, self._calls

    @property
    def _no_more_calls(self) -> bool:
        return self._calls - self._calls_before >= self._limits.max_tool_calls

    @property
    def full(self) -> bool:
        """True if there is no message left for this request."""
        return self._turns - self._turns_before >= self._limits.max_turns

    def counts(self) -> dict[str, Any]:
        """Return what goes into ``info["metadata"]``."""
        return {
            "turns": self._turns,
            "calls": self._calls,
            "failed_calls": self._failed,
            "unrun_calls": self._unrun,
            "end": self.end,
            "failure": self.failure,
        }

    def _run_all(self, calls: list[Call]) -> Iterator[str]:
        for call in calls:
            if self._no_more_calls:
                self._unrun += 1
                continue
            self._calls += 1
            result = ToolResult(f"Error: {call.message}", False)
            if call.arguments is not None and (call.ok or call.error in self._run_anyway):
                result = self._run(call.name, call.arguments)
            self._failed += not result.ok
            self.failure = self.failure or result.failure
            yield shortened(result.text, self._limits.max_result)


def shortened(text: str, most: int) -> str:
    """Return at most ``most`` characters of a result, and how many are left out."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n... ({len(text) - most} more characters)"


def answer_in(text: str) -> str:
    """Return what follows the last "Answer:"; all of it, so one answer only."""
    _, mark, answer = text.rpartition("Answer:")
    return answer if mark else ""
