"""mint/ToolUse-v0: do what is asked with tools, over several turns; paid for what was achieved."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from ..core import ChatStyle, Episode, Message, Prompt, Reward
from ..datasets import DatasetTask
from ..errors import did_you_mean, require
from ..family import CommonSettings, Dataset, Drop, Level, PartialCredit, Split
from .easy import worked_examples
from .families import FAMILIES, MOST_CALLS, Request, drawable
from .formats.framing import Framing
from .formats.registry import FORMATS
from .grade import WEIGHTS, check_weights
from .requests import RULES, RowProblem
from .rows import load_call_problems
from .toolkits import IN_PROCESS, TOOLKITS
from .toolkits import mcp as mcp_tools
from .toolkits.schemas import ToolTable, plain_tools
from .toolkits.state import grade_state
from .toolkits.workspace import User, Workspace
from .turns import Turns, answer_in

if TYPE_CHECKING:
    Toolkits = str
else:  # what is listed, served and checked as the choices of ``toolkit``
    Toolkits = Literal[("all", *sorted(TOOLKITS))]


@dataclass(frozen=True, slots=True)
class ToolUseProblem:
    """A request in a workspace. The first state of every toolkit is drawn from its number."""

    toolkits: tuple[str, ...]
    workspace: int
    request: Request


class ToolUseTask(DatasetTask[Any]):
    """Requests that need up to six calls of tools, one after another.

    ``level="easy"``: one call on the key-value store, with worked examples, for a small model.

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

    ``dataset`` takes rows with tools, messages and the calls or the state that are wanted, BFCL's
    among them: see ``mint_envs.tooluse.rows``.

    Raises:
        SettingError: a setting out of range.
        DatasetError: the data set is missing, empty or broken.
    """

    def __init__(
        self,
        toolkit: Annotated[
            Toolkits,
            "which tools the requests are about; 'all' is all but python, which needs a sandbox",
        ] = "all",
        level: Level = "full",
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
        max_turns: Annotated[
            int | None,
            "messages of the model before the episode ends, 2 to 100; default: 8, or 2 if easy",
        ] = None,
        max_tool_calls: Annotated[int, "calls before the episode ends, 4 to 1000"] = 16,
        max_result: Annotated[int, "longest result of a call, in characters, from 100 up"] = 4000,
        partial_credit: PartialCredit = True,  # of several changes, each is worth something
        weights: Annotated[
            tuple[float, float, float],
            "in call tasks: what tool names, argument names and values are worth",
        ] = WEIGHTS,
        format: Annotated[
            str, "how calls are written; 'auto': as the tokenizer's template does"
        ] = "auto",
        dataset: Dataset = None,
        split: Split = None,
        drop: Drop = None,
    ) -> None:
        valid = ("all", *sorted(FAMILIES))
        require(toolkit in valid, f"toolkit={toolkit!r}: one of {', '.join(valid)}")
        require(
            1 <= max_calls <= MOST_CALLS, f"max_calls={max_calls} must be from 1 to {MOST_CALLS}"
        )
        if max_turns is None:
            max_turns = 2 if level == "easy" else 8
        require(2 <= max_turns <= 100, f"max_turns={max_turns} must be from 2 to 100")
        require(
            4 <= max_tool_calls <= 1000, f"max_tool_calls={max_tool_calls} must be from 4 to 1000"
        )
        CommonSettings(dataset, split, drop, level=level, levels=("full", "easy"))
        require(max_result >= 100, f"max_result={max_result} must be 100 or more")
        known = ("auto", *FORMATS)
        require(format in known, f"format={format!r} is unknown. {did_you_mean(format, known)}")
        self.level, self._format = level, format
        self.framing = Framing.of(format, ChatStyle())
        self.max_result, self.weights = max_result, check_weights(weights)
        if level == "easy":
            toolkit, max_calls, plain = "keyvalue", 1, True
        about = IN_PROCESS if toolkit == "all" else (toolkit,)
        self._families = drawable(about, max_calls, plain)
        self._use_server(mcp, mcp_timeout_s)
        #: Names of the toolkits whose tools are on offer, in one problem or another.
        self.toolkits = tuple(sorted({*IN_PROCESS, *about})) if distractors else about
        self._distractors = distractors
        self.max_turns, self.max_tool_calls = max_turns, max_tool_calls
        self.partial_credit = partial_credit

        super().__init__(
            None if dataset is None else load_call_problems(dataset, split), split, drop
        )

    def _use_server(self, mcp: str | None, timeout_s: float) -> None:
        require(timeout_s > 0, f"mcp_timeout_s={timeout_s} must be above 0")
        self.mcp, self._mcp_timeout_s = mcp, timeout_s
        if mcp is not None:
            self.nondeterministic = True  # of this task, not of its class
            _toolkit_table((), mcp)  # a server that does not answer is said at once

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
                kits = tuple(sorted({*IN_PROCESS, name})) if self._distractors else (name,)
                return ToolUseProblem(kits, workspace, request)

    def key(self, problem: ToolUseProblem) -> str:
        return f"{problem.workspace} {problem.request.text}"

    def prompt(self, problem: ToolUseProblem | RowProblem) -> Prompt:
        if isinstance(problem, RowProblem):
            return problem.prompt(self.framing)
        request = Message(role="user", content=problem.request.text)
        if self.framing.native:
            return [request]
        if self.level == "easy":
            return [*worked_examples(self.framing), request]
        workspace = f"\n\nWorkspace: {problem.workspace}"
        return [self.framing.system(RULES, schemas(problem.toolkits, self.mcp), workspace), request]

    def tools(
        self, problem: ToolUseProblem | RowProblem | None = None
    ) -> tuple[Mapping[str, Any], ...]:
        if problem is None and self.rows is not None:
            return plain_tools(tool for row in self.rows for tool in row.offers())
        if isinstance(problem, RowProblem):
            return plain_tools(problem.offers())
        return schemas(self.toolkits if problem is None else problem.toolkits, self.mcp)

    def start(self, problem: ToolUseProblem | RowProblem) -> Episode:
        if isinstance(problem, RowProblem):
            return problem.start(self)
        ahead = Workspace(problem.toolkits, problem.workspace)
        wanted = ahead.replay(problem.request.turns)
        ahead.close()
        toolkits, number = problem.toolkits, problem.workspace
        return self.work(toolkits, number, {}, wanted, problem.request, ahead.failure)

    def work(
        self,
        toolkits: tuple[str, ...],
        workspace: int,
        state: Mapping[str, Any],
        wanted: Mapping[str, Any],
        request: Request,
        failure: str = "",
    ) -> Episode:
        """Begin an episode in which a state is to be reached.

        Args:
            toolkits: names of the tools on offer.
            workspace: the seed of the first state of each.
            state: first states that are given, by toolkit.
            wanted: the last states, by toolkit; one that is not there is to stay as it is.
            request: what the last message must answer, and what the user can be asked for.
            failure: why ``wanted`` could not be worked out; the episode is then unmeasured.
        """
        more = [] if self.mcp is None else [mcp_tools.McpTools(self.mcp, self._mcp_timeout_s)]
        kits = Workspace(toolkits, workspace, more)
        kits.restore(state)
        wanted = {**kits.state(), **wanted}
        return _Work(self, kits, _toolkit_table(toolkits, self.mcp), wanted, request, failure)

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

    def __init__(
        self,
        task: ToolUseTask,
        workspace: Workspace,
        table: ToolTable,
        wanted: Mapping[str, Any],
        request: Request,
        failure: str,
    ) -> None:
        self._task, self._workspace, self._request = task, workspace, request
        self._before, self._wanted = workspace.state(), wanted
        self._turns = Turns(task, table, workspace.run)
        self._turns.failure = failure
        self._user = User(request.reply)

    def respond(self, text: str) -> list[Message] | Reward:
        reply = self._turns.take(text)
        if self._turns.failure:
            return self._reward(None, 0.0, 0.0)
        return reply or self._end_or_reply(text)

    def _end_or_reply(self, text: str) -> list[Message] | Reward:
        if self._turns.end != "message":
            return self._end("")
        said = self._user.hear(self._task.framing.final(text))
        if said is None or self._turns.full:
            return self._end(text)
        self._turns.end = ""
        return [Message(role="user", content=said)]

    def cut(self, text: str) -> Reward:
        self._turns.end = "cut"
        return self._reward(0.0, 0.0, 0.0)

    def _end(self, text: str) -> Reward:
        """Score the state that was reached, and the answer that ``text`` ends with."""
        changed = grade_state(self._before, self._wanted, self._workspace.state())
        assert changed.score is not None
        wanted = self._request.answer
        given = answer_in(self._task.framing.final(text))
        answer = float(wanted is None or _bare_answer(given) == _bare_answer(wanted))
        score = changed.score * answer * self._restraint
        if not self._task.partial_credit:
            score = float(score == 1.0)
        return self._reward(score, changed.score, answer)

    @property
    def _restraint(self) -> float:
        """Return what is left for calling where no tool fits, and for needless questions."""
        if self._request.no_tool and self._turns.counts()["calls"]:
            return 0.0
        return 0.5 if self._user.needless else 1.0

    def _reward(self, score: float | None, state: float, answer: float) -> Reward:
        self._workspace.close()
        parts = {"state": state, "answer": answer, "restraint": self._restraint}
        counts = {**self._turns.counts(), "deterministic": self._task.mcp is None}
        return Reward(score, parts=parts, metadata=counts)


def _bare_answer(text: str) -> str:
    """Return an answer without quotes and a full stop round it, but ``.5`` is not ``5``."""
    return " ".join(text.split()).rstrip("\"'`. ").lstrip("\"'` ").casefold()


@lru_cache(maxsize=16)
def schemas(toolkits: tuple[str, ...], mcp: str | None = None) -> tuple[dict[str, Any], ...]:
    """Return the schemas of the tools of these toolkits, and of an MCP server."""
    more = () if mcp is None else mcp_tools.offered_by(mcp)
    return (*(schema for name in toolkits for schema in TOOLKITS[name].schemas()), *more)


@lru_cache(maxsize=16)
def _toolkit_table(toolkits: tuple[str, ...], mcp: str | None) -> ToolTable:
    return ToolTable(schemas(toolkits, mcp))
