"""mint/ToolUse-v0: do what is asked with tools, over several turns; paid for what was achieved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np

from ..core import Episode, Message, Prompt, Reward, Task
from ..errors import require
from .calls import Call, parse_calls
from .families import FAMILIES, Request, Step
from .schemas import ToolTable
from .state import grade_state
from .toolkits import TOOLKITS
from .tools import ToolResult

_INSTRUCTIONS = """\
You work with tools. To call one, write
<tool_call>
{"name": "the tool", "arguments": {"argument": "value"}}
</tool_call>
Several calls may stand in one message; their results come back in the same order. A message \
without a call ends the work. If the user asks a question, let that message end with the line \
"Answer: " and the answer alone.

Tools:
"""


@dataclass(frozen=True, slots=True)
class ToolUseProblem:
    """A request in a workspace. The first state of every toolkit is drawn from its number."""

    toolkits: tuple[str, ...]
    workspace: int
    request: Request


class ToolUseTask(Task[ToolUseProblem]):
    """Requests that need one to four calls of tools, some of which depend on earlier results.

    A turn is one message of the model. Its calls are run in order, and all results come back in
    one message; what is wrong with a call comes back as its result. The message without a call is
    the last one. A message that was cut off runs nothing and earns nothing.

    The reward comes at the end: the fraction of the wanted change that was made, less other
    changes (``grade_state``), times 1 or 0 for the answer, where a question was asked. Calls
    themselves earn nothing.

    Raises:
        SettingError: a setting out of range.
    """

    def __init__(
        self,
        toolkit: Annotated[
            Literal["all", "calculator", "files", "keyvalue"], "which tools the requests are about"
        ] = "all",
        max_calls: Annotated[int, "most calls that a request needs, 1 to 4"] = 4,
        distractors: Annotated[
            bool, "offer the tools of all toolkits, not only those needed"
        ] = False,
        max_turns: Annotated[int, "messages of the model before the episode ends, 2 to 100"] = 8,
        max_tool_calls: Annotated[int, "calls before the episode ends, 4 to 1000"] = 16,
        partial_credit: Annotated[bool, "pay for a part of the wanted change"] = True,
    ) -> None:
        valid = ("all", *sorted(TOOLKITS))
        require(toolkit in valid, f"toolkit={toolkit!r}: one of {', '.join(valid)}")
        require(1 <= max_calls <= 4, f"max_calls={max_calls} must be from 1 to 4")
        require(2 <= max_turns <= 100, f"max_turns={max_turns} must be from 2 to 100")
        require(
            4 <= max_tool_calls <= 1000, f"max_tool_calls={max_tool_calls} must be from 4 to 1000"
        )
        self._about = tuple(sorted(FAMILIES)) if toolkit == "all" else (toolkit,)
        self._families = [
            (name, family)
            for name in self._about
            for calls, family in FAMILIES[name]
            if calls <= max_calls
        ]
        #: Names of the toolkits whose tools are on offer, in one problem or another.
        self.toolkits = tuple(sorted(TOOLKITS)) if distractors else self._about
        self._distractors = distractors
        self.max_turns, self.max_tool_calls = max_turns, max_tool_calls
        self.partial_credit = partial_credit

    def sample(self, rng: np.random.Generator) -> ToolUseProblem:
        while True:
            name, family = self._families[int(rng.integers(len(self._families)))]
            workspace = int(rng.integers(10**8, 10**9))
            state = TOOLKITS[name]().initial(np.random.default_rng(workspace))
            request = family(rng, state)
            if request is not None:
                kits = tuple(sorted(TOOLKITS)) if self._distractors else (name,)
                return ToolUseProblem(kits, workspace, request)

    def prompt(self, problem: ToolUseProblem) -> Prompt:
        workspace = f"\n\nWorkspace: {problem.workspace}"
        return [
            Message(role="system", content=_preamble(problem.toolkits) + workspace),
            Message(role="user", content=problem.request.text),
        ]

    def start(self, problem: ToolUseProblem) -> Episode:
        return _Work(self, problem)

    def examples(self, problem: ToolUseProblem) -> dict[Any, float]:
        request = problem.request
        calls = ["\n".join(map(_written, turn)) for turn in request.turns]
        answer = "Done." if request.answer is None else f"Answer: {request.answer}"
        found: dict[Any, float] = {(*calls, answer): 1.0}
        if request.answer is None:
            found[answer] = 0.0  # saying so is not doing it
        else:
            found[(*calls, "Answer: something else")] = 0.0
        return found


class Workspace:
    """The toolkits of one episode."""

    def __init__(self, names: tuple[str, ...], number: int) -> None:
        self._kits = [TOOLKITS[name]() for name in names]
        for kit in self._kits:
            kit.reset(np.random.default_rng(number))
        self._by_tool = {schema["name"]: kit for kit in self._kits for schema in kit.schemas()}

    def state(self) -> dict[str, Any]:
        return {kit.name: kit.snapshot() for kit in self._kits}

    def run(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Run one call of a tool that is on offer."""
        return self._by_tool[name].run(name, arguments)


