"""What was found and how, in plain values: of the kit, of a benchmark, of an audit.

Shown in a terminal (``terminal.py``), as a page (``pages.py``), as JSON, or as text (``str``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

_SHOWN = 160  # characters of a prompt or response that a report quotes
_TEXT = 1000  # characters of what is wrong
#: How bad a finding is, the worst first, and what that means.
SEVERITIES = {
    "exploitable": "a policy can use it today",
    "honest": "it is wrong on honest answers",
    "fragile": "it breaks on odd ones",
}
CASES = 5  #: that are shown for a finding

#: Is told what is done, how much of it, and of how much.
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Case:
    """One response that shows what is wrong."""

    prompt: str
    response: str
    score: float | None
    wanted: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Args:
        check: short name of the rule, e.g. "determinism".
        fault: what is wrong, with the input that shows it or with numbers.
        advice: what to do about it.
        cases: responses that show it.
        heads: what the first two columns of the cases hold.
        shows: what else shows it, by name.
        more: how often it was seen besides.
        severity: one of ``SEVERITIES``, or "" where nothing is ranked.
        cost: what it costs a policy that is trained on it.
        repeat: a command that shows it again.
    """

    check: str
    fault: str
    advice: str
    cases: tuple[Case, ...] = ()
    heads: tuple[str, str] = ("prompt", "response")
    shows: Mapping[str, Any] = field(default_factory=dict, hash=False)
    more: int = 0
    severity: str = ""
    cost: str = ""
    repeat: str = ""

    def __str__(self) -> str:
        return f"{self.check}: {self.fault.rstrip('.')}. {self.advice}."

    def to_json(self) -> dict[str, Any]:
        cases = [asdict(case) for case in self.cases]
        told = {"check": self.check, "text": self.fault, "advice": self.advice}
        more = {"severity": self.severity, "cost": self.cost, "repeat": self.repeat}
        return {**told, **more, "cases": cases, "heads": list(self.heads)}


@dataclass
class Table:
    """A table: heads of the columns, and rows of text."""

    title: str
    heads: list[str]
    rows: list[list[str]] = field(default_factory=list)


@dataclass
class Plot:
    """A plot: ``kind`` is "bars" (labels and heights), "line" or "loglog" (x and y)."""

    title: str
    kind: str
    x: list[Any]
    y: list[float]
    x_title: str = ""
    y_title: str = ""


@dataclass
class Section:
    """One part of a report.

    ``tried`` says on how many inputs each rule was tried, ``skipped`` which were not, and why.
    """

    name: str
    question: str
    numbers: dict[str, float | None] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tried: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    policies: list[Finding] = field(default_factory=list)

    def find(
        self, check: str, fault: str, advice: str, cases: Iterable[Case] = (), **more: str
    ) -> None:
        """Add a finding, with the first of its cases; ``more``: severity, cost, repeat."""
        self.findings.append(_finding(check, fault, advice, cases, **more))

    def tell(
        self, check: str, what: str, use: str, cases: Iterable[Case] = (), repeat: str = ""
    ) -> None:
        """Add a rule that authors choose, which is no fault: what it is, and what it allows."""
        self.policies.append(_finding(check, what, use, cases, repeat=repeat))

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "question": self.question,
            "numbers": self.numbers,
            "tables": [asdict(table) for table in self.tables],
            "plots": [asdict(plot) for plot in self.plots],
            "faults": [finding.to_json() for finding in self.findings],
            "policies": [policy.to_json() for policy in self.policies],
            "notes": self.notes,
        }


def _finding(check: str, fault: str, advice: str, cases: Iterable[Case], **more: str) -> Finding:
    # The text may quote an error, which may quote a response: no escape reaches a terminal.
    return Finding(check, short(fault, _TEXT), advice, tuple(islice(cases, CASES)), **more)  # type: ignore[arg-type]


