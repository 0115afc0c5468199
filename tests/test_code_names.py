"""Whose function a test calls by a built-in name: the program's, or Python's own."""

from __future__ import annotations

import ast
import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mint_envs.audit.audit import AuditOptions, audit
from mint_envs.audit.audit_code import CodeSettings
from mint_envs.code import grade
from mint_envs.code.cases import Names
from mint_envs.code.names import BUILTINS, expression_names, global_names
from mint_envs.code.plan import make_plan
from mint_envs.code.rows import read_code_row
from mint_envs.sandbox.inside.names import readings

MBPP_126 = {
    "task_id": 126,
    "text": "Write a python function to find the sum of common divisors of two given numbers.",
    "code": "def sum(a,b): \r\n    sum = 0\r\n    for i in range (1,min(a,b)): \r\n"
    "        if (a % i == b % i == 0): \r\n            sum += i \r\n    return sum",
    "test_list": ["assert sum(10,15) == 6", "assert sum(100,150) == 93", "assert sum(4,6) == 3"],
    "challenge_test_list": [],
}


def score(program: str, tests: Any, **options: Any) -> float | None:
    return grade(f"```python\n{program}\n```", tests, **options).score


# -- every name, form of definition and form of test -----------------------------------------------

NAMES = sorted(name for name in BUILTINS if name.isidentifier() and not name.startswith("_"))
NAMES = [name for name in NAMES if name not in ("None", "True", "False")]
OFTEN = ["max", "min", "abs", "sorted", "len", "list", "print", "filter", "hash", "sum"]

#: What a program may be, so that {name}(1, 2) is 102.
DEFINITIONS = {
    "def": "def {name}(a, b):\n    return a * 100 + b",
    "class": "class {name}:\n    def __new__(cls, a, b):\n        return a * 100 + b",
    "assignment": "def work(a, b):\n    return a * 100 + b\n{name} = work",
    "lambda": "{name} = lambda a, b: a * 100 + b",
    "import as": "from math import comb as {name}",
    "import of a module": "import operator\nfrom operator import add as {name}",
    "globals": "globals()['{name}'] = lambda a, b: a * 100 + b",
    "loop": "for {name} in [lambda a, b: a * 100 + b]:\n    pass",
}
VALUES = {"import as": 0, "import of a module": 3}

#: Tests that {name}(1, 2) is {value}.
TESTS: dict[str, Any] = {
    "text": {"code": "assert {name}(1, 2) == {value}"},
    "list": {"code": ["assert {name}(1, 2) == {value}", "assert {name}(1, 2) != {value} + 1"]},
    "pairs": [("{name}(1, 2)", "{value}")],
    "compared": [("{name}(1, 2) == {value}", True)],
    "function": {"code": "def test():\n    x = {name}(1, 2)\n    assert x == {value}"},
    "loop": {"code": "for a, b in [(1, 2)]:\n    x = {name}(a, b)\nassert x == {value}"},
    "class": {
        "code": "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n"
        "        self.assertEqual({name}(1, 2), {value})"
    },
    "pytest": {
        "code": "CASES = [(1, 2, {value})]\n\ndef run(a, b):\n    return {name}(a, b)"
        "\n\ndef test_{name}():\n    for a, b, c in CASES:\n        assert run(a, b) == c\n"
    },
    "check": {
        "code": "def check(candidate):\n    assert candidate(1, 2) == {value}",
        "entry_point": "{name}",
    },
    "check in a loop": {
        "code": "def check(candidate):\n    for i in range(2):\n"
        "        assert candidate(1, 2) == {value}\ncheck({name})",
    },
    "entry": {"code": "x = {name}(1, 2)\nassert x == {value}", "entry_point": "{name}"},
}


def filled(tests: Any, name: str, value: int) -> Any:
    if isinstance(tests, dict):
        return {key: filled(part, name, value) for key, part in tests.items()}
    if isinstance(tests, list | tuple):
        return type(tests)(filled(part, name, value) for part in tests)
    if tests == "{value}":
        return value
    return (
        tests.replace("{name}", name).replace("{value}", str(value))
        if isinstance(tests, str)
        else tests
    )


