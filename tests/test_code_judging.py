"""What is printed is judged by a rule or by a checker, within limits that a row may bring."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mint_envs.code import grade
from mint_envs.code.checkers import Checker, read_checker
from mint_envs.code.judging import RULES, same_output
from mint_envs.code.limits import RowLimits, contest_limits, read_limits
from mint_envs.code.plan import make_plan
from mint_envs.code.values import Tolerance
from mint_envs.errors import SettingError
from mint_envs.sandbox import Outcome, shared
from mint_envs.sandbox.toolchains import TOOLCHAINS

# -- rules -----------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize(
    ("compare", "got", "want", "right"),
    [
        ("tokens", "0.333333", "0.333333333333\n", True),
        ("tokens", "0.33333", "0.333333333333", False),
        ("tokens", "1000000.5", "1000000.0", True),
        ("tokens", "1", "1.0", True),
        ("tokens", "1.0", "1", False),
        ("tokens", "100000000000000001", "100000000000000000", False),
        ("tokens", "100000", "1e5", True),
        ("tokens", "a  b\n\n", "a b", True),
        ("tokens", "ab", "a b", False),
        ("tokens", "1.5.2", "1.5.1", False),
        ("tokens", "nan", "nan", True),
        ("tokens", "nan", "1.0", False),
        ("exact", "a b\n", "a b", True),
        ("exact", "a b \n", "a b\n", False),
        ("exact", "a b\n\n", "a b\n", False),
        ("lines", " a b \nc", "a b\nc\n", True),
        ("lines", "a\nb\nc", "a\nb", False),
        ("lines", "a", "a\nb", False),
        ("livecodebench", "1.50 2", "1.5 2.0", True),
        ("livecodebench", "1.5000001", "1.5", False),
        ("livecodebench", "a  b", "a b", False),
        ("livecodebench", "1\n2", "1 2", False),
        ("livecodebench", "sNaN", "sNaN 1", False),
        ("apps", "NO\nYES\nYES", "YES\nNO\nYES\n", True),
        ("apps", "NO\nNO\nMAYBE", "YES\nNO\nYES\n", False),
        ("apps", "0.333331\n2", "0.333333\n2", True),
        ("apps", "1\n\n2\n", "1\n2\n", True),
        ("taco", "3 2 1", "1 2 3", False),
        ("taco", " 1 2 3\n", "1 2 3", True),
        ("prime", "0.333331\n2", "0.333333\n2", True),
        ("prime", "100001\n2", "100000\n2", False),
        ("prime", "NO\nYES", "YES\nNO", False),
        ("codecontests", "yes\n0.500001", "YES\n0.5", True),
        ("codecontests", "yes\n0.5001", "YES\n0.5", False),
        ("codecontests", "900000000000000001", "900000000000000000", False),
        ("codecontests", "+05 -0", "5 0", True),
    ],
)
def test_a_rule(compare: str, got: str, want: str, right: bool) -> None:
    assert same_output(got, want, compare) is right


WORD = st.one_of(st.integers(-99, 99).map(str), st.floats(-99, 99).map("{:.3f}".format),
                 st.sampled_from(["YES", "no", "inf", "1e3", "-0", ".5", "x1"]))  # fmt: skip
LINES = st.lists(st.lists(WORD, min_size=1, max_size=3), min_size=1, max_size=4)


def written(lines: list[list[str]]) -> str:
    return "".join(" ".join(words) + "\n" for words in lines)


@pytest.mark.quick
@given(LINES)
def test_every_rule_takes_the_answer_itself(lines: list[list[str]]) -> None:
    text = written(lines)
    assert [name for name in RULES if not same_output(text, text, name)] == []


@pytest.mark.quick
@given(LINES, LINES)
def test_a_looser_tolerance_never_takes_a_mark_away(one: Any, other: Any) -> None:
    marks = [
        same_output(written(one), written(other), "tokens", Tolerance(room, room))
        for room in (0.0, 1e-9, 1e-6, 1e-3, 0.5)
    ]
    assert marks == sorted(marks)


# -- checkers --------------------------------------------------------------------------------------

#: Any factor of the number that went in, but for 1 and itself.
FACTOR = (
    "import sys\nn = int(open(sys.argv[1]).read())\nwords = open(sys.argv[2]).read().split()\n"
    "ok = len(words) == 1 and words[0].isdecimal() and 1 < int(words[0]) < n\n"
    "sys.exit(0 if ok and n % int(words[0]) == 0 else 1)\n"
)
NUMBER = (
    "import sys\nn, answer, got = (open(name).read().split() for name in sys.argv[1:])\n"
    "print(1 if int(n[0]) % int(got[0]) == 0 and got[0] != '1' else 0)\n"
)
CPP = (
    "#include <fstream>\n#include <iostream>\nint main(int, char** a) { long n, x = 0; "
    'std::ifstream(a[1]) >> n; std::ifstream(a[2]) >> x; std::cerr << "said"; '
    "return x > 1 && x < n && n % x == 0 ? 0 : 1; }"
)
TESTS = [{"stdin": "12\n", "stdout": "2\n"}, {"stdin": "35\n", "stdout": "5\n"}]
LARGEST = "n = int(input())\nprint(next(k for k in range(n - 1, 1, -1) if n % k == 0))"


def checked(program: str, checker: Any, partial: bool = False) -> tuple[float | None, str]:
    tests = [{**test, "checker": checker} for test in TESTS]
    reward = grade(f"```\n{program}\n```", tests, partial_credit=partial)
    assert reward.metadata["rule"] == "checker"
    return reward.score, reward.metadata["reason"]


def test_a_checker_decides_where_several_answers_are_right() -> None:
    assert checked(LARGEST, FACTOR) == (1.0, "")
    assert checked("print(input())", FACTOR) == (0.0, "")
    assert checked("print(2)", FACTOR, partial=True) == (0.5, "")
    assert checked("print()", FACTOR) == (0.0, "")
    assert checked("1 / 0", FACTOR) == (0.0, "")


def test_a_checker_may_print_a_number() -> None:
    checker = {"code": NUMBER, "manner": "number"}
    assert checked(LARGEST, checker) == (1.0, "")
    assert checked("print(7)", checker, partial=True) == (0.5, "")


@pytest.mark.skipif(TOOLCHAINS["cpp"].path() is None, reason="g++ is not installed")
def test_a_checker_may_be_in_another_language_than_the_program() -> None:
    if shared(None).tier != "namespaces":
        pytest.skip("other languages need namespaces")
    assert checked(LARGEST, CPP) == (1.0, "")
    assert checked("print(5)", CPP) == (0.0, "")
    assert checked(LARGEST, "#include <none.h>")[0] is None


@pytest.mark.parametrize(
    "code",
    ["raise ValueError('no')", "import sys\nsys.exit(3)", "import sys\nsys.exit(77)",
     "import os\nos.kill(os.getpid(), 11)", "def broken(:"],
)  # fmt: skip
def test_a_checker_that_fails_measures_nothing(code: str) -> None:
    tests = [{**TESTS[0], "checker": code}]
    reward = grade(f"```\n{LARGEST}\n```", tests)
    assert reward.score is None
    assert "checker failed" in reward.metadata["reason"]


@pytest.mark.parametrize(
    "said", ["print('maybe')", "pass", "print(-1)", "print(2)", "print('nan')"]
)
def test_a_checker_that_is_not_understood_measures_nothing(said: str) -> None:
    assert checked(LARGEST, {"code": said, "manner": "number"})[0] is None


@pytest.mark.parametrize(
    "printed", ["print('x')", "print()", "print('9' * 5000)", "print('1\\n2 x')"]
)
def test_no_output_that_breaks_a_checker_is_left_out(printed: str) -> None:
    """A checker that works on the authors' answer works: what it cannot read is wrong."""
    careless = "import sys\nx = int(open(sys.argv[2]).read())\nsys.exit(0 if x in (2, 5) else 1)"
    assert checked("print(2 if int(input()) == 12 else 5)", careless) == (1.0, "")
    assert checked(printed, careless) == (0.0, "")


