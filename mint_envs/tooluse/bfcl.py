"""BFCL's multi-turn rows: run on BFCL's own classes, judged by its rules.

The classes come with the package ``bfcl-eval``; its many pinned dependencies are not needed:
``pip install --no-deps bfcl-eval mpmath``. They run in this process, so that calls with numbers
that would take forever (``9 ** 10 ** 9``) are refused first. No text is ever evaluated.
"""

from __future__ import annotations

import ast
import copy
import importlib
import importlib.util
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..core import Episode, Message, Reward
from ..datasets import Row
from ..errors import SettingError, require
from .formats.framing import Framing
from .formats.writers import Step, as_json
from .requests import Host, RowProblem, checked_messages, with_tools
from .toolkits.schemas import ToolTable
from .toolkits.tools import ToolResult
from .turns import Turns

#: The package that has the classes, and where in it.
PACKAGE, CODE = "bfcl_eval", "eval_checker.multi_turn_eval.func_source_code"

#: Where each class is, and the file that describes its tools.
_FILES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
_STATELESS = frozenset({"MathAPI"})

_RULES = """\
Several calls may stand in one message; their results come back in the same order. A message \
without a call hands the turn to the user."""

#: Beyond these the classes would count for hours. By argument, and for every other one.
_LARGEST = {"exponent": 1000.0, "precision": 1000.0}
_ANY = 1e15


@dataclass(frozen=True)
class TurnsProblem(RowProblem):
    """Several requests of a user, one after the other, on one state."""

    id: str
    turns: tuple[tuple[Message, ...], ...]
    wanted: tuple[tuple[Step, ...], ...]
    classes: tuple[str, ...]
    config: Mapping[str, Any]
    tools: tuple[Mapping[str, Any], ...]
    later: Mapping[int, tuple[Mapping[str, Any], ...]]  # tools that come with a later turn
    long_context: bool = False  # the state is filled up until results are very long

    @property
    def messages(self) -> tuple[Message, ...]:  # type: ignore[override]
        return self.turns[0]

    def prompt(self, framing: Framing) -> list[Message]:
        return with_tools(framing, _RULES, self.tools, self.turns[0])

    def offers(self) -> Sequence[Mapping[str, Any]]:
        return self.offered(len(self.turns))

    def start(self, task: Host) -> Episode:
        return _Dialogue(task, self)

    def examples(self, task: Host) -> dict[Any, float]:
        texts = []
        for calls in self.wanted:
            texts += [task.framing.calls([call]) for call in calls] + ["Done."]
        return {tuple(texts): 1.0, "": 0.0}

    def offered(self, turn: int) -> tuple[Mapping[str, Any], ...]:
        """Return the tools of a turn."""
        more = [tool for at, tools in self.later.items() if at <= turn for tool in tools]
        return (*self.tools, *more)


@dataclass
class _Limits:
    """The limits of a task, or more where the row's own solution needs more.

    Some rows of ``multi_turn_long_context`` remove thirty files for one request.
    """

    framing: Framing
    max_turns: int
    max_tool_calls: int
    max_result: int

    @classmethod
    def of(cls, task: Host, calls: int) -> _Limits:
        turns, most = max(task.max_turns, calls + 1), max(task.max_tool_calls, calls + 1)
        return cls(task.framing, turns, most, task.max_result)


