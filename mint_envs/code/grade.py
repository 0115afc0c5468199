"""The verdict on a response that holds a program.

    from mint_envs.code import grade
    grade("```python\ndef add(a, b):\n    return a + b\n```", [("add(1, 2)", 3)]).score    # 1.0

The program runs in a sandbox and gives back values; the verdict is made here. Expected values
never enter the sandbox, so there is nothing in there to find, to forge or to talk round.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core import Reward
from ..errors import SettingError
from ..sandbox import Job, Outcome, Sandbox, language_name, shared
from .extract import extract
from .names import Names
from .plan import IoTest, Plan, ValueTest, make_plan
from .scripts import ERROR, LIMIT, NOT_RUN, PASSED, WRONG, ScriptRun
from .values import shorten, show_wire, truth, visible, wire_equals


@dataclass(frozen=True, slots=True)
class GradeSettings:
    """How programs are graded; see ``grade``.

    Raises:
        SettingError: a value out of range.
    """

    partial_credit: bool = False
    sandbox_timeout_s: float = 5.0
    max_tests_per_problem: int = 10
    language: str = "python"
    memory_mb: int = 1024

    def __post_init__(self) -> None:
        seconds = self.sandbox_timeout_s
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise SettingError(f"sandbox_timeout_s={seconds!r} must be a number of seconds")
        if not 0.01 <= seconds <= 3600:
            raise SettingError(f"sandbox_timeout_s={seconds!r} must be from 0.01 to 3600")
        if not isinstance(self.max_tests_per_problem, int) or self.max_tests_per_problem < 0:
            raise SettingError(
                f"max_tests_per_problem={self.max_tests_per_problem!r} must be 0 (all) or more"
            )
        if not 16 <= self.memory_mb <= 1 << 20:
            raise SettingError(f"memory_mb={self.memory_mb!r} must be from 16 to {1 << 20}")
        object.__setattr__(self, "language", language_name(self.language))


def grade(
    response: str,
    tests: Any,
    *,
    partial_credit: bool = False,
    sandbox_timeout_s: float = 5.0,
    max_tests_per_problem: int = 10,
    language: str = "python",
    sandbox: str | Sandbox | None = None,
    python: str | None = None,
) -> Reward:
    """Run the program in ``response`` against ``tests`` and return the Reward.

    Args:
        response: any text; the program is its last fenced block, or starts at the first ``def``,
            ``class`` or ``import``.
        tests: ``[(expression, expected), ...]``, ``[{"stdin": ..., "stdout": ...}, ...]`` or
            ``{"code": test code, "entry_point": name}``.
        partial_credit: the score is the fraction of tests passed, not all or nothing.
        sandbox_timeout_s: seconds of CPU time of one run. A run is all tests of the first and
            third form together, if none has the answer to another among its arguments, and each
            test of the second.
        max_tests_per_problem: of more tests, that many are run, of as many different expected
            values as there are; the others are counted (``metadata["left_out"]``). 0: all.
        language: ``"python"``, or one that is installed, for tests of the second form.
        sandbox: ``None`` for the default of this machine, a name or a ``Sandbox``.
        python: the folder of a virtual environment whose packages programs may import.

    Returns:
        A Reward whose score is None if the sandbox failed: that is no wrong answer. Its metadata:
        ``passed``, ``total``, ``left_out`` (counts), ``rule`` (by which what scripts print is
        judged), ``tests`` (a dict for each, with
        ``status``, ``expected``, ``actual``), ``error_type``, ``error`` (the first error's type
        and text), ``limit`` (``""``, ``"cpu"``, ``"wall"``, ``"memory"``, ``"output"``,
        ``"files"``, ``"sandbox"``: it brought every sandbox down), ``cpu_s`` (seconds), ``reason``
        (why there is no score or no program).

    Raises:
        SettingError: a setting or test that is wrong, or tests whose verdict would be the
            program's own.
        SandboxUnavailable: no sandbox works here, or the language's tool is not installed.
    """
    settings = GradeSettings(partial_credit, sandbox_timeout_s, max_tests_per_problem, language)
    plan = make_plan(tests, python)
    return grade_many([(response, plan)], settings, shared(sandbox, python))[0]


def grade_many(
    items: Sequence[tuple[str, Plan]], settings: GradeSettings, sandbox: Sandbox
) -> list[Reward]:
    """Grade many responses at once on every core; rewards keep the order."""
    cases = [_read_case(response, plan, settings) for response, plan in items]
    while jobs := [job for case in cases for job in case.next_jobs()]:
        outcomes = iter(sandbox.run_jobs(jobs))
        for case in cases:
            case.take(outcomes)
    return [case.reward() for case in cases]


def grade_without_clock(response: str, tests: Any, **settings: Any) -> Reward:
    """Return ``grade(...)`` without the measured time: the same on any machine."""
    return without_clock(grade(response, tests, **settings))


def without_clock(reward: Reward) -> Reward:
    """Leave the measured time out: the same response gives the same info, on any machine."""
    metadata = {key: value for key, value in reward.metadata.items() if key != "cpu_s"}
    return Reward(reward.score, reward.parts, metadata)


def _read_case(response: str, plan: Plan, settings: GradeSettings) -> _Case:
    if plan.language and plan.language != settings.language:
        settings = replace(settings, language=plan.language)
    if settings.language != "python" and plan.kind != "main":
        raise SettingError(
            f"language={settings.language!r} needs tests with 'stdin' and 'stdout'; expressions "
            "and test code are Python's"
        )
    program = extract(response, whole=plan.kind == "main")
    case = _Case(plan, plan.some(settings.max_tests_per_problem), settings, program)
    if program.strip():
        case.start(_jobs(case))
    return case


def _jobs(case: _Case) -> list[Job]:
    settings, plan = case.settings, case.plan
    program = _after(plan.preamble, case.program)
    seconds, memory, language = settings.sandbox_timeout_s, settings.memory_mb, settings.language
    early = not settings.partial_credit
    if plan.kind == "main":
        of_tests = [
            (t.limits or plan.limits).of_run(seconds, memory, language, t.stdout)
            for t in plan.tests
        ]
        return [
            Job(program, "main", stdin=t.stdin, language=language, limits=limits)
            for t, limits in zip(plan.tests, of_tests, strict=True)
        ]
    limits = plan.limits.of_run(seconds, memory, language)
    tests = [[plan.tests[place] for place in group] for group in plan.groups]
    if plan.kind == "values":
        return [
            Job(program, "values", tuple(test.text for test in some), stop_early=early,
                limits=limits, names=_names_of(some))
            for some in tests
        ]  # fmt: skip
    parts = [[*plan.first, *some] for some in tests]
    return [
        Job(program, "split", setup=plan.setup, stubs=plan.stubs, steps=tuple(map(_step_of, some)),
            stop_early=early, limits=limits, first=len(plan.first), names=_names_of(some),
            roles=plan.roles, classes=plan.classes)
        for some in parts
    ]  # fmt: skip


def _names_of(tests: Sequence[ValueTest]) -> tuple[Names, ...]:
    return tuple(test.names for test in tests) if any(test.names for test in tests) else ()


_FUTURE = re.compile(r"^from __future__ import .*$", re.MULTILINE)


def _after(preamble: str, program: str) -> str:
    """Return a program after what goes before it; its imports from the future stay the first."""
    if not preamble:
        return program
    first = "".join(f"{line}\n" for line in _FUTURE.findall(program))
    return f"{first}{preamble}\n{_FUTURE.sub('', program)}"


def _step_of(test: ValueTest) -> tuple[str, str]:
    """Return a step of a split check; one that compares nothing sees changes as they are made."""
    if test.how == "runs":
        return "exec", f"{test.before}\n{test.text}" if test.before else test.text
    return "eval" if _COMPARES.search(test.text) else "now", test.text


_COMPARES = re.compile(r"[<>=!]=|[<>]|\b(in|is|not)\b")


@dataclass
class _Case:
    """One response on its way to a verdict."""

    whole: Plan
    plan: Plan
    settings: GradeSettings
    program: str
    waiting: list[Job] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    script: ScriptRun | None = None
    known: dict[int, str] = field(default_factory=dict)  # how tests went, where that was asked

    def start(self, jobs: list[Job]) -> None:
        if self.plan.kind == "main":
            one_by_one = not self.settings.partial_credit
            self.script = ScriptRun(self.plan.tests, jobs, one_by_one, self.outcomes)
        else:
            self.waiting = jobs

    def next_jobs(self) -> list[Job]:
        """Return what to run next: one group of tests after the other, lest two runs talk."""
        return self.script.next_jobs() if self.script else self.waiting[:1]

    def take(self, outcomes: Any) -> None:
        """Take the outcomes of what ``next_jobs`` returned."""
        if self.script:
            self.script.take(outcomes)
        elif self.waiting:
            group = self.plan.groups[len(self.outcomes)]
            self.outcomes.append(next(outcomes))
            self.known |= {place: self._status(place) for place in group}
            passed = all(self.known[place] == PASSED for place in group)
            go_on = passed or self.settings.partial_credit
            self.waiting = self.waiting[1:] if go_on else []

    def _status(self, index: int) -> str:
        if self.script:
            return self.script.status(index)
        return _status(self.plan.tests[index], *self._of(index))

    def _of(self, index: int) -> tuple[Outcome | None, int]:
        """Return the outcome of a test and the index of its record there."""
        run, record = (index, -1) if self.plan.kind == "main" else self.plan.places[index]
        return (self.outcomes[run] if run < len(self.outcomes) else None), record

    def reward(self) -> Reward:
        statuses = [self.known.get(i) or self._status(i) for i in range(len(self.plan.tests))]
        failures = [outcome.failure for outcome in self.outcomes if outcome.failure]
        failures += self.script.failures() if self.script else []
        failures += self._harness_failures()
        passed, total = statuses.count(PASSED), len(statuses)
        score = passed / total if self.settings.partial_credit else float(passed == total)
        reason = failures[0] if failures else "" if self.program.strip() else "no program found"
        kind, text = self._first_error()
        limits = [outcome.limit for outcome in self.outcomes if outcome.limit]
        return Reward(
            None if failures else score,
            metadata={
                "passed": passed,
                "total": total,
                "left_out": len(self.whole.tests) - total,
                "rule": _rule_of(self.plan),
                "tests": [self._report(i, status) for i, status in enumerate(statuses)],
                "error_type": kind,
                "error": text,
                "limit": limits[0] if limits else "",
                "cpu_s": round(math.fsum(outcome.cpu_s for outcome in self.outcomes), 6),
                "reason": reason,
            },
        )

    def _harness_failures(self) -> list[str]:
        """Return what the tests' own process says of tests that nobody could pass.

        Only there: what a program's process says of itself would be its own choice.
        """
        if self.plan.kind != "split":
            return []
        errors = [o.error(i) for o in self.outcomes for i in sorted(o.records)]
        return [text for kind, text in errors if kind == "HarnessFailed"]

    def _first_error(self) -> tuple[str, str]:
        for outcome in self.outcomes:
            for index in sorted(outcome.records):
                kind, text = outcome.error(index)
                if kind or text:
                    return visible(kind), _without_paths(text)
        return "", ""

    def _report(self, index: int, status: str) -> dict[str, str]:
        test = self.plan.tests[index]
        outcome, record = self._of(index)
        expected = shorten(test.stdout) if isinstance(test, IoTest) else test.shown[0]
        actual = "" if outcome is None else _actual(test, outcome, record)
        return {"status": status, "expected": expected, "actual": actual}


def _rule_of(plan: Plan) -> str:
    """Return by which rule the tests of a script are judged; ``""`` for values."""
    rules = {"checker" if t.checker else t.compare for t in plan.tests if isinstance(t, IoTest)}
    return ", ".join(sorted(rules))


def _status(test: ValueTest, outcome: Outcome | None, record: int) -> str:
    """Return how one test went. Here, and in ``ScriptRun.status``, a test becomes ``passed``."""
    if outcome is None or outcome.failure:
        return NOT_RUN
    kind, payload = outcome.records.get(record, ("", None))
    if kind == "value":
        return PASSED if _passes(test, payload) else WRONG
    if kind == "error":
        return ERROR
    return LIMIT if outcome.limit else NOT_RUN


def _passes(test: ValueTest, payload: Any) -> bool:
    if test.how in ("true", "false"):
        return truth(payload) == (test.how == "true")
    return payload == test.wire or wire_equals(payload, test.expected, test.tolerance)


def _actual(test: ValueTest | IoTest, outcome: Outcome, record: int) -> str:
    if isinstance(test, IoTest):
        return _without_paths(shorten(outcome.stdout[:400].decode("utf-8", "replace")))
    kind, payload = outcome.records.get(record, ("", None))
    if kind != "value":
        return _without_paths(shorten(outcome.error(record)[1]))
    if payload == test.wire:
        return test.shown[1]
    return _without_paths(show_wire(payload) if test.how != "runs" else "passed")


_PATHS = re.compile(
    "|".join(re.escape(p) for p in sorted({sys.base_prefix, sys.prefix}, key=len, reverse=True))
)


def _without_paths(text: str) -> str:
    return visible(_PATHS.sub("<python>", text))