def test_a_checker_never_runs_beside_the_program_nor_sees_what_it_left() -> None:
    spoil = "open('output.txt', 'w').write('2')\nopen('input.txt', 'w').write('4')\nprint(1)"
    assert checked(spoil, FACTOR) == (0.0, "")


@pytest.mark.quick
@pytest.mark.parametrize(
    "checker",
    [5, "", {"code": ""}, {"language": "cpp"}, {"code": "x", "language": "cobol"},
     {"code": "x", "manner": "polygon"}, {"code": "x", "entry": "check"},
     {"code": "x", "files": {"../x": "y"}}, {"code": "x", "files": {"output.txt": "y"}},
     {"code": '#include "testlib.h"\nint main() {}'}],
)  # fmt: skip
def test_a_checker_that_is_no_checker_is_refused(checker: Any) -> None:
    with pytest.raises(SettingError):
        make_plan([{**TESTS[0], "checker": checker}])


@pytest.mark.quick
def test_a_checker_that_takes_too_long_says_nothing() -> None:
    late = Outcome(limit="cpu", stdout=b"1\n")
    assert Checker("").verdict(late) is None
    assert Checker("", manner="number").verdict(late) is None


@pytest.mark.quick
def test_a_checker_says_what_it_is() -> None:
    assert read_checker("#include <x>").language == "cpp"
    files = {"testlib.h": "", "a.h": ""}
    found = read_checker({"code": '#include "testlib.h"', "files": files})
    assert found == Checker('#include "testlib.h"', "cpp", files=(("a.h", ""), ("testlib.h", "")))