class _Dialogue(Episode):
    """The turns of a user, each with as many messages as the model takes for it."""

    def __init__(self, task: Host, problem: TurnsProblem) -> None:
        self._task, self._problem = task, problem
        self._judge = StateChecker(problem)
        limits = _Limits.of(task, max(map(len, problem.wanted)))
        self._turns = Turns(limits, ToolTable.of(problem.tools), self._run, misfits=True)

    def respond(self, text: str) -> list[Message] | Reward:
        reply = self._turns.take(text)
        if reply is not None:
            return reply
        right = self._judge.end_turn()
        turn = self._judge.turn
        if self._turns.end != "message" or not right or turn == len(self._problem.wanted):
            return self._reward()
        self._turns.next_request(ToolTable.of(self._problem.offered(turn)))
        return self._next(turn)

    def cut(self, text: str) -> Reward:
        self._turns.end = "cut"
        return Reward(
            0.0, parts={"turns": 0.0}, metadata={**self._turns.counts(), "turn_rewards": []}
        )

    def _run(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        text = self._judge.run((name, arguments))
        return ToolResult(text, not text.startswith("Error during execution"))

    def _next(self, turn: int) -> list[Message]:
        """Return what the user says next, and the tools that come with it."""
        new = self._problem.later.get(turn, ())
        said = list(self._problem.turns[turn])
        if new:
            listed = "\n".join(map(as_json, new))
            said.insert(0, Message(role="user", content=f"There are more tools now:\n{listed}"))
        return said

    def _reward(self) -> Reward:
        reward = self._judge.reward(self._task.partial_credit)
        return Reward(reward.score, reward.parts, {**self._turns.counts(), **reward.metadata})


class StateChecker:
    """BFCL's checker, turn by turn.

    After each turn in which calls are wanted, every public attribute of every instance must be
    what the wanted calls make it, at least one call must have been made, and all results of the
    wanted calls must be among all results so far. Calls beyond those are free.
    """

    def __init__(self, problem: TurnsProblem) -> None:
        self._problem = problem
        self._made = Instances(problem.classes, problem.config, problem.long_context)
        self._gold = Instances(problem.classes, problem.config, problem.long_context)
        self._results: list[str] = []
        self._called = False
        #: The number of turns that are over, and what was wrong with one of them.
        self.turn, self.fault = 0, ""

    def run(self, call: Step) -> str:
        """Run a call of the model."""
        self._called = True
        self._results.append(self._made.run(*call))
        return self._results[-1]

    def end_turn(self) -> bool:
        """Judge the turn that ends; return whether all is right so far."""
        wanted = [self._gold.run(*call) for call in self._problem.wanted[self.turn]]
        if wanted and not self.fault:
            self.fault = self._check(wanted)
        self._called = False
        self.turn += not self.fault
        return not self.fault

    def reward(self, partial_credit: bool) -> Reward:
        """Return the share of turns that were right, up to the first that was not."""
        count = len(self._problem.wanted)
        share = self.turn / count
        score = share if partial_credit else float(share == 1.0)
        paid = range(self.turn if score else 0)
        each = math.floor(2**30 / count) / 2**30  # rounded down: their sum is never above the score
        turns = [{"turn": turn, "part": "turns", "value": each} for turn in paid]
        metadata = {"fault": self.fault, "turn_rewards": turns}
        return Reward(score, parts={"turns": share}, metadata=metadata)

    def _check(self, wanted: list[str]) -> str:
        if not self._called:
            return "no call"
        if self._made.state() != self._gold.state():
            return "state"
        left = list(self._results)
        for result in wanted:
            if result not in left:
                return "results"
            left.remove(result)
        return ""


class Instances:
    """One set of BFCL's stateful classes."""

    def __init__(
        self, classes: Sequence[str], config: Mapping[str, Any], long_context: bool = False
    ) -> None:
        self._all = [_instance_class(name)() for name in classes]
        for name, instance in zip(classes, self._all, strict=True):
            if name not in _STATELESS:
                own = copy.deepcopy(config.get(name, {}))
                instance._load_scenario(own, long_context=long_context)
        self.methods: dict[str, Callable[..., Any]] = {}
        for instance in self._all:
            members = inspect.getmembers(instance, inspect.ismethod)
            self.methods |= {name: method for name, method in members if name[0] != "_"}

    def state(self) -> list[dict[str, Any]]:
        return [{k: v for k, v in vars(one).items() if k[0] != "_"} for one in self._all]

    def run(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run a call; return its result, or what was wrong, as BFCL words them."""
        if name not in self.methods:
            return f"Error during execution: name '{name}' is not defined"
        if too_large := next((k for k, v in arguments.items() if _takes_too_long(k, v)), None):
            return f"Error during execution: {too_large} is too large"
        try:
            return _result_text(self.methods[name](**arguments))
        except Exception as error:  # whatever the classes raise, BFCL gives back as text
            return f"Error during execution: {error}"


def _takes_too_long(name: str, value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_takes_too_long(key, item) for key, item in value.items())
    if isinstance(value, list):
        return any(_takes_too_long(name, item) for item in value)
    return isinstance(value, int | float) and abs(value) > _LARGEST.get(name, _ANY)


def _result_text(result: Any) -> str:
    if isinstance(result, dict):
        try:
            return json.dumps(result)
        except (TypeError, ValueError):
            return str(result)
    return str(result)


def _instance_class(name: str) -> Any:
    try:
        return getattr(importlib.import_module(f"{PACKAGE}.{CODE}.{_FILES[name]}"), name)
    except ImportError as error:
        raise SettingError(_MISSING.format(error)) from error


_MISSING = (
    "rows of several turns run on BFCL's own classes, which are not here ({}): "
    "pip install --no-deps bfcl-eval mpmath"
)


def grade_turns(
    row: Mapping[str, Any],
    made: Sequence[Sequence[Mapping[str, Any] | str]],
    *,
    partial_credit: bool = True,
) -> Reward:
    """Return BFCL's verdict on the calls of each turn of a multi-turn row.

    Args:
        row: with ``question``, ``involved_classes``, ``initial_config`` and ``ground_truth``.
        made: for each turn its calls, ``{"name": ..., "arguments": {...}}`` or as BFCL writes
            them, ``"f(x=1)"``, with literal arguments; they are read, never evaluated.
        partial_credit: False gives 1 for all turns right, else 0.

    Returns:
        ``Reward``: the share of turns that are right up to the first that is not (all: 1.0).

    Raises:
        SettingError: the row or a call is not of this form, or BFCL's classes are not installed.
    """
    problem = read_turns(row)
    methods = Instances(problem.classes, problem.config, problem.long_context).methods
    require(
        len(made) == len(problem.wanted), f"made has {len(made)} turns, not {len(problem.wanted)}"
    )
    judge = StateChecker(problem)
    for calls in made:
        for call in calls:
            judge.run(_read_step(call, methods))
        if not judge.end_turn():
            break
    return judge.reward(partial_credit)


def _read_step(call: Mapping[str, Any] | str, methods: Mapping[str, Callable[..., Any]]) -> Step:
    if isinstance(call, str):
        return read_call(call, methods)
    return str(call.get("name")), dict(call.get("arguments") or {})


def read_turns(row: Row) -> TurnsProblem:
    """Return the problem of a multi-turn row.

    Raises:
        SettingError: it is not of that form, or BFCL's classes are not installed.
    """
    classes = tuple(row["involved_classes"])
    for name in classes:
        require(name in _FILES, f"involved_classes: {name!r} is none of {', '.join(_FILES)}")
    methods = Instances(classes, row["initial_config"]).methods
    wanted = tuple(tuple(read_call(c, methods) for c in calls) for calls in row["ground_truth"])
    turns = tuple(checked_messages(turn) if turn else () for turn in row["question"])
    require(
        len(turns) == len(wanted) > 0, f"{len(turns)} questions, but {len(wanted)} ground truths"
    )
    docs = {doc["name"]: doc for name in classes for doc in _docs(name)}
    missed = {int(at): names for at, names in (row.get("missed_function") or {}).items()}
    hidden = {name for names in missed.values() for name in names}
    hidden |= set(row.get("excluded_function") or ())
    for turn, calls in enumerate(wanted):  # a few rows want a tool before they offer it
        hidden -= {name for name, _ in calls if turn < _offered_from(name, missed)}
    later = {
        at: tuple(docs[name] for name in names if name in docs and name in hidden)
        for at, names in missed.items()
    }
    tools = tuple(doc for name, doc in docs.items() if name not in hidden)
    name, long = str(row["id"]), "long_context" in str(row["id"])
    return TurnsProblem(name, turns, wanted, classes, row["initial_config"], tools, later, long)


def _offered_from(name: str, missed: Mapping[int, Sequence[str]]) -> float:
    return next((at for at, names in missed.items() if name in names), float("inf"))


def read_call(text: str, methods: Mapping[str, Callable[..., Any]]) -> Step:
    """Read a call of literal arguments; arguments without a name get it from the method.

    Raises:
        SettingError: it is no such call.
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        values = [ast.literal_eval(argument) for argument in call.args]
        named = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (AssertionError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SettingError(f"{text[:80]!r} is no call with literal arguments") from error
    method = methods.get(call.func.id)
    names = list(inspect.signature(method).parameters) if method else []
    require(len(values) <= len(names) or not method, f"{text[:80]!r} has too many arguments")
    return call.func.id, {**dict(zip(names, values, strict=False)), **named}


@cache
def _docs(name: str) -> tuple[dict[str, Any], ...]:
    """Return the descriptions of the tools of a class, without what they return."""
    root = importlib.util.find_spec(PACKAGE)
    if root is None or not root.submodule_search_locations:
        raise SettingError(_MISSING.format(f"no {PACKAGE}"))
    folder = Path(root.submodule_search_locations[0]) / "data" / "multi_turn_func_doc"
    lines = (folder / f"{_FILES[name]}.json").read_text(encoding="utf-8").splitlines()
    docs = [json.loads(line) for line in lines if line.strip()]
    return tuple({k: v for k, v in doc.items() if k != "response"} for doc in docs)
