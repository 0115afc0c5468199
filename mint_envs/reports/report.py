"""What a benchmark found, in plain values: shown in a terminal, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

_SHOWN = 160  # characters of a prompt or response that a report quotes
_TEXT = 1000  # characters of what is wrong
_CASES = 5  # cases that are shown for a fault


@dataclass(frozen=True)
class Case:
    """One response that shows a fault."""

    prompt: str
    response: str
    score: float | None
    wanted: float | None = None
    note: str = ""


@dataclass
class Fault:
    """One thing that is wrong.

    Args:
        check: short name of the rule.
        text: what is wrong, with numbers.
        advice: what to do about it.
        cases: responses that show it.
        heads: what the first two columns of the cases hold.
    """

    check: str
    text: str
    advice: str
    cases: list[Case] = field(default_factory=list)
    heads: tuple[str, str] = ("prompt", "response")


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
    """One part of the report."""

    name: str
    question: str
    numbers: dict[str, float | None] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fault(self, check: str, text: str, advice: str, cases: Sequence[Case] = ()) -> None:
        # The text may quote an error, which may quote a response: no escape reaches a terminal.
        self.faults.append(Fault(check, short(text, _TEXT), advice, list(cases)[:_CASES]))


@dataclass
class Report:
    """All sections, and how they were made."""

    subject: str
    command: str
    made: dict[str, Any]
    sections: list[Section] = field(default_factory=list)

    @property
    def faults(self) -> list[Fault]:
        return [fault for section in self.sections for fault in section.faults]

    @property
    def numbers(self) -> dict[str, float | None]:
        """Return all numbers that a floor may be set for."""
        found: dict[str, float | None] = {"faults": float(len(self.faults))}
        for section in self.sections:
            found |= section.numbers
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self) | {"numbers": self.numbers}


def short(text: str, room: int = _SHOWN) -> str:
    """Return a prompt or response as one printable line; of a long one its two ends."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    half = room // 2
    return line if len(line) <= room else f"{line[:half]} … {line[-half:]}"