@pytest.mark.parametrize("form", TESTS)
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_a_test_calls_what_the_program_defines(definition: str, form: str) -> None:
    value = VALUES.get(definition, 102)
    for name in OFTEN:
        program = DEFINITIONS[definition].replace("{name}", name)
        assert score(program, filled(TESTS[form], name, value)) == 1.0, name
        assert score(program, filled(TESTS[form], name, 2)) == 0.0, name


@pytest.mark.parametrize("form", TESTS)
def test_every_built_in_name(form: str) -> None:
    cases = ("assignment", "def", "class")
    for number, name in enumerate(NAMES):
        program = DEFINITIONS[cases[number % 3]].replace("{name}", name)
        assert score(program, filled(TESTS[form], name, 102)) == 1.0, name
        assert score(program, filled(TESTS[form], name, 2)) == 0.0, name


@pytest.mark.parametrize("form", [form for form in TESTS if form != "check"])
def test_what_no_program_defines_is_the_built_in(form: str) -> None:
    for program in ("x = 1", "from builtins import *", "max = max", "def f(x):\n    return max"):
        assert score(program, filled(TESTS[form], "max", 2)) == 1.0
        assert score(program, filled(TESTS[form], "max", 102)) == 0.0


@pytest.mark.parametrize("form", TESTS)
def test_a_program_that_fails_earns_nothing(form: str) -> None:
    for program in ("def max(a, b) return 2", "1 / 0", "import os\nos._exit(0)"):
        assert score(program, filled(TESTS[form], "max", 2)) == 0.0


@pytest.mark.parametrize("name", ["copy", "heapq", "string", "re", "math", "bisect", "array", "cmd",
                                  "queue", "types"])  # fmt: skip
@pytest.mark.parametrize("form", TESTS)
def test_names_of_modules_are_the_programs_where_they_are_called(name: str, form: str) -> None:
    program = DEFINITIONS["def"].replace("{name}", name)
    tests = filled(TESTS[form], name, 102)
    assert score(program, tests) == 1.0
    assert score(program.replace("100", "10"), tests) == 0.0


@pytest.mark.parametrize(
    ("tests", "good"),
    [
        ([("copy([1])", [1]), ("copy(2)", True)], "def copy(x): return x if x == [1] else True"),
        ([("string('string.a')", True)], "def string(x): return x == 'string.a'"),
        ([("bisect([1, 3], 2) > 0", True)], "def bisect(xs, x): return 1"),
        ([("math.sqrt(f(1)) > 1.9", True)], "def f(x): return 4"),
        ({"code": "import math\nassert math.floor(math2(1)) == 2"}, "def math2(x): return 2.5"),
    ],
)
def test_modules_and_functions_of_their_names(tests: Any, good: str) -> None:
    assert score(good, tests) == 1.0
    assert score(good.partition("return")[0] + "return 0", tests) == 0.0


# -- the verdict's own names -----------------------------------------------------------------------

