"""Rows of data sets as problems.

A row is recognised by its fields; each form has the first of the names that is there:

===========  ================================================================================
what         fields
===========  ================================================================================
BFCL         ``question``, ``function`` and ``ground_truth`` (none for ``irrelevance`` rows)
BFCL, turns  ``question``, ``involved_classes``, ``initial_config`` and ``ground_truth``
calls        ``messages``, ``question``, ``query`` or ``prompt``; ``tools`` or ``functions``;
             ``calls``, ``expected_calls`` or ``answers`` (``[]``: no tool fits), else the calls of
             a last message of the assistant's; ``system``
state        the same request; ``toolkits``; ``state`` and ``wanted_state``, by toolkit; ``answer``
             if a question is asked; ``calls``, one way to do it, for worked examples
===========  ================================================================================

A field may be JSON in a string. Every error names the line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from ..core import Episode, Message, Reward
from ..datasets import Row, load_rows, numbered_rows
from ..errors import DatasetError, SettingError, require
from .bfcl import read_turns
from .dialects import source_of, told
from .families import Request
from .formats.calls import MISFITS, Call
from .formats.framing import Framing
from .formats.writers import Step
from .grade import grade_calls
from .requests import (
    RULES,
    Host,
    RowProblem,
    checked_messages,
    exact_or_openai,
    with_tools,
)
from .toolkits import TOOLKITS
from .toolkits.parameters import as_function, is_schema
from .toolkits.schemas import ToolTable

_REQUEST = ("messages", "question", "query", "prompt")
_TOOLS = ("tools", "functions", "function")
_CALLS = ("calls", "expected_calls", "ground_truth", "answers")
_PLAIN_TYPES = ("string", "integer", "number", "boolean", "array", "object")
_ONE_MESSAGE = """\
Several calls may stand in one message. If no tool fits the request, answer without a call."""


@dataclass(frozen=True)
class CallProblem(RowProblem):
    """One message is asked for: the calls that were wanted, or none if no tool fits."""

    id: str
    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...]
    wanted: tuple[Mapping[str, Any], ...]
    language: str = "python"  # BFCL's rows in another have arguments of source text

    def prompt(self, framing: Framing) -> list[Message]:
        return with_tools(framing, _ONE_MESSAGE, self.offers(), self.messages)

    def offers(self) -> Sequence[Mapping[str, Any]]:
        if self.language == "python":
            return self.tools
        return [told(tool, self.language) for tool in self.tools]

    def start(self, task: Host) -> Episode:
        return _Calls(task, self)

    def examples(self, task: Host) -> dict[Any, float]:
        calls = [self._as_source(*exact_call(call)) for call in self.wanted]
        text = task.framing.calls(calls) or "None of the tools can do that."
        found = {text: self.start(task).respond(text)}
        best = {text: r.score for text, r in found.items() if isinstance(r, Reward) and r.score}
        return {**best, "": 0.0}

    def _as_source(self, name: str, arguments: Mapping[str, Any]) -> Step:
        """Return a call as it is made in this language."""
        if self.language == "python":
            return name, arguments
        tool = next((tool for tool in self.tools if tool.get("name") == name), {})
        known = (tool.get("parameters") or {}).get("properties") or {}
        texts = {k: source_of(v, known.get(k, {}), self.language) for k, v in arguments.items()}
        return name, texts


class _Calls(Episode):
    """One message. What it calls is graded, not run."""

    def __init__(self, task: Host, problem: CallProblem) -> None:
        self._task, self._problem = task, problem

    def respond(self, text: str) -> Reward:
        task, problem = self._task, self._problem
        table = ToolTable.of(problem.offers())
        made = [as_made(call) for call in task.framing.read(text, table)]
        reward = grade_calls(
            problem.wanted,
            made,
            problem.tools,
            partial_credit=task.partial_credit,
            weights=task.weights,
            language=problem.language,
        )
        silent = not made and not task.framing.final(text).strip()
        return Reward(0.0, metadata=reward.metadata) if silent else reward

    def cut(self, text: str) -> Reward:
        return Reward(0.0, metadata={"wanted": len(self._problem.wanted), "made": 0, "right": 0})


def as_made(call: Call) -> Call | dict[str, Any]:
    """A call that does not fit its schema still earns what is right about it."""
    if call.error not in MISFITS or call.arguments is None:
        return call
    return {"name": call.name, "arguments": call.arguments}


def exact_call(call: Mapping[str, Any]) -> Step:
    """Return a call that is as wanted: of BFCL's option lists, the first that is a value."""
    if isinstance(call.get("name"), str):
        return call["name"], call.get("arguments") or {}
    ((name, options),) = call.items()
    return name, {key: _first(values) for key, values in options.items() if _any_value(values)}


