"""What the kit finds: collected rule by rule, quoted short, and then reported or raised."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from ..errors import ContractError
from ..reports.report import Finding, Report, Section

_SHOWN = 100  # characters of an input that a finding quotes


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
        found = [replace(one, more=self._seen[key] - 1) for key, one in self._first.items()]
        section = Section("contract", "Does it keep the contract?", findings=found)
        section.tried, section.skipped = dict(self.cases), dict(self.skipped)
        section.notes = list(self.notes)
        words = ("keeps the contract", "breaks the contract")
        report = Report(self.subject, "", {}, [section], *words)
        if found:
            raise ContractError(str(report), tuple(found))
        return report


def shown(value: Any) -> str:
    """Return ``value`` as a finding quotes it: repr, cut to one short line."""
    return one_line(repr(value))


def one_line(text: str) -> str:
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
