"""The verdict on a response."""

from __future__ import annotations

import asyncio
import gzip
import json
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mint_envs.code import grade
from mint_envs.code.grade import GradeSettings, grade_many
from mint_envs.code.plan import make_plan
from mint_envs.errors import SandboxUnavailable, SettingError

DATA = Path(__file__).parent / "data"
ADD = "```python\ndef add(a, b):\n    return a + b\n```"
TESTS = [("add(1,2)", 3), ("add(-1,1)", 0)]
KEYS = {"passed": int, "total": int, "left_out": int, "rule": str, "tests": list, "error_type": str,
        "error": str, "limit": str, "cpu_s": float, "reason": str}  # fmt: skip

#: Equal to everything, true, and able to do arithmetic: full marks from most in-process checks.
ALWAYS = """
class A:
    def __eq__(s, o): return True
    def __ne__(s, o): return False
    def __lt__(s, o): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __hash__(s): return 1
    def __bool__(s): return True
    def __sub__(s, o): return s
    __add__ = __radd__ = __rsub__ = __mul__ = __abs__ = __round__ = __sub__
    def __len__(s): return 1
    def __iter__(s): return iter(())
    def __contains__(s, o): return True
"""


def fenced(program: str) -> str:
    return f"```python\n{program}\n```"


def test_the_example_of_the_documents() -> None:
    reward = grade(ADD, TESTS)
    assert reward.score == 1.0
    assert {key: type(value) for key, value in reward.metadata.items()} == KEYS
    assert reward.metadata["passed"] == reward.metadata["total"] == 2
    assert reward.metadata["tests"][0] == {"status": "passed", "expected": "3", "actual": "3"}


def test_half_right_is_nothing_or_half() -> None:
    wrong = fenced("def add(a, b):\n    return 3")
    assert grade(wrong, TESTS).score == 0.0
    reward = grade(wrong, TESTS, partial_credit=True)
    assert reward.score == 0.5
    assert [test["status"] for test in reward.metadata["tests"]] == ["passed", "wrong"]


@pytest.mark.parametrize(
    ("program", "kind", "words"),
    [
        ("def add(a, b):\n    return a / 0", "ZeroDivisionError", "(line 2)"),
        ("def add(a, b) return a", "SyntaxError", "line 1"),
        ("raise KeyError('x')", "KeyError", "'x'"),
        ("from collections import nothing", "ImportError", "nothing"),
        ("def sub(a, b): return a", "NameError", "add"),
    ],
)
def test_errors_are_told(program: str, kind: str, words: str) -> None:
    reward = grade(fenced(program), TESTS)
    assert reward.score == 0.0
    assert reward.metadata["error_type"] == kind
    assert words in reward.metadata["error"]
    assert sys.base_prefix not in json.dumps(dict(reward.metadata))
    assert {key: type(value) for key, value in reward.metadata.items()} == KEYS


@pytest.mark.parametrize(
    ("program", "limit"),
    [
        ("def add(a, b):\n    while True: pass", "cpu"),
        ("import time\ndef add(a, b): time.sleep(60)", "wall"),
        ("def add(a, b): return bytearray(8 << 30)", "memory"),
        ("def add(a, b): return 'x' * (4 << 20)", "output"),
    ],
)
def test_limits_are_told(program: str, limit: str) -> None:
    reward = grade(fenced(program), TESTS, sandbox_timeout_s=0.3)
    assert (reward.score, reward.metadata["limit"]) == (0.0, limit)


def test_output_of_a_script_has_a_limit() -> None:
    loop = fenced("while True: print('x' * 1000)")
    assert grade(loop, [{"stdin": "", "stdout": "x"}]).metadata["limit"] in ("output", "cpu")


def test_methods_of_a_class_are_tested() -> None:
    program = fenced("class Solution:\n    def f(self, x):\n        return x * 2")
    loop = "def check(candidate):\n    for x in (1, 2):\n        assert candidate(x) == 2 * x"
    for code in ("def check(candidate):\n    assert candidate(2) == 4", loop):
        tests = {"code": code, "entry_point": "Solution().f"}
        assert grade(program, tests).score == 1.0
        assert grade(program.replace("* 2", "* 3"), tests).score == 0.0