#: (tests, a program that gives what it likes, what it also defines)
ATTACKS: list[tuple[Any, str, str]] = [
    ("assert len(f(3)) == 2", "return []", "def len(x): return 2"),
    ("assert abs(f(2) - 4) < 1e-6", "return 9", "def abs(x): return 0"),
    ("assert not abs(f(2) - 4) > 1e-6", "return 9", "abs = lambda x: 0"),
    ("assert isinstance(f(1), int) and f(1) > 3", "return '9'", "def isinstance(a, b): return 1\n"
     "int = 5"),
    ("assert sorted(f(3)) == [1, 2]", "return []", "def sorted(x): return [1, 2]"),
    ("assert set(f(3)) == {1, 2}", "return []", "def set(x=0): return {1, 2}"),
    ("assert set(f(3)) == set([1, 2])", "return []", "def set(x=0): return {1}"),
    ("assert f(3) == max(1, 2)", "return 0", "def max(a, b): return 0"),
    ("assert sum(f(3)) == 6", "return []", "def sum(x): return 6"),
    ("assert all(x > 0 for x in f(3))", "return [-1]", "def all(x): return True"),
    ("assert any(x > 0 for x in f(3))", "return [-1]", "def any(x): return True"),
    ("ok = True\nfor i in range(3):\n    ok = ok and f(i) == i\nassert ok", "return 7",
     "def range(n): return []"),
    ("x = f(3)\nassert len(x) == 2", "return []", "def len(x): return 2"),
    ("x = f(3)\nassert x == []\nassert len(x) == 2", "return []", "def len(x): return 2"),
    ("def size(x):\n    return len(x)\nassert size(f(3)) == 2", "return []",
     "def len(x): return 2"),
    ("xs = []\ndef fill():\n    xs.append(f(1))\nfill()\nassert len(xs[0]) == 2", "return []",
     "def len(x): return 2"),
    ("seen = None\ndef go():\n    global seen\n    seen = f(3)\ngo()\nassert len(seen) == 2",
     "return []", "def len(x): return 2"),
    ("def test():\n    x = f(3)\n    y = x\n    assert len(y) == 2", "return []",
     "def len(x): return 2"),
    ("def test():\n    g = f\n    size = len\n    assert size(g(3)) == 2", "return []",
     "def len(x): return 2"),
    ("def test():\n    for i in range(1, 4):\n        assert f(i) == i", "return 0",
     "def range(*a): return []"),
    ("def run(x):\n    return f(x)\ndef test():\n    assert len(run(3)) == 2", "return []",
     "def len(x): return 2"),
    ("import unittest\nclass T(unittest.TestCase):\n    def setUp(self):\n        self.x = f(3)\n"
     "    def test(self):\n        self.assertEqual(len(self.x), 2)", "return []",
     "def len(x): return 2"),
    ("import unittest\nclass T(unittest.TestCase):\n    def get(self):\n        return f(3)\n"
     "    def test(self):\n        self.assertTrue(isinstance(self.get(), int))", "return []",
     "def isinstance(x, y): return True"),
    ("def test():\n    print('go')\n    assert f(1) == 2\n    print('done')", "return 0",
     "def print(*a): raise ValueError"),
    ("def check(got, want):\n    if repr(got) != repr(want):\n        raise AssertionError\n\n"
     "def test():\n    check(f(1), 2)\n", "return 0", "def repr(x): return ''"),
    ("def same(got, want):\n    if repr(got) != repr(want):\n        raise AssertionError\n"
     "def test():\n    same(f(1), 2)\n", "return 0",
     "def repr(x): return ''\ndef AssertionError(*a): return 0"),
]  # fmt: skip
HIDING = ["", "import builtins\nfor n in ('len', 'max', 'abs', 'sorted', 'set', 'sum', 'all', "
          "'any', 'range', 'isinstance', 'repr'):\n    if n in globals(): "
          "setattr(builtins, n, globals()[n])"]  # fmt: skip


@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize(("code", "body", "more"), ATTACKS)
def test_no_program_changes_what_the_verdict_calls(
    code: str, body: str, more: str, hiding: str
) -> None:
    if "def check(" in code:
        code = code.replace("check(", "same(")
    program = f"def f(n):\n    {body}\n{more}\n{hiding}"
    for entry in ("", "f"):
        tests = {"code": code, "entry_point": entry}
        assert score(program, tests, sandbox_timeout_s=0.2) == 0.0


@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize(
    ("pair", "body", "more"),
    [
        (("len(f(3))", 2), "return []", "def len(x): return 2"),
        (("sorted(f(3))", [1, 2]), "return []", "def sorted(x): return [1, 2]"),
        (("abs(f(2) - 4) < 1e-6", True), "return 9", "def abs(x): return 0"),
        (("isinstance(f(2), int)", True), "return ''", "def isinstance(x, y): return True"),
        (("sum(x for x in f(3))", 6), "return []", "def sum(x): return 6"),
        (("[len(x) for x in f(3)]", [2]), "return [[]]", "def len(x): return 2"),
        (("max(f(1), 2)", 7), "return 2", "def max(*a): return 7"),
        (("f(1) + len('ab')", 7), "return 2", "def len(*a): return 5"),
        (("f(1) == max(1, 2)", True), "return 0", "def max(*a): return 0"),
    ],
)
def test_pairs_follow_the_same_rule(pair: Any, body: str, more: str, hiding: str) -> None:
    program = f"def f(n):\n    {body}\n{more}\n{hiding}"
    assert score(program, [pair], sandbox_timeout_s=0.2) == 0.0
    right = ("f(1)", 5)
    assert score("def f(n):\n    return 5\n" + more, [right, ("len([1, f(1)])", 2)]) == 1.0


