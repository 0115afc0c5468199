"""Problems: generated from a seed, or read from the rows of a data set."""

from __future__ import annotations

import ast
import copy
import logging
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .kinds import KINDS, ProblemKind
from .plan import Plan, ValueTest
from .values import plain_data

_TESTS = 6
_log = logging.getLogger("mint_envs.code")


@dataclass(frozen=True, slots=True)
class CodeProblem:
    """What is asked, how it is tested, and what is known to be right and wrong.

    Args:
        question: the text of the problem.
        plan: its tests.
        reference: a program that passes them all; ``""`` if none is known.
        wrong: programs that do not.
        name: a stable name.
    """

    question: str
    plan: Plan
    reference: str = ""
    wrong: tuple[str, ...] = ()
    name: str = ""


def say_left_out(dataset: str, problems: Sequence[CodeProblem], most: int) -> None:
    """Log how many of the tests of a data set run, if that is not all of them."""
    every = sum(len(problem.plan.tests) for problem in problems)
    run = sum(len(problem.plan.some(most).tests) for problem in problems)
    if run < every:
        _log.warning(
            "dataset=%r: of %d tests %d run, at most %d of a problem; max_tests_per_problem=0 "
            "runs all", dataset, every, run, most,
        )  # fmt: skip


def generate(rng: np.random.Generator, level: str) -> CodeProblem:
    """Draw a problem of ``level`` (``"all"``: of any)."""
    kinds = [kind for kind in KINDS if level in ("all", kind.level)]
    return draw_problem(kinds[int(rng.integers(len(kinds)))], rng)


def draw_problem(kind: ProblemKind, rng: np.random.Generator) -> CodeProblem:
    """Draw a problem of one kind; its tests tell the reference from the wrong solution."""
    k = int(rng.integers(kind.k[0], kind.k[1] + 1))
    signature = kind.signature.replace("{k}", str(k))
    name = signature.partition("(")[0]
    reference, wrong = (_define(signature, body, k) for body in (kind.body, kind.wrong))
    right, miss = _defined_function(reference, name), _defined_function(wrong, name)
    while True:
        cases = [tuple(k if x == "{k}" else copy.deepcopy(x) for x in edge) for edge in kind.edges]
        cases += [kind.draw(rng) for _ in range(max(_TESTS - len(cases), 2))]
        tests = _tests(name, cases, right)
        varied = any(test.expected != tests[0].expected for test in tests)
        if varied and any(_differs(miss, case, right) for case in cases):
            break
    constant = f"def {signature}:\n    return {tests[0].expected!r}\n"
    question = f"Write `{signature}` that {kind.task.replace('{k}', str(k))}."
    return CodeProblem(question, Plan("values", tests), reference, (wrong, constant), name)


def _define(signature: str, body: str, k: int) -> str:
    return f"def {signature}:\n{textwrap.indent(body.replace('{k}', str(k)), '    ')}\n"


def _defined_function(source: str, name: str) -> Callable[..., Any]:
    """Return the function of a solution in ``kinds.py``: our own text, never a model's."""
    names: dict[str, Any] = {}
    exec(source, names)
    function: Callable[..., Any] = names[name]
    return function


def _tests(
    name: str, cases: list[tuple[Any, ...]], right: Callable[..., Any]
) -> tuple[ValueTest, ...]:
    tests = {}
    for case in cases:
        text = f"{name}({', '.join(map(repr, case))})"
        tests[text] = ValueTest(text, plain_data(right(*copy.deepcopy(case)), text))
    return tuple(tests.values())


def _differs(miss: Callable[..., Any], case: tuple[Any, ...], right: Callable[..., Any]) -> bool:
    wanted = right(*copy.deepcopy(case))
    try:
        return bool(miss(*copy.deepcopy(case)) != wanted)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return True


def passes(problem: CodeProblem, program: str, count: int) -> float:
    """Return the fraction of the ``count`` tests to run that one of our own programs passes."""
    function = _defined_function(program, problem.name)
    tests = problem.plan.some(count).tests
    results = [_called_result(test.text, problem.name, function) for test in tests]
    good = [
        type(got) is type(test.expected) and got == test.expected
        for got, test in zip(results, tests, strict=True)
    ]
    return float(sum(good) / len(good))


def _called_result(text: str, name: str, function: Callable[..., Any]) -> Any:
    arguments = ast.literal_eval(re.sub(rf"^{re.escape(name)}\(", "(", text)[:-1] + ",)")
    try:
        return function(*arguments)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return error
