"""What holds for every answer: any text gets a Reward, and equal means equal."""

from __future__ import annotations

import gc
import time
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mint_envs.math import grade
from mint_envs.math.grade import _read, answer_of_solution, judge

KEYS = ("verdict", "extracted", "found", "tier", "reason")
PIECES = (
    r"\frac \dfrac \sqrt \sqrt[3] \binom \boxed{ \fbox{ \text{ \mathrm{ \left( \right) \{ \} "
    r"{ } ( ) [ ] ^ ^{ _ _{ + - * / = < > \le \ge \ne \approx \pm \cdot \times \cup \cap "
    r"\setminus \in \mid : , ; . ! % \circ ^\circ \pi \infty e i x y n f \sin \cos \tan \ln "
    r"\log_2 \exp | \lvert \rvert \lfloor \rfloor \begin{pmatrix} \end{pmatrix} \begin{cases} "
    r"\end{cases} & \\ \overline{3} 0. 0 1 2 3 7 10 42 1,000 1{,}000 3.14 .5 1e9 10^{10^{10}} "
    r"9^{9^9} 99999999 \sum_{k=1}^{n} \int \lim \pmod{7} \$ $ $$ \( \) \[ \] <answer> "
    r"</answer> <think> </think> #### Answer: answer is The final cm m/s km^2 hours dollars "
    r"or and wait not sure A B (C) yes no \text{even} 5:15 p.m. July 4 12个 答案是 ½ √ ² − × π ° "
    r"＝ １２ \angle ABC \vec{v} \mathbb{R} \emptyset \max \gcd(4,6) remainder <|im_end|> ** ` ~ "
    r"' \, "
).split()
SOUP = st.lists(st.sampled_from(PIECES), max_size=40).flatmap(
    lambda pieces: st.sampled_from(["", " ", "\n"]).map(lambda glue: glue.join(pieces))
)

#: What one verdict may cost, in seconds of CPU, on a machine of its own: ``fuzz_math.py`` holds it
#: to that. The dearest that is known, a megabyte of fences and thoughts, takes 0.084.
MOST_CPU_S = 0.1
#: What the tests allow. Beside other work a core takes up to three times as long; what grows faster
#: than its text takes seconds on any.
BUSY_CPU_S = 0.3
NUMBERS = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**4)


def cpu_seconds(gold: str, response: str) -> float:
    """The CPU time of one verdict, nothing remembered: the least of three readings.

    Without the garbage collector, whose full rounds go over all that Hypothesis keeps.
    """
    readings = []
    gc.disable()
    try:
        for _ in range(3):
            _read.cache_clear()
            start = time.thread_time()
            grade(gold, response, sympy=False)
            readings.append(time.thread_time() - start)
    finally:
        gc.enable()
    return min(readings)


def check(gold: str, response: str) -> None:
    """One verdict keeps the contract, and ends."""
    reward = grade(gold, response, sympy=False)
    assert reward.score in (0.0, 1.0)
    assert tuple(reward.metadata) == KEYS
    assert all(isinstance(value, str) for value in reward.metadata.values())
    assert reward.metadata["verdict"] in ("equal", "different", "unknown")
    assert (reward.score == 1) == (reward.metadata["verdict"] == "equal")
    assert not reward.metadata["reason"].startswith("internal"), reward.metadata
    assert cpu_seconds(gold, response) < BUSY_CPU_S, (gold, response)


@given(st.text(max_size=200), st.text(max_size=400))
def test_any_text_gets_a_reward(gold: str, response: str) -> None:
    check(gold, response)


@given(SOUP, SOUP)
def test_any_mathematics_gets_a_reward(gold: str, response: str) -> None:
    check(gold, response)
    check(gold, f"so \\boxed{{{response}}}")


@given(SOUP, SOUP)
def test_verdicts_are_symmetric(first: str, second: str) -> None:
    assume(all(answer_of_solution(text) == text for text in (first, second)))
    assert judge(first, second)[0] == judge(second, first)[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (r"x = 4 \text{ or } x = -4", "\\pm\n9x = 4 \\text{ or } x = -4^{9^9}sh-1"),
        ("x = 4, x = -4", "y = 4, x = 9^{9^9}"),
    ],
)
def test_what_cannot_be_compared_hides_no_difference(first: str, second: str) -> None:
    assert judge(first, second)[0] == judge(second, first)[0] == "different"


@given(st.sampled_from("({[|"), st.integers(1, 3000))
def test_any_nesting_gets_a_reward(bracket: str, depth: int) -> None:
    check("5", "\\boxed{" + bracket * depth + "5" + ")}]|"["({[|".index(bracket)] * depth + "}")
    check("5", "\\boxed{" * depth + "5" + "}" * depth)
    check("5", "\\boxed{" + "\\frac{1}{" * depth + "5" + "}" * depth + "}")


