"""Tests made ready: values to compare outside, pieces of test code, stdin and stdout."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..sandbox.inside.wire import Unsupported, encode
from .apart import Telling, groups, telling
from .checkers import Checker
from .limits import NO_LIMITS, RowLimits
from .names import Names
from .values import EXACT, Either, Tolerance, shorten, show_wire, text_form

_NO_WIRE: Any = ()  # equal to no wire form, which JSON has


@dataclass(frozen=True)
class ValueTest:
    """A step and what its value must be.

    ``how`` is ``"equal"`` (to ``expected``), ``"true"`` or ``"false"`` (its truth value), or
    ``"runs"`` (a piece of test code must come to its end). ``names`` are the built-in names in it
    (see ``names.py``). ``before`` is what must be run before it, also where it is left out.
    """

    text: str
    expected: Any = True
    how: Literal["equal", "true", "false", "runs"] = "equal"
    tolerance: Tolerance = EXACT
    names: Names = ()
    before: str = ""

    @functools.cached_property
    def wire(self) -> Any:
        """The wire form of what is expected, by which most right values are known at once."""
        try:
            return encode(self.expected) if self.how == "equal" else _NO_WIRE
        except (Unsupported, RecursionError):
            return _NO_WIRE

    @functools.cached_property
    def telling(self) -> Telling:
        """What it tells of the answers to other tests."""
        if self.how == "runs":
            return Telling()
        one_of = self.expected if isinstance(self.expected, Either) else [self.expected]
        return telling(self.text, list(one_of) if self.how == "equal" else [])

    @functools.cached_property
    def shown(self) -> tuple[str, str]:
        """What is expected, and a value that is just that, as short text."""
        words = {"true": "a true value", "false": "a false value", "runs": self.text}
        expected = words.get(self.how) or text_form(self.expected)
        return shorten(expected), "" if self.wire == _NO_WIRE else show_wire(self.wire)


@dataclass(frozen=True, slots=True)
class IoTest:
    """What goes in on stdin, what must come out on stdout, and how that is compared.

    ``compare`` is a key of ``judging.RULES``; a checker, if there is one, decides in its place.
    ``limits`` are its own, where they are not those of its row.
    """

    stdin: str
    stdout: str
    compare: str = "tokens"
    tolerance: Tolerance | None = None
    checker: Checker | None = None
    limits: RowLimits | None = None


@dataclass(frozen=True)
class Plan:
    """Tests made ready.

    Args:
        kind: ``"values"``, ``"split"`` or ``"main"`` (stdin and stdout).
        tests: ``ValueTest`` or ``IoTest``.
        preamble: what goes before the program (the imports and helpers of its prompt).
        setup: what the tests of a split check need first.
        stubs: names by which they call the program.
        first: steps that come before the tests, and are none.
        limits: what the row says of limits.
        language: that programs must be in, where the row says so.
        imports: packages that the tests and their set-up import.
        roles: what the names in ``stubs`` are, where they are more than functions.
        classes: the tests' own classes (name, text), whose objects cross by value.
    """

    kind: Literal["values", "split", "main"]
    tests: tuple[Any, ...]
    preamble: str = ""
    setup: str = ""
    stubs: tuple[str, ...] = ()
    first: tuple[ValueTest, ...] = ()
    limits: RowLimits = NO_LIMITS
    language: str = ""
    roles: tuple[tuple[str, str], ...] = ()
    classes: tuple[tuple[str, str], ...] = ()
    imports: tuple[str, ...] = ()

    @functools.cached_property
    def groups(self) -> list[list[int]]:
        """The places of the tests that one run may hold; see ``apart.py``. Scripts have none."""
        return groups([test.telling for test in self.tests])

    @functools.cached_property
    def places(self) -> dict[int, tuple[int, int]]:
        """In which group each test is, and at which place there."""
        return {
            test: (number, place)
            for number, group in enumerate(self.groups)
            for place, test in enumerate(group)
        }

    def some(self, count: int) -> Plan:
        """Return the plan with at most ``count`` tests (0: all), of as many expected values as
        there are.

        The first tests of a data set often expect one and the same, which a constant would pass.
        """
        if not count or len(self.tests) <= count:
            return self
        seen: Counter[str] = Counter()
        rounds = []
        for index, test in enumerate(self.tests):
            key = (
                test.stdout
                if isinstance(test, IoTest)
                else f"{test.how} {text_form(test.expected)}"
            )
            rounds.append((seen[key], index))
            seen[key] += 1
        chosen = sorted(index for _, index in sorted(rounds)[:count])
        return replace(self, tests=tuple(self._chosen(chosen)))

    def _chosen(self, places: list[int]) -> Iterator[Any]:
        """Yield the tests at places; each takes over what those left out would have run before."""
        before: list[str] = []
        for index, test in enumerate(self.tests):
            if isinstance(test, ValueTest) and test.before:
                before.append(test.before)
            if index in places:
                yield replace(test, before="\n".join(before)) if before else test
                before = []
