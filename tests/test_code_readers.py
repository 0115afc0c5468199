"""A row of each published form, made by us: its reference passes, and its mutants fail."""

# ruff: noqa: E501  (a row reads best with what belongs together on one line)

from __future__ import annotations

import base64
import gzip
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mint_envs.cli import main
from mint_envs.code.grade import GradeSettings, grade_many
from mint_envs.code.readers import READERS
from mint_envs.code.rows import read_code_row, reader_of
from mint_envs.errors import DatasetError
from mint_envs.sandbox import shared

DATA = Path(__file__).parent / "data"


def packed(value: Any) -> str:
    """Write tests as LiveCodeBench does its private ones."""
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


def stdin(*pairs: tuple[str, str], **more: Any) -> list[dict[str, Any]]:
    return [{"input": one, "output": other, **more} for one, other in pairs]


SUM = "print(sum(map(int, input().split())))"
REVERSE = """\
class Solution:
    def turned(self, head: Optional[ListNode]) -> Optional[ListNode]:
        last = None
        while head:
            last, head = ListNode(head.val, last), head.next
        return last
"""
MIRROR = """\
class Solution:
    def turned(self, t: TreeNode) -> TreeNode:
        return t and TreeNode(t.val, self.turned(t.right), self.turned(t.left))
"""
PAIRS = (("1 2\n", "3\n"), ("5 -7\n", "-2\n"))
CASES = {"inputs": [one for one, _ in PAIRS], "outputs": [other for _, other in PAIRS]}
SUM_MUTANTS = (
    "print(3)",
    "a, b = map(int, input().split())\nprint(a - b)",
    "print(-2)",
    "",
    "1 / 0",
)
DOUBLE = "class Solution:\n    def double(self, xs):\n        return [2 * x for x in xs]"
DOUBLE_MUTANTS = (
    DOUBLE.replace("2 * x", "x + x * x"), "class Solution:\n    def double(self, xs): return xs",
    "class A:\n    def __eq__(self, other): return True\n"
    "class Solution:\n    def double(self, xs): return A()",
)  # fmt: skip
ADD = "def add(a, b):\n    return a + b"
ADD_MUTANTS = ("def add(a, b):\n    return a - b", "def add(a, b):\n    return 3", "add = 3")
CHECK = (
    "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(5, -7) == -2\n"
)
HEAD = 'def add(a, b):\n    """Add."""\n'
PLUS = (
    "import numpy as np\ndef is_floats(x) -> bool:\n    return isinstance(x, float)\n"
    "def assertion(out, exp, atol):\n    if atol == 0 and is_floats(exp):\n        atol = 1e-06\n"
    "    if out != exp and atol != 0:\n        assert np.allclose(out, exp, rtol=1e-07, atol=atol)\n"
    "    else:\n        assert out == exp\n"
)
LOOP = (
    "inputs = [[1, 2], [0.5, 0.25], [5, -7], [1, float_inf]]\nresults = [3, 0.75, -2, inf]\n"
    "for i, (inp, exp) in enumerate(zip(inputs, results)):\n    assertion({f}(*inp), exp, 0)\n"
).replace("float_inf", "inf")
ANY = "import sys\nn = int(open(sys.argv[1]).read())\na = open(sys.argv[3]).read().split()\n" \
      "print(int(len(a) == 2 and sum(map(int, a)) == n))"  # fmt: skip

