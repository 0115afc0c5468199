"""The verdict on calls: BFCL's where BFCL has one, and what partial credit may do."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mint_envs.errors import SettingError
from mint_envs.tooluse import grade_calls, parse_calls
from mint_envs.tooluse.dialects import source_of
from mint_envs.tooluse.match import best_match
from mint_envs.tooluse.rows import exact_call

pytestmark = pytest.mark.quick

DATA = Path(__file__).parent / "data"
BFCL = [json.loads(line) for line in (DATA / "bfcl_verdicts.jsonl").read_text().splitlines()]


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def score(wanted: Any, made: Any, **settings: Any) -> float:
    reward = grade_calls(wanted, made, **settings)
    assert reward.score is not None
    return reward.score


@pytest.mark.parametrize("row", BFCL, ids=lambda row: f"{row['kind']}-{row['id']}")
def test_full_marks_where_bfcl_gives_them(row: dict[str, Any]) -> None:
    got = score(row["wanted"], row["made"], tools=row["tools"])
    assert (got == 1.0) == row["valid"]
    assert 0.0 <= got <= 1.0
    binary = score(row["wanted"], row["made"], tools=row["tools"], partial_credit=False)
    assert binary == float(row["valid"])


@pytest.mark.parametrize("row", BFCL, ids=lambda row: f"{row['kind']}-{row['id']}")
def test_calls_too_many_never_pay(row: dict[str, Any]) -> None:
    before = score(row["wanted"], row["made"], tools=row["tools"])
    for extra in (row["made"], [call("unknown_tool")], [{}], [None], ["x"]):
        after = score(row["wanted"], [*row["made"], *extra], tools=row["tools"])
        assert after < 1.0
        assert after <= before


@pytest.mark.parametrize("row", BFCL, ids=lambda row: f"{row['kind']}-{row['id']}")
def test_one_more_right_call_never_lowers_the_reward(row: dict[str, Any]) -> None:
    for wanted in row["wanted"]:
        right = dict(zip(("name", "arguments"), exact_call(wanted), strict=True))
        if score([wanted], [right], tools=row["tools"]) < 1.0:
            continue  # BFCL's checker rejects its own truth
        if any(score([wanted], [one], tools=row["tools"]) == 1.0 for one in row["made"]):
            continue  # it is there: made twice, it is one too many
        before = score(row["wanted"], row["made"], tools=row["tools"])
        assert score(row["wanted"], [*row["made"], right], tools=row["tools"]) >= before


def test_a_right_call_beside_wrong_attempts_lowers_nothing() -> None:
    wanted = [call("add", a=1, b=2)]
    half = call("add", a=1, b=9)
    alone = score(wanted, [half])
    assert score(wanted, [half, wanted[0]]) == alone
    assert score(wanted, [wanted[0], wanted[0]]) == 0.5
    assert score(wanted, [half, half]) < alone


def function(name: str, **kinds: Any) -> dict[str, Any]:
    properties = {k: one if isinstance(one, dict) else {"type": one} for k, one in kinds.items()}
    return {"name": name, "parameters": {"type": "dict", "properties": properties, "required": []}}


NUMBERS = {"type": "ArrayList", "items": {"type": "integer"}}
JAVA = function("F.g", n="long", l=NUMBERS, m="HashMap", o="any")
TEXTS = {"type": "array", "items": {"type": "String"}}
JAVASCRIPT = function("g", b="Boolean", l=TEXTS, d="dict", n="Bigint")


@pytest.mark.parametrize(
    ("tool", "truth", "right", "wrong"),
    [
        (JAVA, {"n": [5]}, "5L", (5, "5", "6L")),
        (JAVA, {"n": ["count"]}, "count", ("other", None)),
        (JAVA, {"l": [[1, 2]]}, "new ArrayList<>(Arrays.asList(1, 2))", ([1, 2], "[1, 2]")),
        (JAVA, {"m": [{"k": [1]}]}, 'new HashMap<>() {{ put("k", 1); }}', ({"k": 1}, "{}")),
        (JAVASCRIPT, {"b": [True]}, "true", (True, "yes")),
        (JAVASCRIPT, {"l": [["a", "b"]]}, "['a', \"b\"]", (["a", "b"], "[]")),
        (JAVASCRIPT, {"d": [{"k": [1]}]}, "{'k': 1}", ({"k": 1}, "{}")),
        (JAVASCRIPT, {"n": [7]}, "7n", ("7", 7)),
    ],
)
def test_source_text_is_converted_as_bfcl_does(
    tool: Any, truth: Any, right: Any, wrong: Any
) -> None:
    language = "java" if tool is JAVA else "javascript"
    wanted, (key,) = [{tool["name"]: truth}], truth

    def graded(value: Any, **settings: Any) -> float:
        return score(wanted, [call(tool["name"], **{key: value})], tools=[tool], **settings)

    assert graded(right) == graded(right, language=language) == 1.0
    assert [graded(value) for value in wrong] == [0.0] * len(wrong)
    ((_, exact),) = [exact_call(one) for one in wanted]
    assert graded(source_of(exact[key], tool["parameters"]["properties"][key], language)) == 1.0


def test_a_language_that_is_not_known_is_named() -> None:
    with pytest.raises(SettingError, match="language='perl' must be one of python, java"):
        grade_calls([], [], language="perl")


TWO = [call("add", a=1, b=2), call("find", name="x")]


def test_partial_credit_in_numbers() -> None:
    assert score(TWO, TWO) == 1.0
    assert score(TWO, TWO[::-1]) == 1.0
    assert score(TWO, TWO[:1]) == 0.5
    assert score(TWO, [call("add", a=1, b=3), TWO[1]]) == pytest.approx(0.85)
    assert score(TWO, [call("add", a=1), TWO[1]]) == pytest.approx((0.2 + 0.1 + 0.3 + 1) / 2)
    assert score(TWO, [call("sub", a=1, b=2), TWO[1]]) == 0.5
    assert score(TWO, []) == 0.0
    assert score(TWO, [*TWO, TWO[0]]) == pytest.approx(2 / 3)
    assert score(TWO, TWO[:1], partial_credit=False) == 0.0


def test_no_tool_fits() -> None:
    assert score([], []) == 1.0
    assert score([], [call("add", a=1)]) == 0.0


@pytest.mark.parametrize(
    ("wanted", "made", "right"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        ("a", "A", False),
        ([1, 2], [2, 1], False),
        ({"a": [1]}, {"a": [1.0]}, True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ("", "", True),
        (1, "1", False),
    ],
)
def test_exact_values(wanted: Any, made: Any, right: bool) -> None:
    assert (score([call("f", x=wanted)], [call("f", x=made)]) == 1.0) is right


def test_the_best_match_is_found_where_the_first_fit_fails() -> None:
    wanted = [{"f": {"x": [1, 2]}}, {"f": {"x": [1]}}]
    assert score(wanted, [call("f", x=1), call("f", x=2)]) == 1.0


def test_a_call_that_could_not_be_parsed_counts() -> None:
    text = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
    assert score(TWO[:1], parse_calls(text)) == 1.0
    assert score(TWO[:1], parse_calls(text + "<tool_call>{bad</tool_call>")) == 0.5


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=4))
def test_the_best_match_is_the_best(table: list[list[float]]) -> None:
    pairs = best_match(table)
    rows, columns = zip(*pairs, strict=True)
    assert len(set(rows)) == len(set(columns)) == len(table)
    best = max(
        math.fsum(row[c] for row, c in zip(table, order, strict=False))
        for order in itertools.permutations(range(4))
    )
    assert math.fsum(table[r][c] for r, c in pairs) == pytest.approx(best)
    turned = best_match(list(zip(*table, strict=True)))
    assert math.fsum(table[r][c] for c, r in turned) == pytest.approx(best)


VALUES = st.sampled_from([0, 1, 1.5, True, None, "", "a", "A.", [], [1], {"k": 1}])
ARGUMENTS = st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3)
CALLS = st.lists(st.builds(lambda n, a: call(n, **a), st.sampled_from("fg"), ARGUMENTS), max_size=4)
OPTIONS = st.dictionaries(st.sampled_from("xyz"), st.lists(VALUES, max_size=3), max_size=3)
TRUTHS = st.lists(st.builds(lambda n, o: {n: o}, st.sampled_from("fg"), OPTIONS), max_size=4)


@given(CALLS | TRUTHS, CALLS)
def test_any_calls_get_a_reward_that_is_sound(wanted: Any, made: Any) -> None:
    reward = grade_calls(wanted, made)
    assert reward.score is not None
    assert (reward.score == 1.0) == (score(wanted, made, partial_credit=False) == 1.0)
    assert reward.score == score(wanted, made[::-1]) == score(wanted[::-1], made)
    assert reward.score <= max(reward.parts.values())


@given(CALLS, st.data())
def test_nearer_to_what_was_wanted_is_never_less(wanted: Any, data: st.DataObject) -> None:
    """From nothing, one right call, then one right argument at a time: the score only rises."""
    wanted = [call(f"f{i}", **target["arguments"]) for i, target in enumerate(wanted)]
    order = data.draw(st.permutations(wanted))
    made: list[dict[str, Any]] = []
    last = score(wanted, made) if wanted else 0.0
    for target in order:
        arguments = target["arguments"]
        made.append(call(target["name"]))
        for key in [None, *arguments]:
            if key is not None:
                made[-1] = call(target["name"], **made[-1]["arguments"], **{key: arguments[key]})
            now = score(wanted, made)
            assert now >= last - 1e-12
            last = now
    assert last == 1.0 or not wanted


@given(CALLS, CALLS, st.integers(0, 3))
def test_dropping_a_call_of_no_wanted_tool_never_costs(wanted: Any, made: Any, at: int) -> None:
    spoiled = [*made[:at], call("h", x=1), *made[at:]]
    assert score(wanted, spoiled) <= score(wanted, made)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (("add", []), {}, "wanted must be a list"),
        (([], {"name": "f"}), {}, "made must be a list"),
        (([3], []), {}, "is no call"),
        (([{"f": {"x": 3}}], []), {}, "is no call"),
        (([], []), {"weights": (1, 2)}, "three numbers"),
        (([], []), {"weights": (0, 0, 0)}, "not all of them 0"),
        (([], []), {"tools": [{"nome": "f"}]}, "has no name"),
    ],
)
def test_a_users_mistake_is_named(arguments: Any, settings: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        grade_calls(*arguments, **settings)
