"""Sound: is it a number in its range, the same every time, and not upset by a space?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..reports.report import Section, Table
from ..responses import probes as make
from ..responses.probes import Probe
from .run import BenchRun, Tried, first_cases, open_worker, spread
from .stats import rate_texts
from .target.client import TargetWorker, WorkerDied

#: What the part "right" finds too, with rates.
_ELSEWHERE = {"examples", "gameable", "question and answer"}
_PURE = "A reward is a pure function of (problem, response)"
_REPEATED, _REPEATS = 4, 200  # right responses, and how often all of them are scored
_CONTRACT_S = 150.0  # CPU time; by the clock six times that, on a crowded machine


def check_soundness(run: BenchRun) -> Section:
    """Return what the conformance kit finds, and how harmless rewritings fare."""
    section = Section("sound", "Is it in its range, deterministic, and robust?")
    if run.worker.lost:
        section.notes.append("The conformance kit was not run: there are responses that hang.")
    else:
        _conformance(section, run)
    if run.about["function"] and not run.about["nondeterministic"]:
        _repeated(section, run.tried(_again(run), "the same again"))
    if run.about["nondeterministic"]:
        section.notes.append("It says that it is nondeterministic: repeats were not compared.")
    else:
        probes = make.known_worth(spread(run.items)[:16])
        first = run.tried(probes, "the first time")
        _other_process(section, first, _elsewhere(run, probes))
    _rewritings_paid(section, run.tried(_rewritings(run), "rewritten responses"))
    return section


def _conformance(section: Section, run: BenchRun) -> None:
    """Range, NaN, exceptions, determinism, monotone parts: ``mint_envs.testing.check_task``."""
    run.progress("the conformance kit", 0, 1)
    amount = {"problems": min(8, len(run.items)), "texts": run.options.texts}
    try:
        (result,) = run.worker.ask("contract", timeout_s=_CONTRACT_S, **amount)
    except WorkerDied as error:
        advice = "Scoring any text must come to an end, and leave the process alone"
        section.find("any text", f"among hostile texts, {error}", advice)
        return
    run.progress("the conformance kit", 1, 1)
    _told_by_the_kit(section, result)


def _told_by_the_kit(section: Section, result: Mapping[str, Any]) -> None:
    for check, fault, advice in result["findings"]:
        if check not in _ELSEWHERE:
            section.find(check, fault, advice)
    if result["cases"]:
        rows = [[name, str(count)] for name, count in sorted(result["cases"].items())]
        section.tables.append(Table("Tried by the conformance kit", ["rule", "cases"], rows))


def _again(run: BenchRun) -> list[Probe]:
    """The right responses over and over."""
    probes = [p for p in make.known_worth(run.items[:_REPEATED]) if p.want == 1.0]
    return probes * (_REPEATS // max(1, len(probes)))


def _repeated(section: Section, results: Sequence[Tried]) -> None:
    """A function that counts its calls, or draws lots."""
    seen: dict[tuple[int, tuple[str, ...]], set[float | None]] = defaultdict(set)
    for one in results:
        seen[one.item.index, one.turns].add(one.score)
    apart = [one for one in results if len(seen[one.item.index, one.turns]) > 1]
    if apart:
        text = (
            f"{len(seen)} right responses, scored {_REPEATS} times in all, earn now this, now that"
        )
        section.find("determinism", text, _PURE, first_cases(apart))


def _elsewhere(run: BenchRun, probes: Sequence[Probe]) -> list[Tried]:
    """Try responses in a new process with other hashes, in the opposite order."""
    with _another(run) as worker:
        items, _ = worker.about()
        place = {item.ref: item.index for item in items}
        there = [replace(p, item=replace(p.item, index=place[p.item.ref])) for p in probes]
        return run.tried(there[::-1], by=worker)[::-1]


def _another(run: BenchRun) -> TargetWorker:
    rows = [*run.cases, *run.responses]
    return open_worker(run.target, run.options, rows, hash_seed="20011")


def _other_process(section: Section, first: Sequence[Tried], again: Sequence[Tried]) -> None:
    """The same verdicts, whichever process gives them."""
    pairs = zip(first, again, strict=True)
    apart = [b for a, b in pairs if (a.status, a.score) != (b.status, b.score)]
    section.numbers["repeatable"] = 1 - len(apart) / len(first) if first else None
    if apart:
        text = f"{len(apart)} of {len(first)} rewards differ in another process and order"
        section.find("determinism", text, _PURE, first_cases(apart))


def _rewritings(run: BenchRun) -> list[Probe]:
    """Rewritings of the right response."""
    stop = run.about["stop"]  # where the task ends a response, the rest is never sampled
    probes = make.rewritings(spread(run.items)[:32])
    return [p for p in probes if not any(mark in p.turns[0].strip() for mark in stop)]


def _rewritings_paid(section: Section, results: Sequence[Tried]) -> None:
    """How often the right response still gets the full mark."""
    kept: dict[str, list[bool]] = defaultdict(list)
    for one in results:
        kept[one.name].append(one.score == 1.0)
    if kept:
        rates = rate_texts([(sum(good), len(good)) for good in kept.values()])
        rows = [[name, rate] for name, rate in zip(kept, rates, strict=True)]
        heads = ["rewriting", "still paid in full"]
        section.tables.append(Table("The right response, rewritten", heads, rows))
