"""One run of the benchmark: the child process, the problems, and what every part shares."""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from statistics import median
from time import monotonic
from typing import Any

from ..errors import require
from ..records.cases import Matcher, Saved, places, problems_of, read_saved
from ..reports.report import CASES, Case, Tell, quoted_cases
from ..responses.items import Item
from ..responses.probes import Probe
from ..responses.written import Wording
from .batteries import battery
from .target.client import Pair, TargetVerdict, TargetWorker
from .target.targets import Target

#: More of one probe than this says nothing new.
_EACH = 100
_PAID = 0.5  # a reward from here up is a mark
_AT_ONCE, _FEW_AT_ONCE = 64, 4  # between two looks at the clock; few where some have hung
_LOOK_S = 2.0  # between two looks at the clock, about
_TELL_S = 0.1  # between two words on how far it is


@dataclass(frozen=True)
class Options:
    """Settings of a benchmark.

    Args:
        cases: file of labelled responses.
        battery: name of labelled responses that ship, in place of such a file.
        responses: file of saved responses.
        data: file of problems, for a function.
        against: another target, a stricter reference.
        solver: ``module:function`` that takes a prompt and returns the right response.
        problems: how many problems to try.
        texts: how many hostile texts the conformance kit tries.
        search: how many responses the search for hacks tries.
        trained: whether a small policy is trained on the reward too, for two minutes at most,
            and read for one.
        group: responses to one prompt in training.
        seconds: of each measurement of speed.
        workers: processes of the last measurement of speed.
        timeout_s: seconds of CPU time (by the clock, six times that) after which a reward hangs.
        memory_mb: address space of the reward function's process; 0: half of what is free.
        low, high: the lowest and the highest reward of a function; None where it is to be learned.
        within: seconds by the clock after which no new responses are tried; what is left out is
            said. Labelled and saved responses are scored all the same.
        only: names of the parts to run; () for all.
    """

    cases: str | None = None
    battery: str | None = None
    responses: str | None = None
    data: str | None = None
    against: str | None = None
    solver: str | None = None
    problems: int = 32
    texts: int = 100
    search: int = 300
    trained: bool = False
    group: int = 8
    seconds: float = 2.0
    workers: int = 2
    timeout_s: float = 5.0
    memory_mb: int = 0
    low: float | None = None
    high: float | None = None
    within: float = 45.0
    only: tuple[str, ...] = ()

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest reward, 0 and 1 where nothing was said."""
        return (
            0.0 if self.low is None else self.low,
            1.0 if self.high is None else self.high,
        )

    def __post_init__(self) -> None:
        """Refuse what would measure nothing, or never end.

        Raises:
            SettingError: a number is out of bounds.
        """
        require(not (self.cases and self.battery), "give a file of cases or a battery, not both")
        for name in ("problems", "group", "workers", "texts"):
            value = getattr(self, name)
            require(value >= 1, f"{name}={value} must be at least 1")
        for name in ("search", "memory_mb"):
            value = getattr(self, name)
            require(value >= 0, f"{name}={value} must not be negative")
        for name in ("seconds", "timeout_s", "within"):
            value = getattr(self, name)
            require(0 < value < math.inf, f"{name}={value} must be a time above 0")
        bounds = low, high = self.bounds
        require(
            math.isfinite(high - low) and low < high,
            f"range={bounds} must be the lowest and the highest reward",
        )


@dataclass(frozen=True, slots=True)
class Tried:
    """A response and what came of it; the fields are those of ``Probe`` and of ``TargetVerdict``.

    ``want`` is None where nobody knows; ``measured`` is False if the function said that it could
    not tell, ``paid`` True from half of the full mark up; ``told`` is what a report says of it;
    ``raw`` the number as the function returned it.
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
    raw: float | None = None


