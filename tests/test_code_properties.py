"""What must hold of every verdict on code, whatever the program and its tests are."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mint_envs.code.grade import GradeSettings, grade_many
from mint_envs.code.judging import RULES, same_output
from mint_envs.code.plan import make_plan
from mint_envs.code.values import Tolerance, wire_equals
from mint_envs.sandbox import shared
from mint_envs.sandbox.inside.wire import encode

#: A function by a table, and what each argument should give: some of it the table gets wrong.
TABLES = st.dictionaries(
    st.integers(0, 30), st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6
)
FORMS = ("pairs", "asserts", "functions", "loop", "scripts")
NUMBERS = st.one_of(st.integers(-50, 50), st.floats(-50, 50, allow_nan=False).map(abs))


def _program(table: dict[int, tuple[int, bool]], form: str) -> str:
    found = {key: value if right else value + 1 for key, (value, right) in table.items()}
    if form == "scripts":
        return f"print({found}[int(input())])"
    return f"def f(x):\n    return {found}[x]"


def _tests(cases: list[tuple[int, int]], form: str) -> Any:
    """Return the cases (argument, value) as tests of a form."""
    if form == "pairs":
        return [(f"f({key})", value) for key, value in cases]
    if form == "scripts":
        return [{"stdin": f"{key}\n", "stdout": f"{value}\n"} for key, value in cases]
    asserts = [f"assert f({key}) == {value}" for key, value in cases]
    if form == "functions":
        asserts = [f"def test_{i}():\n    {text}" for i, text in enumerate(asserts)]
    elif form == "loop":
        asserts = [f"for key, value in [({key}, {value})]:\n    assert f(key) == value"
                   for key, value in cases]  # fmt: skip
    return {"code": "\n".join(asserts)}


def _scores(items: list[tuple[str, Any]], partial: bool) -> list[float | None]:
    options = GradeSettings(partial_credit=partial, max_tests_per_problem=0)
    plans = [(f"```python\n{program}\n```", make_plan(tests)) for program, tests in items]
    return [reward.score for reward in grade_many(plans, options, shared(None))]


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=6, deadline=None)
@given(table=TABLES, extra=st.integers(0, 2), partial=st.booleans(), data=st.data())
def test_order_does_not_matter_and_one_more_passed_test_never_lowers_a_reward(
    form: str, table: dict[int, tuple[int, bool]], extra: int, partial: bool, data: st.DataObject
) -> None:
    cases = [(key, value) for key, (value, _) in table.items()]
    mixed = data.draw(st.permutations(cases))
    program = _program({**table, 31: (extra, True)}, form)
    more = list(mixed)
    more.insert(data.draw(st.integers(0, len(cases))), (31, extra))
    orders = (cases, mixed, more)
    first, other, longer = _scores([(program, _tests(o, form)) for o in orders], partial)
    right = sum(good for _, good in table.values()) / len(table)
    assert first is not None
    assert first == other == (right if partial else float(right == 1.0))
    assert longer is not None
    assert longer >= first


@settings(max_examples=5, deadline=None)
@given(tables=st.lists(st.tuples(TABLES, st.sampled_from(FORMS)), min_size=2, max_size=4))
def test_alone_and_in_a_batch_a_program_earns_the_same(
    tables: list[tuple[dict[int, tuple[int, bool]], str]],
) -> None:
    items = [
        (_program(t, form), _tests([(key, value) for key, (value, _) in t.items()], form))
        for t, form in tables
    ]
    together = _scores([*items, *items[::-1]], True)
    assert together[: len(items)] == together[: len(items) - 1 : -1]
    assert together[: len(items)] == [_scores([item], True)[0] for item in items]


def test_in_another_process_a_program_earns_the_same() -> None:
    table = {1: (1, True), 2: (0, False), 3: (2, True), 4: (1, False)}
    cases = [(key, value) for key, (value, _) in table.items()]
    items = [(_program(table, form), _tests(cases, form)) for form in FORMS]
    code = (
        "import json, sys\nfrom tests.test_code_properties import _scores\n"
        "items = json.load(sys.stdin)\nprint(json.dumps(_scores(items, True)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(items), text=True, check=True,
        capture_output=True, timeout=300,
    )  # fmt: skip
    assert json.loads(done.stdout) == _scores(items, True) == [0.5] * len(FORMS)


@pytest.mark.quick
@given(
    words=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=4),
    rooms=st.tuples(st.floats(0, 5), st.floats(0, 5)),
    rule=st.sampled_from(sorted(RULES)),
)
def test_more_tolerance_never_makes_an_output_wrong(
    words: list[tuple[Any, Any]], rooms: tuple[float, float], rule: str
) -> None:
    got, want = (" ".join(str(pair[side]) for pair in words) for side in (0, 1))
    less, more = (Tolerance(room, room) for room in sorted(rooms))
    assert same_output(want, want, rule, less)
    if same_output(got, want, rule, less):
        assert same_output(got, want, rule, more)


@pytest.mark.quick
@given(
    pairs=st.lists(st.tuples(NUMBERS, NUMBERS), max_size=4),
    rooms=st.tuples(st.floats(0, 5), st.floats(0, 5)),
)
def test_more_tolerance_never_makes_a_value_wrong(
    pairs: list[tuple[Any, Any]], rooms: tuple[float, float]
) -> None:
    got, want = ([pair[side] for pair in pairs] for side in (0, 1))
    less, more = (Tolerance(room, room) for room in sorted(rooms))
    for made in (list, tuple, lambda items: dict(enumerate(items))):
        wire, wanted = encode(made(got)), made(want)
        assert wire_equals(encode(wanted), wanted, less)
        if wire_equals(wire, wanted, less):
            assert wire_equals(wire, wanted, more)