class _Work(Episode):
    """One request, from the first message to the last."""

    def __init__(self, task: ToolUseTask, problem: ToolUseProblem) -> None:
        self._task, self._request = task, problem.request
        self._table = _table(problem.toolkits)
        self._workspace = Workspace(problem.toolkits, problem.workspace)
        self._before = self._workspace.state()
        self._wanted = _after(problem)
        self._turns = self._calls = self._failed = 0

    def respond(self, text: str) -> list[Message] | Reward:
        calls = parse_calls(text, "hermes", self._table)
        self._turns += 1
        if not calls:
            return self._end(text)
        results = list(self._run(calls))
        if self._turns >= self._task.max_turns or self._calls >= self._task.max_tool_calls:
            return self._end("")
        content = "\n".join(f"<tool_response>\n{r}\n</tool_response>" for r in results)
        return [Message(role="user", content=content)]

    def cut(self, text: str) -> Reward:
        return self._reward(0.0, 0.0, 0.0)

    def _run(self, calls: list[Call]) -> Iterator[str]:
        for call in calls:
            if self._calls >= self._task.max_tool_calls:
                return
            self._calls += 1
            result = ToolResult(f"Error: {call.message}", False)
            if call.ok and call.arguments is not None:
                result = self._workspace.run(call.name, call.arguments)
            self._failed += not result.ok
            yield result.text

    def _end(self, text: str) -> Reward:
        """Score the state that was reached, and the answer that ``text`` ends with."""
        changed = grade_state(self._before, self._wanted, self._workspace.state())
        assert changed.score is not None
        wanted = self._request.answer
        answer = float(wanted is None or _plain(_answer(text)) == _plain(wanted))
        score = changed.score * answer
        if not self._task.partial_credit:
            score = float(score == 1.0)
        return self._reward(score, changed.score, answer)

    def _reward(self, score: float, state: float, answer: float) -> Reward:
        counts = {"turns": self._turns, "calls": self._calls, "failed_calls": self._failed}
        return Reward(score, parts={"state": state, "answer": answer}, metadata=counts)


def _after(problem: ToolUseProblem) -> dict[str, Any]:
    """Return the state that is wanted: the one that the calls of the request lead to."""
    workspace = Workspace(problem.toolkits, problem.workspace)
    for turn in problem.request.turns:
        for name, arguments in turn:
            workspace.run(name, arguments)
    return workspace.state()


def _answer(text: str) -> str:
    """Return what follows the last "Answer:", thoughts left out; all of it, so one answer only."""
    _, mark, answer = text.rpartition("</think>")[2].rpartition("Answer:")
    return answer if mark else ""


def _plain(text: str) -> str:
    return " ".join(text.split()).strip("\"'`. ").casefold()


def _written(step: Step) -> str:
    name, arguments = step
    body = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>\n{body}\n</tool_call>"


@lru_cache(maxsize=16)
def _preamble(toolkits: tuple[str, ...]) -> str:
    schemas = [schema for name in toolkits for schema in TOOLKITS[name].schemas()]
    return _INSTRUCTIONS + "\n".join(json.dumps(schema) for schema in schemas)


@lru_cache(maxsize=16)
def _table(toolkits: tuple[str, ...]) -> ToolTable:
    return ToolTable([schema for name in toolkits for schema in TOOLKITS[name].schemas()])