def _any_value(options: Sequence[Any]) -> bool:
    return any(option != "" for option in options)


def _first(options: Sequence[Any]) -> Any:
    return _inner_options(next(option for option in options if option != ""))


def _inner_options(option: Any) -> Any:
    """In dictionaries, and in lists of them, every value is a list of options again."""
    if isinstance(option, Mapping):
        return {
            key: _first(values) if isinstance(values, list) else values
            for key, values in option.items()
            if not isinstance(values, list) or _any_value(values)
        }
    if isinstance(option, list):
        return [_inner_options(item) if isinstance(item, Mapping) else item for item in option]
    return option


@dataclass(frozen=True)
class StateProblem(RowProblem):
    """A state of our own toolkits that is to be reached, over several turns."""

    id: str
    messages: tuple[Message, ...]
    toolkits: tuple[str, ...]
    state: Mapping[str, Any]
    wanted: Mapping[str, Any]
    answer: str | None
    path: tuple[Step, ...]

    def prompt(self, framing: Framing) -> list[Message]:
        return with_tools(framing, RULES, self.offers(), self.messages)

    def offers(self) -> Sequence[Mapping[str, Any]]:
        return [schema for name in self.toolkits for schema in TOOLKITS[name].schemas()]

    def start(self, task: Host) -> Episode:
        request = Request(self.messages[-1]["content"], (), self.answer)
        return task.work(self.toolkits, 0, self.state, self.wanted, request)

    def examples(self, task: Host) -> dict[Any, float]:
        if not self.path:
            return {}  # the row says what is to be reached, and not how
        calls = [task.framing.calls([call]) for call in self.path]
        answer = "Done." if self.answer is None else f"Answer: {self.answer}"
        return {(*calls, answer): 1.0, "": 0.0}


# -- reading ------------------------------------------------------------------------------------


def load_call_problems(dataset: str, split: str | None = None) -> list[RowProblem]:
    """Return the problems of a JSONL or Parquet file or a Hugging Face data set.

    Raises:
        DatasetError: it is missing or broken, or a row is of no known form.
    """
    found = []
    for number, row in enumerate(load_rows(dataset, split), 1):
        try:
            found.append(read_call_row(row))
        except UNREADABLE as error:
            where = _source_line(dataset, row) or f"row {number} of dataset={dataset!r}"
            raise DatasetError(f"{where}: {fault_of_row(error)}") from error
    return found


#: What ``read_call_row`` raises.
UNREADABLE = (DatasetError, SettingError, ValueError, TypeError, KeyError)


def fault_of_row(error: Exception) -> str:
    """Return what is wrong with a row, as one of ``UNREADABLE`` says it."""
    return f"no field {error}" if isinstance(error, KeyError) else str(error)


def read_call_row(row: Row) -> RowProblem:
    """Return the problem of one row.

    Raises:
        SettingError, DatasetError, ValueError, TypeError, KeyError: the row is of no known form.
    """
    for name, why in _REFUSED.items():
        require(not str(row.get("id", "")).startswith(name), f"BFCL's category {name!r}: {why}")
    if row.get("involved_classes") is not None:
        return read_turns(row)
    if row.get("wanted_state") is not None:
        return _state_problem(row)
    return _call_problem(row)


