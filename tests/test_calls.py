"""Tool calls in text: twelve formats, what is refused, and what any text whatever may do."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mint_envs.errors import SettingError
from mint_envs.tooluse import FORMATS, ToolTable, parse_calls

DATA = Path(__file__).parent / "data"
CASES = [json.loads(line) for line in (DATA / "toolcall_parse.jsonl").read_text().splitlines()]
TOOLS = json.loads((DATA / "toolcall_tools.json").read_text())
TABLE = ToolTable(TOOLS)


def found(text: str, format: str = "hermes", tools: Any = TABLE) -> tuple[list[Any], list[Any]]:
    calls = parse_calls(text, format, tools)
    good = [{"name": c.name, "arguments": c.arguments} for c in calls if c.status == "ok"]
    return good, [c.error for c in calls if c.status == "error"]


def block(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


PING = {"name": "ping", "arguments": {}}
ADD = {"name": "add", "arguments": {"a": 1, "b": 2}}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_cases(case: dict[str, Any]) -> None:
    assert found(case["text"], case["format"], TOOLS) == (case["calls"], case["errors"])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (block("set_config", '{"config": ' + '{"k": ' * 200 + "1" + "}" * 201), "too_deep"),
        (block("set_config", '{"config": ' + '{"k": ' * 5000 + "1" + "}" * 5001), "too_deep"),
        (block("tag", '{"items": ' + "[" * 100_000 + "]" * 100_000 + "}"), "too_deep"),
        (block("write_file", f'{{"path": "p", "content": "{"x" * 70_000}"}}'), "too_large"),
        (block("write_file", f'{{"path": "p", "content": "{"é" * 40_000}"}}'), "too_large"),
        (block("add", f'{{"a": {"9" * 5000}, "b": 2}}'), "invalid_json"),
        (block("search", '{"query": "\\ud83d"}'), "invalid_json"),
        (block("search", '{"query": "\ud83d"}'), "invalid_json"),
        (block("ping", '"{\\"a\\": NaN}"'), "invalid_json"),
        ("\n".join([block("ping", "{}")] * 17), "too_many_calls"),
    ],
    ids=range(10),
)
def test_what_is_beyond_the_limits(text: str, error: str) -> None:
    assert found(text) == ([], [error])


def test_just_within_the_limits() -> None:
    assert len(found("".join([block("ping", "{}")] * 16))[0]) == 16
    deep = '{"config": ' + '{"k": ' * 60 + "1" + "}" * 61
    assert found(block("set_config", deep))[1] == []


@pytest.mark.parametrize("format", ["hermes", "qwen3_coder", "glm45"])
def test_thoughts_are_not_run(format: str) -> None:
    call = {
        "hermes": block("ping", "{}"),
        "qwen3_coder": "<tool_call>\n<function=ping>\n</function>\n</tool_call>",
        "glm45": "<tool_call>ping\n</tool_call>",
    }[format]
    for text in (
        f"<think>{call}</think>",
        f"{call}</think>",
        f"<think>{call}",
        f"<think>{call * 40}",
    ):
        assert found(text, format) == ([], [])
        if "</think>" in text:
            assert found(text + call, format) == ([PING], [])


@pytest.mark.parametrize(
    ("format", "call"),
    [
        ("llama3_json", '{"name": "ping", "parameters": {}}'),
        ("llama_pythonic", "[ping()]"),
        ("mistral", "[TOOL_CALLS]ping[ARGS]{}"),
        ("kimi_k2", "<|tool_call_begin|>ping:1<|tool_call_argument_begin|>{}<|tool_call_end|>"),
        ("gemma_tool_code", "```tool_code\nping()\n```"),
        ("harmony", "<|channel|>commentary to=functions.ping<|message|>{}<|call|>"),
    ],
)
def test_thoughts_are_not_run_in_other_formats(format: str, call: str) -> None:
    assert found(call, format) == ([PING], [])
    assert found(f"{call}</think>{call}", format) == ([PING], [])
    assert found(f"<think>{call}</think>\n{call}", format) == ([PING], [])
    assert found(f"<think>{call}</think>done", format) == ([], [])


def test_a_think_tag_inside_an_argument_is_text() -> None:
    text = block("search", '{"query": "<think> and </think>"}')
    assert found(text) == ([{"name": "search", "arguments": {"query": "<think> and </think>"}}], [])


@pytest.mark.parametrize(
    ("format", "text", "calls", "errors"),
    [
        ("hermes", "Use the <tool_call> tag to call.", [], []),
        ("hermes", block("ping", "{}")[:-12] + block("ping", "{}"), [PING, PING], []),
        ("hermes", block("ping", "{}") + "<|im_end|>" + block("ping", "{}"), [PING], []),
        ("hermes", block("ping", "NaN") + block("ping", "{}"), [PING], ["invalid_json"]),
        ("hermes", block("ping", '{"x": 1}'), [], ["unknown_argument"]),
        ("hermes", block("get_weather", '{"city": "Oslo", "unit": "k"}'), [], ["not_in_enum"]),
        ("hermes", "<tool_call>" + block("ping", "{}"), [PING], []),
        ("hermes", "<tool_call>", [], ["truncated"]),
        ("llama3_json", '{"answer": 4}', [], []),
        ("llama3_json", "{x | x > 0} is a set", [], []),
        ("llama3_json", '{"name": "ping", "parameters": {}}; {"name": "ping", "parameters": {}}',
         [PING, PING], []),
        ("llama3_json", '{"name": "ping", "parameters": {}}}', [], ["invalid_json"]),
        ("llama3_json", 'Sure.<|python_tag|>{"name": "ping", "parameters": {}}', [PING], []),
        ("llama_pythonic", "f(x) is even", [], []),
        ("llama_pythonic", "[1] shows that", [], []),
        ("llama_pythonic", "add(a=1", [], ["truncated"]),
        ("llama_pythonic", "add(a=add(a=1, b=2), b=3)", [], ["not_a_literal"]),
        ("gemma_tool_code", "```tool_code\nprint(ping())\n```", [PING], []),
        ("gemma_tool_code", "```tool_code\nprint(ping()\n```", [], ["invalid_python"]),
        ("gemma_tool_code", "```tool_code\nprint(1)\n```", [], ["positional_argument"]),
        ("mistral", '[TOOL_CALLS]add{"a": 1, "b": 2}', [ADD], []),
        ("lfm2", "<|tool_call_start|>[add(a=1, b=2), ping()]<|tool_call_end|>", [ADD, PING], []),
        ("lfm2", "<|tool_call_start|>[add(a=1, b=", [], ["truncated"]),
        ("lfm2", "<|tool_call_start|>add(a=1)", [], ["invalid_python"]),
        ("lfm2", "<|tool_call_start|>[ping()] and so on", [], ["invalid_python"]),
        ("granite33", '<|tool_call|>[{"name": "ping", "arguments": {}}]', [PING], []),
        ("qwen3_coder", "<function=toggle>\n<parameter=on>\nTrue\n</parameter>\n</function>",
         [{"name": "toggle", "arguments": {"on": True}}], []),
        ("llama_pythonic", "[add(1, 2)]", [], ["positional_argument"]),
        ("llama_pythonic", "[add(a=1, a=1, b=1)]", [], ["duplicate_key"]),
        ("llama_pythonic", "[add(a=1 + 1, b=1)]", [], ["not_a_literal"]),
        ("llama_pythonic", "[search(query=f'{x}')]", [], ["not_a_literal"]),
        ("llama_pythonic", "[add(a=1e999, b=1)]", [], ["invalid_python"]),
        ("llama_pythonic", "[tag(items=['a', \"b\\d\\x41\\n\",],),]",
         [{"name": "tag", "arguments": {"items": ["a", "b\\dA\n"]}}], []),
        ("llama_pythonic", "[set_config(config={'a': (1,), 'b': (2), 'c': None})]",
         [{"name": "set_config", "arguments": {"config": {"a": [1], "b": 2, "c": None}}}], []),
        ("llama_pythonic", f"[tag(items={'[' * 5000}", [], ["too_deep"]),
        ("mistral", '[TOOL_CALLS][{"name": "ping"}, {"name": "x"}]', [PING], ["unknown_tool"]),
        ("mistral", "[TOOL_CALLS]ping[ARGS]{}[TOOL_CALLS]ping[ARGS]{", [PING], ["truncated"]),
        ("mistral", "[TOOL_CALLS]pi", [], ["truncated"]),
        ("qwen3_coder", "<function=ping>\n</function>", [PING], []),
        ("qwen3_coder", "<tool_call>\n<function=add>\n<parameter=a>\n1\n</para", [], ["truncated"]),
        ("qwen3_coder", "the <tool_call> tag", [], []),
        ("glm45", "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1", [], ["truncated"]),
        ("glm45", "the <tool_call> tag is used", [], []),
        ("openai_message", '{"role": "assistant", "content": "hi"}', [], []),
        ("openai_message", "hello", [], []),
        ("harmony", "<|channel|>final<|message|>to=functions.ping {}<|return|>", [], []),
        ("gemma_tool_code", "```tool_code\nping()\nping()\n```", [PING, PING], []),
        ("deepseek_v31", "<\uff5ctool\u2581call\u2581begin\uff5c>pi", [], ["truncated"]),
    ],
)  # fmt: skip
def test_more_of_each_format(format: str, text: str, calls: list[Any], errors: list[str]) -> None:
    assert found(text, format) == (calls, errors)


def test_spans_are_those_of_the_attempts() -> None:
    text = f"First {block('ping', '{}')} then <tool_call>{{bad</tool_call> and {block('add', '1')}"
    spans = [text[slice(*call.span)] for call in parse_calls(text)]
    assert spans[0] == block("ping", "{}")
    assert spans[1].startswith("<tool_call>{")
    assert spans[2].startswith('<tool_call>\n{"name": "add"')


PIECES = [
    "<tool_call>", "</tool_call>", "<function=f>", "<function=", "<parameter=k>", "</parameter>",
    "</function>", "<think>", "</think>", "[TOOL_CALLS]", "f[ARGS]", "[CALL_ID]",
    "<arg_key>k</arg_key>", "<arg_value>", "</arg_value>", "<|call|>", "<|end|>",
    "<|message|>", "<|channel|>", " to=functions.f ", "<|python_tag|>", "```", "```tool_code\n",
    "<|tool_call_begin|>", "f:0", "<|tool_call_argument_begin|>", "<|tool_call_end|>",
    "<\uff5ctool\u2581call\u2581begin\uff5c>", "function", "<\uff5ctool\u2581sep\uff5c>",
    "<\uff5ctool\u2581call\u2581end\uff5c>", "f\n```json\n",
    '{"name": "f", "arguments": {', '{"tool_calls": [', "{", "}", "[", "]", '"', "\\", "\\u",
    "\\ud800", "\ud800", "'", '"""', "a", "1", "-", "1e5", " ", "\n", ",", ":", "(", ")",
    "[f(a=", "f(", "=", "NaN", "null", "true", "#",
]  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=25).map("".join)


