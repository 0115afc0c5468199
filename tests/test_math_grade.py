"""Verdicts: the cases, the settings, and the policy on forms that are, or are not, the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mint_envs.errors import SettingError
from mint_envs.math import grade
from mint_envs.math.grade import judge

pytestmark = pytest.mark.quick

DATA = Path(__file__).parent / "data"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


CASES = [row for name in ("cases", "forms", "told") for row in rows(f"math_{name}.jsonl")]


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_case(row: dict[str, Any]) -> None:
    reward = grade(row["gold"], row["response"], sympy=False)
    assert (reward.score == 1) == row["verdict"], dict(reward.metadata)


def test_fresh_set_has_no_false_positive_and_few_false_negatives() -> None:
    wrong = [
        (row["verdict"], row["id"])
        for row in rows("math_fresh.jsonl")
        if (grade(row["gold"], row["response"], sympy=False).score == 1) != row["verdict"]
    ]
    assert [id for verdict, id in wrong if not verdict] == []
    # a series and an integral left as they are: only sympy works them out
    assert [id for _, id in wrong] == ["fresh-005", "fresh-108"]


def test_blind_set_has_no_false_positive_and_few_false_negatives() -> None:
    wrong = [
        (row["verdict"], row["id"])
        for row in rows("math_blind.jsonl")
        if (grade(row["gold"], row["response"], sympy=False).score == 1) != row["verdict"]
    ]
    assert [id for verdict, id in wrong if not verdict] == []
    # "160 minutes, i.e. 2 hours 40 minutes"; two amounts and no verb that singles one out; 52 for
    # 52 in base 8; 192 = 3 (mod 7); "at least seventy-two degrees"
    assert [id for _, id in wrong] == ["b025", "b079", "b197", "b215", "b221"]


def test_second_blind_set_has_no_false_positive_and_few_false_negatives() -> None:
    wrong = [
        (row["verdict"], row["id"])
        for row in rows("math_blind_second.jsonl")
        if (grade(row["gold"], row["response"], sympy=False).score == 1) != row["verdict"]
    ]
    assert [id for verdict, id in wrong if not verdict] == []
    assert len(wrong) <= 10


@pytest.mark.parametrize(
    "response",
    ["It takes him 5 minutes to sail back.", "He needs $5$ minutes for it.", "It is 5 km in all."],
)
def test_a_unit_in_the_middle_of_a_sentence_is_no_other_unit(response: str) -> None:
    assert grade(r"5\text{ hours}", response).score == 0.0


TOLD = [
    (r"5\text{ hours}", "It takes him 300 minutes to sail back."),
    ("60", "It takes 60 minutes for the trip."),
    ("1.3", "sqrt(1 + 0.5625) ≈ 1.3 miles, so **1.3**."),
    ("3", "Answer: 12/5 = 2.4, so 3 boxes"),
    ("24", "48/2 = 24, so 24"),
    ("7", r"\boxed{6.25\approx 7}"),
    (r"\frac{5}{16}", r"\boxed{\frac{5}{16}\approx 0.31}"),
    ("5", r"\boxed{x+y=4+1=5}"),
    ("3", "So it takes **three bolts** of cloth in total."),
    ("72", "The angle is seventy-two degrees."),
    (r"\text{Evelyn}", "Her line is steepest, so **Evelyn** has the greatest speed."),
    (r"(-\infty,1)\cup(2,\infty)", "So the solution set is (−∞, 1) ∪ (2, ∞)."),
    (r"\text{March 4}", "10 days after February 23 is March 4th."),
    ("12.5", "He is exactly 12½ miles away."),
    ("5", "She has 5 apples left.\n(For reference, Tom has 7.)"),
    ("8", "A has 3 and B has 5, making the total 8 for both."),
    ("2", "> ### Final Answer\n> **`2`** boxes of pizza"),
    ("-5i+6", "w = c + (4 - 2i) = **6 - 5i**"),
]
NOT_TOLD = [
    ("1.25", "sqrt(1 + 0.5625) ≈ 1.3 miles, so **1.3**."),
    ("1.25", r"So $d = \sqrt{1.5625} \approx 1.3$."),
    ("1.25", "d = 1.25 ≈ 1.3"),
    ("2.5", r"\boxed{10/4 \approx 3}"),
    ("2.4", "Answer: 12/5 = 2.4, so 3 boxes"),
    ("5", r"\boxed{2x=4+1=5}"),
    ("5", r"\boxed{x+y=4+2=5}"),
    ("2", "It takes two thirds."),
    ("3", "It takes three dozen eggs."),
    ("3", "So it takes three more than before."),
    ("2", "The answer is two or three."),
    (r"\text{Evelyn}", "So the winner beats **Evelyn** easily."),
    (r"\text{Evelyn}", "The fastest is not **Evelyn**."),
    ("2", "The set of all possible values is (2, ∞)."),
    ("(3,4)", "The distance from (0,0) to (3,4) is 5."),
    ("1", "He is exactly 1¼ miles away."),
    ("7", "She has 5 apples left.\n(For reference, Tom has 7.)"),
    ("3", "Boys: 4, girls: 3"),
    ("10 days", "10 days after February 23 is March 4th."),
    ("2", "It is `2` or `3`."),
]


@pytest.mark.parametrize(("gold", "response"), TOLD)
def test_what_a_response_commits_to_is_paid(gold: str, response: str) -> None:
    assert grade(gold, response, sympy=False).score == 1


@pytest.mark.parametrize(("gold", "response"), NOT_TOLD)
def test_what_a_response_only_mentions_is_not_paid(gold: str, response: str) -> None:
    assert grade(gold, response, sympy=False).score == 0


SAME = [
    ("12", "twelve"),
    ("0.5", r"50\%"),
    ("25", r"25\%"),
    ("5 km", "5000 m"),
    ("2 hours 30 minutes", "150 minutes"),
    (r"\text{5:15 PM}", "17:15"),
    (r"x=\pm 3", "x=3,-3"),
    (r"(x-1)^2+(y+2)^2=9", "x^2-2x+y^2+4y-4=0"),
    (r"\{x \mid x > 0\}", r"(0,\infty)"),
    (r"2\ln x", r"\ln(x^2)"),
    (r"\sqrt[3]{-8}", "-2"),
    (r"\frac{1+i}{\sqrt2}", r"e^{i\pi/4}"),
    ("[1,2]", r"1\le x\le 2"),
    (r"\text{(C)}", "C"),
    ("C", r"\text{C) }5"),
    ("50 cents", r"\$0.50"),
    (r"6\text{ cm}^2", "6 square centimeters"),
    (r"120\text{ km/h}", "120 kilometers per hour"),
    ("1/3", "0.333..."),
    (r"\frac{22}{7}", "3.142857142857"),
    (r"\begin{pmatrix}1&2\end{pmatrix}", "(1,2)"),
    (r"y=\frac{1}{2}x+3", "x-2y+6=0"),
    (r"f^{-1}(x)=\frac{x-1}{2}", r"\frac{x-1}{2}"),
    (r"\frac{\pi}{3}", r"60^\circ"),
    (r"60^\circ", r"\frac{\pi}{3}\text{ radians}"),
    (r"\begin{pmatrix}-2\\-4\end{pmatrix}", r"-2\begin{bmatrix}1\\2\end{bmatrix}"),
    (r"\begin{pmatrix}2\\4\end{pmatrix}", r"-2\cdot\begin{pmatrix}-1\\-2\end{pmatrix}"),
    (r"3\sqrt{13}", "10.816653826391969"),
    (r"x=\frac{\pi}{4}+k\pi", r"\frac{\pi}{4}+k\pi, k \in \mathbb{Z}"),
    (r"x<1\text{ or }x>2", r"(-\infty,1)\cup(2,\infty)"),
    (r"\mathbb{R}\setminus\{0\}", r"x \ne 0"),
    (r"\text{no real solutions}", r"\emptyset"),
    (r"\text{DNE}", r"\text{does not exist}"),
    ("2.5e-3", r"2.5\times10^{-3}"),
    (r"\gcd(4,6)", "2"),
    (r"7\text{ R }2", "7 remainder 2"),
    (r"10\pmod 7", r"3 \pmod 7"),
    (r"\sqrt{2}\approx1.414", r"\sqrt2"),
    ("July 4, 1776", "4 July 1776"),
    (r"\{(1,2),(3,4)\}", "(3,4),(1,2)"),
    ("(1,2)", r"\begin{cases}x=1\\y=2\end{cases}"),
    ("ACD", "A, C, D"),
    ("100,200,300", "100, 200, 300"),
    ("n!", r"n\cdot(n-1)!"),
    ("24", "24 平方厘米"),
]
DIFFERENT = [
    ("5 m", "5 s"),
    (r"90^\circ", r"\frac{\pi}{3}\text{ radians}"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"2\begin{pmatrix}1\\2\end{pmatrix}"),
    (r"3\sqrt{13}", "10.816653826411969"),
    ("(1,2)", "[1,2]"),
    ("(1,2)", "(2,1)"),
    (r"\sqrt{10^{200}+1}", "10^{100}"),
    (r"\sqrt[10]{10^{100}+1}", "10^{10}"),
    (r"10^{40}+\sqrt2-10^{40}", r"10^{40}+\sqrt3-10^{40}"),
    (r"e^{\pi\sqrt{163}}", "262537412640768744"),
    ("10^{-20}", "0"),
    (r"\sqrt2\cdot 10^{-80}", "0"),
    ("|x|", "x"),
    ("1.414", r"\sqrt2"),
    ("1/2^{99}", "1/2^{98}"),
    ("0.5", r"0.5\%"),
    (r"5\%", "0.5"),
    ("x>3", r"x\ge 3"),
    (r"\sin x", r"\cos x"),
    ("n!", "(n+1)!"),
    (r"\pi", r"\frac{355}{113}"),
    ("x<y", "x>y"),
    ("1,2,3", "1,2"),
    (r"\$5", "5 cents"),
    ("1000", "1,00"),
    (r"3\pmod7", r"3\pmod 5"),
    ("No", "on"),
    (r"\text{not prime}", "prime"),
    (r"x\neq0", "0"),
    ("7 remainder 2", "7"),
    (r"\frac{a}{b}", r"\left|\frac{a}{b}\right|"),
    ("xyz", "|xyz|"),
    ("N", "n"),
    (r"n \equiv 1 \pmod 4", "1"),
    ("A", r"\text{(a) } 3 \text{ (b) } 4"),
    (r"\frac{7}{0}", "7"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_in_other_words(first: str, second: str) -> None:
    assert judge(first, second)[0] == judge(second, first)[0] == "equal"


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_not_the_same(first: str, second: str) -> None:
    assert judge(first, second)[0] != "equal"
    assert judge(second, first)[0] != "equal"


def test_metadata_says_what_was_found_where_and_by_which_tier() -> None:
    reward = grade(r"\frac{1}{2}", r"Hence $\boxed{0.5}$.")
    assert dict(reward.metadata) == {
        "verdict": "equal",
        "extracted": "0.5",
        "found": "box",
        "tier": "number",
        "reason": "",
    }


def test_what_cannot_be_decided_is_unknown_and_scores_0() -> None:
    reward = grade("5", r"\boxed{9^{9^{9^{9}}}}")
    assert (reward.score, reward.metadata["verdict"]) == (0.0, "unknown")
    assert reward.metadata["reason"] == "too large"


def test_strict_takes_only_the_agreed_places() -> None:
    told_so = (r"\boxed{7}", "#### 7", "Answer: 7", "**Answer:** 7", "<answer>7</answer>")
    for told in (*told_so, "The answer is 7"):
        assert grade("7", told, strict=True).score == 1, told
    for said in ("7", "So it is 7.", "**7**"):
        assert grade("7", said, strict=True).score == 0, said
        assert grade("7", said).score == 1, said


def test_format_credit_is_for_well_formed_wrong_answers() -> None:
    credit = {"format_credit": 0.1}
    assert grade("7", r"\boxed{8}", **credit).score == 0.1
    assert grade("7", r"\boxed{7}", **credit).score == 1
    for bad in ("8 or 9 maybe", r"\boxed{}", r"\boxed{8", "I do not know.", "Answer: 8\nAnswer: 9"):
        assert grade("7", bad, **credit).score == 0, bad


@pytest.mark.parametrize("credit", [-0.1, 0.2, 1.0])
def test_format_credit_is_small(credit: float) -> None:
    with pytest.raises(SettingError, match="format_credit"):
        grade("7", "7", format_credit=credit)


def test_set_credit_is_the_share_that_is_right() -> None:
    gold = r"\{1, 2, 3\}"
    assert grade(gold, r"\boxed{1, 2}", set_credit=True).score == pytest.approx(2 / 3)
    assert grade(gold, r"\boxed{1, 2, 3, 4}", set_credit=True).score == pytest.approx(3 / 4)
    assert grade(gold, r"\boxed{3, 2, 1}", set_credit=True).score == 1
    assert grade(gold, r"\boxed{7}", set_credit=True).score == 0
    assert grade(gold, r"\boxed{1, 2}").score == 0
    assert grade("2", r"\boxed{1, 2}", set_credit=True).score == 0


def test_a_sum_is_no_answer_where_it_must_be_worked_out() -> None:
    assert grade("72", r"\boxed{47 + 25}").score == 1
    assert grade("72", r"\boxed{47 + 25}", worked_out=True).score == 0
    assert grade("72", "47 + 25").score == 0
    assert grade("72", "47 + 25 = 72", worked_out=True).score == 1


def test_a_gold_answer_may_be_a_worked_solution() -> None:
    assert grade("9 * 2 = 18\n#### 18", "18").score == 1
    assert grade(r"So the sum is $\boxed{18}$.", "18").score == 1


def test_a_gold_answer_that_is_no_text_is_an_error() -> None:
    with pytest.raises(SettingError, match="pass '42'"):
        grade(42, "42")  # type: ignore[arg-type]


def test_cases_keep_their_conditions() -> None:
    gold = r"1 \text{ if } n \text{ is even, } 2 \text{ if } n \text{ is odd}"
    swapped = r"2 \text{ if } n \text{ is even, } 1 \text{ if } n \text{ is odd}"
    assert judge(gold, gold.replace("1", "{1}"))[0] == "equal"
    assert judge(gold, swapped)[0] != "equal"
    assert judge("1", gold)[0] != "equal"
    assert judge("1, 2", gold)[0] != "equal"
    assert judge("n=3k", r"n=3k, \text{ where } k \text{ is an integer}")[0] == "equal"


def test_a_choice_beside_a_list_gets_one_verdict_both_ways() -> None:
    answer = "\\sin\\$\\pi\\\\π"
    assert judge(answer, "A")[0] == judge("A", answer)[0]
