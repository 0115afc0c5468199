"""The audit of questions with answers: can the answer be read, is it paid, does it fit?"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..datasets import Row
from ..math.grade import answer_of_solution, grade, judge, unreadable
from ..math.rows import MathProblem
from ..reports.report import short
from ..responses.solvers import evaluate, solve
from .audited import Audited

_STEP = re.compile(r"<<([^<>=]+)=([^<>=]+)>>")
_SOLUTIONS = ("solution", "answer", "rationale", "response")


def audit_problem(problem: MathProblem, row: Row, number: int, name: str) -> Audited:
    """Return what is wrong with one problem; ``row`` is what it was read from."""
    audited = Audited(number, name, short(problem.question))
    why = unreadable(problem.answer)
    if why:
        audited.add("unreadable answer", f"{problem.answer[:80]!r}: {why}")
    elif not _pays_itself(problem):
        audited.add(
            "unpaid answer", f"\\boxed{{{problem.answer[:80]}}} does not earn the full mark"
        )
    _sum(problem, audited)
    _check_solution(problem, row, audited)
    return audited


def _pays_itself(problem: MathProblem) -> bool:
    boxed = f"\\boxed{{{problem.answer}}}"
    return grade(problem.answer, boxed, problem.question).score == 1.0


def _sum(problem: MathProblem, audited: Audited) -> None:
    """A question that is nothing but a sum can be worked out."""
    found = solve(problem.question)
    if found is not None and judge(problem.answer, found)[0] == "different":
        text = f"the question comes to {found}, the answer given is {problem.answer[:80]}"
        audited.add("contradicts the prompt", text)


def _check_solution(problem: MathProblem, row: Mapping[str, object], audited: Audited) -> None:
    """A worked solution ends with the answer, and its marked steps are right."""
    for name in _SOLUTIONS:
        text = row.get(name)
        if not isinstance(text, str) or len(text) < 20:
            continue
        for left, right in _STEP.findall(text):
            one, two = evaluate(left), evaluate(right)
            if one is not None and two is not None and abs(one - two) > abs(one) / 50:
                audited.add("contradicts the prompt", f"a step says {left} = {right}")
        ends = answer_of_solution(text) if ("\\boxed" in text or "####" in text) else ""
        if ends and judge(problem.answer, ends)[0] == "different":
            said = f"the solution ends with {ends[:60]}, the answer is {problem.answer[:60]}"
            audited.add("contradicts the prompt", said)