@given(HOSTILE, st.sampled_from(sorted(FORMATS)), st.sampled_from([None, TABLE]))
@example("[f(a=" * 300, "llama_pythonic", None)
def test_any_text_is_parsed(text: str, format: str, tools: ToolTable | None) -> None:
    calls = parse_calls(text, format, tools)
    assert calls == parse_calls(text, format, tools)
    assert len(calls) <= 16
    place = 0
    for call in calls:
        start, end = call.span
        assert 0 <= start <= end <= len(text)
        assert start >= place or format == "openai_message"
        place = end
        assert (call.error is None) == (call.status == "ok")
        if call.status == "ok":
            json.dumps([call.name, call.arguments], allow_nan=False, ensure_ascii=False).encode()


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBER = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LEAF = st.none() | st.booleans() | NUMBER | TEXT | st.sampled_from(PIECES[:20])
JSON = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(TEXT, JSON, max_size=4), st.booleans())
def test_what_is_written_is_read(arguments: dict[str, Any], ascii: bool) -> None:
    text = json.dumps({"name": "f", "arguments": arguments}, ensure_ascii=ascii)
    wanted = [{"name": "f", "arguments": arguments}], []
    assert found(f"So: <tool_call>\n{text}\n</tool_call> ok", tools=None) == wanted
    assert found(text, "llama3_json", None) == wanted
    assert found(f"[TOOL_CALLS] [{text}]</s>", "mistral", None) == wanted


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), JSON, max_size=4))
def test_python_calls_are_read_as_python_does(arguments: dict[str, Any]) -> None:
    text = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    assert found(f"[f({text})]", "llama_pythonic", None) == (
        [{"name": "f", "arguments": arguments}],
        [],
    )


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_time_is_linear(format: str) -> None:
    """Sixteen times the text takes some sixteen times as long; what is read twice would take 256.

    A ratio, of the best of a few tries: other programs may run. Times under half a millisecond
    say nothing, so that they count as that.
    """
    for piece in PIECES:
        for unit in (piece, piece + '{"', "</think>" + piece):
            tries = (growth(unit, format) for _ in range(5))
            assert any(times < 80 for times in tries), unit


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_many_broken_calls_take_no_longer_each(format: str) -> None:
    """In long texts: whatever looks at all that came before a fault shows only there."""
    for piece in ("<tool_call>{x", "<tool_call>\n<function", "[TOOL_CALLS]f[ARGS]{x", "</think>{x"):
        best = min(
            seconds(piece * (600_000 // len(piece)), format)
            / seconds(piece * (60_000 // len(piece)), format)
            for _ in range(3)
        )
        assert best < 25, piece


def growth(unit: str, format: str) -> float:
    return seconds(unit * (48_000 // len(unit)), format) / seconds(
        unit * (3_000 // len(unit)), format
    )


def seconds(text: str, format: str) -> float:
    begin = time.process_time()
    parse_calls(text, format)
    return max(time.process_time() - begin, 5e-4)


def test_a_users_mistake_is_named() -> None:
    with pytest.raises(SettingError, match="Did you mean 'hermes'"):
        parse_calls("", "hermess")
    with pytest.raises(SettingError, match="must be a string"):
        parse_calls(None)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="stands twice"):
        parse_calls("", tools=[*TOOLS, TOOLS[0]])
    with pytest.raises(SettingError, match="broken"):
        parse_calls("", tools=[{"name": "f", "parameters": {"type": "objct"}}])
    with pytest.raises(SettingError, match="is no tool"):
        parse_calls("", tools=[{"nam": "f"}])