#: (name of the reader, row, reference, mutants)
ROWS: list[tuple[str, dict[str, Any], str, tuple[str, ...]]] = [
    ("MinT", {"question": "Add.", "tests": [{"stdin": a, "stdout": b} for a, b in PAIRS],
              "time_limit": 2, "compare": "exact"}, SUM, SUM_MUTANTS),
    ("MinT", {"question": "Any two.", "tests": [{"stdin": "5\n", "stdout": "2 3\n"}],
              "checker": {"code": ANY.replace("argv[3]", "argv[2]").replace(
                  "print(int(", "sys.exit(not (").replace("== n))", "== n))")}},
     "print(1, int(input()) - 1)", ("print(2, 4)", "print(5)", "print('x y')")),
    ("DeepCoder", {"problem": "Add.", "tests": json.dumps(stdin(*PAIRS, type="stdin_stdout"))},
     SUM, SUM_MUTANTS),
    ("DeepCoder", {"problem": "Add.", "tests": json.dumps(CASES)}, SUM, SUM_MUTANTS),
    ("DeepCoder", {"problem": "Add.", "starter_code": "", "tests": json.dumps(
        stdin(*PAIRS, testtype="stdin", metadata={"func_name": None}))}, SUM, SUM_MUTANTS),
    ("DeepCoder", {"problem": "Double.", "metadata": {"func_name": "double"}, "tests": json.dumps(
        stdin(("[1, 3]", "[2, 6]"), ("[]", "[]"), testtype="functional"))}, DOUBLE, DOUBLE_MUTANTS),
    ("DeepCoder", {"problem": "Double.", "tests": json.dumps([
        {"type": "function_call", "fn_name": "double", "input": [[1, 3]], "output": [[2, 6]]}])},
     DOUBLE, DOUBLE_MUTANTS),
    ("DeepCoder", {"problem": "Reverse a list.", "tests": {"functional":
        "def check(candidate):\n    assert is_same_list(candidate(head = list_node([1, 2, 3])), "
        "list_node([3, 2, 1]))\n    assert is_same_list(candidate(list_node([])), list_node([]))\n\n\n"
        "check(Solution().turned)"}},
     REVERSE, (REVERSE.replace("return last", "return head"), REVERSE.replace("last = None", "")
               , f"{REVERSE.replace('return last', 'return 1')}\ndef is_same_list(*_): return True\n")),
    ("DeepCoder", {"problem": "Mirror a tree.", "tests": {"functional":
        "def check(candidate):\n    assert is_same_tree(candidate(tree_node([1, 2, None, 3, 4])), "
        "tree_node([1, None, 2, 4, 3]))\n\n\ncheck(Solution().turned)"}},
     MIRROR, (MIRROR.replace("(t.right)", "(t.left)"), "class Solution:\n    turned = id\n")),
    ("LeetCodeDataset", {
        "prompt": "from typing import *\nfrom math import inf\n", "entry_point": "Solution().double",
        "problem_description": "Double.", "starter_code": "class Solution: ...", "completion": DOUBLE,
        "test": "def check(candidate):\n    assert candidate(xs = [1, 3]) == [2, 6]\n",
        "input_output": []},
     DOUBLE.replace("xs)", "xs: List[int], _=inf)"), DOUBLE_MUTANTS),
    ("HumanEval", {"prompt": HEAD, "entry_point": "add", "test": CHECK,
                   "canonical_solution": "    return a + b\n"}, ADD, ADD_MUTANTS),
    ("HumanEval+", {"prompt": HEAD, "entry_point": "add", "canonical_solution": "    return a + b\n",
                    "test": PLUS + "def check(candidate):\n    " + LOOP.format(f="candidate").replace(
                        "\n", "\n    ")}, ADD, ADD_MUTANTS),
    ("HumanEval+ (inputs alone)", {
        "task_id": "HumanEval/x", "prompt": HEAD, "entry_point": "add", "atol": 0, "contract": "",
        "canonical_solution": "    return a + b\n", "base_input": [[1, 2]],
        "plus_input": [[5, -7], [0.5, 0.1]]}, ADD, ADD_MUTANTS),
    ("MBPP", {"text": "Add.", "code": ADD, "test_list": ["assert add(1, 2) == 3"],
              "challenge_test_list": ["assert add(5, -7) == -2"]}, ADD, ADD_MUTANTS),
    ("MBPP+", {"prompt": "Add.", "code": ADD, "test_list": ["assert add(1, 2) == 3"],
               "test_imports": [], "test": PLUS + "from math import inf\n" + LOOP.format(f="add")},
     ADD, ADD_MUTANTS),
    ("TACO", {"question": "Add.", "input_output": json.dumps(CASES), "raw_tags": "[]",
              "time_limit": "2.0 seconds", "memory_limit": "256.0 megabytes",
              "solutions": json.dumps([SUM])}, SUM, SUM_MUTANTS),
    ("APPS", {"question": "Add.", "input_output": json.dumps(CASES), "starter_code": "",
              "solutions": json.dumps([SUM])}, SUM, SUM_MUTANTS),
    ("APPS", {"question": "Double.", "starter_code": "class Solution: ...", "input_output": json.dumps(
        {"fn_name": "double", "inputs": [[[1, 3]], [[2]]], "outputs": [[[2, 6]], [4]]})},
     DOUBLE, DOUBLE_MUTANTS),
    ("APPS", {"question": "Swap.", "input_output": json.dumps(
        {"fn_name": "swap", "inputs": [[{"1": 2}]], "outputs": [{"2": 1}]})},
     "def swap(d): return {v: k for k, v in d.items()}", ("def swap(d): return d",)),
    ("CodeContests", {
        "description": "Add.", "public_tests": {"input": [PAIRS[0][0]], "output": [PAIRS[0][1]]},
        "private_tests": {"input": [], "output": []}, "input_file": "",
        "generated_tests": {"input": [PAIRS[1][0]], "output": [PAIRS[1][1]]},
        "time_limit": {"seconds": 1, "nanos": 500000000}, "memory_limit_bytes": 256000000,
        "solutions": {"language": [2, 3], "solution": ["int main() {}", SUM]}}, SUM, SUM_MUTANTS),
    ("LiveCodeBench", {
        "question_content": "Add.", "public_test_cases": json.dumps(stdin(PAIRS[0], testtype="stdin")),
        "private_test_cases": packed(json.dumps(stdin(PAIRS[1], testtype="stdin"))),
        "metadata": "{}", "starter_code": ""}, SUM, SUM_MUTANTS),
    ("LiveCodeBench", {
        "question_content": "Double.", "metadata": json.dumps({"func_name": "double"}),
        "public_test_cases": json.dumps(stdin(("[1, 3]", "[2, 6]"), testtype="functional")),
        "private_test_cases": json.dumps(stdin(("[]", "[]"), testtype="functional")),
        "starter_code": "class Solution:\n    def double(self, xs: List[int]) -> List[int]: ..."},
     DOUBLE.replace("xs)", "xs: List[int]) -> List[int]"), DOUBLE_MUTANTS),
    ("open-r1 codeforces", {
        "id": "1/A", "title": "Add", "description": "Add.", "input_mode": "stdio", "time_limit": 1.0,
        "memory_limit": 256.0, "interaction_format": None, "official_tests_complete": True,
        "generated_checker": None, "examples": stdin(PAIRS[0]), "official_tests": stdin(*PAIRS)},
     SUM, SUM_MUTANTS),
    ("open-r1 codeforces", {
        "id": "1/B", "title": "Any two", "description": "Add up.", "official_tests_complete": True,
        "generated_checker": ANY, "official_tests": stdin(("5\n", "2 3\n"), ("9\n", "4 5\n"))},
     "print(1, int(input()) - 1)", ("print(2, 3)", "print(5)", "print('x y')")),
    ("PrimeIntellect, SYNTHETIC-1, open-r1 verifiable", {
        "prompt": "Add.", "task_type": "verifiable_code", "gold_standard_solution": f"```python\n{SUM}\n```",
        "verification_info": json.dumps({"language": "python", "test_cases": stdin(
            *PAIRS, type="stdin_stdout", fn_name=None)})}, SUM, SUM_MUTANTS),
    ("PrimeIntellect, SYNTHETIC-1, open-r1 verifiable", {
        "prompt": "Double.", "verification_info": repr({"language": "python", "test_cases": [
            {"type": "function_call", "fn_name": "double", "input": [[1, 3]], "output": [2, 6]}]})},
     DOUBLE, DOUBLE_MUTANTS),
    ("Eurus, verl", {
        "data_source": "codeforces", "ability": "code", "prompt": [
            {"role": "system", "content": "Think."}, {"role": "user", "content": "Add."}],
        "reward_model": {"style": "rule", "ground_truth": json.dumps(CASES)}}, SUM, SUM_MUTANTS),
    ("AceCode", {"id": "1", "question": "Write add.", "source": "oss",
                 "test_cases": ["assert add(1, 2) == 3", "assert add(5, -7) == -2"]}, ADD, ADD_MUTANTS),
    ("KodCode", {"question": "Write add.", "solution": ADD, "test_info": [
        {"function_name": "add", "function_declaration": "def add(a, b):"}],
        "test": "def test_one():\n    assert add(1, 2) == 3\n\n"
                "def test_two():\n    assert add(5, -7) == -2\n"}, ADD, ADD_MUTANTS),
    ("BigCodeBench", {
        "complete_prompt": HEAD, "code_prompt": "def add(a, b):\n", "instruct_prompt": "Write add.",
        "entry_point": "add", "canonical_solution": "    return a + b\n",
        "test": "import unittest\nclass TestCases(unittest.TestCase):\n"
                "    def test_one(self): self.assertEqual(add(1, 2), 3)\n"
                "    def test_two(self): self.assertEqual(add(5, -7), -2)\n"}, ADD, ADD_MUTANTS),
    ("SandboxFusion", {"content": "Add.", "test": json.dumps(
        [{"input": {"stdin": a}, "output": {"stdout": b}} for a, b in PAIRS])}, SUM, SUM_MUTANTS),
    ("SandboxFusion", {"content": "Add.", "canonical_solution": SUM,
                       "test": packed({"input_output": json.dumps(CASES)})}, SUM, SUM_MUTANTS),
    ("SandboxFusion", {"content": "Write add.", "labels": '{"entry_point": "add"}',
                       "test": "assert add(1, 2) == 3\nassert add(5, -7) == -2"}, ADD, ADD_MUTANTS),
]  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize(("name", "row"), [(name, row) for name, row, *_ in ROWS])
def test_a_form_is_known_by_its_columns(name: str, row: dict[str, Any]) -> None:
    reader = reader_of(row)
    assert reader is not None
    assert reader.name == name


