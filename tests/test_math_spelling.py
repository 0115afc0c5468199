"""One answer written in many ways, and others that only look like it."""

from __future__ import annotations

import pytest

from mint_envs.math.grade import judge

pytestmark = pytest.mark.quick

SAME = [
    ("at $x=\\frac{1}{2}$ or so, we said", "at $x=1/2$ or so, we said"),
    ("at $x=\\frac{\\sqrt{3}}{2} y$ or so", "at $x=(\\sqrt{3}/2)y$ or so"),
    (
        "\\begin{pmatrix}2&0\\\\0&1\\end{pmatrix}^{-1}=\\begin{pmatrix}\\frac12&0\\\\0&1\\end{pmatrix}",
        "\\begin{pmatrix}2&0\\\\0&1\\end{pmatrix}^{-1}=\\begin{pmatrix}1/2&0\\\\0&1\\end{pmatrix}",
    ),
    ("$y_{1}=\\frac{1}{x}$\n$y_{2}=y_{1} \\ln x-6+6x$", "y_1=1/x, y_2=6x-6+y_1\\ln x"),
    (
        "\\begin{pmatrix}4&6\\end{pmatrix}",
        "\\begin{pmatrix}1&2\\end{pmatrix}+\\begin{pmatrix}3&4\\end{pmatrix}",
    ),
    (
        "\\begin{pmatrix}5\\\\11\\end{pmatrix}",
        "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}\\begin{pmatrix}1\\\\2\\end{pmatrix}",
    ),
    (
        "c\\begin{pmatrix}0\\\\1\\end{pmatrix}+\\begin{pmatrix}1\\\\1\\end{pmatrix}\\frac{t}{2}",
        "c\\begin{pmatrix}0\\\\1\\end{pmatrix}+(t/2)\\begin{pmatrix}1\\\\1\\end{pmatrix}",
    ),
    ("\\frac49", "\\\\frac{4}{9}"),
    ("\\\\frac{4}{9}", "\\frac49"),
    ("6\\sqrt2", "6\\\\sqrt{2}"),
    ("\\{1,2\\}", "\\\\{1, 2\\\\}"),
    ("\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\\\begin{pmatrix}1\\\\\\\\2\\\\end{pmatrix}"),
    ("12\\pi", "12\\\\pi"),
    ("12", "12^{\\mathrm{th}}"),
    ("12", "12^{\\text{th}}"),
    ("12", "12th"),
    ("12", "12^{th}"),
    ("3", "3rd"),
    ("12", "12^{\\mathrm{th}}\\ grade"),
    ("5", "\\text{x = 5}"),
    ("x=5", "\\text{x = 5}"),
    ("{east}", "\\text{east}"),
    ("{even}", "even"),
    ("{Navin}", "Navin"),
    ("7:32", "S_1:S_2=7:32"),
    ("S_1:S_2=7:32", "7:32"),
    ("(5,2),(7,2)", "p=5,q=2;p=7,q=2"),
    ("p=5,q=2\\text{ or }p=7,q=2", "(5,2),(7,2)"),
    ("3", "i = 3"),
    ("2k", "a+d=2k"),
    ("2k", "a+d+e+f=2k"),
    ("-1", "z^3=-1"),
    ("[0,1)", "[0,1["),
    ("(0,1]", "]0,1]"),
    ("(0,1)", "]0,1["),
    ("5\\text{ m}", "\\SI{5}{\\meter}"),
    ("5\\text{ m/s}", "\\SI{5}{\\meter\\per\\second}"),
    ("5", "\\num{5}"),
    ("5000", "\\num{5000}"),
    ("5\\text{ km}", "\\qty{5}{km}"),
    ("9.8\\text{ m/s}^2", "\\qty{9.8}{\\metre\\per\\second\\squared}"),
    ("\\frac12", "\\sfrac{1}{2}"),
    ("3:45", "3{:}45"),
    ("5\\text{ m/s}", "5\\,\\text{m}\\,\\text{s}^{-1}"),
    ("5\\text{ m/s}", "5\\text{ m s}^{-1}"),
    ("63^\\circ 45'", "63.75^\\circ"),
    ("63^\\circ 45' 36''", "63.76^\\circ"),
    ("2^3 3^2", "2^3\\cdot 3^2"),
    ("2^3 3^2", "72"),
    ("-9x", "(-1) 9 x"),
    ("(-\\infty,1)\\cup(2,\\infty)", "\\{x \\mid x<1 \\text{ or } x>2\\}"),
    ("\\{x \\mid x<1 \\text{ or } x>2\\}", "x<1 \\text{ or } x>2"),
    ("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "[[1,2],[3,4]]"),
    ("3k+1", "n\\equiv 1\\pmod 3"),
    ("n \\equiv 1 \\pmod 3", "n=3k+1"),
    ("1 \\pmod 3", "3k+1"),
    ("27,54,108,135", "27,108,54,135"),
    ("2,100", "100,2"),
    ("27,54,108,135,189,216", "216, 189, 135, 108, 54, 27"),
    ("\\frac{16}{27}", "0.5925925925925924"),
    ("\\frac{3}{56}", "0.0535714285714164"),
    ("C", "c"),
    ("C", "(c)"),
    ("(-1,1)", "\\{x \\mid -1<x<1\\}"),
    ("k < -5", "(-\\infty,-5)"),
    ("f(x)=x", "f(z)=z"),
    ("1,2", "\\text{maximum }2,\\text{ minimum }1"),
    ("\\frac{\\sqrt2}{2}", "x=y=z=\\frac{\\sqrt2}{2}"),
    ("5:8", "\\frac58"),
    ("\\frac58", "5:8"),
    ("3\\text{ h }30\\text{ min}", "3.5\\text{ hours}"),
    ("2\\text{ min }30\\text{ s}", "150 s"),
    ("5", "5\\text{th}"),
    ("x=1,y=2", "x=1 \\\\ y=2"),
    ("[1,2]", "1\\le x\\le2"),
    ("\\frac{\\pi}{4}", "\\pi/4"),
    ("2, 3", "(a)\\ 2 \\quad (b)\\ 3"),
    ("2, 3", "\\text{(a) }2, \\text{ (b) }3"),
    ("1.5", "1.5"),
    ("72", "72.0"),
    ("e^{-1}", "\\mathrm{e}^{-1}"),
    (
        "\\begin{cases} x & x\\ge 0\\\\ -x & x<0\\end{cases}",
        "\\begin{cases} -x & x<0\\\\ x & x\\ge0\\end{cases}",
    ),
    (
        "\\begin{cases} x & x\\ge 0\\\\ -x & x<0\\end{cases}",
        "\\begin{cases} x, & \\text{if } x\\ge 0\\\\ -x, & \\text{if } x<0\\end{cases}",
    ),
    ("A", "A"),
]
DIFFERENT = [
    ("1 \\frac{1}{2}", "11/2"),
    ("1 1/2", "\\frac{11}{2}"),
    ("3-(x+\\frac{1}{2})", "3-x+1/2"),
    ("2*(x+\\frac{1}{2})", "2*x+1/2"),
    ("\\frac{x}{2} 3", "x/23"),
    ("at $x=\\frac{1}{2y}$ or so", "at $x=1/2y$ or so"),
    ("at $x=1\\frac{1}{2}$ or so", "at $x=11/2$ or so"),
    ("at $x=\\frac{a}{b+c}$ or so", "at $x=a/b+c$ or so"),
    ("at $x=\\frac{1}{2}$ or so", "at $x=1/3$ or so"),
    (
        "\\begin{pmatrix}5\\\\11\\end{pmatrix}",
        "\\begin{pmatrix}1\\\\2\\end{pmatrix}\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}",
    ),
    ("\\frac49", "\\\\frac{9}{4}"),
    ("12", "13^{\\mathrm{th}}"),
    ("12", "12^{t}"),
    ("{east}", "west"),
    ("7:32", "S_1:S_2=32:7"),
    ("5", "2x=5"),
    ("5", "x=5+1=7"),
    ("[0,1)", "[0,1]"),
    ("]0,1[", "[0,1]"),
    ("5 m", "\\SI{5}{\\kilo\\meter}"),
    ("5 m", "\\SI{5}{\\second}"),
    ("10 N", "10 kg"),
    ("10\\text{ N}", "10\\text{ kg m/s}"),
    ("63^\\circ 45'", "63.45^\\circ"),
    ("2^3 3^2", "2^{332}"),
    ("1234", "12,34"),
    ("1,234", "1,324"),
    ("27,54,108,135", "2754108135"),
    ("2100", "100,2"),
    ("2,100", "2,1001"),
    ("C", "d"),
    ("C", "D"),
    ("x", "X"),
    ("(-1,1)", "\\{x \\mid -1\\le x\\le 1\\}"),
    ("f(x)=x", "f(z)=2z"),
    ("1,2", "\\text{maximum }1,\\text{ minimum }2"),
    ("\\frac{\\sqrt2}{2}", "x=y=2z=\\frac{\\sqrt2}{2}"),
    ("5:8", "\\frac85"),
    ("\\sum_{n=0}^{\\infty}x^n", "\\sum_{n=1}^{\\infty}x^n"),
    ("5:8:3", "\\frac58"),
    ("3k+1", "n\\equiv 2\\pmod 3"),
    ("3k+1", "n \\equiv 1 \\pmod 4"),
    ("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "[[1,3],[2,4]]"),
    ("1", "n=3k+1"),
    ("3", "i=4"),
    ("i", "i=3"),
    ("2", "a=2k"),
    ("p=5,q=2", "p=2,q=5"),
    ("(5,2),(7,2)", "p=5,q=7;p=2,q=2"),
    ("10", "\\sum_{k=1}^5 k"),
    ("\\langle 1,2\\rangle", "\\mathbf{i}-2\\mathbf{j}"),
    ("3", "\\text{x = 5}"),
    ("15", "1^{5\\mathrm{th}}"),
    ("1,2", "1.2"),
    ("100", "1,00"),
    ("2:3", "3:2"),
    ("5", "6"),
    ("2,100", "21,00"),
    ("3,400,500", "3,400,501"),
    ("3,400,500", "500,400,4"),
    ("i", "j"),
    ("12", "1^{\\mathrm{2nd}}"),
    ("12", "12^{\\mathrm{nd}}x"),
    ("1", "1^{st} + 1"),
    ("5", "\\num{5}x"),
    ("5 m", "\\SI{5}{\\centi\\meter}"),
    ("5", "\\SI{5}{}2"),
    ("0.5", "\\SI{5}{\\deci\\meter}"),
    ("(0,1)", "[0,1]"),
    ("(0,1)", "[0,1["),
    ("]0,1[", "(1,0)"),
    ("7:32", "S_1+S_2=7:32"),
    ("(5,2)", "p=2,q=5"),
    ("(5,2),(7,2)", "p=5,q=2;p=2,q=7"),
    ("3", "i=3i"),
    ("2k", "a-d=2k"),
    ("2k", "a+d=2k+1"),
    ("2k", "k+d=2k"),
    ("-1", "z^3=1"),
    ("2", "x^2=4"),
    ("4", "2^x=4"),
    ("4", "x=y+4"),
    ("4", "x+x=4"),
    ("3k+1", "n\\equiv 1 \\pmod{3k}"),
    ("3k+1", "n=1"),
    ("1", "3k+1"),
    ("1\\pmod 3", "1+k"),
    ("1\\pmod 3", "3k+1+m"),
    ("5:8", "5:8:1"),
    ("5:8", "0.625"),
    ("\\frac58", "10:16"),
    ("27,54", "2754"),
    ("27,540", "27540.1"),
    ("1,2,3", "1,23"),
    ("100,200", "200100"),
    ("1,000", "1,0,0,0"),
    ("1000", "1,001"),
    ("0.333", "\\frac13"),
    ("f(x)=x+a", "f(a)=a+a"),
    ("f(x)=x+a", "f(a)=a+x"),
    ("f(x)=x", "g(z)=z"),
    ("x=y=z=2", "x=y=z=3"),
    ("x=2,y=3", "x=y=2"),
    ("\\langle 1,2\\rangle", "2\\mathbf{i}+\\mathbf{j}"),
    ("1", "\\mathbf{i}"),
    ("\\langle1,0\\rangle", "\\mathbf{j}"),
    ("3", "\\mathbf{i}+2"),
    ("a=2,b=3", "(a) 3 (b) 2"),
    ("(2,3)", "(a) 3 (b) 2"),
    ("2", "\\text{maximum }3,\\text{ minimum }2"),
    ("2,1", "\\text{maximum }1,\\text{ minimum }2"),
    ("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "[[1,3],[2,4]]"),
    ("[1,2],[3,4]", "[[1,2],[3,4]]"),
    ("6", "2^1 3^2"),
    ("23", "2^3"),
    ("x<1", "\\{x|x>1\\}"),
    ("(-\\infty,1)\\cup(2,\\infty)", "\\{x \\mid x>1 \\text{ or } x>2\\}"),
    ("64", "63^\\circ 45'"),
    ("5", "5thousand"),
    ("5", "5 rd"),
    ("east", "{west}"),
    ("x=5", "\\text{x = 6}"),
    ("5", "\\text{y = x = 6}"),
    ("10\\text{ N}", "10\\text{ kg m/s}"),
    ("\\sqrt2", "1.4142135624731"),
    ("0.5", "0.50000000000001"),
    ("1000000000000", "1000000000000.1"),
    ("123456789012345.1", "123456789012345.2"),
    ("\\frac13", "0.3333333333343"),
    ("\\sum_{k=1}^{3}k", "7"),
    ("\\sum_{k=1}^{n}1", "n+1"),
    ("x", "\\sum_{k=1}^{1}k x^2"),
    ("0", "\\sum_{k=5}^{1}k+1"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_written_otherwise(first: str, second: str) -> None:
    assert judge(first, second)[0] == judge(second, first)[0] == "equal"


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_what_only_looks_the_same(first: str, second: str) -> None:
    assert judge(first, second)[0] != "equal"
    assert judge(second, first)[0] != "equal"


VECTORS_AND_UNITS = [
    (r"\mathbf{i}+2\mathbf{j}", r"\langle 1,2\rangle"),
    (r"2\hat{i}-3\hat{k}", "(2,0,-3)"),
    (r"-\mathbf{i}+\frac12\mathbf{j}+(1+\sqrt2)\mathbf{k}", r"(-1,\frac12,1+\sqrt2)"),
    (r"2\hat{\imath}+\hat{\jmath}", "(2,1)"),
    (r"10\text{ N}", "10"),
    (r"10\text{ N}", r"10\text{ newtons}"),
    (r"10\text{ N}", r"10\text{ kg·m/s}^2"),
]
OTHER_VECTORS_AND_UNITS = [
    (r"\mathbf{i}+2\mathbf{j}", "(2,1)"),
    (r"\mathbf{i}+2\mathbf{j}", "3"),
    (r"10\text{ N}", r"10\text{ J}"),
    (r"10\text{ N}", r"10\text{ kg}"),
]


@pytest.mark.parametrize(("first", "second"), VECTORS_AND_UNITS)
def test_the_same_vector_or_force(first: str, second: str) -> None:
    assert judge(first, second)[0] == judge(second, first)[0] == "equal"


@pytest.mark.parametrize(("first", "second"), OTHER_VECTORS_AND_UNITS)
def test_another_vector_or_force(first: str, second: str) -> None:
    assert judge(first, second)[0] != "equal"
    assert judge(second, first)[0] != "equal"


def test_a_right_answer_may_be_a_worked_solution_without_a_box() -> None:
    solution = "We have 2 bags with 3 apples.\nOne is eaten.\nSo there are 5 apples left."
    assert judge(solution, "5")[0] == "equal"
    assert judge("We add the numbers and see that the answer is 42.", "42")[0] == "equal"
    assert (
        judge("There is one pair of numbers, all greater than 5 and less than 9", "5")[0] != "equal"
    )


SAME_SUMS = [
    ("10", r"\sum_{k=1}^4 k"),
    (r"\sum_{n=0}^{\infty}(n+1)x^n", r"\sum_{k=0}^{\infty} x^k(k+1)"),
    (r"\sum_{k=0}^{\infty}\frac{x^k}{k!}", r"\sum_{n=0}^{\infty}\frac{x^{n}}{n!}"),
    (r"2\sum_{k=1}^{n}k", r"\sum_{k=1}^{n}2k"),
    (r"\sum_{i=1}^{n} i^2", r"\sum_{j=1}^{n} j\cdot j"),
]
OTHER_SUMS = [
    ("11", r"\sum_{k=1}^4 k", "different"),
    (r"\sum_{k=0}^{\infty}x^k", r"\sum_{k=1}^{\infty}x^k", "unknown"),
    (r"\sum_{k=0}^{\infty}x^k", r"\frac{1}{1-x}", "unknown"),
    (r"\sum_{k=1}^{n}k", r"\sum_{k=1}^{n+1}k", "unknown"),
    (r"\sum_{k=0}^{\infty}x^k", r"\sum_{k=0}^{\infty}(-1)^k x^k", "unknown"),
]


@pytest.mark.parametrize(("first", "second"), SAME_SUMS)
def test_the_same_sum(first: str, second: str) -> None:
    assert judge(first, second)[0] == judge(second, first)[0] == "equal"


@pytest.mark.parametrize(("first", "second", "verdict"), OTHER_SUMS)
def test_another_sum_or_what_it_may_come_to(first: str, second: str, verdict: str) -> None:
    assert judge(first, second)[0] == judge(second, first)[0] == verdict


def test_in_a_sentence_a_ratio_is_no_fraction() -> None:
    assert judge(r"\frac{5}{8}", "5:8")[0] == "equal"
    assert judge(r"\frac{5}{8}", "5:8", prose=True)[0] != "equal"
