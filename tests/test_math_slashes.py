r"""Texts that cannot be read, and are one but for ``1/2`` in place of ``\frac{1}{2}``."""

from __future__ import annotations

from fractions import Fraction

import pytest
from arithmetic import value
from hypothesis import example, given
from hypothesis import strategies as st

from mint_envs.math.answer.slashes import same_but_for_slashes
from mint_envs.math.grade import judge

pytestmark = pytest.mark.quick

#: A statement that nothing reads: its text is all that there is.
UNREAD = r"\|u\| = FORMULA"
SAME = [
    (r"\frac{1}{2}", "1/2"),
    (r"\dfrac12", "1/2"),
    (r"\frac{5\pi}{6}", r"5\pi/6"),
    (r"-\frac{\sqrt{3}}{2}", r"-\sqrt{3}/2"),
    (r"\frac{a+b}{c}", "(a+b)/c"),
    (r"\frac{a}{b+c}", "a/(b+c)"),
    (r"\frac{a}{2b}", "a/(2b)"),
    (r"\frac{1}{2} m", "(1/2)m"),
    (r"x^{\frac{1}{2}}", "x^{1/2}"),
    (r"\frac{\frac{a}{b}}{c}", "(a/b)/c"),
    (r"\frac{x^{2}}{2}-\frac{y^2}{2}", "x^2/2-y^{2}/2"),
    (r"f\left(\frac{1}{2}\right)=\frac{a}{b}", "f(1/2)=a/b"),
    (r"\left(-\frac{2}{5}, \frac{1}{5}\right]", r"\left(-2/5, 1/5\right]"),
    (r"\left[1&\frac{1}{2}\\\frac{a}{b}&0\right]", r"[1&1/2\\a/b&0]"),
    (r"\frac{e^{-t}}{3}", "e^{-t}/3"),
]  # fmt: skip
OTHER = [
    (r"\left(\frac{a}{p}\right)=1", "a/p=1"),  # Legendre's symbol
    (r"1 \frac{1}{2}", "11/2"),
    (r"1 \frac{1}{2}", "1/2"),
    (r"\frac{11}{2}", "1 1/2"),
    (r"\frac{11}{2}", "1\n1/2"),
    (r"1\frac{1}{2}", "1(1/2)"),
    (r"3-(x+\frac{1}{2})", "3-x+1/2"),
    (r"2*(x+\frac{1}{2})", "2*x+1/2"),
    (r"\frac{x}{2} 3", "x/23"),
    (r"\frac{x}{2}", "x/-2"),
    (r"\frac{a}{b+c}", "a/b+c"),
    (r"\frac{a+b}{c}", "a+b/c"),
    (r"\frac{1}{2y}", "1/2y"),
    (r"\frac{1}{2}y", "1/2y"),
    (r"\frac{1}{2\pi}", r"1/2\pi"),
    (r"\frac{a}{bc}", "a/bc"),
    (r"\frac{a}{\frac{b}{c}}", "a/b/c"),
    (r"\frac{a}{\frac{b}{c}}", "(a/b)/c"),
    (r"\sin\frac{x}{2}", r"\sin x/2"),
    (r"\frac{\sin x}{2}", r"\sin x/2"),
    (r"\sin(\frac{x}{2})y", r"\sin(x/2y)"),
    (r"(\frac{1}{2})^2", r"\frac{1}{2}^2"),
    (r"(\frac{1}{2})^2", "1/2^2"),
    (r"\frac{1}{2}^2", "(1/2)^2"),
    (r"x^{\frac{1}{2}}", "x^1/2"),
    (r"x^{-\frac{1}{2}}", "x^-1/2"),
    (r"x^\frac{1}{2}", "x^1/2"),
    (r"x_\frac{1}{2}", "x_1/2"),
    (r"\sqrt{\frac{x}{2}}", r"\sqrt{x}/2"),
    (r"\sqrt\frac{x}{2}", r"\sqrt x/2"),
    (r"\frac{n}{2}!", "n/2!"),
    (r"\frac{n!}{2}", "n/2!"),
    (r"f(\frac{x}{2})", "f(x)/2"),
    (r"f\frac{x}{2}", "f(x/2)"),
    (r"2,\frac{500}{7}", "2,500/7"),
    (r"\frac{1}{2},500", "1/2,500"),
    (r"\frac{1.2}{3}", "1.2/33"),
    (r"\frac{1}{2}.5", "1/2.5"),
    (r"\frac{a}{b}", "b/a"),
    (r"\frac{1}{2}", "1/3"),
    (r"\frac{1}{2}", "2/4"),
    (r"\frac{1}{2}\%", r"1/2\%"),
    (r"-\frac{1}{2}", "1/2"),
    (r"\frac{(a+b)(c)}{d}", "(a+b)/(c)d"),
    (r"(a)(\frac{b}{c})", "(a)(b)/(c+1)"),
    (r"[0,\frac{1}{2})", "[0,1/2]"),
    (r"\frac123", "1/23"),
    (r"\frac{ab}{c}", "a b/c + 0"),
    (r"\frac{x'}{2}", "x'/2'"),
    (r"|\frac{x}{2}|", "|x|/2"),
    (r"\frac{a}{|b|}", "a/|b|c"),
    (r"\overline{\frac{a}{b}}", r"\overline{a}/b"),
    (r"\log_{2}\frac{x}{3}", r"\log_{2}x/3"),
    (r"\int\frac{1}{x}dx", r"\int 1/xdx"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_a_slash_that_means_one_fraction_is_that_fraction(first: str, second: str) -> None:
    assert same_but_for_slashes(first, second)
    assert same_but_for_slashes(second, first)
    told = tuple(UNREAD.replace("FORMULA", one) for one in (first, second))
    assert judge(*told)[0] == judge(*told[::-1])[0] == "equal"


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_another_formula_is_not_made_one_by_its_slashes(first: str, second: str) -> None:
    assert not same_but_for_slashes(first, second)
    told = tuple(UNREAD.replace("FORMULA", one) for one in (first, second))
    assert judge(*told)[0] != "equal"
    assert judge(*told[::-1])[0] != "equal"


def test_a_text_that_is_read_is_not_compared_by_its_slashes() -> None:
    assert judge(r"\frac{1}{2}", "2/4")[:2] == ("equal", "number")
    assert judge(r"x+\frac{1}{2}", "x+1/2")[1] == "tree"


@pytest.mark.parametrize(
    "text", ["{" * 900, "(" * 900 + "1/2", "}1/2", r"\frac" * 300, "1/2" * 600]
)
def test_what_is_no_formula_raises_nothing(text: str) -> None:
    assert not same_but_for_slashes(text, r"\frac{1}{2}")
    assert not same_but_for_slashes(r"\frac{1}{2}", text)


PIECES = (
    *("1", "2", "12", "x", "+", "-", "/", "(", ")", " ", "^", "^{2}", "(1/2)", "(x+1)", "1/2"),
    *(r"\frac{1}{2}", r"\frac{x}{2}", r"\frac{x+1}{2}", r"\frac{2}{x+1}", r"\frac{12}{x}"),
)
#: The ways to write a piece otherwise: the same, nearly the same, or something else.
TURNS = {
    r"\frac{1}{2}": ("1/2", "(1/2)", " 1/2", "1/(2)"),
    r"\frac{x}{2}": ("x/2", "(x/2)", "(x)/2", "(x)/(2)"),
    r"\frac{x+1}{2}": ("(x+1)/2", "((x+1)/2)", "x+1/2"),
    r"\frac{2}{x+1}": ("2/(x+1)", "(2/(x+1))", "2/x+1"),
    r"\frac{12}{x}": ("12/x", "1 2/x", "(12/x)"),
    "(1/2)": ("1/2", r"\frac{1}{2}", r"(\frac{1}{2})"),
    "1/2": (r"\frac{1}{2}", "(1/2)", "1 /2"),
    "(x+1)": ("x+1", "(x)+1", "{x+1}"),
    " ": ("",),
    "(": ("", "{"),
    ")": ("", "}"),
    "^{2}": ("^2", "2"),
    "12": ("1 2", "1"),
}


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[str, str]:
    """A formula, and another that is made of it by writing some of its pieces otherwise."""
    first = draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9))
    second = [
        draw(st.sampled_from((*TURNS.get(piece, ()), piece, *TURNS.get(piece, ()))))
        for piece in first
    ]
    return "".join(first), "".join(second)


@example((r"3-(x+\frac{1}{2})", "3-x+1/2"))
@example((r"1 \frac{1}{2}", "11/2"))
@given(neighbours())
def test_formulas_of_other_values_are_never_one_by_slashes(pair: tuple[str, str]) -> None:
    if not same_but_for_slashes(*pair):
        return
    for x in (Fraction(7, 3), Fraction(11, 5)):
        for tight in (False, True):
            first, second = (value(text, x, tight) for text in pair)
            assert first is None or second is None or first == second, pair


def test_the_values_of_the_property_above_tell_formulas_apart() -> None:
    at = Fraction(7, 3)
    assert (
        value("1 1/2", at, tight=True) == Fraction(3, 2) == value(r"1\frac{1}{2}", at, tight=True)
    )
    assert value("1/2x", at, tight=True) == Fraction(3, 14)
    assert value("1/2x", at, tight=False) == Fraction(7, 6)
    assert value("3-(x+1/2)", at, tight=True) != value("3-x+1/2", at, tight=True)
    assert value("2^{2}/3", at, tight=True) == Fraction(4, 3)
    assert value("1+)", at, tight=True) is None
