"""mint/ToolUse-v0: do what is asked with tools, over several turns; paid for what was achieved."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, Any, Literal

import numpy as np

from ..core import ChatStyle, Episode, Message, Prompt, Reward
from ..datasets import DatasetTask
from ..errors import did_you_mean, require
from .calls import FORMATS
from .easy import worked_examples
from .families import FAMILIES, Request
from .framing import Framing
from .grade import WEIGHTS, check_weights
from .rows import RowProblem, load_problems
from .schemas import ToolTable
from .state import grade_state
from .toolkits import TOOLKITS
from .tools import ToolResult
from .turns import Turns, answer_in

#: What a model is told, beside how to call a tool.
RULES = """\
Several calls may stand in one message; their results come back in the same order. A message \
without a call ends the work. If the user asks a question, let that message end with the line \
"Answer: " and the answer alone."""


@dataclass(frozen=True, slots=True)
class ToolUseProblem:
    """A request in a workspace. The first state of every toolkit is drawn from its number."""

    toolkits: tuple[str, ...]
    workspace: int
    request: Request


class ToolUseTask(DatasetTask[Any]):
    """Requests that need one to four calls of tools, some of which depend on earlier results.

    A turn is one message of the model. Its calls are run in order, and all results come back in
    one message; what is wrong with a call comes back as its result. The message without a call is
    the last one. A message that was cut off runs nothing and earns nothing.

    The reward comes at the end: the fraction of the wanted change that was made, less other
    changes (``grade_state``), times 1 or 0 for the answer, where a question was asked. Calls
    themselves earn nothing.

    ``dataset`` takes rows with tools, messages and the calls or the state that are wanted, BFCL's
    among them: see ``mint_envs.tooluse.rows``.

    Raises:
        SettingError: a setting out of range.
        DatasetError: the data set is missing, empty or broken.
    """

    def __init__(
        self,
        toolkit: Annotated[
            Literal["all", "calculator", "files", "keyvalue"], "which tools the requests are about"
        ] = "all",
        level: Annotated[
            Literal["full", "easy"],
            "'easy': one call on the key-value store, with worked examples, for a small model",
        ] = "full",
        max_calls: Annotated[int, "most calls that a request needs, 1 to 4"] = 4,
        distractors: Annotated[
            bool, "offer the tools of all toolkits, not only those needed"
        ] = False,
        max_turns: Annotated[
            int | None,
            "messages of the model before the episode ends, 2 to 100; default: 8, or 2 if easy",
        ] = None,
        max_tool_calls: Annotated[int, "calls before the episode ends, 4 to 1000"] = 16,
        max_result: Annotated[int, "longest result of a call, in characters, from 100 up"] = 4000,
        partial_credit: Annotated[bool, "pay for a part of the wanted change or calls"] = True,
        weights: Annotated[
            tuple[float, float, float],
            "in call tasks: what tool names, argument names and values are worth",
        ] = WEIGHTS,
        format: Annotated[
            str, "how calls are written; 'auto': as the tokenizer's template has it, or hermes"
        ] = "auto",
        dataset: Annotated[
            str | None, "JSONL or Parquet file, or Hugging Face name, of rows to take requests from"
        ] = None,
        split: Annotated[
            str | None, "'train', 'test' (one problem in ten, held out) or 'all'"
        ] = None,
    ) -> None:
        valid = ("all", *sorted(TOOLKITS))
        require(toolkit in valid, f"toolkit={toolkit!r}: one of {', '.join(valid)}")
        require(1 <= max_calls <= 4, f"max_calls={max_calls} must be from 1 to 4")
        if max_turns is None:
            max_turns = 2 if level == "easy" else 8
        require(2 <= max_turns <= 100, f"max_turns={max_turns} must be from 2 to 100")
        require(
            4 <= max_tool_calls <= 1000, f"max_tool_calls={max_tool_calls} must be from 4 to 1000"
        )
        require(level in ("full", "easy"), f"level={level!r}: 'full' or 'easy'")
        require(max_result >= 100, f"max_result={max_result} must be 100 or more")
        known = ("auto", *FORMATS)
        require(format in known, f"format={format!r} is unknown. {did_you_mean(format, known)}")
        self.level, self._format = level, format
        self.framing = Framing.of(format, ChatStyle())
        self.max_result, self.weights = max_result, check_weights(weights)
        if level == "easy":
            toolkit, max_calls = "keyvalue", 1
        self._about = tuple(sorted(FAMILIES)) if toolkit == "all" else (toolkit,)
        self._families = [
            (name, family)
            for name in self._about
            for calls, family in FAMILIES[name]
            if calls <= max_calls
        ]
        self._distractors = distractors
        self.max_turns, self.max_tool_calls = max_turns, max_tool_calls
        self.partial_credit = partial_credit

        super().__init__(None if dataset is None else load_problems(dataset, split), split)

    def fitted(self, style: ChatStyle) -> ToolUseTask:
        task = copy.copy(self)
        task.framing = Framing.of(self._format, style)
        return task

    def draw(self, rng: np.random.Generator) -> ToolUseProblem:
        while True:
            name, family = self._families[int(rng.integers(len(self._families)))]
            workspace = int(rng.integers(10**8, 10**9))
            state = TOOLKITS[name]().initial(np.random.default_rng(workspace))
            request = family(rng, state)
            if request is not None:
                kits = tuple(sorted(TOOLKITS)) if self._distractors else (name,)
                return ToolUseProblem(kits, workspace, request)

    def key(self, problem: ToolUseProblem) -> str:
        return f"{problem.workspace} {problem.request.text}"

    def prompt(self, problem: ToolUseProblem | RowProblem) -> Prompt:
        if isinstance(problem, RowProblem):
            return problem.prompt(self.framing)
        request = Message(role="user", content=problem.request.text)
        if self.level == "easy":
            return [*worked_examples(self.framing), request]
        workspace = f"\n\nWorkspace: {problem.workspace}"
        return [self.framing.system(RULES, _schemas(problem.toolkits), workspace), request]

    def start(self, problem: ToolUseProblem | RowProblem) -> Episode:
        if isinstance(problem, RowProblem):
            return problem.start(self)
        wanted = _after(problem)
        return self.work(problem.toolkits, problem.workspace, {}, wanted, problem.request.answer)

    def work(
        self,
        toolkits: tuple[str, ...],
        workspace: int,
        state: Mapping[str, Any],
        wanted: Mapping[str, Any],
        answer: str | None,
    ) -> Episode:
        """Begin an episode in which a state is to be reached.

        Args:
            toolkits: names of the tools on offer.
            workspace: the seed of the first state of each.
            state: first states that are given, by toolkit.
            wanted: the last states, by toolkit; one that is not there is to stay as it is.
            answer: what the last message must answer, None if no question is asked.
        """
        kits = Workspace(toolkits, workspace)
        kits.restore(state)
        return _Work(self, kits, _table(toolkits), {**kits.state(), **wanted}, answer)

    def problem_id(self, problem: ToolUseProblem | RowProblem) -> str:
        """The same in every format: a digest of the request and its workspace, or the row's id."""
        if isinstance(problem, RowProblem):
            return problem.id
        return blake2b(self.key(problem).encode(), digest_size=8).hexdigest()

    def examples(self, problem: ToolUseProblem | RowProblem) -> dict[Any, float]:
        if isinstance(problem, RowProblem):
            return problem.examples(self)
        request = problem.request
        calls = [self.framing.calls(turn) for turn in request.turns]
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

    def restore(self, states: Mapping[str, Any]) -> None:
        for kit in self._kits:
            if kit.name in states:
                kit.restore(states[kit.name])

    def run(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Run one call of a tool that is on offer."""
        return self._by_tool[name].run(name, arguments)


class _Work(Episode):
    """One request, from the first message to the last."""

    def __init__(
        self,
        task: ToolUseTask,
        workspace: Workspace,
        table: ToolTable,
        wanted: Mapping[str, Any],
        answer: str | None,
    ) -> None:
        self._task, self._workspace = task, workspace
        self._before, self._wanted, self._answer = workspace.state(), wanted, answer
        self._turns = Turns(task, table, workspace.run)

    def respond(self, text: str) -> list[Message] | Reward:
        reply = self._turns.take(text)
        if self._turns.failure:
            return Reward(None, metadata=self._turns.counts())
        return reply or self._end(text if self._turns.end == "message" else "")

    def cut(self, text: str) -> Reward:
        self._turns.end = "cut"
        return self._reward(0.0, 0.0, 0.0)

    def _end(self, text: str) -> Reward:
        """Score the state that was reached, and the answer that ``text`` ends with."""
        changed = grade_state(self._before, self._wanted, self._workspace.state())
        assert changed.score is not None
        wanted = self._answer
        given = answer_in(self._task.framing.final(text))
        answer = float(wanted is None or _plain(given) == _plain(wanted))
        score = changed.score * answer
        if not self._task.partial_credit:
            score = float(score == 1.0)
        return self._reward(score, changed.score, answer)

    def _reward(self, score: float, state: float, answer: float) -> Reward:
        return Reward(
            score, parts={"state": state, "answer": answer}, metadata=self._turns.counts()
        )


def _after(problem: ToolUseProblem) -> dict[str, Any]:
    """Return the state that is wanted: the one that the calls of the request lead to."""
    workspace = Workspace(problem.toolkits, problem.workspace)
    for turn in problem.request.turns:
        for name, arguments in turn:
            workspace.run(name, arguments)
    return workspace.state()


def _plain(text: str) -> str:
    return " ".join(text.split()).strip("\"'`. ").casefold()


@lru_cache(maxsize=16)
def _schemas(toolkits: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    return tuple(schema for name in toolkits for schema in TOOLKITS[name].schemas())


@lru_cache(maxsize=16)
def _table(toolkits: tuple[str, ...]) -> ToolTable:
    return ToolTable(_schemas(toolkits))
