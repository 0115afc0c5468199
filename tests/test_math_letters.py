"""What letters stand for: whole numbers, primes, any number, or nothing in particular."""

from __future__ import annotations

import pytest

from mint_envs.math import grade
from mint_envs.math.grade import judge
from mint_envs.math.letters import said_of

#: (right answer, another way to say it, question)
SAME = [
    (r"\frac{\pi}{4}+k\pi", r"\frac{\pi}{4}+n\pi", ""),
    (r"2k\pi, k\in\mathbb{Z}", r"2n\pi, n\in\mathbb{Z}", ""),
    (r"2k, k\in\mathbb{Z}", r"2n, n\in\mathbb{Z}", ""),
    ("(t,2t)", "(s,2s)", ""),
    ("n^2+1", "k^2+1", "What is the next one in the series?"),
    ("(-1)^n", r"\cos(n\pi)", ""),
    (r"\lceil n/2\rceil", r"\lfloor(n+1)/2\rfloor", ""),
    ("(-1)^n", "(-1)^{n+2}", ""),
    ("(-1)^{n-1}", "(-1)^{n+1}", ""),
    ("n!", r"n\cdot(n-1)!", ""),
    (r"\binom{n}{2}", r"\frac{n(n-1)}{2}", ""),
    (r"\binom{n}{k}", r"\frac{n!}{k!(n-k)!}", ""),
    (r"\binom{n}{k}", r"\binom{n}{n-k}", ""),
    (r"\lfloor n^2/4\rfloor", r"\lfloor n/2\rfloor\lceil n/2\rceil", ""),
    (r"\gcd(m,n)", r"\gcd(n,m)", ""),
    (r"\frac{mn}{\gcd(m,n)}", r"\text{lcm}(m,n)", ""),
    (r"\lfloor x\rfloor+\lfloor x+\frac12\rfloor", r"\lfloor 2x\rfloor", ""),
    (r"\cos(n\pi)", "(-1)^n", "For integer $n$, find it."),
    (r"\cos(2\pi n)", "1", "Let $n$ be an integer."),
    (r"\sin(\pi m/2)^2", r"\frac{1-(-1)^m}{2}", ""),
    (r"\frac{p-1}{2}", r"\lfloor p/2\rfloor", "Let $p$ be an odd prime."),
    (r"\frac{p-1}{2}", r"\lfloor p/2\rfloor", "Let $p > 2$ be a prime."),
    (r"\sqrt{ab}", r"\sqrt a\sqrt b", ""),
    (r"\sqrt{x^2}", "|x|", ""),
    (r"\ln(x^2)", r"2\ln x", ""),
    (r"\sqrt{x^2}", "x", "Let $x>0$."),
    (r"\arcsin x", r"\frac{\pi}{2}-\arccos x", ""),
    (r"\sqrt{1-x}\sqrt{1+x}", r"\sqrt{1-x^2}", ""),
    (r"\sqrt{x-30}\sqrt{x-30}", "x-30", ""),
    (r"\log x+C", r"\ln x+C", r"Integrate $\frac1x$."),
    (r"\log 100", "2", ""),
    (r"\frac{\log 3}{\log 2}", r"\frac{\ln 3}{\ln 2}", ""),
    (r"\frac{\log 3}{\log 2}", r"\log_2 3", ""),
    (r"\log 3", r"\log_{10} 3", ""),
    (r"\lg 100", "2", ""),
    ("n", "|n|", "Let $n$ be a positive integer."),
    ("(-x)^n", "(-1)^n x^n", ""),
    ("i^{2n}", "(-1)^n", ""),
    (r"e^{i\pi n}", "(-1)^n", ""),
    (r"\lfloor\log_2 n\rfloor+1", r"\lceil\log_2 (n+1)\rceil", ""),
    (r"\lceil\sqrt{n}\rceil", r"\lfloor\sqrt{n-1}\rfloor+1", ""),
    (r"\lfloor\sqrt{n}+\sqrt{n+1}\rfloor", r"\lfloor\sqrt{4n+2}\rfloor", ""),
    (r"\sqrt{x^2y}", r"x\sqrt y", r"Simplify $\sqrt{x^2y}$ where all variables are positive."),
    (r"\lceil n/2\rceil", r"\lfloor (n+1)/2\rfloor", ""),
]
#: (right answer, what is none, question)
OTHER = [
    ("x^2+C", "x^2+x", ""),
    ("a+c", "a+C", ""),
    ("x^2+C", "x^2", ""),
    ("x^2+C", "x^2+5", ""),
    ("Cx^2", "Kx", ""),
    (r"\frac{\pi}{4}+k\pi", r"\frac{\pi}{4}+2n\pi", ""),
    ("2k", "2n", ""),
    ("(t,2t)", "(2s,s)", ""),
    ("(a,b)", "(b,a)", ""),
    ("(t,s)", "(s,t)", ""),
    ("ACD", "ABD", ""),
    ("5m", "5s", ""),
    ("5m", "5k", "How far did he go?"),
    ("B", "C", "Which letter?"),
    ("60 m/s", "60 k/s", "speed?"),
    ("n^2+1", "k^2+1", "Find $a_n$ for $n>1$."),
    ("n^2+1", "k^2+1", ""),
    ("y=2x+1", "y=2t+1", "Find the line."),
    ("y=2x+1", "z=2x+1", "Find it."),
    (r"\lfloor\sqrt{n-1}\rfloor", r"\lfloor\sqrt n\rfloor", ""),
    ("(-1)^n", "1", ""),
    ("(-1)^n", "(-1)^{n+1}", ""),
    (r"\binom{n}{k}", r"\binom{n}{k-1}", ""),
    (r"\lfloor n/100\rfloor", "0", ""),
    (r"\lfloor n/51\rfloor", r"\lfloor n/52\rfloor", ""),
    (r"\lfloor n/997\rfloor", "0", ""),
    (r"\gcd(n,6)", r"\gcd(n,12)", ""),
    (r"\gcd(m,n)", "1", ""),
    (r"\lfloor 2x\rfloor", r"2\lfloor x\rfloor", ""),
    (r"\lfloor x\rfloor", r"\lceil x\rceil -1", ""),
    (r"\lfloor x\rfloor+\lfloor -x\rfloor", "-1", ""),
    (r"\lfloor x \rfloor", "x", ""),
    (r"\cos(2\pi n)", "1", ""),
    (r"\frac{p-1}{2}", r"\lfloor p/2\rfloor", "Let $p$ be a prime."),
    (r"\frac{p-1}{2}", r"\lfloor p/2\rfloor", ""),
    (r"\sqrt{x^2}", "x", ""),
    (r"\ln(x^2)", r"\ln x", ""),
    (r"\arcsin(2x\sqrt{1-x^2})", r"2\arcsin x", ""),
    (r"\arcsin(\sin x)", "x", ""),
    (r"\sqrt{x-30}", r"\sqrt{30-x}", ""),
    (r"\log x", r"\ln x", r"Use $\log_{10}$."),
    (r"\log x", r"\ln x", ""),
    (r"\ln 3", r"\log 3", "Find it"),
    (r"\log_{10} 3", r"\ln 3", "Find"),
    ("2", r"\log e^2", ""),
    ("n", "|n|", "Let $n$ be an integer."),
    ("a^b", "b^a", ""),
    ("x^n", "x^m", ""),
    (r"\max(x,0)", "x", ""),
    ("i^n", "1", ""),
    (r"\lfloor\log_2 n\rfloor+1", r"\lceil\log_2 n\rceil", ""),
    (r"m n-\lfloor m / 2\rfloor", r"mn-\lceil m/2\rceil+1", ""),
    (
        r"\lfloor \frac{n}{2} \rfloor + \lfloor \frac{m}{3}\rfloor",
        r"\lfloor \frac{n}{2}+\frac{m}{3}\rfloor",
        "",
    ),
    (r"\lfloor\sqrt{n+1}\rfloor", r"\lfloor\sqrt{n}\rfloor", ""),
    (r"\lfloor n/2\rfloor", r"\lceil n/2\rceil", ""),
    (r"\lfloor \frac{n^2}{4}\rfloor", r"\frac{n^2}{4}", ""),
    (r"\lfloor\log_2 n\rfloor", r"\lceil\log_2 n\rceil-1", ""),
    (r"\lfloor\log_{10} n\rfloor", "0", ""),
    (r"\left\lfloor\log _{2} n\right\rfloor+1", r"\lceil\log_2 n\rceil", ""),
    (r"\lfloor n/2\rfloor", r"\lceil n/2\rceil-1", ""),
    (r"\lfloor\log_{10} n\rfloor+1", "1", ""),
    (r"\lfloor\frac{2n}{3}\rfloor", r"\lceil\frac{2n}{3}\rceil", ""),
    (r"\lfloor n/2\rfloor", r"\lfloor (n+1)/2\rfloor", ""),
    (r"\left\lceil\frac{n}{3}\right\rceil", r"\left\lfloor\frac{n}{3}\right\rfloor+1", ""),
    (r"\lfloor \frac{2n-1}{5}\rfloor", r"\lfloor \frac{2n}{5}\rfloor", ""),
    (r"\lfloor\sqrt{n-1}\rfloor", r"\lfloor\sqrt{n}\rfloor", ""),
    (r"\lfloor\sqrt[3]{n}\rfloor", r"\lfloor\sqrt[3]{n-1}\rfloor", ""),
    (r"\lfloor \frac{n^2}{4}\rfloor", r"\frac{n^2-1}{4}", ""),
    (r"\lfloor\frac{n-1}{2}\rfloor", r"\lfloor\frac{n}{2}\rfloor", ""),
    (r"\lfloor x\rfloor", r"\lceil x\rceil-1", ""),
]


