"""Tools that a task offers are offered to models in other libraries too, whatever is round it."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toys

from mint_envs import Episode, Message, Reward, Task
from mint_envs.compose.mix import MixTask
from mint_envs.core import ChatStyle
from mint_envs.errors import SettingError
from mint_envs.interop import openreward, toolcalls, trl
from mint_envs.tooluse import FORMATS, ToolUseTask
from mint_envs.wrappers import LengthPenaltyTask, SystemPromptTask, TaskWrapper, TimeLimitTask

STORE = {"get_value", "set_value", "delete_key", "list_keys"}


def store(**settings: Any) -> ToolUseTask:
    return ToolUseTask("keyvalue", plain=True, **settings)


WRAPPED: Mapping[str, Any] = {
    "bare": store,
    "a system prompt": lambda: SystemPromptTask(store(), "Be brief."),
    "a length penalty": lambda: LengthPenaltyTask(store(), 4000, 8000),
    "a time limit round a wrapper": lambda: TimeLimitTask(TaskWrapper(store()), 8),
    "a mixture": lambda: MixTask({"mint/ToolUse-v0": {"toolkit": "keyvalue", "plain": True}}),
    "a mixture, wrapped": lambda: TaskWrapper(
        MixTask({"mint/ToolUse-v0": {"toolkit": "keyvalue", "plain": True}})
    ),
}


@pytest.fixture(params=WRAPPED.values(), ids=WRAPPED)
def task(request: pytest.FixtureRequest) -> Task[Any]:
    made: Task[Any] = request.param()
    return made


def request_of(task: Task[Any], seed: int) -> Any:
    problem = task.problem(seed)
    return getattr(problem, "problem", problem).request


# -- the core -------------------------------------------------------------------------------------


def test_a_task_offers_no_tools_unless_it_says_so() -> None:
    assert toys.Adder().tools() == ()
    assert toys.Adder().tools(toys.Adder().problem(1)) == ()


def test_tools_are_handed_on(task: Task[Any]) -> None:
    assert {tool["name"] for tool in task.tools()} == STORE
    assert {tool["name"] for tool in task.tools(task.problem(3))} == STORE


def test_a_problem_offers_its_own_tools() -> None:
    task = MixTask({"mint/ToolUse-v0": 1.0, "mint/Math-v0": 1.0})
    problems = [task.problem(seed) for seed in range(40)]
    for problem in problems:
        assert bool(task.tools(problem)) == (problem.member == 0)
        assert {t["name"] for t in task.tools(problem)} <= {t["name"] for t in task.tools()}
    one, other = ToolUseTask(), ToolUseTask("calculator")
    assert len(other.tools()) < len(one.tools())
    assert len({len(one.tools(one.problem(seed))) for seed in range(20)}) > 1


def test_rows_offer_the_tools_that_stand_in_them(tmp_path: Path) -> None:
    rows = [
        {"question": "What is 2 + 2?", "calls": [], "tools": [_tool("add"), _tool("same")]},
        {"question": "Hm?", "calls": [], "functions": [{"type": "function", "function": _tool("f")},
                                                       _tool("same")]},
        {"question": "Store.", "toolkits": "keyvalue",
         "wanted_state": {"keyvalue": {"entries": {}}}},
    ]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = ToolUseTask(dataset=str(path), split="all")
    names = [[tool["name"] for tool in task.tools(task.problem(i))] for i in range(3)]
    assert names[:2] == [["add", "same"], ["f", "same"]]
    assert set(names[2]) == STORE
    assert {tool["name"] for tool in task.tools()} == {"add", "f", "same", *STORE}


def _tool(name: str) -> dict[str, Any]:
    return {"name": name, "parameters": {"type": "dict", "properties": {"x": {"type": "float"}}}}


# -- TRL ------------------------------------------------------------------------------------------


def test_trl_offers_the_tools_of_the_environment(task: Task[Any]) -> None:
    made = trl.environment_factory(task)()
    public = {name for name in dir(made) if not name.startswith("_")}
    assert public == {"reset", "get_reward", "finish", *STORE}
    for seed in range(8):
        request = request_of(task, seed)
        asked = made.reset(task_seed=seed)
        assert asked.endswith(request.text)
        assert "tool_call" not in asked
        for name, arguments in (step for turn in request.turns for step in turn):
            said = getattr(made, name)(**arguments)
            assert "Error" not in said
            assert "tool_response" not in said
        made.finish(request.answer or "")
        assert made.get_reward() == 1.0


def test_what_a_wrapper_says_is_said_there_too() -> None:
    made = trl.environment_factory(SystemPromptTask(store(), "Be brief."))()
    assert made.reset(task_seed=1) == f"Be brief.\n\n{request_of(store(), 1).text}"


@pytest.mark.parametrize("format", FORMATS)
def test_native_calls_are_read_whatever_format_the_text_has(format: str) -> None:
    task = store(format=format)
    made = trl.environment_factory(task)()
    request = request_of(task, 2)
    made.reset(task_seed=2)
    for name, arguments in (step for turn in request.turns for step in turn):
        getattr(made, name)(**arguments)
    made.finish(request.answer or "")
    assert made.get_reward() == 1.0


def test_a_mixture_offers_submit_for_problems_without_tools() -> None:
    task = MixTask({"mint/ToolUse-v0": {"toolkit": "keyvalue"}, "mint/Math-v0": {"digits": 1}})
    made = trl.environment_factory(task)()
    assert {n for n in dir(made) if not n.startswith("_")} == {
        "reset", "get_reward", "finish", "submit", *STORE,
    }  # fmt: skip
    sums = next(seed for seed in range(99) if task.problem(seed).member == 1)
    made.reset(task_seed=sums)
    made.submit(next(iter(task.examples(task.problem(sums)))))
    assert made.get_reward() == 1.0


# -- the Open Reward Standard ---------------------------------------------------------------------


class _Block:
    def __init__(self, text: str) -> None:
        self.text = text


class _Output:
    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


class _Environment:
    def __init__(self, task_spec: Any) -> None:
        self.task_spec = task_spec


def _marked(function: Any) -> Any:
    function.is_tool = True
    return function


@pytest.fixture
def standard(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the adapter uses of ``openreward.environments``; the live test holds the real one."""
    room = types.ModuleType("openreward.environments")
    vars(room).update(
        Environment=_Environment, TextBlock=_Block, ToolOutput=_Output, tool=_marked, Server=list
    )
    monkeypatch.setitem(sys.modules, "openreward", types.ModuleType("openreward"))
    monkeypatch.setitem(sys.modules, "openreward.environments", room)