@pytest.mark.parametrize("more", ["check(add)", "assert add(2, 2) == 4"])
def test_a_check_function_tests_the_program_and_not_its_own_arguments(more: str) -> None:
    code = f"def check(candidate):\n    assert candidate(1) == 1\n{more}"
    tests = {"code": code, "entry_point": "add" if "assert" in more else ""}
    assert grade("def add(a, b=0):\n    return a + b", tests).score == 1.0
    assert grade("def add(a, b=0):\n    return a + 5 * b", tests).score == float("check" in more)
    assert grade("def add(a, b=0):\n    return 9", tests).score == 0.0


def test_one_is_not_true_where_a_test_asks_for_identity() -> None:
    tests = {"code": "assert f(1) is True", "entry_point": "f"}
    assert grade(fenced("def f(x): return x > 0"), tests).score == 1.0
    assert grade(fenced("def f(x): return 1"), tests).score == 0.0


def test_no_program_is_nothing() -> None:
    for response in ("", "I do not know", "<think>def add(a, b): return a + b"):
        reward = grade(response, TESTS)
        assert (reward.score, reward.metadata["reason"]) == (0.0, "no program found")


def test_tests_beyond_the_most_are_counted() -> None:
    many = [(f"add({i}, 1)", i + 1) for i in range(25)]
    metadata = grade(ADD, many).metadata
    assert (metadata["total"], metadata["left_out"]) == (10, 15)
    assert grade(ADD, many, max_tests_per_problem=100).metadata["left_out"] == 0


def test_the_tests_that_are_run_expect_different_things() -> None:
    same = [(f"add({i}, {-i})", 0) for i in range(50)]
    zero = fenced("def add(a, b): return 0")
    assert grade(zero, [*same, ("add(1, 2)", 3)]).score == 0.0
    assert grade(zero, same).score == 1.0


def test_stdin_and_stdout() -> None:
    tests = [{"stdin": f"{n}\n", "stdout": f"{2 * n}\n"} for n in range(4)]
    right = fenced("n = int(input())\nprint(n * 2)")
    assert grade(right, tests).score == 1.0
    reward = grade(fenced("n = int(input())\nprint(n and 2)"), tests, partial_credit=True)
    assert reward.score == 0.5
    early = grade(fenced("print(7)"), tests)
    assert [test["status"] for test in early.metadata["tests"]] == ["wrong"] + ["not run"] * 3


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"sandbox_timeout_s": 0}, "sandbox_timeout_s"),
        ({"sandbox_timeout_s": "5"}, "sandbox_timeout_s"),
        ({"max_tests_per_problem": -1}, "max_tests_per_problem"),
        ({"language": "cobol"}, "language='cobol'"),
        ({"language": "cpp"}, "'stdin' and 'stdout'"),
        ({"sandbox": "jail"}, "sandbox='jail'"),
    ],
)
def test_wrong_settings_are_named(settings_: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        grade(ADD, TESTS, **settings_)


def test_a_language_that_is_not_installed_is_not_a_wrong_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("HOME", "/nowhere")
    with pytest.raises(SandboxUnavailable, match="'go'"):
        grade("```go\npackage main\n```", [{"stdin": "", "stdout": ""}], language="go")


# -- data sets ------------------------------------------------------------------------------------


def human_eval() -> list[dict[str, Any]]:
    with gzip.open(DATA / "HumanEval.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def scores(rows: list[dict[str, Any]], body: str | None, before: str = "") -> float:
    items = []
    for row in rows:
        test = {"code": row["test"], "entry_point": row["entry_point"], "prompt": row["prompt"]}
        program = before + row["prompt"] + (row["canonical_solution"] if body is None else body)
        items.append((fenced(program), make_plan(test)))
    from mint_envs.sandbox import shared

    rewards = grade_many(items, GradeSettings(max_tests_per_problem=1000), shared(None))
    return sum(1.0 if reward.score is None else reward.score for reward in rewards)


def test_human_eval_references_pass() -> None:
    assert scores(human_eval(), None) == 164


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("    return A()\n", ALWAYS),
        ("    import os\n    os._exit(0)\n", ""),
        ("    raise StopIteration\n", ""),
        ("    raise SystemExit(0)\n", ""),
        ("    return True\n", ""),
        ("    return None\n", ""),
        ("    from unittest.mock import ANY\n    return ANY\n", ""),
    ],
)
def test_no_trick_passes_one_problem_of_human_eval(body: str, before: str) -> None:
    assert scores(human_eval(), body, before) == 0


