"""What the kit finds, and how it says so."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..errors import ContractError

_SHOWN = 100  # characters of an input that a finding quotes


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which the contract is broken."""

    check: str  # short name of the rule, e.g. "determinism"
    fault: str  # what is wrong, with the input that shows it
    advice: str  # what to do about it

    def __str__(self) -> str:
        return f"{self.check}: {self.fault.rstrip('.')}. {self.advice}."


@dataclass(frozen=True, slots=True)
class Report:
    """A passed check.

    Args:
        subject: what was checked.
        cases: how many inputs each rule was tried on.
        skipped: rules that could not be tried, and why.
        notes: what breaks no rule and is worth knowing.
    """

    subject: str
    cases: dict[str, int]
    skipped: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        tried = ", ".join(f"{name} ({n})" for name, n in sorted(self.cases.items()))
        left = "".join(f"\n  not checked: {k}: {why}" for k, why in self.skipped.items())
        told = "".join(f"\n  worth knowing: {note}" for note in self.notes)
        return f"{self.subject} keeps the contract: {tried}{left}{told}"


class Findings:
    """Collects findings: the first of each kind, and how many more there were."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.cases: Counter[str] = Counter()
        self.skipped: dict[str, str] = {}
        self.notes: list[str] = []
        self._first: dict[tuple[str, str], Finding] = {}
        self._seen: Counter[tuple[str, str]] = Counter()

    def expect(self, good: bool, check: str, fault: str, advice: str, kind: str = "") -> bool:
        """Count a case of ``check``; unless it is ``good``, note the fault. Return ``good``.

        ``kind`` keeps apart different faults under one check; of each only the first is told.
        """
        self.cases[check] += 1
        if not good:
            key = (check, kind or advice)
            self._first.setdefault(key, Finding(check, " ".join(fault.splitlines()), advice))
            self._seen[key] += 1
        return good

    def report(self) -> Report:
        """Return the report, or raise ContractError with every finding."""
        if not self._first:
            return Report(self.subject, dict(self.cases), dict(self.skipped), tuple(self.notes))
        lines = []
        for key, finding in self._first.items():
            more = self._seen[key] - 1
            lines.append(f"  {finding}" + (f" (and {more} more)" if more else ""))
        number = len(lines)
        head = f"{self.subject} breaks the contract in {number} way{'s' * (number > 1)}:"
        raise ContractError("\n".join([head, *lines]), tuple(self._first.values()))


def shown(value: Any) -> str:
    """Return ``value`` as a finding quotes it: repr, cut to one short line."""
    return cut(repr(value))


def cut(text: str) -> str:
    """Return ``text``, or its beginning and its length."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


def apart(one: str, two: str) -> tuple[str, str]:
    """Return the places of two texts where they first differ."""
    pairs = enumerate(zip(one, two, strict=False))
    place = next((i for i, (a, b) in pairs if a != b), min(len(one), len(two)))
    start = max(0, place - _SHOWN // 2)
    return _piece(one, start), _piece(two, start)


def _piece(text: str, start: int) -> str:
    end = start + 2 * _SHOWN
    return "..." * (start > 0) + text[start:end] + "..." * (end < len(text))
