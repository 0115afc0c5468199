"""Where an answer is found, and what is no answer."""

from __future__ import annotations

import pytest

from mint_envs.math import grade
from mint_envs.math.prose.extract import find

pytestmark = pytest.mark.quick

FOUND = [
    (r"so $\boxed{\frac{1}{2}}$.", "box", r"\frac{1}{2}"),
    (r"\boxed{1} and \boxed{2}", "box", "1, 2"),
    (r"\boxed 5", "box", "5"),
    (r"\boxed{\boxed{3}}", "box", r"\boxed{3}"),
    ("<think>4?</think><answer>5</answer>", "tag", "5"),
    (r"<answer>\(\boxed{70}\)</answer>", "tag", "70"),
    ("#### 1,234", "hashes", "1,234"),
    ("The answer is 42 because geometry proves it.", "marker", "42"),
    ("**Final Answer**\n\n$$x = 2$$", "marker", "x = 2"),
    ("The answers are $1$ and $2$.", "marker", "1, 2"),
    ("答案：12", "marker", "12"),
    ("故选：C", "marker", "C"),
    (" 72", "whole", "72"),
    ("x = 5", "whole", "x = 5"),
    ("We get 9 left.\n\nSo there are **9** left.", "bold", "9"),
    ("She makes 9 * 2 = $18 every day.", "sentence", "$18"),
    ("She needs 15 more stickers to reach 50.", "sentence", "15"),
    ("所以小明一共有 12 个苹果。", "sentence", "12"),
    ("5<|im_end|>\n<|im_start|>user\n6", "whole", "5"),
]


@pytest.mark.parametrize(("response", "where", "answer"), FOUND)
def test_found(response: str, where: str, answer: str) -> None:
    found = find(response)
    assert (found.where, found.answer.split(" 个")[0]) == (where, answer)


@pytest.mark.parametrize(
    "response",
    [
        "",
        r"We get \boxed{7} first. The total is \boxed{",
        r"\boxed{}",
        "<think>so it is 7",
        "Seattle has 20 sheep, Charleston has 80 sheep and Toulouse has 160 sheep.",
        "I am not sure, sorry.",
        "47 + 25",
    ],
)
def test_no_answer(response: str) -> None:
    found = find(response)
    assert found.reason or not any(grade(gold, response).score for gold in ("7", "160", "20", "72"))


@pytest.mark.parametrize(
    "response",
    [
        r"The answer is \boxed{5} or \boxed{6}.",
        r"If down, $\boxed{5}$; if up, $\boxed{6}$. I cannot decide.",
        r"\boxed{5} or maybe 6",
        "Answer: 5\nAnswer: 6",
        "#### 5\n#### 6",
        "5 or 6",
        "The answer is 5 or 6.",
        "Could be 5, could be 6.",
        "It is either 5 or 6.",
    ],
)
@pytest.mark.parametrize("gold", ["5", "6"])
def test_two_answers_offered_together_are_none(gold: str, response: str) -> None:
    assert grade(gold, response).score == 0


@pytest.mark.parametrize(
    "response",
    [
        r"First \boxed{6}. Wait, I dropped a sign. The final answer is \boxed{5}.",
        "#### 6\nOops, recomputing.\n#### 5",
        "Answer: 6\nHmm, that forgot the second case.\nAnswer: 5",
        r"The answer is \boxed{6}. Wait, I made an error. The answer is \boxed{5}",
        "6. No, 5.",
    ],
)
def test_a_correction_counts(response: str) -> None:
    assert grade("5", response).score == 1
    assert grade("6", response).score == 0


def test_a_retracted_box_is_not_paid() -> None:
    retracted = r"The answer is \boxed{5}. Wait, I made an error. So the answer is 7."
    assert grade("5", retracted).score == 0


@pytest.mark.parametrize(
    "response",
    [
        r"The answer is \boxed{6}. It is not \boxed{5}.",
        r"The answer is not $\boxed{5}$.",
        r"It can't be **\boxed{5}**",
        r"\boxed{6} rather than \boxed{5}",
        r"答案不是 \boxed{5}",
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_denied_box_is_not_paid(response: str, strict: bool) -> None:
    assert grade("5", response, strict=strict).score == 0.0
    assert grade("6", response, strict=strict).score == float("6" in response)


@pytest.mark.parametrize(
    "response",
    [
        r"It is not hard to see that it is \boxed{5}.",
        r"x is not 4. So \boxed{5}",
        r"It is not 4 but \boxed{5}.",
        r"This cannot be, so the answer is \boxed{5}",
    ],
)
def test_a_denial_of_something_else_denies_no_box(response: str) -> None:
    assert grade("5", response).score == 1.0


def test_a_next_question_of_the_models_own_is_not_read() -> None:
    rambling = "2*3 = 6. The answer is 6.\n\nQuestion: what is 4*5?\nThe answer is 20."
    assert grade("6", rambling).score == 1
    assert grade("20", rambling).score == 0


def test_a_marker_in_a_text_of_its_own() -> None:
    assert grade("-1427/100", r"\text{The answer is } \frac{-1427}{100}.").score == 1
    assert grade("5", r"\text{The answer is } 6").score == 0