@dataclass(frozen=True)
class Paid:
    """What a reward pays, as far as trying has shown it.

    Args:
        kind: "correctness", "form", "penalty", "shaping", or "nothing" if no paid form is known.
        wordings: the forms in which a right answer is paid, the one asked for first.
        source: where the first of them comes from.
        right, wrong: by problem, the score of its right answer in that form, and the most that a
            plainly wrong one gets there.
        low, high: the lowest and the highest reward.
        asked: forms that the prompts ask for.
    """

    kind: str
    wordings: tuple[Wording, ...] = ()
    source: str = ""
    right: Mapping[int, float] = field(default_factory=dict)
    wrong: Mapping[int, float] = field(default_factory=dict)
    low: float = 0.0
    high: float = 1.0
    asked: tuple[Wording, ...] = ()
    refused: tuple[int, ...] = ()

    @property
    def top(self) -> float:
        """What most right answers earn."""
        return median(self.right.values()) if self.right else 1.0

    def is_full(self, item: Item, score: float | None, share: float = 0.9) -> bool:
        """Whether a score is as good as that of the right answer, or ``share`` of the way there."""
        if score is None or item.index not in self.right:
            return False
        right, wrong = self.right[item.index], self.wrong.get(item.index, 0.0)
        return right > wrong and score >= wrong + share * (right - wrong) - 1e-9


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
    paid: Paid | None = None
    began: float = field(default_factory=monotonic)
    share: float = 1.0  # of the time, that may be over when the part that is tried now is
    left_out: Counter[str] = field(default_factory=Counter)
    odd: list[Tried] = field(default_factory=list)

    @property
    def learned(self) -> bool:
        """Whether what is paid had to be learned, of a function that says nothing of it."""
        return self.paid is not None and bool(self.about["function"])

    @property
    def reads_answers(self) -> bool:
        """Whether a form is known in which a function pays right answers."""
        return self.learned and self.paid is not None and self.paid.kind == "correctness"

    @property
    def until(self) -> float:
        """When no new responses are to be tried any more, on the clock ``monotonic``."""
        return self.began + self.share * self.options.within

    @property
    def out_of_time(self) -> bool:
        """Whether no new responses are to be tried."""
        return monotonic() > self.until

    @contextmanager
    def untimed(self) -> Iterator[None]:
        """Wait for every answer, whatever the time, and give the time back that is spent in it."""
        start, over, self.worker.over = monotonic(), self.worker.over, math.inf
        try:
            yield
        finally:
            spent = monotonic() - start
            self.began += spent
            self.worker.over = over + spent

    def leave_out(self, what: str, count: int = 1) -> None:
        """Say of these that they were not tried, since the time was over."""
        self.left_out[what or "other responses"] += count

    def like_this(self, worker: TargetWorker) -> TargetWorker:
        """Return another worker of the target, with the range that was learned."""
        if self.paid is not None and self.about["function"]:
            worker.set_range(self.paid.low, self.paid.high)
        worker.over = self.worker.over
        return worker

    def tried(
        self,
        probes: Sequence[Probe | Tried],
        what: str = "",
        apart: bool = False,
        by: TargetWorker | None = None,
        gold: str | None = None,
        must: bool = False,
    ) -> list[Tried]:
        """Return what the responses got, in order, and tell how far it is if ``what`` says so.

        When the time is over, what is left is left out, and ``left_out`` counts it.

        Args:
            probes: the responses.
            what: how the work is called.
            apart: each is scored in a process of its own.
            by: another worker than the target's.
            gold: put in place of the right answer of the rows.
            must: try them all, whatever the time.
        """
        pairs = [(probe.item.index, probe.turns) for probe in probes]
        verdicts: list[TargetVerdict] = []
        found: list[Tried] = []
        try:
            self._score(verdicts, by or self.worker, pairs, what, apart, gold, must)
        finally:  # where it is given up, what was seen until then is told all the same
            found += [_tried(one, two) for one, two in zip(probes, verdicts, strict=False)]
            if by is None and gold is None:
                self.odd += [one for one in found if one.status not in ("ok", "unmeasured")]
        return found

    def _score(
        self,
        found: list[TargetVerdict],
        worker: TargetWorker,
        pairs: Sequence[Pair],
        what: str,
        apart: bool,
        gold: str | None,
        must: bool,
    ) -> None:
        """Append the verdicts to ``found``, in order, until the time is over."""
        told, most = 0.0, _AT_ONCE
        until = math.inf if must else self.until
        while len(found) < len(pairs):
            if monotonic() > until:
                self.leave_out(what, len(pairs) - len(found))
                break
            start, before = monotonic(), len(found)
            many = min(most, _FEW_AT_ONCE if worker.lost else _AT_ONCE)
            for verdict in worker.each(pairs[len(found) :][:many], apart, gold, until):
                found.append(verdict)
                if what and monotonic() - told > _TELL_S:
                    self.progress(what, len(found), len(pairs))
                    told = monotonic()
            took = (monotonic() - start) / max(1, len(found) - before)
            most = max(1, min(_AT_ONCE, int(_LOOK_S / max(took, 1e-9))))
        if what:
            self.progress(what, len(found), len(pairs))

    def saved(self, rows: Sequence[Saved], what: str) -> list[Tried]:
        """Return what saved responses got; each file is scored once."""
        key = id(rows)
        if key not in self.scored:
            with self.untimed():
                self.scored[key] = self.tried(self.probes_of(rows), what, must=True)
        return self.scored[key]

    def probes_of(self, rows: Sequence[Saved]) -> list[Probe]:
        """Return saved responses as probes that are named by their lines."""
        return [
            Probe(row.kind or f"line {row.line}", self.items[row.item], row.turns, row.label)
            for row in rows
        ]


def _tried(probe: Probe | Tried, got: TargetVerdict) -> Tried:
    return Tried(
        probe.name, probe.item, probe.turns, probe.want,
        got.status, got.score, got.note, got.seconds, got.ran,
        measured=got.status != "unmeasured",
        paid=got.score is not None and got.score >= _PAID,
        told=f"{probe.name}: {got.note}" if got.note else probe.name,
        raw=got.raw,
    )  # fmt: skip


_LONGEST = 2000  # characters of a response that a command can hold


def repeat_of(run: BenchRun, one: Tried) -> str:
    """Return the command that asks for the reward of one response again."""
    text = json.dumps(one.turns[-1] if len(one.turns) == 1 else list(one.turns))
    if len(text) > _LONGEST:
        return ""
    options = run.options
    named = (("--data", options.data), ("--cases", options.cases), ("--battery", options.battery))
    given = [part for name, value in named if value for part in (name, value)]
    settings = [f"--set={name}={value}" for name, value in run.target.settings.items()]
    place = ["--row", str(one.item.index)]
    words = ["mint-envs", "bench", run.target.name, *given, *settings, *place, "--try", text]
    return shlex.join(words)


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
    return Target(name, dict(settings), rows, *options.bounds)


def read_files(options: Options) -> tuple[list[Saved], list[Saved], list[dict[str, Any]]]:
    """Return the labelled responses, the saved ones, and the problems of a function."""
    from ..datasets import load_rows

    cases = read_saved(options.cases, labelled=True) if options.cases else []
    if options.battery:
        cases = battery(options.battery)
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
