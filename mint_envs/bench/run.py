"""One run of the benchmark: the child process, the problems, and what every part shares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import Any

from ..errors import require
from ..records.cases import Matcher, Saved, places, problems_of, read_saved
from ..reports.report import CASES, Case, Tell, quoted_cases
from ..responses.items import Item
from ..responses.probes import Probe
from .target.client import Pair, TargetVerdict, TargetWorker
from .target.targets import Target

#: More of one probe than this says nothing new.
_EACH = 100
_PAID = 0.5  # a reward from here up is a mark
_TELL_S = 0.1  # between two words on how far it is


@dataclass(frozen=True)
class Options:
    """Settings of a benchmark.

    Args:
        cases: file of labelled responses.
        responses: file of saved responses.
        data: file of problems, for a function.
        against: another target, a stricter reference.
        solver: ``module:function`` that takes a prompt and returns the right response.
        problems: how many problems to try.
        texts: how many hostile texts the conformance kit tries.
        search: how many responses the search for hacks tries.
        group: responses to one prompt in training.
        seconds: of each measurement of speed.
        workers: processes of the last measurement of speed.
        timeout_s: seconds of CPU time (by the clock, six times that) after which a reward hangs.
        memory_mb: address space of the reward function's process; 0: half of what is free.
        only: names of the parts to run; () for all.
    """

    cases: str | None = None
    responses: str | None = None
    data: str | None = None
    against: str | None = None
    solver: str | None = None
    problems: int = 32
    texts: int = 100
    search: int = 300
    group: int = 8
    seconds: float = 2.0
    workers: int = 2
    timeout_s: float = 20.0
    memory_mb: int = 0
    low: float = 0.0
    high: float = 1.0
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what would measure nothing, or never end.

        Raises:
            SettingError: a number is out of bounds.
        """
        for name in ("problems", "group", "workers", "texts"):
            value = getattr(self, name)
            require(value >= 1, f"{name}={value} must be at least 1")
        for name in ("search", "memory_mb"):
            value = getattr(self, name)
            require(value >= 0, f"{name}={value} must not be negative")
        for name in ("seconds", "timeout_s"):
            value = getattr(self, name)
            require(0 < value < math.inf, f"{name}={value} must be a time above 0")
        bounds = (self.low, self.high)
        require(
            math.isfinite(self.high - self.low) and self.low < self.high,
            f"range={bounds} must be the lowest and the highest reward",
        )


@dataclass(frozen=True, slots=True)
class Tried:
    """A response and what came of it; the fields are those of ``Probe`` and of ``TargetVerdict``.

    ``want`` is None where nobody knows; ``measured`` is False if the function said that it could
    not tell, ``paid`` True from half of the full mark up; ``told`` is what a report says of it.
    """

    name: str
    item: Item
    turns: tuple[str, ...]
    want: float | None
    status: str
    score: float | None
    note: str
    seconds: float
    ran: bool
    measured: bool
    paid: bool
    told: str


@dataclass
class BenchRun:
    """A worker, and what is known about its target: here, and nowhere else, verdicts are asked."""

    target: Target
    options: Options
    worker: TargetWorker
    items: list[Item]
    about: Mapping[str, Any]
    cases: list[Saved]
    responses: list[Saved]
    progress: Tell
    reference: TargetWorker | None = None
    scored: dict[int, list[Tried]] = field(default_factory=dict)

    def tried(
        self,
        probes: Sequence[Probe | Tried],
        what: str = "",
        apart: bool = False,
        by: TargetWorker | None = None,
    ) -> list[Tried]:
        """Return what each response got, in order, and tell how far it is if ``what`` says so.

        ``apart``: each is scored in a process of its own; ``by``: another worker than the target's.
        """
        pairs = [(probe.item.index, probe.turns) for probe in probes]
        verdicts = self._scored(by or self.worker, pairs, what, apart)
        return [_tried(one, verdict) for one, verdict in zip(probes, verdicts, strict=True)]

    def _scored(
        self, worker: TargetWorker, pairs: Sequence[Pair], what: str, apart: bool
    ) -> list[TargetVerdict]:
        found, told = [], 0.0
        for verdict in worker.each(pairs, apart):
            found.append(verdict)
            if what and monotonic() - told > _TELL_S:
                self.progress(what, len(found), len(pairs))
                told = monotonic()
        if what:
            self.progress(what, len(found), len(pairs))
        return found

    def saved(self, rows: Sequence[Saved], what: str) -> list[Tried]:
        """Return what saved responses got; each file is scored once."""
        key = id(rows)
        if key not in self.scored:
            self.scored[key] = self.tried(self.probes_of(rows), what)
        return self.scored[key]

    def probes_of(self, rows: Sequence[Saved]) -> list[Probe]:
        """Return saved responses as probes that are named by their lines."""
        return [
            Probe(f"line {row.line}", self.items[row.item], row.turns, row.label) for row in rows
        ]


def _tried(probe: Probe | Tried, got: TargetVerdict) -> Tried:
    return Tried(
        probe.name, probe.item, probe.turns, probe.want,
        got.status, got.score, got.note, got.seconds, got.ran,
        measured=got.status != "unmeasured",
        paid=got.score is not None and got.score >= _PAID,
        told=f"{probe.name}: {got.note}" if got.note else probe.name,
    )  # fmt: skip


def silent(what: str, done: int, total: int) -> None:
    """Tell nobody how far it is."""


def spread(items: Sequence[Item]) -> list[Item]:
    """Return at most a hundred items, spread over all."""
    step = max(1, len(items) // _EACH)
    return list(items[::step])[:_EACH]


def first_cases(results: Iterable[Tried]) -> list[Case]:
    """Return the first responses as a report quotes them."""
    first = islice(results, CASES)
    return quoted_cases([(o.item.prompt, o.turns, o.score, o.want, o.told) for o in first])


def target_of(name: str, settings: Mapping[str, Any], options: Options, rows: Any) -> Target:
    """Return what is benchmarked, with the problems and the range that the options give it."""
    return Target(name, dict(settings), rows, options.low, options.high)


def read_files(options: Options) -> tuple[list[Saved], list[Saved], list[dict[str, Any]]]:
    """Return the labelled responses, the saved ones, and the problems of a function."""
    from ..datasets import load_rows

    cases = read_saved(options.cases, labelled=True) if options.cases else []
    responses = read_saved(options.responses) if options.responses else []
    rows = [dict(row) for row in load_rows(options.data)] if options.data else []
    return cases, responses, [*rows, *problems_of([*cases, *responses])]


def open_worker(
    target: Target, options: Options, saved: Iterable[Saved], **more: Any
) -> TargetWorker:
    """Return a worker that has the problems of the saved responses among its own."""
    rows = list(saved)
    named = all({"index", "seed"} & row.row.keys() for row in rows)
    wanted = places(rows) if named else None
    return TargetWorker(
        target,
        options.problems,
        wanted,
        timeout_s=options.timeout_s,
        memory_mb=options.memory_mb,
        **more,
    )


def placed(rows: Sequence[Saved], matcher: Matcher, path: str | None) -> list[Saved]:
    """Return saved responses, each with the place of its problem among the items.

    Raises:
        DatasetError: a response names none of them; says the line of ``path``.
    """
    return [matcher.place(row, path or "") for row in rows]