#: BFCL's categories that cannot be run here as they are meant.
_REFUSED = {
    "memory": "its rows want a memory that earlier conversations have filled, and a judge of words",
    "web_search": "its rows want the live web",
    "format_sensitivity": "it asks the same in other formats; use the categories that it names",
    "live_relevance": "any call is right in its rows, so that nothing can be graded",
    "multi_turn_composite": "the package bfcl-eval has no truths of it",
}


def _call_problem(row: Row) -> CallProblem:
    tools = [_offered_tool(tool) for tool in _list_field(row, _TOOLS)]
    messages, last = _request_and_answer(row)
    if _has(row, _CALLS):
        wanted = [_plain_call(call) for call in _list_field(row, _CALLS)]
        told = last is None or _calls_of(last) == wanted
        require(told, "its calls are not those of its last message, which is the assistant's")
    else:
        wanted = _none_fits(row) if last is None else _calls_of(last)
    language = _language_of(row)
    problem = CallProblem(_id(row), messages, tuple(tools), tuple(wanted), language)
    table = ToolTable.of(problem.offers())
    assert table is not None
    wanted = [_without_filling(call, table) for call in wanted]
    problem = replace(problem, wanted=tuple(wanted))
    grade_calls(wanted, [], tools, language=language)  # raises where one of them is no call
    for name, _ in map(exact_call, wanted):
        require(name in table.names, f"a call of {name!r} is wanted, which is none of the tools")
    return problem


def _offered_tool(tool: Any) -> Any:
    """A tool as its prompt lists it; it and its parameters may be JSON in a string."""
    tool = _maybe_json(tool)
    if not isinstance(tool, Mapping):
        return tool  # refused when all are looked at
    inner = tool.get("function", tool)
    if isinstance(inner, Mapping) and is_schema(inner.get("parameters")):
        return tool  # in OpenAI's form round it, or without
    found = as_function(tool)
    return {**found, "parameters": _maybe_json(found["parameters"])}


def _plain_call(call: Any) -> Any:
    """OpenAI's form, and arguments as text, as a plain call; BFCL's as it is."""
    inner = call.get("function", call) if isinstance(call, Mapping) else {}
    named = isinstance(inner, Mapping) and isinstance(inner.get("name"), str)
    return exact_or_openai(call) if named else call


def _without_filling(call: Any, table: ToolTable) -> Any:
    """A call without the nulls that Parquet writes for what other calls of the set have."""
    if not isinstance(call, Mapping) or not isinstance(call.get("arguments"), Mapping):
        return call
    known = table.schema(call["name"]).get("properties", {})
    plain = {key for key, part in known.items() if part.get("type") in _PLAIN_TYPES}
    kept = {k: v for k, v in call["arguments"].items() if v is not None or k not in plain}
    return {**call, "arguments": kept}


def _request_and_answer(row: Row) -> tuple[tuple[Message, ...], Message | None]:
    """The request, and the last message of a row that is a whole chat."""
    messages = _request_messages(row)
    if messages[-1]["role"] != "assistant" or len(messages) < 2:
        return messages, None
    return messages[:-1], messages[-1]


def _calls_of(answer: Message) -> list[Any]:
    require(
        "tool_calls" in answer,
        "its last message makes no call. Where none is wanted, leave it out and write calls=[]",
    )
    return [exact_or_openai(call) for call in answer["tool_calls"]]


def _language_of(row: Row) -> str:
    """BFCL says it in the id of a row; elsewhere a tool's names of types are JSON Schema's."""
    category = str(row.get("id", ""))
    return next((one for one in ("javascript", "java") if f"simple_{one}" in category), "python")


