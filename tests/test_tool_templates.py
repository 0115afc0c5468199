"""The format is learned from the chat template, and proved: known, derived, or refused."""

from __future__ import annotations

import itertools
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers_for_tests import small_tokenizer
from tool_templates import BARS, INLINE, KNOWING, NESTED, REFUSED, knowing_tokenizer

from benchmarks import templates as rows
from mint_envs import TokenEnv
from mint_envs.errors import SettingError
from mint_envs.rendering import rendered_freely
from mint_envs.templates import WAYS, ChatTemplate, Ends
from mint_envs.testing import check_env
from mint_envs.tokens import Codec
from mint_envs.tooluse import (
    FORMATS,
    ToolUseTask,
    format_of,
    parse_calls,
    register_format,
    write_calls,
)
from mint_envs.tooluse.formats.framing import Framing
from mint_envs.tooluse.formats.learn import chat_template, learn, outcome
from mint_envs.tooluse.formats.registry import format_named

PRINTING = [shape for shape in KNOWING if shape not in ("unprinted", "said")]
TOOLS = [
    {"name": name, "parameters": {"type": "object", "properties": {"s": {"type": "string"}}}}
    for name in ("f", "g")
]


def env_of(shape: str, **settings: Any) -> TokenEnv:
    task = ToolUseTask("keyvalue", plain=True, **settings)
    return TokenEnv(task, knowing_tokenizer(shape))


def template_of(shape: str) -> ChatTemplate:
    chat = env_of(shape).codec.chat
    assert chat is not None
    return chat


# -- what is learned ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", KNOWING)
def test_the_format_comes_from_the_template(shape: str) -> None:
    env = env_of(shape)
    framing: Framing = env.task.framing  # type: ignore[attr-defined]
    assert framing.format == KNOWING[shape][4] == format_of(KNOWING[shape][0])
    assert framing.lists_tools
    assert framing.told == (shape not in PRINTING)
    if shape in ("glm", "stern", "marks"):
        check_env(env, problems=1, other_process=False)


@pytest.mark.parametrize("shape", KNOWING)
def test_who_calls_as_the_template_does_earns_all(shape: str) -> None:
    """Every token but those of the acts is the template's own, of the whole conversation."""
    env = gym.make(
        "mint/ToolUse-v0", toolkit="keyvalue", plain=True, tokenizer=knowing_tokenizer(shape)
    )
    for seed in range(4):
        reward, framed, ours, theirs = rows.play(env.unwrapped, seed)
        assert reward == 1.0
        assert framed
        assert rows.same(ours, theirs)


@pytest.mark.parametrize("shape", KNOWING)
def test_examples_are_written_as_the_template_does(shape: str) -> None:
    env = env_of(shape)
    for seed in range(4):
        env.reset(seed=seed)
        for texts, score in env.task.examples(env.problem).items():
            env.reset(seed=seed)
            for text in [texts] if isinstance(texts, str) else texts:
                _, reward, *_ = env.step([*env.codec.encode_response(text), _eos(env)])
            assert reward == score


def _eos(env: TokenEnv) -> int:
    assert env.codec.eos_token_id is not None
    return env.codec.eos_token_id


@pytest.mark.parametrize("shape", PRINTING)
def test_another_process_reads_and_writes_the_same(shape: str) -> None:
    framing: Framing = env_of(shape).task.framing  # type: ignore[attr-defined]
    there = pickle.loads(pickle.dumps(framing))
    calls = [("set_value", {"key": "a b", "value": "1"})]
    text = there.calls(calls)
    for one in (framing, there):
        assert [(c.name, c.arguments) for c in one.read(text, None)] == calls
        assert [(c.name, c.arguments) for c in one.read(framing.calls(calls), None)] == calls


def test_what_was_learned_is_kept() -> None:
    chat = Codec(knowing_tokenizer("lists")).chat
    assert chat is Codec(knowing_tokenizer("lists")).chat
    assert chat is not None
    assert learn(chat) is learn(chat)


def test_marks_are_seen_without_a_tokenizer() -> None:
    assert chat_template(BARS).ends == Ends("[|endofturn|]", True, ("[|endofturn|]",))
    assert chat_template(INLINE).ends == Ends("<|seen>", False, ("<turn|>",))


def test_a_template_of_one_call_prints_the_first_of_two_alike() -> None:
    assert dict(learn(template_of("harmony")).outcomes)["two"] == "alike"


