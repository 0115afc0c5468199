"""What an audit says of one problem, and what of it means that the problem should go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

#: Kind of finding → (whether it drops the problem, what it means).
KINDS: dict[str, tuple[bool, str]] = {
    "broken row": (True, "the row cannot be read, or its tests are refused"),
    "reference fails": (True, "the reference does not earn the full mark"),
    "no reference": (False, "there is no reference, so its tests were not tried"),
    "weak tests": (True, "too many wrong programs pass the tests"),
    "a mutant passes": (False, "a program that behaves differently passes the tests"),
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


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a problem; ``shows`` is what shows it."""

    kind: str
    text: str
    shows: Mapping[str, Any] = field(default_factory=dict)


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
        self.findings.append(Finding(kind, text, shows))

    @property
    def survived(self) -> int:
        """Mutants that behave differently on some input, and pass."""
        return self.mutants - self.killed - self.equivalent - self.unjudged

    @property
    def kinds(self) -> list[str]:
        return [finding.kind for finding in self.findings]

    @property
    def drop(self) -> bool:
        return any(KINDS[kind][0] for kind in self.kinds)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Audited:
        findings = [Finding(**finding) for finding in row["findings"]]
        return cls(**{**row, "findings": findings})