def _none_fits(row: Row) -> list[Any]:
    """BFCL's rows without a truth are those where no tool fits, or where any call is right."""
    require(
        "irrelevance" in str(row.get("id", "")),
        f"there is none of the fields {', '.join(_CALLS)}. Where no tool fits, write calls=[]; "
        "BFCL's relevance rows, for which any call is right, cannot be graded",
    )
    return []


def _state_problem(row: Row) -> StateProblem:
    names = [row["toolkits"]] if isinstance(row["toolkits"], str) else list(row["toolkits"])
    for name in names:
        require(name in TOOLKITS, f"toolkits: {name!r} is none of {', '.join(TOOLKITS)}")
    state, wanted = _maybe_json(row.get("state") or {}), _maybe_json(row["wanted_state"])
    for key in ("state", "wanted_state"):
        kits = _maybe_json(row.get(key) or {})
        require(isinstance(kits, Mapping), f"{key} is a {type(kits).__name__}, not an object")
        for name in kits:
            require(name in names, f"{key} has {name!r}, which is none of toolkits={names}")
            require(isinstance(kits[name], Mapping), f"{key}.{name} is not an object")
            lacking = sorted(_parts_of(name) - kits[name].keys())
            require(not lacking, f"{key}.{name} lacks {', '.join(lacking)}: give the whole state")
    answer = None if row.get("answer") is None else str(row["answer"])
    path = tuple(exact_call(call) for call in _list_field(row, _CALLS)) if _has(row, _CALLS) else ()
    return StateProblem(_id(row), _request_messages(row), tuple(names), state, wanted, answer, path)


@cache
def _parts_of(toolkit: str) -> frozenset[str]:
    """Return what every state of a toolkit has."""
    kit = TOOLKITS[toolkit]()
    one, two = (kit.initial(np.random.default_rng(seed)) for seed in (0, 1))
    return frozenset(one.keys() & two.keys())


def _request_messages(row: Row) -> tuple[Message, ...]:
    value = _maybe_json(_field(row, _REQUEST))
    if isinstance(value, str):
        turns: Any = [{"role": "user", "content": value}]
    else:
        turns = value[0] if value and isinstance(value[0], list) else value
        several = turns is not value and len(value) > 1 and row.get("involved_classes") is None
        require(not several, "it asks in several turns, of which none but the first is read")
    rules = row.get("system") or row.get("system_prompt")
    require(rules is None or isinstance(rules, str), "system must be a text")
    first = [] if rules is None else [{"role": "system", "content": rules}]
    return checked_messages([*first, *turns] if isinstance(turns, list) else turns)


def _id(row: Row) -> str:
    text = json.dumps(row, sort_keys=True, default=str)
    return str(row.get("id") or blake2b(text.encode(errors="replace"), digest_size=8).hexdigest())


def _has(row: Row, names: Sequence[str]) -> bool:
    return any(row.get(name) is not None for name in names)


def _field(row: Row, names: Sequence[str]) -> Any:
    require(
        _has(row, names),
        f"there is none of the fields {', '.join(names)}; there are {', '.join(map(str, row))}",
    )
    return next(row[name] for name in names if row.get(name) is not None)


def _list_field(row: Row, names: Sequence[str]) -> list[Any]:
    value = _maybe_json(_field(row, names))
    value = [value] if isinstance(value, Mapping) else value
    name = next(name for name in names if row.get(name) is not None)
    require(isinstance(value, list), f"{name} must be a list, not {type(value).__name__}")
    return list(value)


def _maybe_json(value: Any) -> Any:
    """Return a field that may be JSON in a string."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _source_line(dataset: str, row: Row) -> str | None:
    """Return which line of a JSONL file a row is; None of other sources."""
    path = Path(dataset)
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        return None
    numbers = (number for number, found in numbered_rows(path) if found == row)
    return next((f"line {number} of '{dataset}'" for number in numbers), None)