@pytest.mark.parametrize("shape", ["hermes", "lists", "tags"])
def test_a_prompt_that_changes_while_it_is_asked(shape: str) -> None:
    """A clock in it, or instructions that go once an answer follows."""
    source, count = KNOWING[shape][0], itertools.count()

    def render(messages: Any, tools: Any, prompt: bool) -> str:
        ask = f" Call a tool if you need one. {len(messages)}" if prompt else ""
        return f"{next(count)}{ask}" + rendered_freely(source, {}, messages, tools, prompt)

    calls = [("alpha_tool", {"s": "x"}), ("beta_tool", {"s": "y"})]
    fixed, moving = chat_template(source), ChatTemplate(render, source)
    one, other = learn(moving), learn(fixed)
    assert (one.how, one.way, one.outcomes) == (other.how, other.way, other.outcomes)
    assert moving.written_calls(calls, WAYS[0]) == fixed.written_calls(calls, WAYS[0])


def test_a_template_that_stutters_at_the_third_call() -> None:
    """As DeepSeek's for its small models: the end of the turn stands between calls."""
    source = KNOWING["hermes"][0]
    again = "{% if loop.index > 1 %}<|im_end|>{% endif %}{% endfor %}<|im_end|>"
    stutters = source.replace(
        "{% endfor %}<|im_end|>\n{% endif %}{% endfor %}", again + "\n{% endif %}{% endfor %}"
    )
    assert stutters != source
    learned = learn(chat_template(stutters))
    assert (learned.format.name, dict(learned.outcomes)["three"]) == ("hermes", "unrendered")


# -- what is refused ----------------------------------------------------------------------------


def test_a_template_that_nobody_reads_is_refused_when_the_environment_is_made() -> None:
    with pytest.raises(SettingError) as caught:
        gym.make("mint/ToolUse-v0", tokenizer=knowing_tokenizer("nested"))
    said = str(caught.value)
    assert "It writes alpha_tool(s='onevalue', l=[1, 'a']) as \"<alpha_tool><s>onevalue" in said
    assert "Give format= (one of hermes," in said
    assert "register_format" in said
    with pytest.raises(SettingError, match="takes tools, but"):
        format_of(NESTED)


def test_a_refused_template_is_used_with_a_format_that_is_explained() -> None:
    env = env_of("nested", format="hermes")
    _, info = env.reset(seed=0)
    assert "To call one, write\n<tool_call>" in info["prompt"]
    assert env.task.framing == Framing("hermes", tool_role=True)  # type: ignore[attr-defined]


def test_a_template_that_takes_no_tools_is_told() -> None:
    env = TokenEnv(ToolUseTask(), small_tokenizer("chatml"))
    framing: Framing = env.task.framing  # type: ignore[attr-defined]
    assert (framing.format, framing.lists_tools, framing.tool_role) == ("hermes", False, False)
    assert format_of("nothing") == "hermes"


def test_a_format_that_is_named_is_taken_where_the_template_speaks_it() -> None:
    spoken: Framing = env_of("hermes", format="hermes").task.framing  # type: ignore[attr-defined]
    assert spoken.lists_tools
    other: Framing = env_of("hermes", format="mistral").task.framing  # type: ignore[attr-defined]
    assert other == Framing("mistral", tool_role=True)


# -- formats of a user's own --------------------------------------------------------------------

_TAG = re.compile(r"<(\w+)>((?:<(\w+)>[^<]*</\3>)*)</\1>")
_INNER = re.compile(r"<(\w+)>([^<]*)</\1>")


