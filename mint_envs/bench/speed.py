"""Fast: how many rewards a second, how long the worst one takes, and what grows with length."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from ..reports.report import Plot, Section, Table
from ..responses import probes as make
from ..responses.items import Item
from ..responses.probes import Probe
from .run import BenchRun, open_worker, spread
from .stats import growth, quantile
from .target.client import TargetWorker, WorkerDied
from .target.worker import fresh

_SIZES = [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000]
_REPEATS = 3
_SLOW_S = 1.0  # a longest response that takes less is no trouble, however it grew
_WARM_UP = 8

Pair = tuple[int, tuple[str, ...]]


def check_speed(run: BenchRun) -> Section:
    """Return the speed on known and saved responses; nothing here is a fault but bad growth."""
    section = Section("fast", "How fast is it?")
    pool = _timed_probes(run)
    if not pool:
        section.notes.append("There is nothing to score: no right response is known.")
        return section
    if run.out_of_time and not run.worker.alive:
        run.leave_out("speed")
        return section
    run.tried(pool[:_WARM_UP])
    results = run.tried(_new(pool), "timing")
    _latency(section, [one.seconds for one in results if one.status in ("ok", "unmeasured")])
    _throughput(run, section, [(one.item.index, one.turns) for one in pool])
    _growth(run, section)
    return section


def _timed_probes(run: BenchRun) -> list[Probe]:
    saved = run.responses or run.cases
    if saved:
        return run.probes_of(saved)[:1000]
    items = spread(run.items)
    right = [
        _right_response(item, *turns)
        for item in items
        for turns, _ in item.examples
        if turns != ("",)
    ]
    return (right or make.known_worth(items))[:500]


def _right_response(item: Item, *turns: str) -> Probe:
    return Probe("a right response", item, turns, None)


def _new(pool: Sequence[Probe]) -> list[Probe]:
    """Return the responses as others, which no cache of programs has seen."""
    return [replace(one, turns=tuple(fresh(text, 0) for text in one.turns)) for one in pool]


def _latency(section: Section, seconds: list[float]) -> None:
    if not seconds:
        return
    p50, p99, worst = quantile(seconds, 0.5), quantile(seconds, 0.99), max(seconds)
    table = Table("One at a time", ["", "time"])
    table.rows += [["median", span(p50)], ["p99", span(p99)], ["worst", span(worst)]]
    section.tables.append(table)
    section.numbers |= {"p50_ms": p50 * 1e3, "p99_ms": p99 * 1e3, "worst_ms": worst * 1e3}


def span(seconds: float) -> str:
    """Return a time with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _throughput(run: BenchRun, section: Section, pool: list[Pair]) -> None:
    """Rewards a second of one process, and of several at once."""
    table = Table("In batches", ["processes", "rewards per second", "speed-up"])
    rates: list[float] = []
    for count in dict.fromkeys([1, run.options.workers]):
        run.progress(f"{count} processes at once", 0, 1)
        try:
            rates.append(_rate(run, pool, count))
        except WorkerDied as error:
            section.notes.append(f"Scoring batches in {count} processes: {error}.")
            return
        table.rows.append([str(count), f"{rates[-1]:,.0f}", f"{rates[-1] / rates[0]:.2f}"])
    run.progress("processes at once", 1, 1)
    section.tables.append(table)
    section.numbers["rewards_per_second"] = rates[0]
    section.numbers["speed_up"] = rates[-1] / rates[0]


def _rate(run: BenchRun, pool: list[Pair], count: int) -> float:
    """Return the rewards a second of ``count`` processes together."""
    rows = [*run.cases, *run.responses]
    extra = [run.like_this(open_worker(run.target, run.options, rows)) for _ in range(count - 1)]
    done: list[tuple[int, float]] = []
    failed: list[WorkerDied] = []

    def measure(worker: TargetWorker) -> None:
        seconds = run.options.seconds
        try:
            limit = 60 + 10 * seconds + run.options.timeout_s
            worker.score(pool[:1])  # start it and warm it up
            barrier.wait()
            found = worker.ask("batch", pairs=pool, seconds=seconds, timeout_s=limit)[0]
            done.append((found[0], found[1]))
        except WorkerDied as error:
            barrier.abort()
            failed.append(error)
        except threading.BrokenBarrierError:
            pass

    barrier = threading.Barrier(count)
    threads = [threading.Thread(target=measure, args=(w,)) for w in [run.worker, *extra]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for worker in extra:
        worker.__exit__()
    if failed:
        raise failed[0]
    return sum(number / max(seconds, 1e-9) for number, seconds in done)


def _growth(run: BenchRun, section: Section) -> None:
    """Time against length: the right response after more and more text."""
    item = next((i for i in run.items if i.gold is not None), None)
    if item is None or item.kind == "turns":
        return
    times: list[float] = []
    for size in _SIZES:
        results = run.tried(_long(item, size))
        if not results or any(one.status == "died" for one in results):
            return  # the time is over, or the other parts say so
        late = [one for one in results if one.status == "hung"]
        if late:
            advice = "Bound the length of what is read"
            section.find("slow", f"{size:,} characters: {late[0].note}", advice)
            return
        times.append(min(one.seconds for one in results))
        run.progress("growth with length", len(times), len(_SIZES))
    _grown(section, times)


def _long(item: Item, size: int) -> list[Probe]:
    """Return the right response after ``size`` characters, some times over."""
    filler = ("Let me think about 1 and 2, step by step. " * (size // 40 + 1))[:size]
    text = f"{filler}\n{item.gold}"
    return [
        _right_response(item, again) for again in [fresh(text, size + n) for n in range(_REPEATS)]
    ]


def _grown(section: Section, times: list[float]) -> None:
    power = growth(_SIZES, times)
    title, x, y = "Time by length of the response", "characters", "seconds"
    section.plots.append(Plot(title, "loglog", _SIZES, times, x, y))
    table = Table("With the length of the response", ["", ""])
    table.rows += [
        [f"{_SIZES[0]:,} characters", span(times[0])],
        [f"{_SIZES[-1]:,} characters", span(times[-1])],
        ["time grows as length to the power of", f"{power:.2f}"],
    ]
    section.tables.append(table)
    section.numbers["growth"] = power
    if power > 1.6 and times[-1] > _SLOW_S:
        text = f"{_SIZES[-1]:,} characters take {span(times[-1])}, growing with power {power:.1f}"
        section.find("slow", text, "Look for a pattern that backtracks, or bound the length")
