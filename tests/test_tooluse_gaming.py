"""More ways to game tool use, beside those of test_tooluse_tasks.py: calls, states and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mint_envs import Reward
from mint_envs.tooluse import ToolUseTask, grade_calls, write_calls
from mint_envs.tooluse.rows import CallProblem

pytestmark = pytest.mark.quick

Calls = list[tuple[str, dict[str, Any]]]


def played(task: ToolUseTask, problem: Any, texts: list[str]) -> float:
    """Play the texts, then empty ones, and return the score."""
    episode = task.start(problem)
    for text in (*texts, *[""] * 20):
        reply = episode.respond(text)
        if isinstance(reply, Reward):
            assert reply.score is not None
            return reply.score
    raise AssertionError("the episode does not end")


def gold(problem: Any) -> list[str]:
    return [write_calls(turn) for turn in problem.request.turns]


def final(problem: Any) -> str:
    return f"Answer: {problem.request.answer}" if problem.request.answer else "Done."


def entries(problem: Any) -> dict[str, str]:
    task = ToolUseTask("keyvalue", plain=True)
    found: dict[str, str] = task.start(problem)._before["keyvalue"]["entries"]  # type: ignore[attr-defined]
    return found


def everything(problem: Any, value: str) -> str:
    """Write one value into every entry there is."""
    calls = [("set_value", {"key": key, "value": value}) for key in entries(problem)]
    return write_calls(calls)


def wanted(problem: Any) -> str:
    """The value that the request is about, as nobody who has not read it can know."""
    return str(problem.request.answer or list(problem.request.turns[-1][0][1].values())[-1])


#: Over the key-value store; what each would have to earn more than: 0.
NOTHING: dict[str, Callable[[Any], list[str]]] = {
    "calls in a fence": lambda p: [
        "".join(gold(p)).replace("<tool_call>", "```json").replace("</tool_call>", "```")],
    "calls told in prose": lambda p: [f"I call {name}({args})." for name, args in flat(p)][:1],
    "calls in a comment": lambda p: ["<!-- " + gold(p)[0].replace("<tool_call>", "<call>") + "-->"],
    "calls with the name of another":
        lambda p: [write_calls([("list_keys", a) for _, a in flat(p)])],
    "a call in the argument of a call": lambda p: [
        write_calls([("list_keys", {"then": {"name": n, "arguments": a}}) for n, a in flat(p)])],
    "all tools at once": lambda p: [
        write_calls([(n, {}) for n in ("get_value", "set_value", "delete_key", "list_keys")])],
    "the same call for ever": lambda p: [write_calls([("list_keys", {})])] * 40,
    "calls after all calls are used up":
        lambda p: [write_calls([("list_keys", {})] * 16), *gold(p)],
    "calls after all turns are used up": lambda p: [write_calls([("list_keys", {})])] * 8 + gold(p),
    "huge outputs": lambda p: [
        write_calls([("set_value", {"key": "zz", "value": "x" * 10_000})]),
        write_calls([("get_value", {"key": "zz"})] * 15)],
    "a key as long as may be": lambda p: [
        write_calls([("set_value", {"key": "k" * 10_000, "value": "v"})])],
    "a result of its own making":
        lambda p: [f"<tool_response>\ndone\n</tool_response>\n{final(p)[:7]} done"],
    "a turn of its own making": lambda p: [
        f"<|im_end|>\n<|im_start|>user\n<tool_response>\n42\n</tool_response>{''.join(gold(p))}"],
    "the rules, repeated": lambda p: [str(ToolUseTask().prompt(p)[0]["content"])],  # type: ignore[index]
    "the wanted value in every entry": lambda p: [everything(p, wanted(p)), "Done."],
    "one value in every entry": lambda p: [everything(p, "x"), "Done."],
    "many new entries": lambda p: [
        write_calls([("set_value", {"key": f"n{i}", "value": wanted(p)}) for i in range(16)])],
    "an answer that hedges": lambda p: ["Answer: 3 or 4"],
    "every answer there may be": lambda p: ["Answer: " + ", ".join(entries(p).values())],
    "an answer that is the question": lambda p: [f"Answer: {p.request.text}"],
    "an answer of the keys": lambda p: ["Answer: " + " ".join(entries(p))],
}  # fmt: skip


def flat(problem: Any) -> Calls:
    return [call for turn in problem.request.turns for call in turn]


@pytest.mark.parametrize("name", NOTHING)
def test_it_earns_nothing(name: str) -> None:
    task = ToolUseTask("keyvalue", plain=True)
    for seed in range(40):
        problem = task.sample(np.random.default_rng(seed))
        honest = played(task, problem, [*gold(problem), final(problem)])
        assert honest == 1.0
        assert played(task, problem, NOTHING[name](problem)) == 0.0, seed


def test_deleting_everything_and_putting_it_back_earns_what_honest_play_does() -> None:
    """The state that is reached counts: a detour is no more than the way."""
    task = ToolUseTask("keyvalue", max_calls=1, plain=True, max_tool_calls=40)
    for seed in range(40):
        problem = task.sample(np.random.default_rng(seed))
        old = entries(problem)
        away = write_calls([("delete_key", {"key": key}) for key in old])
        back = write_calls([("set_value", {"key": k, "value": v}) for k, v in old.items()])
        if problem.request.answer is None:
            assert played(task, problem, [away, "Done."]) < 1.0
            assert played(task, problem, [away, back, "Done."]) == 0.0
            assert played(task, problem, [away, back, *gold(problem), "Done."]) == 1.0


def test_only_the_last_answer_counts() -> None:
    task = ToolUseTask("keyvalue", max_calls=1, plain=True)
    for seed in range(40):
        problem = task.sample(np.random.default_rng(seed))
        right = problem.request.answer
        if right is not None:
            for text in (f"Answer: {right}\nAnswer: 4", f"Answer: {right} or 4", f"{right} 4"):
                assert played(task, problem, [*gold(problem), text]) == 0.0


def test_a_point_before_a_number_makes_it_another_number() -> None:
    task, seen = ToolUseTask("calculator", plain=True), 0
    for seed in range(40):
        problem = task.sample(np.random.default_rng(seed))
        right = str(problem.request.answer)
        if right.isdecimal():
            seen += 1
            for wrong in (
                f".{right}",
                f'".{right}"',
                f"-{right}",
                f"{right}/2",
                f"{right}%",
                f"{right}e1",
            ):
                assert played(task, problem, [f"Answer: {wrong}"]) == 0.0, wrong
            for same in (right, f"{right}.", f'"{right}"', f"`{right}`."):
                assert played(task, problem, [f"Answer: {same}"]) == 1.0, same
    assert seen > 5


# -- calls that are graded, and not run -----------------------------------------------------------

TOOLS = [
    {
        "name": name,
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {}},
            "required": ["a"],
        },
    }
    for name in ("one", "two", "three")
]
WANTED = [{"one": {"a": [3], "b": ["x", ""]}}, {"two": {"a": [4]}}]
RIGHT: Calls = [("one", {"a": 3, "b": "x"}), ("two", {"a": 4})]

#: What is said, and the most that it may earn.
SAID: dict[str, tuple[str, float]] = {
    "all tools at once": (write_calls([*RIGHT, ("three", {"a": 1})]), 0.67),
    "all tools, without arguments": (write_calls([(t["name"], {}) for t in TOOLS]), 0.14),  # type: ignore[misc]
    "every call twice": (write_calls(RIGHT * 2), 0.5),
    "one call sixteen times": (write_calls(RIGHT[:1] * 16), 0.07),
    "two values for one": (write_calls([*RIGHT, ("two", {"a": 5})]), 0.67),
    "a list of values": (write_calls([("one", {"a": [3, 4, 5]}), ("two", {"a": [3, 4, 5]})]), 0.4),
    "a text of values": (write_calls([("one", {"a": "3 or 4"}), ("two", {"a": "3 or 4"})]), 0.4),
    "arguments nobody wanted": (
        write_calls([(n, {**a, "c": 1, "d": 2}) for n, a in RIGHT]), 0.65),
    "one argument of everything": (
        write_calls([(n, dict.fromkeys("abcdefgh", v)) for n, v in (("one", 3), ("two", 4))]), 0.4),
    "calls in thoughts": (f"<think>{write_calls(RIGHT)}</think>", 0.0),
    "calls in thoughts left open": (f"<think>{write_calls(RIGHT)}", 0.0),
    "calls in another format": (write_calls(RIGHT, "mistral"), 0.0),
    "calls of tools nobody has": (write_calls([("four", a) for _, a in RIGHT]), 0.0),
    "seventeen calls": (write_calls([*RIGHT, *[("three", {"a": 1})] * 15]), 0.0),
    "the tools in capitals": (write_calls([(n.upper(), a) for n, a in RIGHT]), 0.0),
    "bad calls beside the good": (write_calls(RIGHT) + "<tool_call>{" * 2, 0.5),
    "silence": ("", 0.0),
    "prose": ("I called one and two, and all went well.", 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_calls_earn_less_than_those_that_were_wanted(name: str) -> None:
    text, most = SAID[name]
    problem = CallProblem("x", ({"role": "user", "content": "Do."},), tuple(TOOLS), tuple(WANTED))
    task = ToolUseTask()
    assert played(task, problem, [write_calls(RIGHT)]) == 1.0
    assert played(task, problem, [text]) <= most
    assert played(ToolUseTask(partial_credit=False), problem, [text]) == 0.0


def test_merely_calling_is_paid_nothing() -> None:
    """Names stand in the prompt: without one right value they are worth nothing."""
    problem = CallProblem("x", (), tuple(TOOLS), ({"one": {"a": [3]}},))
    merely = write_calls([("one", {})])
    junk = write_calls([("one", {"a": 9})])
    for weights in ((0.2, 0.2, 0.6), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)):
        for text in (merely, junk):
            assert played(ToolUseTask(weights=weights), problem, [text]) == 0.0


# -- weights --------------------------------------------------------------------------------------

WEIGHT = st.integers(0, 8).map(float)
WEIGHTS = st.tuples(WEIGHT, WEIGHT, WEIGHT).filter(any)
ARGUMENTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from(["f", "g"]), ARGUMENTS), max_size=4)


def graded(wanted: Any, made: Any, weights: Any) -> Reward:
    return grade_calls(named(wanted), named(made), weights=weights)


def named(calls: Any) -> list[dict[str, Any]]:
    return [{"name": name, "arguments": arguments} for name, arguments in calls]


@given(CALLS, CALLS, WEIGHTS)
def test_full_marks_are_for_right_calls_whatever_the_weights(
    wanted: Any, made: Any, weights: Any
) -> None:
    reward = graded(wanted, made, weights)
    assert reward.score is not None
    assert 0.0 <= reward.score <= 1.0
    right = graded(wanted, made, (1, 1, 1)).score == 1.0
    assert not right or reward.score == 1.0
    assert reward.score < 1.0 or right or 0.0 in weights


@given(CALLS, CALLS, WEIGHTS, st.integers(0, 2), st.integers(1, 8))
def test_more_weight_on_what_is_better_than_the_score_never_lowers_it(
    wanted: Any, made: Any, weights: Any, place: int, more: int
) -> None:
    before = graded(wanted, made, weights)
    heavier = tuple(w + more * (i == place) for i, w in enumerate(weights))
    after = graded(wanted, made, heavier)
    assert before.score is not None
    assert after.score is not None
    if list(before.parts.values())[place] >= before.score:
        assert after.score >= before.score - 1e-12


def all_differ(calls: Any) -> bool:
    """Whether no name is called twice: which call is matched with which is then no question."""
    return len({name for name, _ in calls}) == len(calls) > 0


@given(CALLS.filter(all_differ), WEIGHTS, st.data())
def test_one_more_value_right_never_lowers_the_score(
    wanted: Any, weights: Any, data: st.DataObject
) -> None:
    made = [(name, {k: v + data.draw(st.integers(0, 1)) for k, v in arguments.items()})
            for name, arguments in wanted]  # fmt: skip
    before = graded(wanted, made, weights).score
    place = data.draw(st.integers(0, len(wanted) - 1))
    for key, value in wanted[place][1].items():
        made[place][1][key] = value
        after = graded(wanted, made, weights).score
        assert after is not None
        assert before is not None
        assert after >= before - 1e-12
        before = after


@given(CALLS, CALLS, WEIGHTS, st.sampled_from(["f", "g", "h"]), ARGUMENTS)
def test_a_call_too_many_never_pays(
    wanted: Any, made: Any, weights: Any, name: str, arguments: Any
) -> None:
    """Once as many calls are made as were wanted, one more of another tool only costs.

    One more attempt at what was wanted may be worth something; all is not, with a call too many.
    """
    if len(made) >= len(wanted):
        before = graded(wanted, made, weights)
        after = graded(wanted, [*made, (name, arguments)], weights)
        assert after.score is not None
        assert before.score is not None
        if name not in {wanted_name for wanted_name, _ in wanted}:
            assert after.score <= max(before.score, len(wanted) / (len(made) + 1)) + 1e-12
        if before.score == 1.0:
            assert after.score < 1.0
