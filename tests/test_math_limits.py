"""Hostile text: the limits are static, so each of these has a verdict at once."""

from __future__ import annotations

import hashlib

import pytest
from test_math_properties import BUSY_CPU_S, cpu_seconds

from mint_envs.errors import ContractError, GraderFault
from mint_envs.math import MathTask, grade
from mint_envs.testing import check_task

pytestmark = pytest.mark.quick

LONG = 400_000


def box(text: str) -> str:
    return r"\boxed{" + text + "}"


HOSTILE = {
    "tower": r"\boxed{9^{9^{9^{9}}}}",
    "factorial": r"\boxed{10000000000!}",
    "power": r"\boxed{(x+y+z+w+1)^{500}}",
    "huge angle": r"\boxed{\tan(\tan(\tan(10^{50})))}",
    "many digits": box("9" * 100_000),
    "many decimals": box("0." + "0" * 50_000 + "1"),
    "deep braces": box("{" * 1500 + "5" + "}" * 1500),
    "deep boxes": r"\boxed{" * 5000 + "6" + "}" * 5000,
    "deep fractions": box(r"\frac{1}{" * 300 + "5" + "}" * 300),
    "bare fractions": box(r"\frac" * 390 + "5"),
    "signs": box("-" * 1900 + "5"),
    "long sum": box("1+" * 340 + "1"),
    "suffixes": box("5" + "%" * 1500),
    "powers": box("2^" * 900 + "2"),
    "binomials": box("+".join([r"\binom{800}{400}"] * 60)),
    "factorials": box("+".join(["1000!"] * 200)),
    "open boxes": r"\boxed{" * (LONG // 7),
    "dollars": "$" * LONG,
    "newlines": "\n" * LONG + "x",
    "spaces": "5" + " " * LONG + "x",
    "markers": "answer is " * (LONG // 10),
    "questions": "\nQ: answer is 5" * (LONG // 15),
    "end tokens": "</s>" * (LONG // 4),
    "copulas": "is " * (LONG // 3) + "5",
    "sentences": "5. " * (LONG // 3),
    "tag": "<answer>" + "5 is " * (LONG // 5),
    "matrix": box(r"\begin{pmatrix}" + r"1 & 1 \\ " * 500 + r"\end{pmatrix}"),
    "code": r"\boxed{__import__('os').system('true')}",
    # Patterns that backtracked: the first for ever, the next for a second and more.
    "price": box("$5" + " a" * 40 + "!"),
    "price in signs": "${}$" + "$,A" + "A" * 60 + "\x00",
    "answer to": "answer\vto\nh" + "_" * 1900 + "$",
    "answer to stars": "answer to answer to answer to" + " *" * 9000 + "x",
    "next question": "answer is 5\nQ" + "\t" * LONG + "Q:",
    "reasons": "The total is 5" + " " * 900 + "x",
    "worked": "x " * 450 + "< 5",
    # Chains that made a deep tree.
    "full-width digits": "$$$" + "１２" * 80_000,
    "verbs of one sentence": "final\n`" + "\\pm答案是\\mid" * 750,
    "halves": box("½" * 340),
    "quotients": box("2/" * 300 + "2"),
    "plus or minus": box("x" + r" \pm 2" * 340),
    "sums of sums": box(r"\sum_{k=1}^{59}" * 60 + "1"),
    "endless sums": box(r"\sum_{k=1}^{\infty}x^k" * 60),
    "sums of towers": box(r"\sum_{k=1}^{59}k^{k^{k}}"),
    "fences": "`" * LONG,
    "programs": "```python\n```" * (LONG // 13),
    "boxes and doubts": r"\boxed{5} or $x=" * (LONG // 15),
    "withdrawn": r"\boxed{4} is wrong. " * (LONG // 20),
    "turns": r"\boxed{5}" + " wait" * (LONG // 5),
    "open formula": "$" + r"\frac{" * (LONG // 6) + r"\boxed{5}",
    "backslashes": box("\\" * 1900),
    "rows": box("[" * 900 + "1,"),
    "operands": box(r"\sin 2" + "x y " * 200),
    "input": r"\boxed{\input{/etc/passwd}}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_earns_nothing(name: str) -> None:
    reward = grade("4", HOSTILE[name], sympy=False)
    assert reward.score == 0
    assert not reward.metadata["reason"].startswith("internal"), reward.metadata["reason"]
    assert cpu_seconds("4", HOSTILE[name]) < BUSY_CPU_S


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_gold_answers_too(name: str) -> None:
    reward = grade(HOSTILE[name], r"\boxed{4}", sympy=False)
    assert reward.score == 0
    assert not reward.metadata["reason"].startswith("internal"), reward.metadata["reason"]
    assert cpu_seconds(HOSTILE[name], r"\boxed{4}") < BUSY_CPU_S


def test_large_sets_are_compared_within_the_limits() -> None:
    items = [rf"x^{{{i}}}+\sin(x+{i})" for i in range(2, 41)]
    gold, same = ", ".join(items), ", ".join(reversed(items))
    assert grade(gold, rf"\boxed{{{same}}}").score == 1
    assert grade(gold, rf"\boxed{{{same}+1}}").score == 0


def _crash(*arguments: object) -> None:
    raise KeyError("a fault of ours")


def test_a_crash_of_the_grader_scores_0_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(grade.__globals__, "find", _crash)
    digest = hashlib.blake2b("it is \ud800 4".encode(errors="replace"), digest_size=8).hexdigest()
    with pytest.warns(GraderFault, match=rf"KeyError\('a fault of ours'\) on response {digest}"):
        reward = grade("4", "it is \ud800 4")
    assert (reward.score, reward.metadata["verdict"]) == (0.0, "unknown")


def test_the_kit_finds_a_crash_of_the_grader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(grade.__globals__, "find", _crash)
    with pytest.raises(ContractError, match="grading crashed"):
        check_task(MathTask(), problems=1, max_examples=5, other_process=False)


FORTY = {
    "whole numbers": r"\lfloor\log_2(n+{0})\rfloor+{0}",
    "roots of whole numbers": r"\lfloor\sqrt{{n+{0}}}\rfloor",
    "sines": r"x^{{{0}}}+\sin(x+{0})",
    "letters of their own": r"x_{{{0}}}+y_{{{0}}}",
    "roots": r"\sqrt{{{0}}}+\sqrt{{{0}+1}}",
    "equations": r"x={0}+\sqrt{{{0}}}",
}


@pytest.mark.parametrize("name", FORTY)
@pytest.mark.parametrize("end", ["", "+1"])
def test_two_sets_of_forty_formulas_cost_no_more_than_others(name: str, end: str) -> None:
    items = [FORTY[name].format(i) for i in range(2, 42)]
    response = box(", ".join(reversed(items)) + end)
    verdict = grade(", ".join(items), response, sympy=False).metadata["verdict"]
    assert verdict in (("unknown", "different") if end else ("unknown", "equal"))
    assert cpu_seconds(", ".join(items), response) < BUSY_CPU_S
