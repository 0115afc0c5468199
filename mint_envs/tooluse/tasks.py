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
from . import mcp as mcp_tools
from .calls import Call, parse_calls
from .families import MOST_CALLS, Request, Step, drawable
from .schemas import ToolTable
from .state import grade_state
from .toolkits import IN_PROCESS, TOOLKITS
from .tools import ToolResult
from .workspace import User, Workspace

_INSTRUCTIONS = """\
You work with tools. To call one, write
<tool_call>
{"name": "the tool", "arguments": {"argument": "value"}}
</tool_call>
Several calls may stand in one message; their results come back in the same order. A message \
without a call ends the work. If the user asks a question, let that message end with the line \
"Answer: " and the answer alone. If only the user can tell you what you need to know, end a \
message without a call with the line "Question: " and your question.

Tools:
"""


@dataclass(frozen=True, slots=True)
class ToolUseProblem:
    """A request in a workspace. The first state of every toolkit is drawn from its number."""

    toolkits: tuple[str, ...]
    workspace: int
    request: Request


class ToolUseTask(Task[ToolUseProblem]):
    """Requests that need up to six calls of tools, which depend on earlier results.

    A turn is one message of the model. Its calls are run in order, and all results come back in
    one message; what is wrong with a call comes back as its result. The message without a call is
    the last one. A message that was cut off runs nothing and earns nothing.

    Some requests lack something. What a tool can find out is to be found out; where only the user
    can tell, a message without a call whose last line begins with "Question:" is answered with it.
    In some the obvious call fails, and its error says how to go on. In some no tool fits.

    The reward comes at the end: the fraction of the wanted change that was made, less other
    changes (``grade_state``), times 1 or 0 for the answer, where a question was asked, times
    ``restraint``: 0 if anything was called where no tool fits, 1/2 if the user was asked for
    something that was not missing or was told before, else 1. Calls themselves earn nothing. Where
    a sandbox or a server breaks, the reward is None: unmeasured.

    Raises:
        SettingError: a setting out of range.
    """

    def __init__(
        self,
        toolkit: Annotated[
            Literal[
                "all", "calculator", "calendar", "database", "files", "keyvalue", "python", "retail"
            ],
            "which tools the requests are about; 'all' is all but python, which needs a sandbox",
        ] = "all",
        max_calls: Annotated[int, "most calls that a request needs, 1 to 6"] = MOST_CALLS,
        plain: Annotated[
            bool, "only requests that lack nothing, do not go wrong at first, and need a tool"
        ] = False,
        distractors: Annotated[
            bool, "offer the tools of all toolkits, not only those needed"
        ] = False,
        mcp: Annotated[
            str | None, "an MCP server whose tools are on offer too: its command, or its URL"
        ] = None,
        mcp_timeout_s: Annotated[float, "seconds that a call of the MCP server may take"] = 10.0,
        max_turns: Annotated[int, "messages of the model before the episode ends, 2 to 100"] = 8,
        max_tool_calls: Annotated[int, "calls before the episode ends, 4 to 1000"] = 16,
        partial_credit: Annotated[bool, "pay for a part of the wanted change"] = True,
    ) -> None:
        valid = ("all", *sorted(TOOLKITS))
        require(toolkit in valid, f"toolkit={toolkit!r}: one of {', '.join(valid)}")
        require(
            1 <= max_calls <= MOST_CALLS, f"max_calls={max_calls} must be from 1 to {MOST_CALLS}"
        )
        require(2 <= max_turns <= 100, f"max_turns={max_turns} must be from 2 to 100")
        require(
            4 <= max_tool_calls <= 1000, f"max_tool_calls={max_tool_calls} must be from 4 to 1000"
        )
        require(mcp_timeout_s > 0, f"mcp_timeout_s={mcp_timeout_s} must be above 0")
        if mcp is not None:
            self.nondeterministic = True  # of this task, not of its class
            _table((), mcp)  # a server that does not answer is said at once
        self.mcp, self._mcp_timeout_s = mcp, mcp_timeout_s
        about = IN_PROCESS if toolkit == "all" else (toolkit,)
        self._families = drawable(about, max_calls, plain)
        #: Names of the toolkits whose tools are on offer, in one problem or another.
        self.toolkits = tuple(sorted({*IN_PROCESS, *about})) if distractors else about
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
                kits = tuple(sorted({*IN_PROCESS, name})) if self._distractors else (name,)
                return ToolUseProblem(kits, workspace, request)

    def prompt(self, problem: ToolUseProblem) -> Prompt:
        workspace = f"\n\nWorkspace: {problem.workspace}"
        return [
            Message(role="system", content=_preamble(problem.toolkits, self.mcp) + workspace),
            Message(role="user", content=problem.request.text),
        ]

    def start(self, problem: ToolUseProblem) -> Episode:
        return _Work(self, problem)

    def workspace(self, problem: ToolUseProblem) -> Workspace:
        """Return what an episode of ``problem`` has to work with."""
        more = [] if self.mcp is None else [mcp_tools.McpTools(self.mcp, self._mcp_timeout_s)]
        return Workspace(problem.toolkits, problem.workspace, more)

    def examples(self, problem: ToolUseProblem) -> dict[Any, float]:
        request = problem.request
        calls = ["\n".join(map(_written, turn)) for turn in request.turns]
        answer = "Done." if request.answer is None else f"Answer: {request.answer}"
        if request.reply is not None:
            calls.insert(0, "Question: What exactly?")
        found: dict[Any, float] = {(*calls, answer): 1.0}
        if request.answer is None:
            found[answer] = 0.0  # saying so is not doing it
        else:
            found[(*calls, "Answer: something else")] = 0.0
        return found