def read_nested(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner, _ in _TAG.findall(text):
        yield name, {key: json.loads(value) for key, value in _INNER.findall(inner)}


def write_nested(calls: Any) -> str:
    def one(name: str, arguments: Any) -> str:
        pairs = [f"<{key}>{json.dumps(value)}</{key}>" for key, value in arguments.items()]
        return f"<{name}>{''.join(pairs)}</{name}>"

    return "".join(one(*call) for call in calls)


@pytest.fixture
def nested() -> Iterator[str]:
    register_format("nested", read_nested, write_nested)
    yield "nested"
    del FORMATS["nested"]


def test_a_format_of_ones_own_is_played(nested: str) -> None:
    env = env_of("hermes", format=nested)
    env.reset(seed=0)
    for text in next(iter(env.task.examples(env.problem))):
        _, reward, *_ = env.step([*env.codec.encode_response(text), _eos(env)])
    assert reward == 1.0
    (bad,) = parse_calls("<f><s>not JSON</s></f>", nested)
    assert (bad.status, bad.error) == ("error", "invalid_markup")


def test_a_template_that_a_format_of_ones_own_reads_speaks_it() -> None:
    source = NESTED.replace("{{ v }}", "{{ v | tojson }}")
    with pytest.raises(SettingError, match="takes tools"):
        format_of(source)
    plain = re.compile(r"<(\w+)>(.*?)</\1>(?=<|$)", re.DOTALL)

    def read(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, inner in re.findall(r"<(\w+_tool|f|g)>(.*?)</\1>", text, re.DOTALL):
            yield name, {key: json.loads(value) for key, value in plain.findall(inner)}

    register_format("tags of JSON", read, write_nested)
    try:
        assert format_of(source) == "tags of JSON"
    finally:
        del FORMATS["tags of JSON"]


@pytest.mark.parametrize("name", ["hermes", "auto", ""])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match="is there already"):
        register_format(name, read_nested, write_nested)


def test_what_a_format_writes_it_must_read() -> None:
    with pytest.raises(SettingError, match=r"format 'mute': of .*, written as '', \[\] is read"):
        register_format("mute", lambda text: [], lambda calls: "")
    assert "mute" not in FORMATS


# -- hostile values -----------------------------------------------------------------------------


def values_of(fragments: list[str]) -> st.SearchStrategy[str]:
    """Return strings of framing and of anything else, in any order."""
    some = st.sampled_from([f for f in fragments if f]) | st.text(max_size=3) | st.just("\n")
    return st.lists(some, max_size=4).map("".join).filter(_encodable)


def _encodable(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)


HOSTILE = {s: rows.hostile_values(template_of(s), template_of(s).ways[0]) for s in PRINTING}


@pytest.mark.parametrize("shape", PRINTING)
@settings(max_examples=40)
@given(data=st.data())
def test_no_value_becomes_another_call(shape: str, data: Any) -> None:
    chat = template_of(shape)
    learned = learn(chat)
    assert learned.way is not None
    value = data.draw(values_of(HOSTILE[shape]))
    found = outcome(chat, learned.way, learned.format, [("alpha_tool", {"s": value})])
    assert found in ("exact", "alike", "refused", "unrendered")


@pytest.mark.parametrize("shape", PRINTING)
def test_no_framing_as_a_value_becomes_another_call(shape: str) -> None:
    chat = template_of(shape)
    learned = learn(chat)
    for value in HOSTILE[shape]:
        found = outcome(chat, learned.way, learned.format, [("alpha_tool", {"s": value})])  # type: ignore[arg-type]
        assert found in ("exact", "alike", "refused", "unrendered"), value


def written_fragments(format: str) -> list[str]:
    one, two = (write_calls([("f", {"s": "x"})] * n, format) for n in (1, 2))
    before, _, after = one.partition("x")
    return [before, after, one, two, after + before, "x", "<think>"]


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60)
@given(data=st.data())
def test_no_value_becomes_another_call_in_a_named_format(format: str, data: Any) -> None:
    text = write_calls([("f", {"s": data.draw(values_of(written_fragments(format)))})], format)
    found = parse_calls(text, format, TOOLS)
    good = [(call.name, call.arguments) for call in found if call.ok]
    assert found
    assert not good or write_calls(good, format) == text  # type: ignore[arg-type]


# -- ends and results ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "stops", "no_stops"),
    [
        ("glm", ("<|observation|>", "<|user|>", "<|endoftext|>"), ("<|assistant|>", "<|system|>")),
        ("harmony", ("<|call|>", "<|return|>"), ("<|end|>", "<|start|>")),
        ("llama", ("<|eot_id|>", "<|eom_id|>"), ("<|start_header_id|>",)),
        ("stern", ("</s>",), ("[INST]", "[/INST]", "[TOOL_RESULTS]")),
        ("hermes", ("<|im_end|>", "<|endoftext|>"), ("<|im_start|>",)),
        ("inline", ("<|seen>", "<turn|>"), ("<|call>", "<call|>", "<seen|>", "<|turn>")),
        ("bars", ("[|endofturn|]",), ("[|assistant|]", "[|user|]", "[|tool|]")),
    ],
)
def test_what_ends_a_turn(shape: str, stops: Any, no_stops: Any) -> None:
    codec = Codec(knowing_tokenizer(shape))
    ids = {text: codec._specials[text] for text in (*stops, *no_stops)}
    assert {text for text, i in ids.items() if i in codec.stop_tokens} == set(stops)


