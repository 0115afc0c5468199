"""Steadiness: the same reward again, elsewhere, in another order, at another time, in a batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from ..reports.report import Section
from ..responses import probes as make
from ..responses.changes import other_value
from ..responses.items import Item
from ..responses.probes import Probe
from ..responses.written import KNOWN
from .paid import FAR
from .run import BenchRun, Tried, first_cases, open_worker, spread
from .target.client import TargetWorker, WorkerDied

_PURE = "A reward is a pure function of (problem, response)"
_COST = "A policy is paid by luck, and its groups differ for no reason"
_REPEATED, _REPEATS = 3, 200  # responses, and how often all of them are scored
_MANY = 12  # problems
_ALONE = 12  # responses that are each scored in a process of its own too
#: Seconds by which the clock is moved: minutes, half days, days, a season, years.
_LATER = (61.0, 6 * 3600.0, 12 * 3600.0, 86_400.0, 3 * 86_400.0, 1e7, 4e8)


def check_steadiness(run: BenchRun, section: Section) -> None:
    """Report where one response gets two rewards."""
    if run.about["nondeterministic"]:
        section.notes.append("It says that it is nondeterministic: repeats were not compared.")
        return
    probes = _probes(run)
    if run.about["function"]:
        _repeated(section, run.tried(_again(probes), "the same again"))
    first = run.tried(probes, "the first time")
    if run.out_of_time:
        run.leave_out("another process, time or thread, and batches")
        return
    with ExitStack() as stack:
        worker = run.like_this(_another(run, stack))
        there = _there(worker, first)
        alone = run.tried(there[:_ALONE], by=worker, apart=True)
        turned = run.tried(there[::-1], by=worker)[::-1]
        if len(first) == len(turned):
            _other_process(section, first, alone, turned)
        if run.about["function"]:
            _other_time(run, section, worker, turned[:_ALONE])
    if run.about["from_rows"]:
        _watched(run, section, probes)
        _threaded(run, section, first)
        _together(run, section, first)


def _probes(run: BenchRun) -> list[Probe]:
    """Return right and wrong responses in turn, as long as each other; else what differs most."""
    paid = run.paid
    if not run.about["from_rows"] or paid is None:
        return make.known_worth(spread(run.items)[:16])
    items = spread(run.items)[:_MANY]
    far = [Probe("a text", item, (text,), None) for item in items[:3] for text in FAR]
    if paid.kind != "correctness" and "gold" not in run.about["sees"]:
        return far
    # A reward that keeps what it gave looks as if it read no answer: then the form is a guess.
    wording = (*paid.wordings, *paid.asked, KNOWN[0])[0]
    answers = [(i, text) for i in items if i.answer for text in _in_turn(i)]
    made = [
        Probe("an answer", i, (wording.write(text),), 1.0 if text == i.answer else None)
        for i, text in answers
    ]
    return made if paid.kind == "correctness" else [*made, *far]


def _in_turn(item: Item) -> list[str]:
    """Return the right answer, one as long, one longer, and nothing."""
    answer = item.answer or ""
    digits = answer.translate({48 + i: 48 + (i + 3) % 10 for i in range(10)})
    letters = "".join(chr(ord(c) + 1) if "a" <= c < "z" else c for c in digits)
    return [answer, letters, other_value(answer), ""]


def _again(probes: Sequence[Probe]) -> list[Probe]:
    few = [one for one in probes if one.want == 1.0][:_REPEATED] or list(probes[:_REPEATED])
    return few * (_REPEATS // max(1, len(few)))


def _repeated(section: Section, results: Sequence[Tried]) -> None:
    """A function that counts its calls, or draws lots."""
    seen: dict[tuple[int, tuple[str, ...]], set[Any]] = defaultdict(set)
    for one in results:
        seen[one.item.index, one.turns].add((one.status, one.score))
    apart = [one for one in results if len(seen[one.item.index, one.turns]) > 1]
    if apart:
        text = f"{len(seen)} responses, scored {_REPEATS} times in all, earn now this, now that"
        _unsteady(section, text, apart)


def _unsteady(section: Section, text: str, cases: Iterable[Tried], advice: str = _PURE) -> None:
    section.find("determinism", text, advice, first_cases(cases), severity="honest", cost=_COST)


def _another(run: BenchRun, stack: ExitStack) -> TargetWorker:
    """Return another process of the target, with other hashes, and a clock that can be moved.

    Some libraries do not load with such a clock: then without.
    """
    rows = [*run.cases, *run.responses]
    made = [
        open_worker(run.target, run.options, rows, hash_seed="20011", clock=moved)
        for moved in (True, False)
    ]
    try:
        return stack.enter_context(made[0])
    except WorkerDied:
        return stack.enter_context(made[1])


def _there(worker: TargetWorker, first: Sequence[Tried]) -> list[Probe]:
    """Return the responses, on the problems as the other process numbers them."""
    items, _ = worker.about()
    place = {item.ref: item.index for item in items}
    return [
        Probe(one.name, replace(one.item, index=place[one.item.ref]), one.turns, one.want)
        for one in first
        if one.item.ref in place
    ]


def _other_process(
    section: Section, first: Sequence[Tried], alone: Sequence[Tried], turned: Sequence[Tried]
) -> None:
    """The same verdicts, whichever process gives them, and whatever was scored before."""
    rows = list(zip_longest(first, turned, alone))
    apart = [two for one, two, by_itself in rows if _differ(one, two, by_itself)]
    section.numbers["repeatable"] = 1 - len(apart) / len(first) if first else None
    if not apart:
        return
    text = f"{len(apart)} of {len(first)} rewards differ in another process and order"
    remembers = [three for one, two, three in rows if three and _differ(one, three)]
    if any(_outcome(one) == _outcome(two) for one, two, three in rows if three in remembers):
        text += ": what was scored before changes them, as a cache with too short a key does"
    _unsteady(section, text, apart)


def _differ(*results: Tried | None) -> bool:
    return len({_outcome(one) for one in results if one is not None}) > 1


def _outcome(one: Tried) -> tuple[str, float | None]:
    return one.status, one.score


def _other_time(
    run: BenchRun, section: Section, worker: TargetWorker, few: Sequence[Tried]
) -> None:
    """The clock moved: by a minute, half a day, days, a season, years."""
    for seconds in _LATER:
        if run.out_of_time:
            return
        worker.ask("clock", seconds=seconds)
        later = run.tried(few, by=worker)
        pairs = zip(few, later, strict=False)
        bad = [b for a, b in pairs if _outcome(a) != _outcome(b)]
        if bad:
            text = f"{len(bad)} of {len(few)} rewards change when the clock is moved"
            _unsteady(section, text, bad, "Leave the time out of it")
            return
    worker.ask("clock", seconds=0.0)


def _watched(run: BenchRun, section: Section, probes: Sequence[Probe]) -> None:
    """What scoring leaves behind: in the global random state, in the row."""
    pairs = [(one.item.index, one.turns) for one in probes[:16]]
    try:
        found = run.worker.ask("watched", replies=len(pairs), pairs=pairs)
    except WorkerDied as error:
        section.notes.append(f"What scoring changes was not seen: {error}.")
        return
    if any(state for state, _ in found):
        section.find(
            "global random state", "scoring a response changes it",
            "Draw from a generator of your own, random.Random(seed)", severity="honest",
            cost="What others draw from it, a sampler say, is no longer random",
        )  # fmt: skip
    if any(row for _, row in found):
        section.find(
            "row", "scoring a response changes the row of the problem",
            "Copy what you change", severity="honest", cost=_COST,
        )  # fmt: skip


def _threaded(run: BenchRun, section: Section, first: Sequence[Tried]) -> None:
    few = [one for one in first if one.status == "ok"][:4]
    pairs = [(one.item.index, one.turns) for one in few]
    try:
        found = run.worker.ask("threaded", replies=len(pairs), pairs=pairs)
    except WorkerDied as error:
        section.notes.append(f"Threads were not tried: {error}.")
        return
    bad = [one for one, got in zip(few, found, strict=True) if got[0] == "error"]
    if bad:
        note = next(got[2] for got in found if got[0] == "error")
        section.find(
            "thread", f"in another thread than the first it raises {note}",
            "Do without signals; bound the time in a process of its own", first_cases(bad),
            severity="fragile", cost="Trainers that score in threads get errors, or zeros",
        )  # fmt: skip


def _together(run: BenchRun, section: Section, first: Sequence[Tried]) -> None:
    """All at once, where the function takes lists: each gets what it gets alone."""
    few = [one for one in first if one.raw is not None][:12]
    pairs = [(one.item.index, one.turns) for one in few]
    try:
        (found,) = run.worker.ask("together", pairs=pairs)
    except WorkerDied as error:
        section.notes.append(f"A batch was not tried: {error}.")
        return
    if found is None or not few:
        return
    if isinstance(found, dict):
        text = f"a batch of {len(few)} responses raises {found['failed']}"
        _unsteady(section, text, few, "Return one reward for each response")
        return
    bad = [one for one, got in zip(few, found, strict=True) if one.raw != got]
    if bad:
        text = f"in a batch {len(bad)} of {len(few)} responses earn something else than alone"
        _unsteady(section, text, bad, "Score each response with its own row, and by itself")