@pytest.mark.quick
def test_every_reader_but_one_has_its_row_here() -> None:
    """MultiPL-E's rows end in a call of ``check`` inside a function."""
    assert {reader.name for reader in READERS} - {name for name, *_ in ROWS} == {"MultiPL-E"}


def test_references_pass_and_mutants_fail() -> None:
    items, wanted = [], []
    for name, row, reference, mutants in ROWS:
        problem = read_code_row(row)
        programs = [reference, *filter(None, [problem.reference]), *mutants]
        items += [(f"```python\n{program}\n```", problem.plan) for program in programs]
        right = len(programs) - len(mutants)
        wanted += [(name, program, float(i < right)) for i, program in enumerate(programs)]
    rewards = grade_many(items, GradeSettings(max_tests_per_problem=100), shared(None))
    wrong = [
        (name, program, reward.score, reward.metadata["error"])
        for (name, program, score), reward in zip(wanted, rewards, strict=True)
        if reward.score != score
    ]
    assert wrong == []


def test_the_rule_of_a_set_is_named() -> None:
    found = {}
    for name, row, reference, _ in ROWS:
        reward = grade_many([(reference, read_code_row(row).plan)], GradeSettings(), shared(None))[
            0
        ]
        found.setdefault(name, reward.metadata["rule"])
    assert found["APPS"] == "apps"
    assert found["TACO"] == "taco"
    assert found["CodeContests"] == "codecontests"
    assert found["LiveCodeBench"] == "livecodebench"
    assert found["Eurus, verl"] == "prime"
    assert found["open-r1 codeforces"] == "tokens"
    assert found["MinT"] == "exact"