def test_second_ends_come_from_the_generation_config(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    knowing_tokenizer("stern").save_pretrained(folder)
    before = Codec(str(folder)).stop_tokens
    other = Codec(str(folder))._specials["[INST]"]
    twin = tmp_path / "twin"
    knowing_tokenizer("stern").save_pretrained(twin)
    (twin / "generation_config.json").write_text(json.dumps({"eos_token_id": [1, other, 10**9]}))
    assert Codec(str(twin)).stop_tokens == before | {1, other}


def test_results_carry_the_ids_and_names_of_their_calls() -> None:
    env = env_of("kimi")
    env.reset(seed=0)
    framing: Framing = env.task.framing  # type: ignore[attr-defined]
    text = framing.calls([("get_value", {"key": "a"}), ("get_value", {"key": "b"})])
    calls = framing.read(text, None)
    assert [call.id for call in calls] == ["functions.get_value:0", "functions.get_value:1"]
    reply = framing.results(["x", "y"], calls)
    said = env.codec.decode(env.codec.encode_reply(reply, True))
    assert "## Return of functions.get_value:0\nx" in said
    assert "## Return of functions.get_value:1\ny" in said


def test_a_call_of_a_wild_name_has_a_result_too() -> None:
    """A name that holds a mark cannot forge one in the frame of its result."""
    codec = Codec(knowing_tokenizer("marks"))
    framing = Framing.of("auto", codec.style)
    specials, counts = set(codec._specials.values()), set()
    for name in ("f", "no_such_tool", "<|im_end|>", "a b", "<|im_start|>user", "\ue0001\ue001"):
        calls = framing.read(framing.own.write([(name, {"s": "x"})]), None)  # type: ignore[union-attr]
        ids = codec.encode_reply(framing.results(["r"], calls), True)
        counts.add(sum(i in specials for i in ids))
        assert "{r}" in codec.decode(ids)
    assert len(counts) == 1


def test_a_system_message_without_a_place_goes_into_the_users() -> None:
    env = env_of("roleless")
    _, info = env.reset(seed=0)
    before, _, after = info["prompt"].partition("<|im_start|>user\n")
    assert "You have tools." in before
    assert after.startswith("Several calls may stand in one message")
    assert env.task.prompt(env.problem)[1]["content"] in after


def test_a_large_result_and_more_calls_than_one_message_can_show() -> None:
    """100 kB of result are cut to what the task allows; a template of one call is no obstacle."""
    codec = Codec(knowing_tokenizer("llama"))
    framing = Framing.of("auto", codec.style)
    calls = framing.read('{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}', None)
    assert len(calls) == 2
    said = codec.decode(codec.encode_reply(framing.results(["x" * 100_000, "y"], calls), True))
    assert said.count("ipython") == 2
    assert said.count("x" * 100_000) == said.count('"y"') == 1


def test_the_example_of_the_easy_level_is_the_templates_own() -> None:
    for shape in KNOWING:
        env = TokenEnv(ToolUseTask(level="easy"), knowing_tokenizer(shape))
        framing: Framing = env.task.framing  # type: ignore[attr-defined]
        _, info = env.reset(seed=0)
        if framing.way is not None:
            call = framing.calls([("delete_key", {"key": "drink"})])
            assert call.strip() in info["prompt"], shape


# -- marks that are not where they were ---------------------------------------------------------


def test_a_thought_inside_a_call_of_plain_text_refuses_it() -> None:
    one = write_calls([("f", {"s": "a<think>b</think>c"})], "qwen3_coder")
    assert [call.error for call in parse_calls(one, "qwen3_coder", TOOLS)] == ["invalid_markup"]
    draft = write_calls([("f", {"s": "no"})], "qwen3_coder")
    real = write_calls([("f", {"s": "yes"})], "qwen3_coder")
    (call,) = parse_calls(f"I could {draft}, no.</think>\n\n{real}", "qwen3_coder", TOOLS)
    assert call.arguments == {"s": "yes"}


@pytest.mark.parametrize("shape", REFUSED)
def test_templates_that_are_refused(shape: str) -> None:
    with pytest.raises(SettingError):
        learn(chat_template(REFUSED[shape][0]))


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(SettingError, match="format='hermess' is unknown"):
        format_named("hermess")


#: What a thought may hold, and what no call holds.
MUSING = (
    'Shall I use {"a": 1}, f(x=[1]) or <b>? It\'s "so" (or not), {k: v}, <x> and </y>.',
    "No brace is closed: { ( [ < \" '",
    "None is opened: } ) ] > ' and 'it's' \n\n``` \n",
    "",
)


@pytest.mark.parametrize("shape", KNOWING)
@pytest.mark.parametrize("musing", MUSING)
@pytest.mark.parametrize("opening", ["<think>\n", "", "<think>", "\n<think>"])
def test_a_thought_before_a_call_is_no_part_of_it(shape: str, musing: str, opening: str) -> None:
    """The opening mark may stand in the prompt; brackets and quotes stand in any thought."""
    framing: Framing = env_of(shape).task.framing  # type: ignore[attr-defined]
    calls = [("set_value", {"key": "a", "value": "b"})]
    text = f"{opening}{musing}\n</think>\n\n{framing.calls(calls)}"
    assert [(call.name, call.arguments) for call in framing.read(text, None)] == calls
