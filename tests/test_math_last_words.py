"""What responses of models say at their end, and forms of hard answers, each with its opposite."""

from __future__ import annotations

import pytest

from mint_envs.math import grade
from mint_envs.math.grade import judge

pytestmark = pytest.mark.quick

BOXED = "So it is $\\boxed{9}$.\n"
HOPE = "Final Answer: The final answer is ${}$. I hope it is correct."


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("before", ["", BOXED, "So $x = \\\\boxed{9}$.\n"])
def test_a_final_answer_may_be_announced_twice(before: str, strict: bool) -> None:
    assert grade("9", before + HOPE.format(9), strict=strict).score == 1
    assert grade("9", before + HOPE.format(8), strict=strict).score == 0
    assert grade("9", before + HOPE.format("8$ or $9"), strict=strict).score == 0


@pytest.mark.parametrize(
    ("gold", "response"),
    [
        ("5", "It is at least \\boxed{5}."),
        ("5", "It is at most $\\boxed{5}$"),
        ("5", "It is below \\(\\boxed{5}\\)."),
        ("5", "It lies between 4 and \\boxed{5}."),
        ("5", "It lies between $4$ and $\\boxed{5}$."),
        ("5", "She started with 5 apples."),
        ("5", "$x = 4$ or $x = \\boxed{5}$"),
        ("5", "$4$ or $\\boxed{5}$"),
        ("360", "A student wrote $\\boxed{360}$."),
        ("5", "$\\boxed{5}$ is not the answer."),
    ],
)
def test_a_bound_is_no_value(gold: str, response: str) -> None:
    assert grade(gold, response).score == 0


@pytest.mark.parametrize(
    ("gold", "response"),
    [
        ("445", "The company has to sell at least $\\boxed{445}$ widgets."),
        ("69", "The score must be at least $400-331=\\boxed{69}$."),
        ("26", "They add up to $\\boxed{26}$."),
        ("360", "The number of stories they wrote altogether is $\\boxed{360}$."),
        ("(9,11)", "So the point $\\boxed{(9,11)}$, is not on the line."),
        ("55", "We have $2x = 110$ or $x=\\boxed{55}$."),
        ("28", "The length is $13+15$ or $\\boxed{28}\\text{ m}.$"),
        ("1, 2", "$\\boxed{1}$ paper and $\\boxed{2}$ bins"),
        ("(3,3), (1,1)", "$\\boxed{(3,3)} \\text{ for part (a) and } \\boxed{(1,1)}$"),
        ("120", "$J$ must be $\\boxed{120}$ (or else $J$ would have more)."),
        ("35", "It has $\\, (6+1)(4+1) = \\boxed{35} \\,$ divisors."),
        ("9", "Therefore $h=\\boxed{9}\\,\\text{cm}.$"),
        ("117", "\\[39 \\cdot 3 = \\boxed{117} \\text{ inches.}\\]"),
        ("25", "\\[\\boxed{25}\\frac{\\text{miles}}{\\text{day}}.\\]"),
        ("0", "Then $S \\equiv \\boxed{0}$ modulo 2009."),
        ("8x^3-1", "It is a root of $\\boxed{8x^3-1}.$"),
        ("(5,\\infty)", "The solution is $\\\\boxed{(5, \\\\infty)}$."),
    ],
)
def test_what_stands_beside_a_box_takes_nothing_away(gold: str, response: str) -> None:
    assert grade(gold, response).score == 1