class Evil:
    def __reduce__(self) -> Any:
        return print, ("run",)


@pytest.mark.quick
@pytest.mark.parametrize(
    "private",
    [packed(Evil()), packed([Evil()]), packed(5), packed("no json"), "AAAA", "eJzz", "not base64!",
     packed(json.dumps({"a": 1})), packed(json.dumps(stdin(testtype="x"))[:-1]),
     base64.b64encode(zlib.compress(b"cos\nsystem\n(S'true'\ntR.")).decode()],
)  # fmt: skip
def test_a_pickle_runs_nothing(private: str, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"question_content": "x", "public_test_cases": "[]", "private_test_cases": private}
    with pytest.raises(DatasetError, match="row 1"):
        read_code_row(row)
    assert capsys.readouterr().out == ""


def row_of(name: str) -> dict[str, Any]:
    return next(row for known, row, *_ in ROWS if known == name)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("APPS", {"checker": "x"}, "checker"),
        ("APPS", {"time_limit": 3}, "time_limit"),
        ("APPS", {"interactive": True}, "interactive"),
        ("LiveCodeBench", {"special_judge": "yes"}, "special_judge"),
        ("TACO", {"time_limit": "soon"}, "soon"),
        ("CodeContests", {"input_file": "input.txt"}, "input_file"),
        ("open-r1 codeforces", {"interaction_format": "Ask."}, "interactive"),
        ("open-r1 codeforces", {"input_mode": "file"}, "input_mode"),
        ("open-r1 codeforces", {"official_tests_complete": False}, "only some"),
        ("open-r1 codeforces", {"official_tests": []}, "no test"),
        ("open-r1 codeforces", {"time_limit": -1}, "time_limit"),
        ("Eurus, verl", {"ability": "math"}, "no problem of code"),
        ("PrimeIntellect, SYNTHETIC-1, open-r1 verifiable",
         {"verification_info": '{"ground_truth": "5"}', "task_type": "verifiable_math"},
         "verifiable_math"),
        ("PrimeIntellect, SYNTHETIC-1, open-r1 verifiable",
         {"verification_info": '{"language": "cobol", "test_cases": []}'}, "cobol"),
        ("MinT", {"checker": {"code": ""}}, "checker"),
        ("MinT", {"tolerance": "x"}, "tolerance"),
        ("DeepCoder", {"tests": json.dumps(stdin(("1", "1"), type="shell"))}, "shell"),
        ("HumanEval", {"checker": "x"}, "checker"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(name: str, change: dict[str, Any], words: str) -> None:
    assert read_code_row(row_of(name))
    with pytest.raises(DatasetError, match=words):
        read_code_row({**row_of(name), **change})


@pytest.mark.quick
def test_columns_that_are_empty_say_nothing() -> None:
    for key in ("checker", "interactive", "time_limit"):
        for value in (None, False, "", [], {}):
            assert read_code_row({**row_of("APPS"), key: value})


@pytest.mark.quick
def test_multipl_e_is_read_for_python_alone() -> None:
    row = {"name": "x", "language": "lua", "prompt": HEAD, "doctests": "", "tests": CHECK}
    with pytest.raises(DatasetError, match="lua"):
        read_code_row(row)
    tests = f"{CHECK}\ndef test_check():\n    check(add)\n\ntest_check()\n"
    assert read_code_row({**row, "language": "py", "tests": tests}).name == "add"


def test_imports_from_the_future_stay_the_first() -> None:
    problem = read_code_row(row_of("APPS"))
    program = f"from __future__ import annotations\n{SUM}"
    reward = grade_many([(program, problem.plan)], GradeSettings(), shared(None))[0]
    assert reward.score == 1.0


def test_a_large_whole_number_is_wanted_and_shown() -> None:
    row = {**row_of("HumanEval+ (inputs alone)"), "canonical_solution": "    return a ** b\n",
           "base_input": [[7, 9000]], "plus_input": [[7, 9001]]}  # fmt: skip
    problem = read_code_row(row)
    programs = ["def add(a, b): return a ** b", "def add(a, b): return a ** b + 1"]
    items = [(program, problem.plan) for program in programs]
    found = grade_many(items, GradeSettings(max_tests_per_problem=1), shared(None))
    assert [reward.score for reward in found] == [1.0, 0.0]


def test_the_problems_of_human_eval_are_read_as_before() -> None:
    with gzip.open(DATA / "HumanEval.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    assert {reader.name for row in rows if (reader := reader_of(row))} == {"HumanEval"}


def test_the_command_names_the_sets() -> None:
    found = CliRunner().invoke(main, ["list", "mint/Code-v0", "--json"])
    (dataset,) = (s for s in json.loads(found.output)["mint/Code-v0"] if s["name"] == "dataset")
    assert dataset["forms"] == [reader.name for reader in READERS]
    said = " ".join(CliRunner().invoke(main, ["list", "mint/Code-v0"]).output.split())
    assert all(reader.name in said for reader in READERS)
    assert "rows are read" not in CliRunner().invoke(main, ["list", "mint/Math-v0"]).output


def test_tests_of_eval_plus_that_reckon_themselves_get_time_and_memory() -> None:
    own = "def ref_func(a, b):\n    return a + b\n" + LOOP.replace("exp,", "ref_func(*inp),")
    row = {"prompt": "Add.", "code": ADD, "test_list": ["assert add(1, 2) == 3"],
           "test": PLUS + "from math import inf\n" + own.format(f="add")}  # fmt: skip
    plan = read_code_row(row).plan
    run = plan.limits.of_run(5.0, 1024, "python")
    assert (plan.kind, run.cpu_s, run.memory) == ("split", 30.0, 4 << 30)
    assert grade_many([(ADD, plan)], GradeSettings(), shared(None))[0].score == 1.0
    other = {**row, "test": "# no ref_func here\nassert add(1, 2) == 3\nassert add(2, 2) == 4\n"}
    run = read_code_row(other).plan.limits.of_run(1.0, 256, "python")
    assert (run.cpu_s, run.memory) == (1.0, 256 << 20)  # as was set
