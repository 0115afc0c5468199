"""Test code of every form: each test of it runs, or the row is refused with the reason.

``tests/data/code_forms.jsonl`` has a program, its tests, and what is right: a score, ``"none"``
(not measured, whatever the program is) or ``"refused"`` (when it is loaded).
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mint_envs.code import grade
from mint_envs.code.plan import make_plan
from mint_envs.errors import SettingError

DATA = Path(__file__).parent / "data"
CASES = [json.loads(line) for line in (DATA / "code_forms.jsonl").read_text().splitlines()]
ADD = "def add(a, b):\n    return a + b\n"


def score(program: str, tests: Any, **options: Any) -> float | None:
    return grade(
        f"```python\n{program}\n```", tests, **{"max_tests_per_problem": 0, **options}
    ).score


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_form_of_test(case: dict[str, Any]) -> None:
    tests, right = case["tests"], case["right"]
    if right == "refused":
        with pytest.raises(SettingError):
            make_plan(tests)
        return
    got = score(case["program"], tests, max_tests_per_problem=case.get("most", 0))
    assert got == (None if right == "none" else right)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import pandas\ndef test_a():\n    assert f(1) == 1", "'pandas'"),
        ("def test_a(thing):\n    assert f(thing) == 1", "no fixture 'thing'"),
        ("class TestA:\n    def __init__(self): pass\n    def test_a(self):\n"
         "        assert f(1) == 1", "a constructor"),
        ("class Test(Unknown):\n    def test_a(self):\n        assert f(1) == 1", "Unknown"),
        ("def test_a():\n    assert f(1) == 1\ntest_b = lambda: f(2)", "as a function"),
        ("import pytest\ndef test_a():\n    with pytest.warns(UserWarning):\n        f(1)",
         "pytest.warns"),
        ("import unittest\nclass T(unittest.TestCase):\n    @unittest.expectedFailure\n"
         "    def test_a(self):\n        assert f(1)", "expectedFailure"),
        ("def load_tests(*a):\n    pass\ndef test_a():\n    assert f(1) == 1", "load_tests"),
        ("from unittest.mock import patch\ndef test_a():\n    with patch('solution.g'):\n"
         "        assert f(1) == 1", "from within"),
        ("def test_a():\n    class B(Base):\n        pass\n    assert B().x == 1", "derives"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_refused_by_name(code: str, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        make_plan({"code": code})


def test_a_package_that_is_tried_for_is_not_needed() -> None:
    code = (
        "try:\n    import pandas\nexcept ImportError:\n    pandas = None\nassert add(1, 2) == 3\n"
    )
    assert score(ADD, {"code": code}) == 1.0


def test_every_collected_test_counts() -> None:
    code = (
        "import pytest, unittest\n"
        "@pytest.mark.parametrize('x', [1, 2])\ndef test_a(x):\n    assert add(x, 0) == x\n"
        "class TestB:\n    def test_c(self):\n        assert add(1, 1) == 2\n"
        "class Base(unittest.TestCase):\n    def test_d(self):\n        assert add(1, 2) == 3\n"
        "class E(Base):\n    pass\n"
    )
    assert len(make_plan({"code": code}).tests) == 4


@pytest.mark.parametrize("count", [1, 3, 7])
def test_what_is_left_out_does_not_change_what_is_run(count: int) -> None:
    """Statements between asserts are run, whichever asserts are."""
    code = "total = add(0, 0)\n" + "".join(
        f"total = add(total, {i})\nassert total == {i * (i + 1) // 2}\n" for i in range(20)
    )
    assert score(ADD, {"code": code}, max_tests_per_problem=count) == 1.0


def test_nobody_chooses_to_be_not_measured() -> None:
    code = "def test_a():\n    assert add(1, 2) == 3\n    assert add(add(1, 2), 1) == 4\n"
    for body in (
        "return lambda: 0",
        "return object()",
        "return 'x' * (65 << 20)",
        "return add",
        "raise NameError('x')",
        "import nothing",
        "return iter(int, 1)",
        "raise type('HarnessFailed', (Exception,), {})()",
        "return [0] * 10**7",
    ):
        assert score(f"def add(a, b):\n    {body}\n", {"code": code}) == 0.0, body


def test_a_value_beyond_what_may_cross_is_not_measured() -> None:
    program = "def f(n):\n    return 'x' * n\n"
    code = "def test_a():\n    assert f({n}) == 'x' * {n}\n"
    assert score(program, {"code": code.format(n=8 << 20)}) == 1.0
    assert score(program, {"code": code.format(n=65 << 20)}) is None
    assert score(program, {"code": "def test_a():\n    assert f(65 << 20) == 'x'\n"}) == 0.0


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(4)), st.sets(st.integers(0, 3)))
def test_the_order_of_tests_does_not_matter(order: list[int], wrong: set[int]) -> None:
    program = f"def f(n):\n    return -1 if n in {wrong or set()!r} else n * n\n"
    code = "".join(
        f"def test_{i}():\n    l = [{i}]\n    assert f(l[0]) == {i * i}\n" for i in order
    )
    got = score(program, {"code": code}, partial_credit=True)
    assert got == (4 - len(wrong)) / 4


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(-9, 9), max_size=5), st.sampled_from(["l.clear()", "l[:] = [0]", "l += l"])
)
def test_a_program_that_changes_its_argument_fools_no_comparison(
    numbers: list[int], change: str
) -> None:
    program = f"def f(l):\n    {change}\n    return sorted(l)\n"
    honest = float(eval("sorted(n) == sorted(m)", {"n": _changed(numbers, change), "m": numbers}))
    for test in ("assert f(l) == sorted(l)", "r = f(l)\n    assert r == sorted(l)",
                 "r = f(l)\n    e = sorted(l)\n    assert r == e"):  # fmt: skip
        code = f"def test_a():\n    l = {numbers!r}\n    {test}\n"
        assert score(program, {"code": code}) == honest, test


def _changed(numbers: list[int], change: str) -> list[int]:
    return {"l.clear()": [], "l += l": numbers * 2}.get(change, [0])


#: A program, and what the calls f([0]), f([1]), ... of it give in turn.
TOLD_IN_TURN = {
    "a list that it goes on filling": "l = []\ndef f(x):\n    l.append(x[0])\n    return l",
    "one list, filled anew": "l = []\ndef f(x):\n    l[:] = x * 5\n    return l",
    "lists in a list": "l = [[]]\ndef f(x):\n    l[0].append(x)\n    return l",
    "now and then a tuple": "def f(x):\n    return tuple(x) if x[0] % 3 == 0 else x",
    "words and numbers": "def f(x):\n    return ['a', x[0], None, 1.5, True]",
    "sets": "def f(x):\n    return {x[0]: {x[0], 'a'}}",
    "what it was given": "def f(x):\n    x.append(1)\n    return x",
    "printed too": "def f(x):\n    print(x)\n    return [[x]]",
    "too much for one message": "def f(x):\n    return ['y' * 30000]",
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD_IN_TURN)
@pytest.mark.parametrize("right", [True, False])
def test_a_loop_of_calls_is_judged_as_the_same_asserts_in_turn(name: str, right: bool) -> None:
    program = TOLD_IN_TURN[name]
    names: dict[str, Any] = {}
    exec(program, names)
    wanted = [copy.deepcopy(names["f"]([i])) for i in range(20)]
    wanted[-2] = wanted[-2] if right else [wanted[-2]]
    lists = f"    xs = {[[i] for i in range(20)]}\n    ws = {wanted}\n"
    code = f"def check(f):\n{lists}    for x, w in zip(xs, ws):\n        assert f(x) == w\n"
    assert score(program, {"code": code, "entry_point": "f"}) == float(right)


READS_AHEAD = """
import sys, marshal
def f(n):
    g = sys._getframe(1)
    while g:
        s = g.f_locals.get("sent")
        if isinstance(s, list) and s and isinstance(s[0], bytes):
            a = [marshal.loads(x)[0] for x in s]
            return (a + [37])[a.index(n) + 1]
        g = g.f_back
