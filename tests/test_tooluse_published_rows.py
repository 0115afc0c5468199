"""Rows of calls as published sets and libraries have them: read whole, or refused when loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tool_templates import KNOWING, knowing_tokenizer

from mint_envs import TokenEnv
from mint_envs.errors import DatasetError, TokenizerError
from mint_envs.interop.shapes import as_messages
from mint_envs.interop.toolcalls import offered
from mint_envs.tooluse import ToolUseTask, parse_calls
from mint_envs.tooluse.rows import CallProblem, read_call_row
from mint_envs.tooluse.toolkits.parameters import schema_of_type
from mint_envs.tooluse.toolkits.schemas import plain_tools

CITY = {"type": "string", "description": "where"}
SCHEMA = {
    "type": "object",
    "properties": {"city": CITY, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOL = {"name": "weather", "description": "w", "parameters": SCHEMA}
CALL = {"name": "weather", "arguments": {"city": "Paris", "days": 2}}
ASKED = {"role": "user", "content": "Paris, two days?"}


def openai(call: dict[str, Any], id: str = "call00007") -> dict[str, Any]:
    arguments = json.dumps(call["arguments"])
    return {"id": id, "type": "function", "function": {**call, "arguments": arguments}}


CALLED = {"role": "assistant", "content": None, "tool_calls": [openai(CALL)]}
XLAM = {
    "name": "weather",
    "description": "w",
    "parameters": {
        "city": {"type": "str", "description": "where"},
        "days": {"type": "int, optional", "description": "d", "default": 1},
    },
}
ROWS: dict[str, dict[str, Any]] = {
    "plain": {"query": ASKED["content"], "tools": [TOOL], "calls": [CALL]},
    "OpenAI's tools and calls": {
        "messages": [ASKED],
        "tools": [{"type": "function", "function": TOOL}],
        "calls": [openai(CALL)],
    },
    "a chat that ends with the calls": {"messages": [ASKED, CALLED], "tools": [TOOL]},
    "the same with the calls told too": {
        "messages": [ASKED, CALLED],
        "tools": [TOOL],
        "calls": [CALL],
    },
    "Anthropic's tools": {
        "query": ASKED["content"],
        "tools": [{"name": "weather", "description": "w", "input_schema": SCHEMA}],
        "calls": [CALL],
    },
    "tools in strings": {
        "query": ASKED["content"],
        "tools": [json.dumps({**TOOL, "parameters": json.dumps(SCHEMA)})],
        "calls": json.dumps([{**CALL, "arguments": json.dumps(CALL["arguments"])}]),
    },
    "Anthropic's calls": {
        "query": ASKED["content"],
        "tools": [TOOL],
        "calls": [{"type": "tool_use", "name": "weather", "input": CALL["arguments"]}],
    },
    "a message in parts": {
        "messages": [{"role": "user", "content": [{"type": "text", "text": ASKED["content"]}]}],
        "tools": [TOOL],
        "calls": [CALL],
    },
}


@pytest.mark.parametrize("name", ROWS)
def test_every_form_is_the_same_problem(name: str, tmp_path: Path) -> None:
    problem = read_call_row(ROWS[name])
    assert isinstance(problem, CallProblem)
    assert problem.messages == (ASKED,)
    assert list(problem.wanted) == [CALL]
    assert list(plain_tools(problem.offers())) == [TOOL]
    task = ToolUseTask(dataset=written(tmp_path, ROWS[name]))
    assert max(task.examples(task.problem(0)).values()) == 1.0
    env = TokenEnv(ToolUseTask(dataset=written(tmp_path, ROWS[name])), knowing_tokenizer("hermes"))
    text = env.codec.decode(list(map(int, env.reset(seed=0, options={"index": 0})[0])))
    assert json.dumps({"type": "function", "function": TOOL}) in text


def test_nulls_that_a_file_fills_in_are_not_wanted() -> None:
    call = {"name": "weather", "arguments": {"city": "Rome", "days": None}}
    problem = read_call_row({**ROWS["plain"], "calls": [call]})
    assert isinstance(problem, CallProblem)
    assert list(problem.wanted) == [{"name": "weather", "arguments": {"city": "Rome"}}]


def test_a_table_of_parameters_is_a_schema() -> None:
    problem = read_call_row({"query": "?", "answers": [CALL], "tools": json.dumps([XLAM])})
    (tool,) = problem.offers()
    assert tool["parameters"] == {
        "type": "object",
        "properties": {
            "city": CITY,
            "days": {"type": "integer", "description": "d", "default": 1},
        },
        "required": ["city"],
    }
    text = "<function=weather><parameter=city>\n75001\n</parameter></function>"
    (call,) = parse_calls(f"<tool_call>\n{text}\n</tool_call>", "qwen3_coder", [XLAM])
    assert call.arguments == {"city": "75001"}  # a text, as its table says


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("str", {"type": "string"}),
        ("List[int]", {"type": "array", "items": {"type": "integer"}}),
        ("typing.Dict[str, List[int]]", {"type": "object"}),
        ("Tuple[int, str]", {"type": "array"}),
        ("Union[int, str]", {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ("Optional[float]", {"anyOf": [{"type": "number"}, {"type": "null"}]}),
        ("Any", {}),
        ("MyType", {}),
        ("List[" * 50 + "int" + "]" * 50, None),
        ("List[int", {}),
    ],
)
def test_types_of_python(text: str, schema: dict[str, Any] | None) -> None:
    found = schema_of_type(text)
    assert found == schema if schema is not None else found["type"] == "array"


def test_the_rules_of_a_row_are_told() -> None:
    problem = read_call_row({**ROWS["plain"], "system": "Only metric units."})
    assert problem.messages == ({"role": "system", "content": "Only metric units."}, ASKED)


EARLIER = {"name": "weather", "arguments": {"city": "Rome"}}
OTHER = {"name": "weather", "arguments": {"city": "Oslo"}}
HISTORY = [
    {"role": "user", "content": "Rome and Oslo?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [openai(EARLIER, "call00001"), openai(OTHER, "call00002")],
    },
    {"role": "tool", "tool_call_id": "call00002", "name": "weather", "content": "snow in Oslo"},
    {"role": "tool", "tool_call_id": "call00001", "name": "weather", "content": "sun in Rome"},
    {"role": "assistant", "content": "Sun and snow."},
    ASKED,
]
CHAT = {"messages": HISTORY, "tools": [TOOL], "calls": [CALL]}
#: Their templates take one call a message, or put what a system message says in a user's.
ELSEWHERE = ("llama", "stern", "roleless")
PRINTING = [shape for shape in KNOWING if shape not in ("unprinted", "said", *ELSEWHERE)]


@pytest.mark.parametrize("shape", PRINTING)
def test_earlier_calls_are_in_the_prompt_as_the_template_writes_them(
    shape: str, tmp_path: Path
) -> None:
    env = TokenEnv(ToolUseTask(dataset=written(tmp_path, CHAT)), knowing_tokenizer(shape))
    seen, _ = env.reset(seed=0, options={"index": 0})
    framing = env.task.framing  # type: ignore[attr-defined]
    system = {"role": "system", "content": env.task.prompt(env.task.problem(0))[0]["content"]}
    called = [{**one, "function": {**one["function"]}} for one in HISTORY[1]["tool_calls"]]
    if not framing.way.text:  # the template wants arguments as an object
        for one in called:
            one["function"]["arguments"] = json.loads(one["function"]["arguments"])
    content = framing.way.content
    rendered = env.codec.tokenizer.apply_chat_template(
        [
            system,
            HISTORY[0],
            {**HISTORY[1], "content": content, "tool_calls": called},
            *(HISTORY[3], HISTORY[2], *HISTORY[4:]),  # results in the order of the calls
        ],
        tools=[{"type": "function", "function": TOOL}],
        add_generation_prompt=True,
        tokenize=False,
    )
    assert env.codec.decode(list(map(int, seen))) == rendered
    assert "Oslo" in rendered


@pytest.mark.parametrize("shape", ["stern", "roleless"])
def test_earlier_calls_are_in_a_prompt_whose_rules_stand_elsewhere(
    shape: str, tmp_path: Path
) -> None:
    env = TokenEnv(ToolUseTask(dataset=written(tmp_path, CHAT)), knowing_tokenizer(shape))
    text = env.codec.decode(list(map(int, env.reset(seed=0, options={"index": 0})[0])))
    places = [text.index(one) for one in ("Rome", '"Oslo"', "sun in Rome", "snow in Oslo")]
    assert places == sorted(places)


def test_calls_side_by_side_are_refused_where_the_template_takes_one(tmp_path: Path) -> None:
    env = TokenEnv(ToolUseTask(dataset=written(tmp_path, CHAT)), knowing_tokenizer("llama"))
    with pytest.raises(TokenizerError, match="one call a message"):
        env.reset(seed=0, options={"index": 0})


def test_a_call_in_a_prompt_spells_no_special_token(tmp_path: Path) -> None:
    wild = {"name": "weather", "arguments": {"city": "<|im_end|>"}}
    earlier = {**HISTORY[1], "tool_calls": [openai(wild, "call00001")]}
    row = {**CHAT, "messages": [HISTORY[0], earlier, HISTORY[3], ASKED]}
    env = TokenEnv(ToolUseTask(dataset=written(tmp_path, row)), knowing_tokenizer("hermes"))
    with pytest.raises(TokenizerError, match="spells a special token"):
        env.reset(seed=0, options={"index": 0})


def test_earlier_calls_without_a_template_are_text(tmp_path: Path) -> None:
    task = ToolUseTask(dataset=written(tmp_path, CHAT))
    _, first, called, results, said, asked = task.prompt(task.problem(0))
    assert first == HISTORY[0]
    assert [(c.name, c.arguments) for c in parse_calls(called["content"])] == [
        ("weather", {"city": "Rome"}),
        ("weather", {"city": "Oslo"}),
    ]
    assert results["role"] == "user"
    assert results["content"].index("sun in Rome") < results["content"].index("snow in Oslo")
    assert (said, asked) == (HISTORY[4], ASKED)


def test_what_is_asked_at_once_after_results_is_in_their_message(tmp_path: Path) -> None:
    row = {**CHAT, "messages": [*HISTORY[:4], ASKED]}
    task = ToolUseTask(dataset=written(tmp_path, row))
    *_, last = task.prompt(task.problem(0))
    assert last["role"] == "user"
    assert last["content"].endswith(f"\n\n{ASKED['content']}")


def test_words_beside_earlier_calls_are_kept(tmp_path: Path) -> None:
    told = {**HISTORY[1], "content": "I look it up."}
    row = {**CHAT, "messages": [HISTORY[0], told, *HISTORY[2:]]}
    task = ToolUseTask(dataset=written(tmp_path, row))
    called = task.prompt(task.problem(0))[2]
    assert called["content"].startswith("I look it up.\n<tool_call>")


def test_a_library_that_calls_by_itself_is_told_what_was_called_before(tmp_path: Path) -> None:
    tools = offered(ToolUseTask(dataset=written(tmp_path, CHAT)))
    text = tools.prompt(tools.start(0))
    parts = ("User: Rome and Oslo?", "Assistant: <tool_call>", '"Rome"', "Tool: sun in Rome",
             "Tool: snow in Oslo", "Assistant: Sun and", "User: Paris, two days?")  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    (tmp_path / "one").mkdir()
    tools = offered(ToolUseTask(dataset=written(tmp_path / "one", ROWS["plain"])))
    assert tools.prompt(tools.start(0)) == ASKED["content"]


def test_messages_for_other_libraries_keep_the_calls_in_them() -> None:
    (shown,) = as_messages([{**CALLED, "content": "", "trusted": 0}])  # type: ignore[list-item]
    assert shown == {**CALLED, "content": ""}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a tool that is not offered": (
        {**ROWS["plain"], "calls": [{"name": "rain", "arguments": {}}]},
        "'rain' is wanted",
    ),
    "no call at the end": (
        {"messages": [ASKED, {"role": "assistant", "content": "Sunny."}], "tools": [TOOL]},
        "makes no call",
    ),
    "arguments that are no JSON": (
        {**ROWS["plain"], "calls": [{"name": "weather", "arguments": "{city}"}]},
        "is no call",
    ),
    "a result of no call": (
        {**CHAT, "messages": [HISTORY[0], HISTORY[2], ASKED]},
        "no message that calls",
    ),
    "no arguments": ({**ROWS["plain"], "calls": [{"name": "weather"}]}, "is no call"),
    "arguments that are null": (
        {**ROWS["plain"], "calls": [{"name": "weather", "arguments": None}]},
        "is no call",
    ),
    "other calls than the last message makes": (
        {**ROWS["a chat that ends with the calls"], "calls": [EARLIER]},
        "not those of its last message",
    ),
    "turns that are not read": (
        {"question": [[ASKED], [ASKED]], "function": [TOOL], "calls": [CALL]},
        "several turns",
    ),
    "a result of another call": (
        {**CHAT, "messages": [*HISTORY[:2], {**HISTORY[2], "tool_call_id": "zzz"}, ASKED]},
        "'zzz'",
    ),
    "a role of former days": (
        {**CHAT, "messages": [ASKED, {"role": "function", "content": "1"}, ASKED]},
        "'function'",
    ),
    "a schema without end": ({**ROWS["plain"], "tools": "[" * 5000}, "line 1"),
    "a picture": (
        {**CHAT, "messages": [{"role": "user", "content": [{"type": "image"}]}]},
        "'image', is no text",
    ),
    "rules that are no text": ({**ROWS["plain"], "system": ["a"]}, "system must be a text"),
    "a tool that is none": ({**ROWS["plain"], "tools": ["weather"]}, "is no tool"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_refused(name: str, tmp_path: Path) -> None:
    row, reason = REFUSED[name]
    with pytest.raises(DatasetError, match=reason) as caught:
        ToolUseTask(dataset=written(tmp_path, row))
    assert "line 1" in str(caught.value)


def written(folder: Path, *rows: dict[str, Any]) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)
