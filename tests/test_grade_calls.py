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
from mint_envs.tooluse.match import best_match

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