WORDS = ("", "answer to h", "\nQ", "$5", "because", "x = ", "option", "5 or", "\\text{answer", "is")


@example(word="", unit="0:", length=1_900, end="")
@example(word="", unit="0,", length=19_000, end="")
@example(word="", unit=",,0", length=1_900, end="")
@given(
    st.sampled_from(WORDS), st.text("\t _*,.$aA=:;-\\(0'", min_size=1, max_size=3),
    st.sampled_from((30, 300, 1_900, 19_000, 200_000)), st.sampled_from(("", "!", "5", "$", ":")),
)  # fmt: skip
def test_no_pattern_chokes_on_a_repetition(word: str, unit: str, length: int, end: str) -> None:
    text = word + unit * (length // len(unit)) + end
    check("5", text)
    check("5", f"\\boxed{{{text}}}")
    check("5", f"The answer is {text}.")
    check(text[:2000], f"$ {text}")


@given(SOUP.filter(lambda text: text.strip()))
def test_a_gold_answer_grades_itself_1_or_is_no_answer(gold: str) -> None:
    verdict, _, reason = judge(gold, gold)
    assert verdict == "equal" or reason


def spellings(value: Fraction) -> list[str]:
    """One number written in many ways."""
    top, bottom = value.numerator, value.denominator
    sign, size = ("-", abs(value)) if value < 0 else ("", value)
    whole, rest = divmod(size.numerator, bottom)
    written = [
        f"{top}/{bottom}",
        rf"\frac{{{top}}}{{{bottom}}}",
        rf"{sign}\dfrac{{{size.numerator}}}{{{bottom}}}",
        rf"x = \tfrac{{{top}}}{{{bottom}}}",
        rf"${sign}{size.numerator} \div {bottom}$",
        rf"\left({sign}\frac{{{2 * size.numerator}}}{{{2 * bottom}}}\right)",
        rf"{sign}{size.numerator} \cdot {bottom}^{{-1}}",
        rf"\text{{The answer is }} \frac{{{top}}}{{{bottom}}}.",
        rf"{100 * top}\%" if bottom == 1 else rf"\frac{{{100 * top}}}{{{bottom}}}\%",
        rf"\sqrt{{\frac{{{top**2}}}{{{bottom**2}}}}}" if value >= 0 else f"{top}/{bottom}",
    ]
    if whole and rest:
        written += [f"{sign}{whole} {rest}/{bottom}", rf"{sign}{whole}\frac{{{rest}}}{{{bottom}}}"]
    if bottom == 1:
        written += [f"{top:,}", f"{top}.0", f"{sign}0{size}", f"{top}."]
    return written


@given(NUMBERS, st.data())
def test_equal_numbers_agree_however_they_are_written(value: Fraction, data: st.DataObject) -> None:
    ways = spellings(value)
    first, second = data.draw(st.sampled_from(ways)), data.draw(st.sampled_from(ways))
    assert judge(first, second)[0] == "equal", (first, second)


@given(NUMBERS, st.fractions(max_denominator=10**3).filter(bool), st.data())
def test_different_numbers_never_agree(
    value: Fraction, other: Fraction, data: st.DataObject
) -> None:
    changed = value + other
    assume(changed not in (100 * value, value / 100))  # a percentage may be written without sign
    first = data.draw(st.sampled_from(spellings(value)))
    second = data.draw(st.sampled_from(spellings(changed)))
    assert judge(first, second)[0] != "equal", (first, second)


@given(st.integers(1, 10**30), st.data())
def test_a_changed_digit_is_never_right(number: int, data: st.DataObject) -> None:
    digits = str(number)
    at = data.draw(st.integers(0, len(digits) - 1))
    other = data.draw(st.sampled_from([d for d in "0123456789" if d != digits[at]]))
    wrong = digits[:at] + other + digits[at + 1 :]
    template = data.draw(
        st.sampled_from([r"\boxed{%s}", "#### %s", "Answer: %s", " %s", r"\boxed{\sqrt{%s}}"])
    )
    gold = rf"\sqrt{{{digits}}}" if "sqrt" in template else digits
    assert grade(gold, template % digits).score == 1
    assert grade(gold, template % wrong).score == 0


@given(st.integers(-999, 999), st.integers(-999, 999))
def test_a_hedge_is_not_paid(right: int, wrong: int) -> None:
    assume(right != wrong)
    for offer in (
        f"{right} or {wrong}",
        f"The answer is {right} or {wrong}.",
        f"\\boxed{{{right}}} or \\boxed{{{wrong}}}",
        f"\\boxed{{{right}, {wrong}}}",
        f"\\boxed{{{wrong}}}, or possibly \\boxed{{{right}}}",
        f"Answer: {wrong}\nAnswer: {right}",
        f"#### {wrong}\n#### {right}",
    ):
        assert grade(str(right), offer).score == 0, offer