@dataclass
class Report:
    """What was checked, how, and what was found.

    Args:
        subject: what was checked.
        command: how to make the report again.
        made: under which circumstances.
        sections: the parts.
        passed, failed: what is said of the subject without findings, and with some.
        lead: what stands first: what was understood of the subject.
        untried: what stands last if nothing was found: what could not be tried.
    """

    subject: str
    command: str = ""
    made: dict[str, Any] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    passed: str = "shows no fault"
    failed: str = "is at fault"
    lead: str = ""
    untried: str = ""

    @property
    def worst_first(self) -> list[Finding]:
        """The findings by severity; before its like, what a policy that was trained has found."""
        order = [*SEVERITIES, ""]
        return sorted(
            self.findings, key=lambda one: (order.index(one.severity), one.check != "trained")
        )

    @property
    def to_do(self) -> list[tuple[Finding, list[str]]]:
        """The findings by severity, one for each advice, with what else the advice is for."""
        found: dict[str, list[Finding]] = {}
        for one in self.worst_first:
            found.setdefault(one.advice, []).append(one)
        return [
            (first, [one.fault.partition(":")[0] for one in others])
            for first, *others in found.values()
        ]

    @property
    def policies(self) -> list[Finding]:
        """Rules that authors choose, which are no faults."""
        return [policy for section in self.sections for policy in section.policies]

    @property
    def findings(self) -> list[Finding]:
        return [finding for section in self.sections for finding in section.findings]

    @property
    def numbers(self) -> dict[str, float | None]:
        """Return all numbers that a floor may be set for."""
        found: dict[str, float | None] = {"faults": float(len(self.findings))}
        for section in self.sections:
            found |= section.numbers
        return found

    @property
    def cases(self) -> dict[str, int]:
        """On how many inputs each rule was tried."""
        return {name: n for section in self.sections for name, n in section.tried.items()}

    @property
    def skipped(self) -> dict[str, str]:
        """Rules that could not be tried, and why."""
        return {name: why for section in self.sections for name, why in section.skipped.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What breaks no rule and is worth knowing."""
        return tuple(note for section in self.sections for note in section.notes)

    def __str__(self) -> str:
        found = self.findings
        if found:
            ways = f"{len(found)} way{'s' * (len(found) > 1)}"
            return "\n".join(
                [f"{self.subject} {self.failed} in {ways}:", *map(_finding_line, found)]
            )
        tried = ", ".join(f"{name} ({n})" for name, n in sorted(self.cases.items()))
        left = "".join(f"\n  not checked: {k}: {why}" for k, why in self.skipped.items())
        told = "".join(f"\n  worth knowing: {note}" for note in self.notes)
        return f"{self.subject} {self.passed}: {tried}{left}{told}"

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "subject": self.subject,
            "command": self.command,
            "lead": self.lead,
            "made": self.made,
            "sections": [section.to_json() for section in self.sections],
            "numbers": self.numbers,
        }


def _finding_line(finding: Finding) -> str:
    return f"  {finding}" + (f" (and {finding.more} more)" if finding.more else "")


def short(text: str, room: int = _SHOWN) -> str:
    """Return a prompt or response as one printable line; of a long one its two ends."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    half = room // 2
    return line if len(line) <= room else f"{line[:half]} … {line[-half:]}"


#: Signs that turn the direction of the text after them, so that it reads as what it is not.
_BIDI = {code: f"\\u{code:04x}" for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F),
                                            *range(0x2066, 0x206A))}  # fmt: skip


def one_direction(value: Any) -> Any:
    """Return a text, or plain values that hold texts, with such signs as visible escapes."""
    if isinstance(value, str):
        return value.translate(_BIDI)
    if isinstance(value, Mapping):
        return {one_direction(key): one_direction(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [one_direction(item) for item in value]
    return value


def quoted_cases(
    rows: Iterable[tuple[str, Iterable[str], float | None, float | None, str]],
) -> list[Case]:
    """Return (prompt, turns, score, wanted, note) as a report quotes them."""
    return [
        Case(short(prompt), " ⏎ ".join(map(short, turns)), score, wanted, note)
        for prompt, turns, score, wanted, note in rows
    ]
