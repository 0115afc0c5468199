"""Where a test is evaluated: with the program, outside, or split."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mint_envs.code import grade
from mint_envs.code.plan import make_plan
from mint_envs.errors import SettingError

pytestmark = pytest.mark.quick

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize(
    ("tests", "kind", "first"),
    [
        ([("f(1)", 2)], "values", "f(1)"),
        ([("f(1)", True)], "values", "f(1)"),
        ([("Solution().f(1)", True)], "values", "Solution().f(1)"),
        ([("f(1).tolist()", [1])], "values", "f(1).tolist()"),
        ([("f(1) == 2", True)], "values", "f(1)"),  # rewritten: the comparison is ours
        ([("2 == f(1)", True)], "values", "f(1)"),
        ([("f(1) is None", True)], "values", "f(1)"),
        ([("not f(1)", True)], "values", "f(1)"),
        ([("abs(f(1) - 2.5) < 1e-6", True)], "values", "f(1)"),
        ([("math.isclose(f(1), 2.5)", True)], "values", "f(1)"),
        ([("f(1).shape == (2,)", True)], "values", "f(1).shape"),
        ([("f(1) > 2", True)], "split", "f(1) > 2"),
        ([("f(1) == 2", False)], "split", "f(1) == 2"),
        ([("isinstance(f(1), int)", True)], "split", "isinstance(f(1), int)"),
        ([("[x == 1 for x in f(1)]", [True])], "split", "[x == 1 for x in f(1)]"),
        ([("math.sqrt(f(1)) > 2", True)], "split", "math.sqrt(f(1)) > 2"),
        ([{"stdin": "1", "stdout": "2"}], "main", None),
        ({"stdin": "1", "stdout": "2"}, "main", None),
        ({"code": "assert f(1) == 2"}, "values", "f(1)"),
        ({"code": ["assert f(1) == 2", "assert not f(3)"]}, "values", "f(1)"),
        ({"code": "assert f(1) is True"}, "split", "assert f(1) is True"),
        ({"code": "assert f(lambda x: x + 1) == 2"}, "values", "f(lambda x: x + 1)"),
        ({"code": "assert f(list(range(3))) == 2"}, "values", "f(list(range(3)))"),
        ({"code": "assert f(g(1)) == 2"}, "split", "assert f(g(1)) == 2"),
        ({"code": "assert Solution().f(1) == 2"}, "values", "Solution().f(1)"),
        ({"code": "assert Solution().f(1) == 2", "entry_point": "Solution().f"},
         "values", "Solution().f(1)"),
        ({"code": "def check(candidate):\n    assert candidate(1) == 2",
          "entry_point": "Solution().f"}, "values", "Solution().f(1)"),
        ({"code": "x = 1\nassert f(x) == 2"}, "split", "assert f(x) == 2"),
        ({"code": "def check(c):\n    assert c(1) == 2", "entry_point": "f"}, "values", "f(1)"),
        ({"code": "def check(c):\n    for i in (1,):\n        assert c(i)", "entry_point": "f"},
         "split", "check(f)"),
        ({"code": "def check(c):\n    assert c(1) == 2\ncheck(f)"}, "values", "f(1)"),
        ({"code": "def check(c):\n    for i in (1,):\n        assert c(i)\ncheck(f)"},
         "split", "check(f)"),
        ({"code": "def check(c):\n    assert c(1) == 2\nassert f(2) == 3", "entry_point": "f"},
         "split", "assert f(2) == 3"),
        ({"code": "def check(c):\n    assert c.g(1) == 2", "entry_point": "f"}, "values", "f.g(1)"),
        ({"code": "def test_f():\n    assert f(1) == 2"}, "split", "test_f()"),
        ({"code": "assert abs(f(1) - 2) < 'x'"}, "split", "assert abs(f(1) - 2) < 'x'"),
        ({"code": "assert math.isclose(f(1), 2, rel_tol='x')"},
         "split", "assert math.isclose(f(1), 2, rel_tol='x')"),
    ],
)  # fmt: skip
def test_kinds(tests: Any, kind: str, first: str | None) -> None:
    plan = make_plan(tests)
    assert plan.kind == kind
    if first is not None:
        assert plan.tests[0].text == first
    assert make_plan(plan) is plan


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ([], "at least one test"),
        ("f(1)", "pairs"),
        ([("f(1)",)], "test 0"),
        ([(1, 2)], "no text"),
        ([("f(", 2)], "no Python expression"),
        ([("f(1)", object())], "plain data"),
        ([{"stdin": "1"}], "must be text"),
        ([{"stdin": "1", "stdout": "2", "compare": "roughly"}], "tokens, float, exact"),
        ({"code": "x = 1"}, "no assert"),
        ({"code": "assert f("}, "does not compile"),
        ({"code": 5}, "must be text"),
        ({"code": "def check(c):\n    assert c(1) == 1"}, "entry_point"),
        ({"code": "def check(c):\n    assert c(1) == 1\ncheck(f)\ncheck(g)"}, "entry_point"),
        ([("box.value > 3", True)], "its own verdict"),
        ([("Box().push(1).size > 3 and y", True)], "its own verdict"),
    ],
)
def test_wrong_tests_are_named(tests: Any, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        make_plan(tests)


def test_the_helpers_of_a_prompt_stay_with_program_and_tests() -> None:
    prompt = "def helper(x):\n    return x\n\ndef f(x):\n    pass\n"
    plan = make_plan(
        {"code": "a = 2\nassert helper(f(a)) == 2", "entry_point": "f", "prompt": prompt}
    )
    assert plan.kind == "split"
    assert "def helper" in plan.preamble
    assert "def f" not in plan.preamble
    assert plan.stubs == ("f",)
    assert "def helper" in plan.setup


def test_most_of_human_eval_needs_no_split_check() -> None:
    with gzip.open(DATA / "HumanEval.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    kinds = [make_plan({"code": r["test"], "entry_point": r["entry_point"]}).kind for r in rows]
    assert kinds.count("values") >= 150
    assert len(kinds) == 164


PLAIN_CLASS = """
class TestAdd:
    def setup_method(self{method}):
        self.one = 1

    def test_small(self):
        assert add(self.one, 1) == 2

    def test_large(self):
        assert add(200, 300) == 500
"""


@pytest.mark.parametrize("method", ["", ", method"])
def test_a_class_that_pytest_collects(method: str) -> None:
    tests = {"code": PLAIN_CLASS.format(method=method)}
    assert len(make_plan(tests).tests) == 2
    assert grade("def add(a, b):\n    return a + b", tests).score == 1
    assert grade("def add(a, b):\n    return 2", tests, partial_credit=True).score == 0.5


def test_an_import_of_pytest_that_nothing_needs_fails_no_program() -> None:
    code = "import pytest\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    assert grade("def add(a, b):\n    return a + b", {"code": code}).score == 1