def test_mbpp_references_pass() -> None:
    for line in (DATA / "mbpp_sample.jsonl").read_text().splitlines():
        row = json.loads(line)
        tests = {"code": [*row["test_list"], *row["labels"]["challenge_test_list"]]}
        assert grade(fenced(row["canonical_solution"]), tests).score == 1.0, row["content"]


def test_code_contests_references_pass() -> None:
    for line in (DATA / "code_contests_small.jsonl").read_text().splitlines():
        row = json.loads(line)
        tests = [
            {"stdin": test["input"]["stdin"], "stdout": test["output"]["stdout"]}
            for test in json.loads(row["test"])
        ]
        reward = grade(fenced(row["solution"]), tests, max_tests_per_problem=1000)
        assert reward.score == 1.0, (row["content"], reward.metadata)
        assert grade(fenced("print(input())"), tests).score == 0.0


# -- properties -----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=300) | st.text(alphabet="`\n def():=1x\0\ud800", max_size=100))
def test_any_text_gets_a_reward_and_always_the_same(text: str) -> None:
    one, other = grade(text, TESTS), grade(text, TESTS)
    assert one.score == 0.0
    assert one == other
    json.dumps(dict(one.metadata)).encode("utf-8")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_more_tests_passed_is_never_less(right: list[bool]) -> None:
    table = {i: i * i if good else -1 for i, good in enumerate(right)}
    tests = [(f"f({i})", i * i) for i in range(len(right))]
    program = fenced(f"def f(n):\n    return {table!r}[n]")
    reward = grade(program, tests, partial_credit=True)
    assert reward.score == sum(right) / len(right)
    assert grade(program, tests).score == float(all(right))


def test_the_same_in_another_process() -> None:
    program = fenced(
        "def f():\n    return [list({'a', 'b', 'c'}), hash('x'), __import__('random').random()]"
    )
    text = (
        "from mint_envs.code import Sandbox; import sys\n"
        "with Sandbox(workers=1) as s:\n"
        "    print(s.run(sys.argv[1], ['f()']).records[0])"
    )
    source = program.split("\n", 1)[1].rpartition("\n")[0]
    found = {
        subprocess.run([sys.executable, "-c", text, source], capture_output=True, check=True).stdout
        for _ in range(2)
    }
    assert len(found) == 1
    assert b"value" in found.pop()


def test_from_many_threads_and_from_asyncio() -> None:
    wrong: list[str] = []

    def work(k: int) -> None:
        for i in range(5):
            response = fenced(f"def f(): return {k * 100 + i}")
            if grade(response, [("f()", k * 100 + i)]).score != 1.0:
                wrong.append(response)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

    async def many() -> list[Any]:
        tasks = [asyncio.to_thread(grade, ADD, [(f"add({i}, 1)", i + 1)]) for i in range(8)]
        return await asyncio.gather(*tasks)

    assert [reward.score for reward in asyncio.run(many())] == [1.0] * 8


def test_rewards_and_plans_travel_between_processes() -> None:
    assert pickle.loads(pickle.dumps(grade(ADD, TESTS))) == grade(ADD, TESTS)
    assert pickle.loads(pickle.dumps(make_plan(TESTS))) == make_plan(TESTS)
