"""With the question: what is copied from it, or left as it stood, is no answer."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import mint_envs
from mint_envs.errors import SettingError
from mint_envs.math import grade
from mint_envs.math.item import MathItem
from mint_envs.math.question import formulas, short_of

DATA = Path(__file__).parent / "data" / "math_question.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
COPIES = [row for row in ROWS if not row["verdict"]]

#: Ways to write a formula that change nothing.
IDLE = {
    "as it stands": "{}",
    "brackets": "({})",
    "more brackets": "\\left[\\left({}\\right)\\right]",
    "+0": "{}+0",
    "0+": "0+{}",
    "1*": "1 \\cdot ({})",
    "*1": "({})\\times 1",
    "--": "-(-({}))",
    "/1": "\\frac{{{}}}{{1}}",
    "^1": "({})^1",
    "+1-1": "{}+1-1",
    "2/2": "\\frac{{2({})}}{{2}}",
}


def _idle(copy: str, way: str) -> str:
    inner = copy.removeprefix("\\boxed{").removesuffix("}")
    if "=" not in inner:
        return f"\\boxed{{{IDLE[way].format(inner)}}}"
    left, right = inner.split("=")
    return f"\\boxed{{{left}={IDLE[way].format(right)}}}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_verdict(row: dict[str, str]) -> None:
    reward = grade(row["gold"], row["response"], row["question"], sympy=False)
    assert reward.score == float(row["verdict"]), reward.metadata


@pytest.mark.parametrize("way", IDLE)
def test_a_copy_that_is_idly_changed_is_not_paid(way: str) -> None:
    paid = [
        (row["gold"], text)
        for row in COPIES
        if grade(row["gold"], text := _idle(row["response"], way), row["question"]).score
    ]
    assert paid == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_right_answer_in_a_box_is_paid(row: dict[str, str]) -> None:
    assert grade(row["gold"], f"\\boxed{{{row['gold']}}}", row["question"]).score == 1.0


@pytest.mark.parametrize("row", COPIES, ids=lambda row: row["id"])
def test_without_the_question_equality_stands(row: dict[str, str]) -> None:
    assert grade(row["gold"], row["response"], sympy=False).score == 1.0


def test_what_is_lacking_is_said() -> None:
    reward = grade("x^2-25", "\\boxed{(x-5)(x+5)}", "Expand $(x-5)(x+5)$.")
    assert reward.metadata["verdict"] == "different"
    assert reward.metadata["tier"] == "question"
    assert reward.metadata["reason"] == "the question's formula"


def test_degrees_below_zero_are_copied_too() -> None:
    question = "Convert into degrees, minutes and seconds: $-317.06^{\\circ}$"
    for copy in ("-317.06^{\\circ}", "-317.06^{\\circ}+0"):
        assert grade("-317^{\\circ} 3' 36''", f"\\boxed{{{copy}}}", question).score == 0.0


def test_a_copy_of_a_list_has_no_share_of_it() -> None:
    question, copy = "Simplify $\\{\\frac{4}{2}, 3+4\\}$.", "\\boxed{\\{\\frac{4}{2}, 3+4\\}}"
    assert grade("\\{2, 7\\}", copy, question, set_credit=True).score == 0.0
    assert grade("\\{2, 7\\}", "\\boxed{\\{2, 7\\}}", question, set_credit=True).score == 1.0


def test_a_question_that_is_no_text() -> None:
    with pytest.raises(SettingError, match="question=7 must be text"):
        grade("7", "7.0", 7)  # type: ignore[arg-type]


HOSTILE = {
    "open brackets": "\\[" * 5_000,
    "dollars": "$x$" * 5_000,
    "one formula": "$" + "(x+1)(x-1)+" * 20_000 + "1$",
    "many": " ".join(f"$\\frac{{{n}x+\\sqrt{n}}}{{x^{{{n}}}+\\sin x}}$" for n in range(999)),
    "deep": "$" + "(" * 290 + "x$ and $" + "{" * 290 + "$",
    "sums": " ".join(f"${'+'.join(f'{k}x^{n}' for k in range(60))}$" for n in range(1, 60)),
    "numbers": " ".join(map(str, range(5_000))),
    "words": "word " * 10_000,
    "plain": "x+1=2 " * 5_000,
    "towers": "$9^{9^{9^{9}}}$ $10000000000!$ $\\tan\\tan 10^{50}$ " * 50,
    "angles": " ".join(f"$\\sin {n}^\\circ\\cos {n}^\\circ\\tan {n}^\\circ$" for n in range(1, 99)),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_the_cost_of_a_question_is_bounded(name: str) -> None:
    question = HOSTILE[name]
    took = []
    for gold in ("x^2-1", "\\frac{\\sqrt{3}}{7}", "x+\\sin x"):
        formulas.cache_clear()
        start = time.process_time()
        short_of(gold, f"{gold}+0", question)
        took.append(time.process_time() - start)
    assert min(took) < 0.3  # 20 ms on a machine that does nothing else


# -- every door


QUESTION = {"question": "Expand $(x+5)^2$.", "answer": "x^2+10x+25"}
COPY, DONE = "\\boxed{(x+5)^2}", "\\boxed{25+10x+x^2}"


@pytest.fixture
def dataset(tmp_path: Path) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(QUESTION) + "\n", encoding="utf-8")
    return str(path)


def test_the_task_grades_with_the_question(dataset: str) -> None:
    task = mint_envs.make("mint/Math-v0", dataset=dataset).unwrapped.task  # type: ignore[attr-defined]
    problem = task.problem(0)
    assert task.score(problem, COPY).score == 0.0
    assert task.score(problem, DONE).score == 1.0


def test_the_item_of_a_request_may_have_its_question() -> None:
    for response, score in ((COPY, 0.0), (DONE, 1.0)):
        item = MathItem(gold="x^2+10x+25", response=response, question="Expand $(x+5)^2$.")
        assert grade(**item.model_dump()).score == score
    assert MathItem(gold="7", response="7").question is None


def test_a_reward_function_that_wants_the_question_gets_its_text() -> None:
    from mint_envs.bench.target.functions import adapt

    row = {"problem": "no", **QUESTION}
    call = adapt(grade, "grade", [row])
    messages = [{"role": "user", "content": "Expand $(x+5)^2$."}]
    for prompt in ("Q: Expand $(x+5)^2$.\nA:", messages):
        assert call(row, prompt, COPY).score == 0.0
        assert call({"answer": row["answer"]}, prompt, COPY).score == 0.0
        assert call(row, prompt, DONE).score == 1.0


SOLVED = [
    (r"\frac{15}{5}", 0.0),
    (r"x=\frac{15}{5}", 0.0),
    (r"\frac{12}{4}", 0.0),
    ("5-2", 0.0),
    ("3", 1.0),
    ("3.0", 1.0),
    ("x=3", 1.0),
    (r"3\text{ apples}", 1.0),
]


@pytest.mark.parametrize(("answer", "score"), SOLVED)
def test_what_an_equation_of_the_question_is_solved_by_is_worked_out(
    answer: str, score: float
) -> None:
    assert grade("3", rf"\boxed{{{answer}}}", "Solve $5x=15$ for $x$.").score == score


VMATRIX = r"\begin{vmatrix} 0 & 1 \\ 3 & 5 \end{vmatrix}"
WRITTEN = [
    (r"1500", r"1.5\times10^3", r"Solve $\frac{x}{3}=500$.", 1.0),
    (r"-1500", r"-1.5\times10^3", r"Solve $\frac{x}{3}=-500$.", 1.0),
    (r"1500", r"15\times10^2", r"Solve $\frac{x}{3}=500$.", 0.0),  # 15 of hundreds is left over
    (r"1500", r"3\cdot 500", r"Solve $\frac{x}{3}=500$.", 0.0),
    (r"3", r"\frac{15}{5}\cdot 10^0", r"Solve $5x=15$.", 0.0),
    (r"3000", r"\frac{15}{5}\cdot 10^3", r"Solve $5x=15000$.", 0.0),
    (r"3000", r"1.5\cdot 2\cdot 10^3", r"Solve $5x=15000$.", 0.0),
    (r"1024", r"2^{10}", r"Solve $x/512=2$.", 1.0),
    (r"1024", r"2^{10}", r"Solve $\log_2 x=10$.", 0.0),
    (r"16", r"4^2", r"Solve $\sqrt{x}=4$.", 0.0),
    (r"8", r"2^3", r"Solve $x^{1/3}=2$.", 0.0),
    (r"120", r"5!", r"Solve $x/3=40$.", 1.0),
    (r"120", r"5!", r"Solve $x/5=4!$.", 0.0),
    (r"\frac16", r"1:6", r"Solve $6x=1$.", 1.0),
    (r"\frac13", r"2:6", r"Solve $6x=2$.", 0.0),
    (r"3", r"x=3=\frac62", r"Solve $2x=6$.", 1.0),
    (r"3", r"x=\frac62", r"Solve $2x=6$.", 0.0),
    ("x^2+10x+25", "x^2+10x+25=(x+5)^2", "Expand $(x+5)^2$.", 1.0),
    (r"\frac{5}{9}", r"x=0.\overline{5}", r"Express $0.\overline{5}$ as a common fraction.", 0.0),
    (r"8\frac47", r"x=\frac{60}{7}", r"Convert $\frac{60}{7}$ to a mixed number.", 0.0),
    ("-3", VMATRIX, f"Compute ${VMATRIX}$.", 0.0),
    ("-3", "2-5", f"Compute ${VMATRIX}$.", 0.0),
    ("-3", "-3", f"Compute ${VMATRIX}$.", 1.0),
    ("x^2+10x+25", "(x+5)^2=(x+5)^2", "Expand $(x+5)^2$.", 0.0),
]


@pytest.mark.parametrize(("gold", "answer", "question", "score"), WRITTEN)
def test_a_number_may_be_written_as_numbers_are_but_not_by_the_equation_that_it_solves(
    gold: str, answer: str, question: str, score: float
) -> None:
    assert grade(gold, rf"\boxed{{{answer}}}", question).score == score


def test_a_number_that_no_equation_of_the_question_has_may_be_left_as_it_stands() -> None:
    assert grade("3", r"\boxed{15/5}", "Tom has 15 apples and 5 bags. How many in each?").score == 1
    assert grade("3", r"\boxed{\frac{15}{5}}", "Let $5x=10$. Find $x+1$.").score == 1
    assert grade(r"\frac{7}{2}", r"\boxed{3.5}", "Solve $2x=7$.").score == 1