@pytest.mark.usefixtures("standard")
def test_the_open_reward_standard_offers_the_tools_of_the_environment(task: Task[Any]) -> None:
    kind = openreward.environment(task, 4)
    tools = {name for name in dir(kind) if hasattr(getattr(kind, name), "is_tool")}
    assert tools == {"finish", *STORE}
    made = kind({"task_seed": 3})
    made.setup()
    request = request_of(task, 3)
    assert made.get_prompt()[0].text.endswith(request.text)
    for name, arguments in (step for turn in request.turns for step in turn):
        assert "Error" not in _call(made, name, arguments).blocks[0].text
    out = _call(made, "finish", {"answer": request.answer or ""})
    assert (out.reward, out.finished) == (1.0, True)


def _call(made: Any, name: str, arguments: Any) -> Any:
    method = getattr(made, name)
    model = inspect.signature(method).parameters["given"].annotation
    return asyncio.run(method(model(**arguments)))


# -- a user's own ---------------------------------------------------------------------------------


class Doors(Task[int]):
    """Open the right door. One tool, read by code that has nothing to do with ours."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(3))

    def tools(self, problem: int | None = None) -> list[dict[str, Any]]:
        number = {"type": "integer", "description": "which one"}
        parts = {
            "number": number, "how": {"enum": ["slowly", "at once"], "default": "at once"},
            "notes": {"type": "array", "items": {"type": "string"}},
            "other": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "more": {"type": "object", "additionalProperties": {"type": "boolean"}}, "any": {},
        }  # fmt: skip
        schema = {"type": "object", "properties": parts, "required": ["number"]}
        return [{"name": "open_door", "description": "Open a door.", "parameters": schema}]

    def prompt(self, problem: int) -> list[Message]:
        rule = Message(role="system", content="You are in a corridor.")
        return [rule, Message(role="user", content=f"Open door {problem}.")]

    def start(self, problem: int) -> Episode:
        return _Door(problem)


class _Door(Episode):
    def __init__(self, wanted: int) -> None:
        self._wanted = wanted

    def respond(self, text: str) -> Reward:
        body = text.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>")
        return Reward(float(json.loads(body)["arguments"].get("number") == self._wanted))


def test_a_task_of_ones_own_has_tools() -> None:
    made = trl.environment_factory(Doors())()
    assert made.reset(task_seed=1) == f"You are in a corridor.\n\nOpen door {Doors().problem(1)}."
    assert "The work is done" in made.open_door(number=Doors().problem(1))
    assert made.get_reward() == 1.0
    told = inspect.getdoc(type(made).open_door) or ""
    assert "Open a door." in told
    assert "number: which one" in told


def test_the_types_of_arguments_are_those_of_the_schema() -> None:
    hints = toolcalls.offered(Doors()).functions["open_door"].__annotations__
    assert hints == {
        "number": int, "how": typing.Literal["slowly", "at once"], "notes": list[str] | None,
        "other": float | None, "more": dict[str, bool] | None, "any": Any, "return": str,
    }  # fmt: skip
    shown = inspect.signature(toolcalls.offered(Doors()).functions["open_door"]).parameters
    assert shown["number"].default is inspect.Parameter.empty
    assert shown["how"].default == "at once"


def test_a_library_reads_the_same_schema_from_the_method() -> None:
    get_json_schema = pytest.importorskip("transformers.utils").get_json_schema
    functions = toolcalls.offered(ToolUseTask()).functions
    for tool in ToolUseTask().tools():
        read = get_json_schema(functions[tool["name"]])["function"]
        wanted = tool["parameters"]["properties"]
        assert read["name"] == tool["name"]
        assert read["description"] == tool["description"]
        assert read["parameters"].get("required", []) == tool["parameters"]["required"]
        for name, schema in wanted.items():
            found = read["parameters"]["properties"][name]
            assert found["description"] == schema.get("description", "a value")
            assert found.get("type") == schema.get("type", found.get("type"))


class Reset(Doors):
    """Its tool has a name that a library's own method has."""

    name, parameter = "reset", "number"

    def tools(self, problem: int | None = None) -> list[dict[str, Any]]:
        return [{"name": self.name, "parameters": {"properties": {self.parameter: {}}}}]


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(SettingError, match="'reset' is the name of a method"):
        trl.environment_factory(Reset())


def test_a_parameter_that_python_cannot_name_is_refused() -> None:
    task = Reset()
    task.name, task.parameter = "go", "from"
    with pytest.raises(SettingError, match="parameter 'from' of tool 'go'"):
        trl.environment_factory(task)


def test_a_style_that_calls_tools_itself_needs_no_rules() -> None:
    task = store(level="easy").fitted(ChatStyle(calls_tools=True))
    (only,) = task.prompt(task.problem(1))
    assert only["role"] == "user"
