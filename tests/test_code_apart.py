"""Tests of which one gives away another's answer are run in processes of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_code_sandbox import TIERS, works

from mint_envs.code import grade
from mint_envs.code.apart import groups, telling
from mint_envs.code.grade import GradeSettings, grade_many
from mint_envs.code.plan import make_plan
from mint_envs.sandbox import Job, Sandbox, shared
from mint_envs.sandbox.inside.foretold import ends_of_messages
from tests.run_code_attacks import wanted

pytestmark = pytest.mark.quick

DATA = Path(__file__).parent / "data"


def places(tests: list[tuple[str, Any]]) -> list[list[int]]:
    return groups([telling(text, [wanted]) for text, wanted in tests])


def test_no_program_reads_an_answer_in_the_arguments_of_another_test() -> None:
    lines = (DATA / "code_attacks_apart.jsonl").read_text().splitlines()
    attacks = [json.loads(line) for line in lines]
    items = [(f"```\n{a['program']}\n```", make_plan(a["tests"])) for a in attacks]
    rewards = grade_many(items, GradeSettings(sandbox_timeout_s=1.0), shared(None))
    scores = {a["id"]: reward.score for a, reward in zip(attacks, rewards, strict=True)}
    assert scores == {a["id"]: wanted(a) for a in attacks}


@pytest.mark.parametrize(
    ("tests", "together"),
    [
        ([("f(2)", 3), ("f(4)", 9)], True),
        ([("put('k', 2)", None), ("get('k')", 2)], True),
        ([("f(2)", 3), ("f(3)", 5)], False),
        ([("f(3)", 5), ("f(2)", 3)], False),
        ([("f(2)", 3), ("f('3')", 5)], False),
        ([("f(2)", "3"), ("f(3.0)", "5")], False),
        ([("f(2)", 3), ("f(x=3)", 5)], False),
        ([("f(2)", 3), ("f(1 + 2)", 5)], False),
        ([("f('a')", "zzz"), ("f('z' * 3)", "b")], False),
        ([("f(1)", [0, 0, 0]), ("f([0] * 3)", 7)], False),
        ([("f(10)", 10**9), ("f(10**9)", 7)], False),
        ([("f('a')", "word"), ("g(['x', 'word'])", 7)], False),
        ([("f('a')", (5, 6)), ("f([5, 6])", 7)], False),
        ([("f(1)", [3]), ("f(3)", [7])], False),
        ([("f(15)", [3, 5]), ("f(3)", [9])], True),  # a small number among others
        ([("f(15)", [3, 5000]), ("f(5000)", [9])], False),
        ([("f(g(4))", 3), ("f(g(3))", 5)], False),
        ([("A(1).f(2)", 3), ("A(3).f(9)", 7)], False),
        ([("max(1, 5)", 5), ("max(5, 9)", 9)], True),  # of its own arguments
        ([("f(1)", True), ("f(True)", False)], True),  # one of two
        ([("f(1)", None), ("f(None)", 2)], True),
        ([("f(1)", []), ("f([])", 2)], True),
        ([("f([1, 2])", 3), ("f([3, 4])", 7)], True),
        ([("put(1, 2)", None), ("get(1)", 2)], True),  # a state, in which it is kept
        ([("get(1)", 2), ("put(1, 2)", None)], False),  # but not before it is put there
        ([("push(4)", 1), ("pop()", 4)], True),
        ([("push(4)", 1), ("pop(True)", 4)], False),
        ([("enc('ab')", "no"), ("dec('no')", "ab")], False),
        ([("f(1)", 4), ("f(" + "-" * 3000 + "4)", 7)], True),  # more than can be read
        ([("f([0] * 10**12)", 4), ("f('a' * 10**12 + 1)", 7)], True),
    ],
)
def test_which_tests_are_run_together(tests: list[tuple[str, Any]], together: bool) -> None:
    assert places(tests) == ([[0, 1]] if together else [[0], [1]])


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=12))
def test_in_no_group_is_an_argument_the_answer_to_another_call(
    pairs: list[tuple[int, int]],
) -> None:
    found = places([(f"f({a})", b) for a, b in pairs])
    assert sorted(place for group in found for place in group) == list(range(len(pairs)))
    for group in found:
        for a, b in (pairs[place] for place in group):
            assert b == a or b not in {pairs[place][0] for place in group}


#: Reads the message of a loop of calls, and answers with the next larger argument in it.
READS_MESSAGE = """
import sys, marshal
def f(n):
    g, seen = sys._getframe(), [23]
    while g:
        for x in g.f_locals.get("sent") or ():
            if isinstance(x, bytes):
                seen += [a for a in marshal.loads(x) if isinstance(a, int) and a > n]
        g = g.f_back
    return min(seen)
