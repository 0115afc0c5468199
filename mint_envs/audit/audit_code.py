"""The audit of problems with tests: does the reference pass, and does what is wrong fail?

Every program runs in the sandbox, mutants too: a changed loop may never end.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..code.grade import GradeSettings, grade_many
from ..code.plan import make_plan
from ..code.problems import CodeProblem
from ..code.rows import read_code_row
from ..core import Reward
from ..datasets import Row, row_id
from ..errors import DatasetError, SettingError
from ..reports.report import short
from ..responses.inputs import SampleCall, calls_of, like
from ..responses.mutants import Mutant, mutants
from ..sandbox import Job, Limits, Outcome, Sandbox
from .audited import Audited
from .prompts import examples_in

_AGAIN = 3  # runs of the reference
_LEAST_S = 0.5  # CPU time of a mutant, at the least
_PATIENCE = 5  # times the reference's
_FLOAT_ROOM = 1e-9  # relative: below it two floats are the same result, added up otherwise


@dataclass(frozen=True)
class CodeSettings:
    """How much is tried.

    Args:
        mutants: of each problem.
        inputs: on which a mutant that passes is compared with the reference.
        killed: share of mutants that behave differently and must fail, or the tests are weak.
        max_tests_per_problem, sandbox_timeout_s, python: as in mint/Code-v0.
    """

    mutants: int = 60
    inputs: int = 60
    killed: float = 0.9
    max_tests_per_problem: int = 10
    sandbox_timeout_s: float = 5.0
    python: str | None = None

    @property
    def grading(self) -> GradeSettings:
        return GradeSettings(
            sandbox_timeout_s=self.sandbox_timeout_s,
            max_tests_per_problem=self.max_tests_per_problem,
        )


def audit_row(
    row: Row, number: int, source: str, settings: CodeSettings, sandbox: Sandbox
) -> Audited:
    """Return what is wrong with one problem."""
    try:
        problem = read_code_row(row, source, number, settings.python)
    except DatasetError as error:
        broken = Audited(number, row_id(json.dumps(row, sort_keys=True, default=str)), "")
        broken.add("broken row", str(error))
        return broken
    audited = Audited(number, row_id(problem.question), short(problem.question))
    if not problem.reference:
        audited.add("no reference", "its row has none")
        return audited
    seconds = _reference_seconds(problem, audited, settings, sandbox)
    if seconds is not None and "near the time limit" not in audited.kinds:
        _contradictions(problem, audited, settings, sandbox)
        # A mutant that takes five times as long as the reference fails: it may never end.
        limit = min(settings.sandbox_timeout_s, max(_LEAST_S, _PATIENCE * seconds))
        _mutants(problem, audited, replace(settings, sandbox_timeout_s=limit), sandbox)
    return audited


def _fenced(program: str, seed: int | None = None) -> str:
    """Return a response with this program; of another ``seed`` it is another one to the cache.

    The sandbox starts every program with the same state of ``random``, so chance must be brought.
    """
    drawn = "" if seed is None else f"import random as _random\n_random.seed({seed})\n"
    return f"```python\n{program.rstrip()}\n{drawn}```\n"


def _reference_seconds(
    problem: CodeProblem, audited: Audited, settings: CodeSettings, sandbox: Sandbox
) -> float | None:
    """Return the seconds that the reference takes, or None if it does not earn the full mark."""
    limit = problem.plan.limits.of_run(
        settings.sandbox_timeout_s, 1, problem.plan.language or "python"
    ).cpu_s
    items = [(_fenced(problem.reference, seed), problem.plan) for seed in range(_AGAIN)]
    rewards = grade_many(items, settings.grading, sandbox)
    scores = [reward.score for reward in rewards]
    if None in scores:
        audited.add("reference fails", f"not measured: {rewards[0].metadata['reason']}")
        return None
    if len(set(scores)) > 1:
        audited.add("flaky", f"the same program earns {scores}")
    elif scores[0] != 1.0:
        audited.add("reference fails", _why(rewards[0], limit), error=rewards[0].metadata["error"])
    seconds = max(float(reward.metadata["cpu_s"]) for reward in rewards)
    if seconds > limit / 2:
        audited.add("near the time limit", f"the reference takes {seconds:.1f} s of {limit:g} s")
    return seconds if scores == [1.0] * _AGAIN else None


def _why(reward: Reward, limit: float) -> str:
    if reward.metadata["limit"] == "cpu":
        return f"it does not end in {limit:g} s; rows of our form can say time_limit (s)"
    if reward.metadata["limit"] == "memory":
        return "it needs more memory than it may take; rows of our form can say memory_limit (MiB)"
    bad = [test for test in reward.metadata["tests"] if test["status"] != "passed"][:1]
    passed = f"{reward.metadata['passed']} of {reward.metadata['total']} tests pass"
    return f"{passed}; the first that does not: {bad[0]}" if bad else passed


def _contradictions(
    problem: CodeProblem, audited: Audited, settings: CodeSettings, sandbox: Sandbox
) -> None:
    """Run the examples of the prompt on the reference."""
    pairs = examples_in(problem.question, problem.name)
    try:
        plan = make_plan(pairs) if pairs else None
    except SettingError:
        return  # such an example is no test
    if plan is None:
        return
    every = GradeSettings(partial_credit=True, max_tests_per_problem=len(pairs))
    plan = replace(plan, preamble=problem.plan.preamble)
    reward = grade_many([(_fenced(problem.reference), plan)], every, sandbox)[0]
    for (call, wanted), test in zip(pairs, reward.metadata["tests"], strict=True):
        if test["status"] == "wrong" and not _looks_alike(repr(wanted), test["actual"]):
            text = (
                f"the prompt says that {call} is {wanted!r}, the reference gives {test['actual']}"
            )
            audited.add("contradicts the prompt", text)


def _looks_alike(one: str, two: str) -> bool:
    """A prompt writes (1, 2) for [1, 2], and 0.3 for 0.30000000000000004."""
    table = str.maketrans("()", "[]")
    if one.translate(table) == two.translate(table):
        return True
    try:
        return abs(float(one) - float(two)) < 1e-6
    except ValueError:
        return False


# -- mutants --------------------------------------------------------------------------------------


def _mutants(
    problem: CodeProblem, audited: Audited, settings: CodeSettings, sandbox: Sandbox
) -> None:
    made = mutants(problem.reference, settings.mutants)
    items = [(_fenced(mutant.source), problem.plan) for mutant in made]
    rewards = grade_many(items, settings.grading, sandbox)
    passing = [m for m, reward in zip(made, rewards, strict=True) if reward.score == 1.0]
    audited.mutants, audited.killed = len(made), len(made) - len(passing)
    if not passing:
        return
    calls = calls_of(problem.plan, problem.name)
    calls = [*calls, *like(calls, settings.inputs)]
    if problem.plan.kind == "main" or not calls:
        audited.unjudged = len(passing)
        return
    differences = _differences(problem, passing, calls, settings, sandbox)
    shown = [(m, d) for m, d in zip(passing, differences, strict=True) if d is not None]
    audited.equivalent = len(passing) - len(shown)
    _note_survivors(audited, shown, settings)


def _note_survivors(
    audited: Audited, shown: Sequence[tuple[Mutant, dict[str, str]]], settings: CodeSettings
) -> None:
    if not shown:
        return
    mutant, difference = shown[0]
    change = f"line {mutant.line}: `{mutant.before}` → `{mutant.after}`"
    text = (
        f"{len(shown)} of {audited.mutants - audited.equivalent} wrong programs pass; one has "
        f"{change}, and {difference['call']} is {difference['got']}, not {difference['wanted']}"
    )
    caught = audited.killed / (audited.killed + len(shown))
    kind = "weak tests" if caught < settings.killed else "a mutant passes"
    audited.add(kind, text, program=mutant.source, change=mutant.kind, **difference)


def _differences(
    problem: CodeProblem,
    passing: Sequence[Mutant],
    calls: Sequence[SampleCall],
    settings: CodeSettings,
    sandbox: Sandbox,
) -> list[dict[str, str] | None]:
    """Return for each mutant a call whose value differs from the reference's, or None.

    A call on which the reference itself fails is none that the problem allows.
    """
    texts = tuple(call.text for call in calls)

    def job(program: str, seconds: float) -> Job:
        limits = Limits(seconds)
        return Job(f"{problem.plan.preamble}\n{program}", "values", texts, limits=limits)

    (wanted,) = sandbox.run_jobs([job(problem.reference, _PATIENCE * settings.sandbox_timeout_s)])
    limit = max(settings.sandbox_timeout_s, _PATIENCE * wanted.cpu_s)
    others = sandbox.run_jobs([job(mutant.source, limit) for mutant in passing])
    return [_first_difference(texts, wanted, other) for other in others]


def _first_difference(
    calls: Sequence[str], wanted: Outcome, other: Outcome
) -> dict[str, str] | None:
    if other.failure or wanted.failure:
        return None
    for index, call in enumerate(calls):
        kind, value = wanted.records.get(index, ("", None))
        if kind != "value" or _odd(value):
            continue
        given = other.records.get(index)
        if given is None or given[0] != "value" or not _equal(value, given[1]):
            return {"call": call, "wanted": _shown_value(value), "got": _got(other, index, given)}
    return None


def _got(other: Outcome, index: int, given: Any) -> str:
    if given is None:
        return f"nothing (limit: {other.limit or 'none'})"
    if given[0] != "value":
        return f"an error ({': '.join(other.error(index))[:80]})"
    return _shown_value(given[1])


def _shown_value(wire: Any) -> str:
    from ..code.values import show_wire

    return show_wire(wire)


def _odd(wire: Any) -> bool:
    """Whether a value is no plain data: an object, a generator."""
    if isinstance(wire, list) and wire and wire[0] == "x":
        return True
    return isinstance(wire, list) and any(map(_odd, wire))


def _real_number(wire: Any) -> Any:
    """Return the real number of a wire form, or None if it is none."""
    if isinstance(wire, bool | int):
        return wire
    if isinstance(wire, list) and len(wire) == 2 and wire[0] in ("f", "i"):
        return float.fromhex(wire[1]) if wire[0] == "f" else int(wire[1], 16)
    return None


def _equal(one: Any, two: Any) -> bool:
    """Whether two wire forms are equal to Python, floats within rounding, sets in any order."""
    if one == two:
        return True
    numbers = _real_number(one), _real_number(two)
    if None not in numbers:
        a, b = numbers
        near = abs(a - b) <= _FLOAT_ROOM * max(abs(a), abs(b))
        return bool(a == b or (a != a and b != b) or near)
    if not (isinstance(one, list) and isinstance(two, list) and len(one) == len(two) and one):
        return False
    if one[0] == two[0] and one[0] in ("s", "z", "d"):
        return sorted(map(repr, one[1])) == sorted(map(repr, two[1]))
    return all(map(_equal, one, two))