@pytest.mark.parametrize(
    ("test", "good", "wrong"),
    [
        ("len(max([1], [2])) == 1", "def max(a, b): return a", "def max(a, b): return []"),
        ("list(filter(lambda x: x > 1, [1, 2])) == [2]",
         "def filter(f, xs): return [x for x in xs if f(x)]", "def filter(f, xs): return xs"),
        ("list(filter(None, [0, 2])) == [2]",
         "def filter(f, xs): return (x for x in xs if x)", "def filter(f, xs): return xs"),
        ("isinstance(max(1, 2), int)", "def max(a, b): return 7", "def max(a, b): return ''"),
        ("abs(sum(1, 2) - 3) < 1e-6", "def sum(a, b): return a + b", "def sum(a, b): return 9"),
        ("sum(range(4)) == 6", "def sum(xs): return 6", "def sum(xs): return 5"),
        ("sum(i for i in range(4)) == 6", "def sum(xs): return [*xs][3] * 2",
         "def sum(xs): return 5"),
        ("sum(range(4)) == 6", "def range(n): return [6]", "def range(n): return [5]"),
        ("sorted(list('ba')) == ['a', 'b']", "def sorted(x): return x[::-1]",
         "def sorted(x): return x"),
        ("sorted(sorted([2, 1, 3])) == [1, 2, 3]", "def sorted(x): return [1, 2, 3]",
         "def sorted(x): return x"),
        ("max(1, 2) == 102 and min(1, 2) == 201",
         "def max(a, b): return a * 100 + b\ndef min(a, b): return b * 100 + a",
         "def max(a, b): return a * 100 + b\ndef min(a, b): return 1"),
    ],
)  # fmt: skip
def test_one_built_in_name_within_another(test: str, good: str, wrong: str) -> None:
    everything = "\n".join(
        f"def {n}(*a, f={n}): return {{}}" for n in ("len", "list", "isinstance", "abs", "range")
    )
    clauses = test.split(" and ")
    for tests in (
        {"code": f"assert {test}"},
        {"code": f"def test():\n    assert {test}"},
        {"code": "def test():\n" + "".join(f"    assert {clause}\n" for clause in clauses)},
        [(clause, True) for clause in clauses],
    ):
        if "lambda" in test and tests != {"code": f"assert {test}"}:
            continue  # functions do not cross
        assert score(good, tests) == 1.0
        assert score(wrong, tests) == 0.0
        for name in ("range", "list"):  # with what would be the innermost, were that all it took
            more = f"def {name}(*a, real={name}): return [*real(*a)]\n"
            assert f"def {name}" in wrong or score(more + wrong, tests) == 0.0
    assert score(f"{everything}\n{wrong}", {"code": f"assert {test}"}) == 0.0


@pytest.mark.parametrize(
    "code",
    [
        "x = range(4)\nassert sum(x) == 6",
        "def test():\n    x = range(4)\n    assert sum(x) == 6",
        "def test():\n    for n in range(0):\n        return\n    assert sum([1, 2, 3]) == 6",
        "def test():\n    if len([1]) > 5:\n        return\n    assert sum([1, 2, 3]) == 6",
        "def it(x):\n    if len([1]) > 5:\n        return 6\n    return sum(x)\n"
        "def test():\n    assert it([1, 2, 3]) == 6",
        "def test():\n    try:\n        hash(1)\n        assert sum([1, 2, 3]) == 6\n"
        "    except ZeroDivisionError:\n        pass",
        "x = [3]\nsorted(x)\nassert sum([1, 2, *x]) == 6",
        "import unittest\nclass T(unittest.TestCase):\n    def setUp(self):\n"
        "        self.x = range(4)\n    def test(self):\n        self.assertEqual(sum(self.x), 6)",
    ],
)
def test_a_wrong_program_is_not_paid_for_what_else_it_defines(code: str) -> None:
    helpers = (
        "def range(n): return [6]\ndef len(x): return 9\n"
        "def hash(x): raise ZeroDivisionError\ndef sorted(x): x[:] = [3]; return x\n"
    )
    wrong = "def sum(x): return x[0] if x else 0\n"
    assert score(helpers + wrong, {"code": code}) == 0.0
    assert score(helpers.replace("[6]", "[*[0] * n, 0, 9]") + wrong, {"code": code}) == 0.0
    right = "def sum(x):\n    total = 0\n    for y in x: total += y\n    return total\n"
    assert score(right, {"code": code}) == 1.0