class _Work(Episode):
    """One request, from the first message to the last."""

    def __init__(self, task: ToolUseTask, problem: ToolUseProblem) -> None:
        self._task, self._request = task, problem.request
        self._table = _table(problem.toolkits, task.mcp)
        self._workspace = task.workspace(problem)
        self._before = self._workspace.state()
        wanted = Workspace(problem.toolkits, problem.workspace, self._workspace.more)
        self._wanted = wanted.replay(problem.request.turns)
        self._user = User(problem.request.reply)
        self._failure = ""  # what broke that is not the model's fault
        self._turns = self._calls = self._failed = 0

    def respond(self, text: str) -> list[Message] | Reward:
        calls = parse_calls(text, "hermes", self._table)
        self._turns += 1
        if not calls:
            return self._end_or_reply(text)
        results = list(self._run(calls))
        if (
            self._failure
            or self._turns >= self._task.max_turns
            or self._calls >= self._task.max_tool_calls
        ):
            return self._end("")
        content = "\n".join(f"<tool_response>\n{r}\n</tool_response>" for r in results)
        return [Message(role="user", content=content)]

    def _end_or_reply(self, text: str) -> list[Message] | Reward:
        said = self._user.hear(text)
        if said is None or self._turns >= self._task.max_turns:
            return self._end(text)
        return [Message(role="user", content=said)]

    def cut(self, text: str) -> Reward:
        return self._reward(None if self._failure else 0.0, 0.0, 0.0)

    def _run(self, calls: list[Call]) -> Iterator[str]:
        for call in calls:
            if self._calls >= self._task.max_tool_calls:
                return
            self._calls += 1
            result = ToolResult(f"Error: {call.message}", False)
            if call.ok and call.arguments is not None:
                result = self._workspace.run(call.name, call.arguments)
            self._failed += not result.ok
            self._failure = self._failure or result.failure
            yield result.text

    def _end(self, text: str) -> Reward:
        """Score the state that was reached, and the answer that ``text`` ends with."""
        changed = grade_state(self._before, self._wanted, self._workspace.state())
        assert changed.score is not None
        wanted = self._request.answer
        answer = float(wanted is None or _plain(_answer(text)) == _plain(wanted))
        score = changed.score * answer * self._restraint
        if not self._task.partial_credit:
            score = float(score == 1.0)
        return self._reward(None if self._failure else score, changed.score, answer)

    @property
    def _restraint(self) -> float:
        """Return what is left for calling where no tool fits, and for needless questions."""
        if self._request.no_tool and self._calls:
            return 0.0
        return 0.5 if self._user.needless else 1.0

    def _reward(self, score: float | None, state: float, answer: float) -> Reward:
        self._workspace.close()
        counts = {"turns": self._turns, "calls": self._calls, "failed_calls": self._failed}
        more = {"failure": self._failure, "deterministic": self._task.mcp is None}
        parts = {"state": state, "answer": answer, "restraint": self._restraint}
        return Reward(score, parts=parts, metadata={**counts, **more})


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


def _schemas(toolkits: tuple[str, ...], mcp: str | None) -> list[dict[str, Any]]:
    more = [] if mcp is None else mcp_tools.offered_by(mcp)
    return [schema for name in toolkits for schema in TOOLKITS[name].schemas()] + more


@lru_cache(maxsize=16)
def _preamble(toolkits: tuple[str, ...], mcp: str | None) -> str:
    return _INSTRUCTIONS + "\n".join(json.dumps(schema) for schema in _schemas(toolkits, mcp))


@lru_cache(maxsize=16)
def _table(toolkits: tuple[str, ...], mcp: str | None) -> ToolTable:
    return ToolTable(_schemas(toolkits, mcp))