@pytest.mark.parametrize(("gold", "answer", "question"), SAME)
def test_the_same(gold: str, answer: str, question: str) -> None:
    reward = grade(gold, f"\\boxed{{{answer}}}", question, sympy=False)
    assert reward.score == 1.0, reward.metadata


@pytest.mark.parametrize(("gold", "answer", "question"), OTHER)
def test_not_the_same(gold: str, answer: str, question: str) -> None:
    reward = grade(gold, f"\\boxed{{{answer}}}", question, sympy=False)
    assert reward.score == 0.0, reward.metadata


@pytest.mark.parametrize(("first", "second", "question"), SAME + OTHER)
def test_without_a_question_the_order_does_not_matter(
    first: str, second: str, question: str
) -> None:
    assert judge(first, second)[0] == judge(second, first)[0]


SAID = {
    "For integers $m$ and $n$": {"whole": "mn", "below": "mn"},
    "Let $m, n$ be relatively prime positive integers": {"whole": "mn"},
    "where $A$, $B$, and $C$ are integers": {"whole": "ABC", "below": "ABC"},
    "the positive integer n": {"whole": "n"},
    "for integer values of $k$": {"whole": "k", "below": "k"},
    "$k\\in\\mathbb{Z}$": {"whole": "k", "below": "k"},
    "$n \\in \\mathbb{N}$": {"whole": "n"},
    "If $n$ is not an integer": {},
    "an integer a day": {},
    "Let $p$ be an odd prime": {"primes": "p", "least": {"p": 3}, "positive": "p"},
    "for primes $p$ and $q$": {"primes": "pq"},
    "Find the number of primes": {},
    "$x > 0$": {"positive": "x", "least": {"x": 1}},
    "integer $n \\ge 3$": {"whole": "n", "below": "n", "least": {"n": 3}, "positive": "n"},
    "$-x > 0$ and $|y| > 1$ and $2z > 3$": {},
    "$\\begin{cases} x & x > 0 \\\\ 1 & x \\le 0 \\end{cases}$": {},
    "positive real numbers $a$ and $b$": {"positive": "ab"},
    "$a$, $b$ are positive": {"positive": "ab"},
    "$\\log_2 x$": {"based": True},
    "base 10": {"based": True},
    "$\\log x$ based on": {},
}


@pytest.mark.parametrize("question", SAID)
def test_what_is_said(question: str) -> None:
    said, wanted = said_of(question), SAID[question]
    for name in ("whole", "below", "primes", "positive"):
        assert getattr(said, name) == set(wanted.get(name, "")), name  # type: ignore[call-overload]
    assert said.least == wanted.get("least", {})
    assert said.based == wanted.get("based", False)


def test_the_letters_of_a_question() -> None:
    question = (
        "Find $f(x)$ if $\\theta = ab$; \\(k\\) is constant, the n large. I, a boy: \\[C_1\\]"
    )
    assert said_of(question).letters == set("fxabknC") | {"theta"}
