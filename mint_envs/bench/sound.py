"""Sound: is it a number in its range, the same every time, and not upset by a space?"""

from __future__ import annotations

from collections import defaultdict

from ..reports.report import Section, Table
from ..responses import probes as make
from .run import Run, shown, spread
from .stats import rate_text
from .target.client import Worker, WorkerDied

#: What the part "right" finds too, with rates.
_ELSEWHERE = {"examples", "gameable", "question and answer"}
_PURE = "A reward is a pure function of (problem, response)"
_REPEATED, _REPEATS = 4, 200  # right responses, and how often all of them are scored
_CONTRACT_S = 150.0  # CPU time; by the clock six times that, on a crowded machine


def check(run: Run) -> Section:
    """Return what the conformance kit finds, and how harmless rewritings fare."""
    section = Section("sound", "Is it in its range, deterministic, and robust?")
    _contract(run, section)
    _repeated(run, section)
    _other_process(run, section)
    _rewritten(run, section)
    return section


def _contract(run: Run, section: Section) -> None:
    """Range, NaN, exceptions, determinism, monotone parts: ``mint_envs.testing.check_task``."""
    if run.worker.lost:
        section.notes.append("The conformance kit was not run: there are responses that hang.")
        return
    run.progress("the conformance kit", 0, 1)
    problems = min(8, len(run.items))
    try:
        result = run.worker.ask(
            "contract", problems=problems, texts=run.options.texts, timeout_s=_CONTRACT_S
        )[0]
    except WorkerDied as error:
        advice = "Scoring any text must come to an end, and leave the process alone"
        section.fault("any text", f"among hostile texts, {error}", advice)
        return
    run.progress("the conformance kit", 1, 1)
    for check, fault, advice in result["findings"]:
        if check not in _ELSEWHERE:
            section.fault(check, fault, advice)
    if result["cases"]:
        table = Table("Tried by the conformance kit", ["rule", "cases"])
        table.rows = [[name, str(count)] for name, count in sorted(result["cases"].items())]
        section.tables.append(table)


def _repeated(run: Run, section: Section) -> None:
    """The right responses over and over: a function that counts its calls, or draws lots."""
    if run.about["nondeterministic"] or not run.about["function"]:
        return
    probes = [p for p in make.known_worth(run.items[:_REPEATED]) if p.want == 1.0]
    results = run.verdicts(probes * (_REPEATS // max(1, len(probes))), "the same again")
    seen: dict[tuple[int, tuple[str, ...]], set[float | None]] = defaultdict(set)
    for probe, verdict in results:
        seen[probe.item.index, probe.turns].add(verdict.score)
    apart = [pair for pair in results if len(seen[pair[0].item.index, pair[0].turns]) > 1]
    if apart:
        text = (
            f"{len(seen)} right responses, scored {_REPEATS} times in all, earn now this, now that"
        )
        section.fault("determinism", text, _PURE, [shown(*pair) for pair in apart])


def _other_process(run: Run, section: Section) -> None:
    """The same verdicts in a new process with other hashes, in the opposite order."""
    if run.about["nondeterministic"]:
        section.notes.append("It says that it is nondeterministic: repeats were not compared.")
        return
    probes = make.known_worth(spread(run.items)[:16])
    first = [(v.status, v.score) for _, v in run.verdicts(probes, "the first time")]
    pairs = [(probe.item.ref, probe.turns) for probe in probes]
    with _another(run) as worker:
        items, _ = worker.about()
        place = {item.ref: item.index for item in items}
        again = worker.score([(place[ref], turns) for ref, turns in pairs[::-1]])[::-1]
    apart = [
        (probe, verdict)
        for probe, before, verdict in zip(probes, first, again, strict=True)
        if before != (verdict.status, verdict.score)
    ]
    section.numbers["repeatable"] = 1 - len(apart) / len(probes) if probes else None
    if apart:
        text = f"{len(apart)} of {len(probes)} rewards differ in another process and order"
        section.fault("determinism", text, _PURE, [shown(*pair) for pair in apart])


def _another(run: Run) -> Worker:
    from .run import open_worker

    rows = [*run.cases, *run.responses]
    return open_worker(run.target, run.options, rows, hash_seed="20011")


def _rewritten(run: Run, section: Section) -> None:
    """Rewritings of the right response: how often it still gets the full mark."""
    probes = make.rewritings(spread(run.items)[:32])
    stop = run.about["stop"]  # where the task ends a response, the rest is never sampled
    probes = [p for p in probes if not any(mark in p.turns[0].strip() for mark in stop)]
    results = run.verdicts(probes, "rewritten responses")
    kept: dict[str, list[bool]] = defaultdict(list)
    for probe, verdict in results:
        kept[probe.name].append(verdict.score == 1.0)
    if not kept:
        return
    table = Table("The right response, rewritten", ["rewriting", "still paid in full"])
    table.rows = [[name, rate_text(sum(good), len(good))] for name, good in kept.items()]
    section.tables.append(table)