"""


@pytest.mark.parametrize("row", ["i, o", "[i, o]", "{'in': i, 'out': o}"])
def test_arguments_that_answer_another_call_are_not_sent_ahead(row: str) -> None:
    """The next prime: the argument of each call is the answer to the one before."""
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]
    taken = "t['in']) == t['out']" if row[0] == "{" else "t[0]) == t[1]"
    lines = f"    ps = {primes}\n    ts = [({row}) for i, o in zip(ps, ps[1:])]\n"
    code = f"def check(f):\n{lines}    for t in ts:\n        assert f({taken}\n"
    right = f"def f(n):\n    return min(p for p in {primes} if p > n)\n"
    tests = {"code": code, "entry_point": "f"}
    assert (score(right, tests), score(READS_AHEAD, tests)) == (1.0, 0.0)
    loop = "for i, o in zip(ps, ps[1:]):\n        assert f(i) == o\n"
    code = f"def check(f):\n    ps = {primes}\n    {loop}"
    tests = {"code": code, "entry_point": "f"}
    assert (score(right, tests), score(READS_AHEAD, tests)) == (1.0, 0.0)


def test_a_loop_of_calls_may_give_numbers_of_many_digits() -> None:
    code = "def check(f):\n    for x in range(20):\n        assert f(x) == [10 ** 5000 + x, x]\n"
    for program, right in (("return [10 ** 5000 + x, x]", 1.0), ("return [10 ** 5000, x]", 0.0)):
        tests = {"code": code, "entry_point": "f"}
        assert score(f"def f(x):\n    {program}", tests) == right