"""
PRIMES = [2, 3, 5, 7, 11, 13, 17, 19]
RIGHT = f"def f(n):\n    return min(p for p in {[*PRIMES, 23]} if p > n)\n"
LOOPS = {
    "a row of its own": "for n, m in zip(ps, qs):\n        assert f(n) == m",
    "by its place": "for i, n in enumerate(ps):\n        assert f(n) == qs[i]",
    "worked out": "for n in ps:\n        assert f(n) == after(n)",
    "added up": "m = 2\n    for n, d in zip(ps, [1, 2, 2, 4, 2, 4, 2, 4]):\n        m += d\n"
                "        assert f(n) == m",
    "literals": "for n, m in [(2, 3), (3, 5), (5, 7), (7, 11), (11, 13), (19, 23)]:\n"
                "        assert f(n) == m",
    "down": "for n, m in [(19, 23), (5, 7), (7, 11), (3, 5), (11, 13), (2, 3)]:\n"
            "        r = f(n)\n        assert r == m",
}  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("literal", [True, False])
def test_no_message_of_a_loop_holds_an_answer_to_its_calls(loop: str, literal: bool) -> None:
    lists = f"    ps = {PRIMES}\n    qs = {[*PRIMES[1:], 23]}\n"
    names = lists if literal else lists.replace(", 5", ", 4 + 1")
    helper = f"def after(n):\n    return min(p for p in {[*PRIMES, 23]} if p > n)\n"
    code = f"{helper}def check(f):\n{names}    {LOOPS[loop]}\n"
    tests = {"code": code, "entry_point": "f"}
    assert (grade(RIGHT, tests).score, grade(READS_MESSAGE, tests).score) == (1.0, 0.0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=2, max_size=60))
def test_a_message_ends_before_it_would_hold_an_answer(pairs: list[tuple[int, int]]) -> None:
    ends = ends_of_messages([([a], [b]) for a, b in pairs])
    assert (ends, ends[-1]) == (sorted(set(ends)), len(pairs))
    for begin, end in zip([0, *ends], ends, strict=False):
        shown = {a for a, _ in pairs[begin:end]}
        assert not any(b != a and b in shown for a, b in pairs[begin:end])


def test_a_loop_without_answers_among_its_arguments_needs_few_messages() -> None:
    assert ends_of_messages([([n], [-n - 1]) for n in range(700)]) == [8, 40, 200, 700]


def test_a_loop_may_be_longer_than_what_is_looked_at_beforehand() -> None:
    code = "def check(f):\n    for x in range(100_500):\n        assert isinstance(f(x), int)\n"
    tests = {"code": code, "entry_point": "f"}
    assert grade("def f(x):\n    return x\n", tests).score == 1.0
    assert grade("def f(x):\n    return x if x < 100_400 else ''\n", tests).score == 0.0


def test_what_a_loop_wants_may_be_any_object() -> None:
    """It is not asked what it is: one of the program's would be called, another might raise."""
    code = (
        "class Odd:\n    def __init__(self, x): self.x = x\n"
        "    def __repr__(self): raise KeyError\n"
        "    def __eq__(self, other): return other == self.x\n"
        "def check(f):\n    wants = [Odd(3), Odd(5)]\n    for x, want in zip([2, 4], wants):\n"
        "        assert f(x) == want\n"
    )
    tests = {"code": code, "entry_point": "f"}
    assert grade("def f(x):\n    return x + 1\n", tests).score == 1.0
    assert grade("def f(x):\n    return x + 2\n", tests).score == 0.0