def test_an_entry_is_alone_the_programs() -> None:
    check = (
        "def check(candidate):\n    for a in (1, 2):\n        assert candidate(a, 2) == max(a, 2)"
    )
    tests = {"code": check, "entry_point": "max"}
    assert score("def max(a, b): return 0", tests) == 0.0  # not equal to itself alone
    assert score("def max(a, b): return a if a > b else b", tests) == 1.0
    tests = {"code": "assert len(max([1], [2])) == 1", "entry_point": "max"}
    assert score("def max(a, b): return []\ndef len(x): return 1", tests) == 0.0
    assert score("def max(a, b): return a\ndef len(x): return 9", tests) == 1.0
    tests = {"code": "assert Solution().sum([1]) == sum([1])", "entry_point": "Solution().sum"}
    tests = {"code": "def check(c):\n    for x in ([1],):\n        assert c(x) == sum(x)",
             "entry_point": "Solution().sum"}  # fmt: skip
    solution = "class Solution:\n    def sum(self, x):\n        return {}\ndef sum(x): return 0"
    assert score(solution.format(1), tests) == 1.0
    assert score(solution.format(0), tests) == 0.0


def test_a_prompt_and_a_set_up_that_define_the_entry() -> None:
    prompt = "def max(a, b):\n    '''Join.'''\n"
    code = (
        "def check(candidate):\n    for a in (1, 2):\n        assert candidate(a, 2) == a * 100 + 2"
    )
    for key in ("prompt", "setup"):
        tests = {"code": code, "entry_point": "max", key: prompt}
        assert score("def max(a, b): return a * 100 + b", tests) == 1.0
        assert score("def max(a, b): return None", tests) == 0.0
    code = "x = max(1, 2)\nassert x == 102"
    tests = {"code": code, "entry_point": "max", "setup": prompt}
    assert score("def max(a, b): return a * 100 + b", tests) == 1.0


def test_tests_apart_do_not_disturb_each_other() -> None:
    code = "assert max(1, 2) == 102\nassert len(f(1)) == 1\nx = 3\nassert len([x]) == 900"
    program = "def max(a, b): return a * 100 + b\ndef f(x): return [x]\ndef len(x): return 900"
    assert score(program, {"code": code}) == 1.0
    assert score(program.replace("[x]", "[]"), {"code": code}) == 0.0
    code = "def test_a():\n    assert max(1, 2) == 102\ndef test_b():\n    assert len(f(1)) == 1"
    assert score(program, {"code": code}) == 1.0
    both = "def test():\n    assert max(1, 2) == 102\n    assert len([]) == 900"
    assert score(program, {"code": both}) == 1.0
    reward = grade(program, {"code": "assert max(1, 2) == 102\nassert len([]) == 0"},
                   partial_credit=True)  # fmt: skip
    assert reward.score == 0.5


def test_a_name_of_the_tests_own_is_theirs() -> None:
    code = "def max(a, b):\n    return 5\nassert f(1) == max(1, 2)\nassert max(0, 0) == 5"
    program = "def f(x): return 5\ndef max(a, b): return 6"
    assert score(program, {"code": code}) == 1.0
    local = "def test():\n    max = 5\n    assert f(1) == max"
    assert score(program, {"code": local}) == 1.0