# -- limits and keys -------------------------------------------------------------------------------


def test_a_program_may_print_what_is_expected() -> None:
    wanted = "".join(f"{i}\n" for i in range(300_000))
    tests = [{"stdin": "", "stdout": wanted}]
    assert grade("for i in range(300000): print(i)", tests).score == 1.0
    assert grade("for i in range(299999): print(i)\nprint(0)", tests).score == 0.0
    endless = grade("while True: print('x' * 999)", [{"stdin": "", "stdout": "x"}])
    assert (endless.score, endless.metadata["limit"]) == (0.0, "output")


def test_a_test_may_bring_limits_of_its_own() -> None:
    slow = "for _ in range(10**9): pass"
    reward = grade(slow, [{"stdin": "", "stdout": "", "time_limit": 0.2}], sandbox_timeout_s=60)
    assert (reward.score, reward.metadata["limit"]) == (0.0, "cpu")
    large = "x = bytearray(700 << 20)\nprint(1)"
    test = {"stdin": "", "stdout": "1"}
    assert grade(large, [{**test, "memory_limit": 600}]).score == 0.0
    assert grade(large, [{**test, "memory_limit": 2000}]).score == 1.0
    small = "x = [0] * (100 << 17)\nprint(1)"
    reward = grade(small, [{**test, "memory_limit": 64}])
    assert (reward.score, reward.metadata["limit"]) == (0.0, "memory")
    assert grade(small, [{**test, "memory_limit": 128}]).score == 1.0
    much = grade("print('x' * (3 << 20))", [{**test, "output_limit": 2}])
    assert much.metadata["limit"] == "output"


@pytest.mark.quick
def test_the_limits_of_a_run() -> None:
    assert RowLimits().of_run(5.0, 1024, "python", "x").cpu_s == 5.0
    assert RowLimits(2.0, 256).of_run(5.0, 1024, "python").memory == 256 << 20
    contest = contest_limits(2, 256)
    assert contest.of_run(5.0, 1024, "python").cpu_s == 10.0
    assert contest.of_run(5.0, 1024, "cpp").cpu_s == 5.0
    assert contest.of_run(5.0, 1024, "cpp").memory == 1024 << 20
    assert contest_limits(None, 0).of_run(1.0, 16, "cpp") == RowLimits().of_run(1.0, 16, "cpp")
    for wrong in ({"time_limit": "2"}, {"time_limit": 0}, {"memory_limit": True}):
        with pytest.raises(SettingError):
            read_limits(wrong)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("key", "word"),
    [("interactive", "interactive"), ("interactor", "interactive"), ("chekcer", "checker"),
     ("validator", "not understood"), ("time_limit_ms", "time_limit")],
)  # fmt: skip
def test_a_key_that_is_not_understood_is_refused(key: str, word: str) -> None:
    with pytest.raises(SettingError, match=word):
        make_plan([{**TESTS[0], key: True}])


@pytest.mark.quick
@pytest.mark.parametrize("room", [-1, 2, True, "1e-6", float("nan")])
def test_a_tolerance_is_a_small_number(room: Any) -> None:
    with pytest.raises(SettingError, match="tolerance"):
        make_plan([{**TESTS[0], "tolerance": room}])