def test_half_of_the_tests_of_a_chain_are_run_at_once() -> None:
    assert places([(f"f({n})", n + 1) for n in range(400)]) == [
        [*range(0, 400, 2)], [*range(1, 400, 2)],
    ]  # fmt: skip


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(6)), st.integers(0, 63), st.booleans())
def test_the_reward_is_that_of_each_test_for_itself(
    order: list[int], right: int, partial: bool
) -> None:
    """Whatever the groups are: which of f(0) = 1, f(1) = 2, ... is right, and where it stands."""
    table = [n + 1 if right >> n & 1 else 0 for n in range(6)]
    tests = [(f"f({n})", n + 1) for n in order]
    reward = grade(f"def f(n):\n    return {table}[n]\n", tests, partial_credit=partial)
    share = right.bit_count() / 6
    assert reward.score == (share if partial else float(right == 63))
    for n, report in zip(order, reward.metadata["tests"], strict=True):
        allowed = {"passed"} if right >> n & 1 else {"wrong"}
        assert report["expected"] == str(n + 1)
        assert report["status"] in (allowed if partial else {*allowed, "not run"})


LOCKS = """
import fcntl, os, time
def f(n):
    got = []
    for lock in (fcntl.flock, fcntl.lockf):
        fd = os.open(os.__file__, os.O_RDONLY)
        try:
            lock(fd, (fcntl.LOCK_EX if lock is fcntl.flock else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError:
            got.append(False)
    time.sleep(0.5)
    return got
"""


@pytest.mark.parametrize("tier", TIERS)
def test_two_programs_at_once_do_not_talk_by_locks_on_files_that_both_read(tier: str) -> None:
    if not works(tier):
        pytest.skip(f"this machine has no {tier} tier")
    with Sandbox(tier, workers=2) as sandbox:
        outcomes = sandbox.run_jobs([Job(f"{LOCKS}#{i}", calls=("f(1)",)) for i in range(2)])
        assert [outcome.records[0] for outcome in outcomes] == [("value", ["l", []])] * 2
        kept = "import sqlite3\ndef f(n):\n    db = sqlite3.connect('kept')\n"
        kept += "    db.execute('create table t(n)')\n    db.execute('insert into t values(7)')\n"
        kept += "    db.commit()\n    return db.execute('select n from t').fetchone()[0]\n"
        assert sandbox.run(kept, calls=["f(1)"]).records[0] == ("value", 7)


def test_a_program_that_ends_in_one_run_does_not_lose_the_others() -> None:
    program = "import os\ndef f(n):\n    if n == 2:\n        os._exit(0)\n    return n + 1\n"
    tests = [(f"f({n})", n + 1) for n in range(6)]
    reward = grade(program, tests, partial_credit=True)
    statuses = [report["status"] for report in reward.metadata["tests"]]
    assert statuses == ["passed", "passed", "not run", "passed", "not run", "passed"]
    assert grade(program, tests).score == 0.0


def test_a_function_that_wants_none_now_and_then_puts_nothing_anywhere() -> None:
    tests = [("enc('hello')", "qwerty"), ("dec('qwerty')", "hello"), ("enc('hello', -1)", None)]
    assert places(tests) == [[0, 2], [1]]


LOOP = """def check(f):
    for x, y in [(1, 1), (2, 2), (10**10, None)]:
        {}
"""


@pytest.mark.parametrize(
    "body",
    [
        "if y is None: break\n        assert f(x) == y",
        "if y is None: continue\n        assert f(x) == y",
        "assert y is None or f(x) == y",
        "assert (f(x) if y else None) == y",
    ],
)
def test_a_call_that_a_loop_leaves_out_is_not_made(body: str) -> None:
    counts = "```python\ndef f(n):\n    while n > 5: n -= 1\n    return n\n```"
    tests = {"code": LOOP.format(body), "entry_point": "f"}
    assert grade(counts, tests, sandbox_timeout_s=1.0).score == 1.0