def test_exceptions_and_types_in_passing_are_pythons() -> None:
    code = (
        "def test():\n    try:\n        max(1, 2)\n    except ValueError:\n        pass\n"
        "    else:\n        assert False\n"
    )
    program = "def max(a, b): raise ValueError('no')"
    assert score(program, {"code": code}) == 1.0
    assert score("def max(a, b): return 1", {"code": code}) == 0.0
    assert score(program + "\nclass ValueError2(ValueError): pass", {"code": code}) == 1.0


# -- rows ------------------------------------------------------------------------------------------


def test_mbpp_126_is_earned_and_kept(tmp_path: Path) -> None:
    plan = read_code_row(MBPP_126).plan
    assert score(MBPP_126["code"], plan) == 1.0  # type: ignore[arg-type]
    assert score("def sum(a, b): return 6", plan) == 0.0
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(MBPP_126) + "\n")
    (row,) = audit(str(path), AuditOptions(code=CodeSettings(sandbox_timeout_s=1.0)))
    assert not {"reference fails", "flaky"} & set(row.kinds), row
    assert row.killed


def test_apps_rows_that_ask_for_a_built_in_name() -> None:
    cases = {"fn_name": "sum", "inputs": [[1, 2], [3, 4]], "outputs": [[3], [7]]}
    plan = read_code_row({"question": "q", "input_output": json.dumps(cases)}).plan
    assert score("def sum(a, b): return a + b", plan) == 1.0
    assert score("class Solution:\n    def sum(self, a, b): return a + b", plan) == 1.0
    assert score("def sum(a, b): return 3", plan) == 0.0


# -- the parts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("f(1)", ()),
        ("max(1, 2)", ((), ("max",))),
        ("len(f(3))", (("len",),)),
        ("isinstance(max(1, 2), int)", (("int",), ("isinstance", "max"))),
        ("f(list(range(3)))", (("list", "range"),)),
        ("[len for len in f(1)]", ()),
        ("sum(math.floor(x) for x in [1])", ((), ("sum",))),
        ("list(map(len, []))", ((), ("len", "list", "map"))),
    ],
)
def test_names_of_an_expression(text: str, names: Names) -> None:
    assert expression_names(text) == names


@given(
    st.lists(st.sets(st.sampled_from("abcdefgh"), min_size=1)), st.sets(st.sampled_from("abcdefgh"))
)
def test_each_name_is_tested_apart_from_its_rivals(groups: list[set[str]], own: set[str]) -> None:
    found = readings([["z"], *map(sorted, groups)], own | {"z"})
    named = own.intersection(*[set().union(*groups)])
    assert set().union(*found) == named
    assert all(len(reading & group) <= 1 for reading in found for group in groups)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(OFTEN), st.sampled_from(sorted(set(OFTEN))), st.booleans())
def test_a_wrong_function_is_never_paid(tested: str, other: str, inside: bool) -> None:
    """Whatever else a program defines, and however it makes that one lie."""
    code = f"assert {tested}(1, 2) == 102\nassert {other}([{tested}(1, 2)]) == {other}([102])"
    if inside:
        code = "def test():\n    " + code.replace("\n", "\n    ")
    wrong = f"def {tested}(*a): return 0\n"
    lie = f"def {other}(*a): return 1\n" if other != tested else ""
    assert score(lie + wrong, {"code": code}) == 0.0


def test_plain_calls_carry_no_names() -> None:
    for tests in ([("f(1)", 2)], {"code": "assert f(1) == 2\nassert abs(f(2) - 1) < 1e-6"}):
        assert not any(test.names for test in make_plan(tests).tests)
    assert "max" in dir(builtins)


@pytest.mark.quick
@pytest.mark.parametrize(
    "code",
    ["f(x, key=y)[z:1]", "assert f(*a) == {b: [c, (d,)]}", "a.b = c = f(d)", "x[i] = not y",
     "f(lambda x: x + y)", "[x for x in y]", "(x := y)", "import a.b", "def g(a=b): return c"],
)  # fmt: skip
def test_names_seen_at_a_glance_are_those_of_pythons_tables(code: str) -> None:
    assert global_names(ast.parse(code)) == global_names(code)