SAME = [
    ("xy = 6", "\\frac{6}{x}"),
    ("y + 1 = -(2x-1)^2", "-4x^2+4x-2"),
    ("(-\\infty,-6)\\cup(-6,\\frac32)", "\\{x | x < \\frac{3}{2}\\} - \\{-6\\}"),
    ("(0,3)", "(0,3] \\setminus \\{3\\}"),
    ("7, 14, 18", "Paolo: 18, Qing: 14, Rayna: 7"),
    ("12", "\\text{Area} = 12"),
    ("f(n)=n, g(n)=1", "(f(n), g(n)) = (n, 1)"),
    ("f(x)=-1, f(x)=x+1", "f(x)=-1 \\text{ for all } x\\in\\mathbb{Z}, f(x)=x+1"),
    ("(1,2),(1,-2),(-1,2),(-1,-2)", "(\\pm 1, \\pm 2)"),
    ("(1,-2),(-1,2)", "(\\pm 1, \\mp 2)"),
    ("\\frac{6^6-5^6}{6^5} \\approx 3.99", "\\frac{31031}{7776}"),
    ("\\forall x>0, 3^x \\ge x^2", "∀x＞0, 3<sup>x</sup>≥x<sup>2</sup>"),
    ("\\frac{1}{2}", "\x0crac{1}{2}"),
    ("60^\\circ 42'", "60^\textcirc 42'"),
    ("\\sin(\\frac{\\pi}{2}x)", "\\text{sin}\\bigg(\\\\frac{\\\\pi}{2}x\\bigg)"),
    ("5 \\text{ m/s}", "5\\,m\\,s^{-1}"),
    ("\\cot x", "\\cotx"),
    ("2xC", "2Cx"),
    ("0", "\\text{only } x = 0"),
    ("(1, \\sqrt{2}]", "(1, \\sqrt {2}.]"),
    ("1000.99", "1000,99"),
    ("2.74", "2,74 $"),
    ("0.111", "0,111"),
    ("(5,2),(7,2)", "$p=5,q=2;p=7,q=2$"),
    ("x_1=2, x_2=3", "x_1=2,\\quadx_2=3"),
    ("\\frac12", "\\frac{NO}{BO} = \\frac12"),
    ("[-2,-1]\\cup[1,2]", "1 \\le |z| \\le 2"),
    ("(-2,2)", "|x| < 2"),
    ("-2<x<2", "|x| < 2"),
    ("v_0^2", "v^2_0"),
    ("\\omega_L'", "\\omega_{L}^{\\prime}"),
    ("185", "185\\"),
    ("5.25 \\text{ minutes}", "$5 \\frac{1}{4} \\mathrm{~min}$"),
    ("(-1)^n", "\\cos(n\\pi)"),
    (
        "\\begin{matrix} x \\\\ \\sqrt{3} \\end{matrix}",
        "\\\\begin{matrix} x \\\\\\\\ \\\\sqrt{3} \\\\end{matrix}",
    ),
]
OTHER = [
    ("xy = 6", "\\frac{6}{y}"),
    ("(x-1)y = x-1", "1"),
    ("y^2 = x", "\\sqrt{x}"),
    ("y = 2x+3", "y > 2x+3"),
    ("(0,3]", "(0,3] \\setminus \\{3\\}"),
    ("Paolo: 18, Qing: 14", "Paolo: 14, Qing: 18"),
    ("5", "\\text{not} = 5"),
    ("f(n)=n, g(n)=1", "(f(n), g(n)) = (1, n)"),
    ("(1,2),(-1,-2)", "(\\pm 1, \\pm 2)"),
    ("1.25", "\\frac{160}{128} \\approx 1.3"),
    ("\\forall x>0, 3^x \\ge x^2", "\\exists x>0, 3^x \\ge x^2"),
    ("5 \\text{ m/s}", "5\\,m\\,s"),
    ("1.2", "1,2"),
    ("1", "\\cos 2n\\pi"),
    ("1.234", "1,234"),
    ("[1,2]", "1 \\le |z| \\le 2"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_two_ways_to_say_it(first: str, second: str) -> None:
    assert judge(first, second)[0] == judge(second, first)[0] == "equal"


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_two_answers_that_look_alike(first: str, second: str) -> None:
    assert judge(first, second)[0] != "equal"
    assert judge(second, first)[0] != "equal"


def test_a_question_that_asks_for_letters_has_their_order() -> None:
    question = "Find $x$, $y$ and $z$."
    assert grade("1,2,3", "\\boxed{(x,y,z)=(1,2,3)}", question).score == 1
    assert grade("1,2,3", "\\boxed{(x,y,z)=(3,2,1)}", question).score == 0


@pytest.mark.parametrize(
    ("gold", "response", "question"),
    [
        ("x = k\\pi", "n\\pi", "Solve $\\sin x = 0$."),
        ("(k,\\ell)=(3x,5x)", "(3t, 5t)", "Find all $(k, \\ell)$ with $5k = 3\\ell$."),
        ("2:1", "2", "What is the ratio of the areas, if that of the bases is 2?"),
        ("2", "2 \\pmod{17}", "What is $2^{-15}$ (mod 17), if $2^{16} \\equiv 1$ (mod 17)?"),
    ],
)
def test_with_the_question(gold: str, response: str, question: str) -> None:
    assert grade(gold, f"\\boxed{{{response}}}", question).score == 1


def test_long_work_that_agrees_at_three_places_is_enough() -> None:
    gold = r"\frac{1}{2} \cdot \cot t \cdot \ln (\cos t) \cdot e^{-\sec^2 t}"
    answer = r"\frac{\cos t \cdot \ln(\cos t)}{2 e^{\sec^2 t} \sin t}"
    assert judge(gold, answer)[0] == "equal"
    assert judge(gold, answer.replace("2 e", "3 e"))[0] == "different"


@pytest.mark.parametrize(
    ("first", "second", "third"),
    [
        ("0", "\\{0\\}", "\\pm 0"),
        ("\\ln 1", "0, 0", "\\pm \\ln 1"),
        ("A", "\\{A\\}", "A+0"),
        ("(e)", "e", "|e|"),
    ],
)
def test_what_equals_the_same_is_the_same(first: str, second: str, third: str) -> None:
    assert judge(first, second)[0] == judge(second, third)[0] == judge(first, third)[0] == "equal"


def test_no_reward_asks_sympy() -> None:
    """It would be the one part of a verdict that takes seconds, and differs between machines."""
    assert grade("24", "\\boxed{\\prod_{k=1}^{4} k}").metadata["tier"] != "sympy"


@pytest.mark.parametrize(
    ("gold", "copy"),
    [
        ("\\frac{3x+4}{x^2}", "x = \\frac{3}{x}+\\frac{4}{x^2}"),
        ("\\frac{3x+4}{x^2}, 2x", "x = \\frac{3}{x}+\\frac{4}{x^2}, 2x"),
    ],
)
def test_a_copy_with_a_name_is_a_copy(gold: str, copy: str) -> None:
    question = "Simplify: $\\frac{3}{x}+\\frac{4}{x^2}, 2x$."
    assert grade(gold, f"\\boxed{{{copy}}}", question).score == 0
    assert grade(gold, f"\\boxed{{x = {gold}}}", question).score == 1


def test_a_right_answer_that_is_a_text_wins_with_itself() -> None:
    gold = (
        "The vectors:\n\n$$\n\\begin{pmatrix} 1 \\\\ 0 \\end{pmatrix}\n$$\n\nSo $A$ is defective."
    )
    assert grade(gold, f"\\boxed{{{gold}}}").score == 1
    assert grade(gold, "\\boxed{A}").score == 0


@pytest.mark.parametrize("word", ["for", "from", "return to the question: for"])
def test_prose_after_a_program_is_no_program(word: str) -> None:
    program = "```python\nprint(min(values))\n```\n```output\n9\n```\n"
    said = f"The minimum\n\n\\[\n(x+5)\n\\]\n\n{word} $x > 0$ is\n\n\\[\\boxed{{9}}\\]"
    assert grade("9", program + said).score == 1
    assert grade("9", f"```\n{word} $x > 0$ in a program\n\\boxed{{9}}\n```\nI give up.").score == 0
    assert grade("9", "```\nprint('\\boxed{9}')").score == 0
    assert grade("9", "```python\nfor x in range(9):\n    print('\\boxed{9}')").score == 0
