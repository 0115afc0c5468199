"""What an audit says of one problem, and what of it means that the problem should go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..reports.report import Finding

#: Kind of finding → (whether it drops the problem, what it means).
KINDS: dict[str, tuple[bool, str]] = {
    "broken row": (True, "the row cannot be read, or its tests are refused"),
    "reference fails": (True, "the reference does not earn the full mark"),
    "no reference": (False, "there is no reference, so its tests were not tried"),
    "weak tests": (True, "too many wrong programs pass the tests"),
    "a mutant passes": (False, "a program that behaves differently passes the tests"),
    "passed over": (False, "the environment passes it over: one of its kinds is left out"),
    "flaky": (True, "the same program gets different verdicts"),
    "near the time limit": (True, "the reference needs more than half of the time limit"),
    "contradicts the prompt": (True, "the prompt gives another answer than the reference"),
    "unreadable answer": (True, "the grader cannot read the right answer"),
    "unpaid answer": (True, "the right answer, written out, does not earn the full mark"),
    "duplicate": (True, "the problem occurs before, word for word"),
    "near duplicate": (False, "nearly the same problem occurs before"),
    "in the test set": (True, "the problem occurs in the test set"),
    "near one in the test set": (True, "nearly the same problem occurs in the test set"),
}


@dataclass
class Audited:
    """One problem: its row (from 1), name and question, what was found, and counts of mutants."""

    row: int
    problem_id: str
    question: str
    findings: list[Finding] = field(default_factory=list)
    mutants: int = 0
    killed: int = 0
    equivalent: int = 0
    unjudged: int = 0

    def add(self, kind: str, text: str, **shows: Any) -> None:
        """Note what is wrong with the problem, and what shows it."""
        advice = "Drop it" if KINDS[kind][0] else "Look at it"
        self.findings.append(Finding(kind, text, advice, shows=shows))

    @property
    def survived(self) -> int:
        """Mutants that behave differently on some input, and pass."""
        return self.mutants - self.killed - self.equivalent - self.unjudged

    @property
    def kinds(self) -> list[str]:
        return [finding.check for finding in self.findings]

    @property
    def drop(self) -> bool:
        return any(KINDS[kind][0] for kind in self.kinds)

    def to_json(self) -> dict[str, Any]:
        row = {one.name: getattr(self, one.name) for one in fields(self)}
        told = [{"kind": f.check, "text": f.fault, "shows": dict(f.shows)} for f in self.findings]
        return {**row, "findings": told}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Audited:
        """Return what ``to_json`` was made of.

        Raises:
            KeyError, TypeError: it is no such row.
        """
        one = cls(**{**row, "findings": []})
        for found in row["findings"]:
            one.add(found["kind"], found["text"], **found["shows"])
        return one
