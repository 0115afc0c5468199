"""Programs that read standard input and print: their tests, and the way to a verdict on each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..errors import SettingError, did_you_mean
from ..sandbox import Job, Outcome
from .cases import IoTest
from .checkers import Checker, read_checker
from .judging import RULES, same_output
from .limits import LIMIT_KEYS, read_limits
from .values import Tolerance

PASSED, WRONG, ERROR, LIMIT, NOT_RUN = "passed", "wrong", "error", "limit", "not run"

_KEYS = {"stdin", "stdout", "compare", "tolerance", "checker", *LIMIT_KEYS}
_FAILED = "the checker failed, or said nothing that is understood"


def io_test(item: Mapping[str, Any], number: int, **defaults: Any) -> IoTest:
    """Return one test with ``stdin`` and ``stdout``; ``defaults`` are those of its row.

    Raises:
        SettingError: a key is not known, or its value is not one it may have.
    """
    given = {**defaults, **item}
    for key in given:
        if key not in _KEYS:
            refuse_key(f"test {number}", key, _KEYS)
    stdin, stdout = given.get("stdin", ""), given.get("stdout")
    compare, checker = given.get("compare") or "tokens", given.get("checker")
    if not isinstance(stdin, str) or not isinstance(stdout, str):
        raise SettingError(f"test {number}: 'stdin' and 'stdout' must be text")
    if compare not in RULES:
        raise SettingError(f"test {number}: compare={compare!r}, valid: {', '.join(RULES)}")
    if checker is not None and not isinstance(checker, Checker):
        checker = read_checker(checker)
    room, own = _room(given.get("tolerance"), number), {*LIMIT_KEYS} & given.keys()
    return IoTest(stdin, stdout, compare, room, checker, read_limits(given) if own else None)


def refuse_key(where: str, key: Any, known: Iterable[str]) -> NoReturn:
    """Refuse a key that may change the verdict and is not understood.

    Raises:
        SettingError: always.
    """
    if "interact" in str(key):
        raise SettingError(f"{where}: {key!r}: interactive problems cannot be judged yet")
    raise SettingError(
        f"{where}: {key!r} may change the verdict, and is not understood. "
        f"{did_you_mean(str(key), known)}"
    )


def _room(value: Any, number: int) -> Tolerance | None:
    if value is None or isinstance(value, Tolerance):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise SettingError(f"test {number}: tolerance={value!r} must be a number from 0 to 1")
    return Tolerance(float(value), float(value))


@dataclass
class ScriptRun:
    """One script on its way through its tests, and through the checkers of those that have one.

    Where a checker fails on an output, it is tried on the authors' answer. If it fails there too,
    the test is not measured; if it accepts that, the output is what no checker can read, and
    wrong: else a program could have its score left out by printing nonsense.
    """

    tests: Sequence[IoTest]
    jobs: Sequence[Job]
    one_by_one: bool
    outcomes: list[Outcome] = field(default_factory=list)
    checked: dict[int, Outcome] = field(default_factory=dict)
    tried: dict[int, Outcome] = field(default_factory=dict)
    _asked: list[Callable[[Outcome], Any]] = field(default_factory=list)

    def next_jobs(self) -> list[Job]:
        """Return what to run next: one test at a time where the first failure decides."""
        wanted = list(self._checks()) or list(self._tries()) or list(self._programs())
        self._asked = [put for _, put in wanted]
        return [job for job, _ in wanted]

    def take(self, outcomes: Iterator[Outcome]) -> None:
        """Take the outcomes of what ``next_jobs`` returned."""
        for put in self._asked:
            put(next(outcomes))
        self._asked = []

    def _programs(self) -> Iterator[tuple[Job, Callable[[Outcome], Any]]]:
        done = len(self.outcomes)
        if done and self.one_by_one and self.status(done - 1) != PASSED:
            return
        for job in self.jobs[done : done + 1] if self.one_by_one else self.jobs[done:]:
            yield job, self.outcomes.append

    def _checks(self) -> Iterator[tuple[Job, Callable[[Outcome], Any]]]:
        for index, outcome in enumerate(self.outcomes):
            test = self.tests[index]
            if test.checker and index not in self.checked and not _trouble(outcome):
                printed = outcome.stdout.decode("utf-8", "replace")
                yield self._check(test, printed, self.checked, index)

    def _tries(self) -> Iterator[tuple[Job, Callable[[Outcome], Any]]]:
        for index, outcome in self.checked.items():
            test = self.tests[index]
            if index not in self.tried and _said(test, outcome) is None:
                yield self._check(test, test.stdout, self.tried, index)

    def _check(
        self, test: IoTest, printed: str, into: dict[int, Outcome], index: int
    ) -> tuple[Job, Callable[[Outcome], Any]]:
        assert test.checker is not None
        job = test.checker.job(test.stdin, printed, test.stdout)
        return job, lambda outcome: into.__setitem__(index, outcome)

    def failures(self) -> list[str]:
        """Return why tests could not be measured."""
        found = [outcome.failure for outcome in self.outcomes if outcome.failure]
        for index, outcome in self.checked.items():
            if self._verdict(index) is None:
                found.append(outcome.failure or f"{_FAILED}: {outcome.error(-1)[1]}".strip(": "))
        return found

    def status(self, index: int) -> str:
        """Return how one test went."""
        if index >= len(self.outcomes) or self.outcomes[index].failure:
            return NOT_RUN
        outcome, test = self.outcomes[index], self.tests[index]
        if trouble := _trouble(outcome):
            return trouble
        if test.checker is None:
            printed = outcome.stdout.decode("utf-8", "replace")
            right = same_output(printed, test.stdout, test.compare, test.tolerance)
            return PASSED if right else WRONG
        verdict = self._verdict(index)
        return NOT_RUN if verdict is None else PASSED if verdict else WRONG

    def _verdict(self, index: int) -> bool | None:
        if index not in self.checked:
            return None
        said = _said(self.tests[index], self.checked[index])
        tried = self.tried.get(index)
        if said is None and tried is not None and _said(self.tests[index], tried):
            return None if self.checked[index].failure else False
        return said


def _said(test: IoTest, outcome: Outcome) -> bool | None:
    return test.checker.verdict(outcome) if test.checker else None


def _trouble(outcome: Outcome) -> str:
    """Return the status of a program that did not come to a good end, or ``""``."""
    if outcome.failure:
        return NOT_RUN
    if outcome.limit:
        return LIMIT
    kind, _ = outcome.records.get(-1, ("value", None))
    failed = outcome.exit_code or (kind == "error" and outcome.error(-1)[0])
    return ERROR if failed else ""
