"""Sound: is it a number in its range, the same every time, and not upset by a space?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ..reports.report import Section, Table
from ..responses import probes as make
from ..responses.probes import Probe
from .hostile import check_hostile_texts
from .run import BenchRun, Tried, spread
from .stats import rate_texts
from .steady import check_steadiness
from .target.client import TimeOver, WorkerDied

#: What the part "right" finds too, with rates.
_ELSEWHERE = {"examples", "gameable", "question and answer"}
_CONTRACT_S = 150.0  # CPU time; by the clock six times that, on a crowded machine


def check_soundness(run: BenchRun) -> Section:
    """Return what hostile texts find, whether rewards are steady, and how rewritings fare."""
    section = Section("sound", "Is it in its range, deterministic, and robust?")
    if run.learned:
        check_hostile_texts(run, section)
    elif run.worker.lost:
        section.notes.append("The conformance kit was not run: there are responses that hang.")
    else:
        _conformance(section, run)
    check_steadiness(run, section)
    if not run.learned:
        _rewritings_paid(section, run.tried(_rewritings(run), "rewritten responses"))
    return section


def _conformance(section: Section, run: BenchRun) -> None:
    """Range, NaN, exceptions, determinism, monotone parts: ``mint_envs.testing.check_task``."""
    run.progress("the conformance kit", 0, 1)
    amount = {"problems": min(8, len(run.items)), "texts": run.options.texts}
    try:
        (result,) = run.worker.ask("contract", timeout_s=_CONTRACT_S, **amount)
    except TimeOver:
        run.leave_out("the conformance kit")
        return
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
