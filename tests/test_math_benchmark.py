"""The benchmark of graders runs, counts rightly, and changes what it says it changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import math as benchmark
from benchmarks.math_forms import FINISHED
from benchmarks.math_public import RIGHT_AFTER_ALL, WRONG_AFTER_ALL, public

pytestmark = pytest.mark.quick


def test_it_runs_on_a_cases_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cases.jsonl"
    rows = [("1", "#### 1", True), ("1", "#### 2", False), ("1", "#### 1", False)]
    path.write_text(
        "\n".join(json.dumps({"gold": g, "response": r, "verdict": v}) for g, r, v in rows)
    )
    assert benchmark.main(["--cases", str(path), "--only", "ours"]) == 0
    assert "3 rows, 2 of them wrong" in capsys.readouterr().out


def test_it_counts_false_positives_and_negatives() -> None:
    cases = [("1", "#### 1", True), ("1", "#### 2", True), ("1", "#### 1", False)]
    rows = [benchmark.Row(*case) for case in cases]
    tally = benchmark.judge(rows, {"ours": benchmark.ours}, "rows")["ours"]
    assert (tally.false_positives, tally.false_negatives, tally.unknown) == (1, 1, 0)


def test_a_wrong_name_says_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        benchmark.main(["--only", "oars"])
    assert "math-verify" in capsys.readouterr().err


def test_a_missing_file_is_an_error_with_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.main(["--cases", "nowhere.jsonl", "--only", "ours"]) == 2
    assert "nowhere.jsonl" in capsys.readouterr().out


def test_changed_answers_are_changed() -> None:
    assert benchmark.digit_changed(r"\frac{1}{9}") == r"\frac{1}{0}"
    assert benchmark.digit_changed("x") is None
    assert benchmark.sign_flipped("5") == "-5"
    assert benchmark.sign_flipped("-5") == "5"
    assert benchmark.sign_flipped("0") is None
    assert benchmark.sign_flipped(r"\pm 3") is None
    assert benchmark.rewritten(r"\left( 3, \frac{1}{2} \right)") == (
        r"\displaystyle (3,\tfrac{1}{2})"
    )


def test_ours_is_given_the_question(tmp_path: Path) -> None:
    row = benchmark.Row("x^2-1", "\\boxed{(x-1)(x+1)}", False, "Expand $(x-1)(x+1)$.")
    tally = benchmark.judge([row], {"ours": benchmark.ours}, "rows")["ours"]
    assert tally.false_positives == 0
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps({**row._asdict(), "verdict": row.right}))
    assert benchmark.cases(path) == [row]


def test_copies_are_not_the_answer() -> None:
    assert benchmark.copied("12", "If $T = 12$, and $x+1=13$, find \\[2T.\\]") == [
        "T", "x+1=13", "x+1", "13", "2T",
    ]  # fmt: skip


def test_a_solution_is_unboxed() -> None:
    solution = r"So $x = \boxed{\frac{1}{2}}$. [asy]draw(A);[/asy]"
    assert benchmark.unboxed(solution) == r"So $x = \frac{1}{2}$. "


def test_wilson_interval() -> None:
    low, high = benchmark.wilson(0, 150)
    assert low == 0
    assert high == pytest.approx(0.0250, abs=2e-4)


def test_public_sets_are_read_from_clones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    item = {"ground_truth": "$2x$", "question": "Find $f$.", "fn_output": "2x", "tn_output": "x"}
    hard = tmp_path / "TinyV" / "benchmarks" / "HardVerify-Math.json"
    hard.parent.mkdir(parents=True)
    hard.write_text(json.dumps([{"id": 51, **item}, {"id": 52, **item}]))
    told = {"solution": "A: 5", "is_correct": True}
    solutions = tmp_path / "grade-school-math/grade_school_math/data/example_model_solutions.jsonl"
    solutions.parent.mkdir(parents=True)
    solutions.write_text(json.dumps({"question": "q", "ground_truth": "so\nA: 5", "6b": told}))
    problems = tmp_path / "ToRA/src/data/math/test.jsonl"
    problems.parent.mkdir(parents=True)
    solved = {"problem": "Expand $(x+1)^2$.", "solution": "It is $\\boxed{x^2+2x+1}$."}
    problems.write_text(json.dumps(solved))
    found = public(tmp_path, print)
    assert [row.right for row in found["HardVerify-Math, 1 label corrected"]] == [1, 0, 1, 1]
    assert found["GSM8K by GPT-3"] == [benchmark.Row("5", "A: 5", True, "q")]
    assert found["MATH, right answers in a box"][0].response == "\\boxed{x^2+2x+1}"
    assert found["MATH, terms in another order"][0].response == "\\boxed{1+x^2+2x}"
    copies = [*found["MATH, copies of 1 problems"], *found["MATH, further copies of 1 problems"]]
    assert {row.right for row in copies} == {False}
    assert [row for row in copies if benchmark.ours(row.gold, row.response, row.question)] == []
    said = capsys.readouterr().out
    assert "MATH: 0 of 1 right answers cannot be read" in said
    assert "left out: College Math" in said


def test_of_copies_the_share_of_problems_is_said() -> None:
    tally = benchmark.Tally()
    for question in ("a", "a", "b"):
        tally.add(benchmark.Row("1", "2", False, question), True, 0.1)
    tally.add(benchmark.Row("1", "2", False, "c"), None, 0.1)
    assert list(benchmark.shares("MATH, copies of 8 problems", {"ours": tally})) == [
        "ours: paid on 2 of 8 problems, 25.00 %"
    ]
    assert list(benchmark.shares("MATH, in other LaTeX", {"ours": tally})) == []


@pytest.mark.parametrize(
    ("form", "answer", "other"),
    [
        ("/ for \\frac", "\\frac{1}{2}", "1/2"),
        ("/ for \\frac", "\\frac{x+1}{2}y", "((x+1)/2)y"),
        ("/ for \\frac", "1\\frac{1}{2}", "1\\frac{1}{2}"),
        ("terms in another order", "x^2-2x+1", "1+x^2-2x"),
        ("terms in another order", "-x-2", "-2-x"),
        ("terms in another order", "|x+1|", "|x+1|"),
        ("factors in another order", "2(x+1)(x-3)", "2(x-3)(x+1)"),
        ("factors in another order", "3x", "x \\cdot 3"),
        ("other spellings", "[0.5, \\infty)", "[.5, ∞)"),
    ],
)
def test_other_finished_forms(form: str, answer: str, other: str) -> None:
    assert FINISHED[form](answer) == other
    assert benchmark.ours(answer, f"\\boxed{{{other}}}")


def test_no_label_is_corrected_both_ways() -> None:
    for name in RIGHT_AFTER_ALL.keys() & WRONG_AFTER_ALL.keys():
        assert not set(RIGHT_AFTER_ALL[name]) & set(WRONG_AFTER_ALL[name])
