"""Hostile texts: none may raise, leave the range, hang, or end the process."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from time import monotonic

from ..reports.report import Section, Table
from ..responses.probes import Probe
from ..responses.texts import GARBAGE, ODD
from ..responses.written import Wording
from .answers import grouped
from .run import BenchRun, Tried, first_cases, repeat_of
from .stats import rate_text

_SOUP = "()[]{}<>\\$%#=+-*/^_.,:;!?'\"`|&~@ \n\t0123456789eE"
_LIMIT_S = 2.0  # of CPU time, and twenty times the slowest right response
_ALMOST = 6000  # characters of an odd text that is tried in the form too
_SHARE = 0.3  # of the time that the whole benchmark has
_LATE = 3  # responses without an answer, after which the rest is left out

#: Texts on which patterns that backtrack need twice as long for each letter, or for each ten.
EXPLOSIVE = (
    "a" * 28 + "!",
    "a" * 40 + "!",
    "1" * 30 + "!",
    "1," * 15 + "!",
    "a " * 30 + "!",
    " " * 40 + "!",
    "word " * 12 + "!",
    "1 " * 25 + "x",
    "a1" * 20 + "!",
    "-" * 30 + "!",
    "\n" * 40 + "!",
    "." * 40 + "!",
    "(" * 25,
    "{" * 40,
    "\\frac{1}{" * 12,
    "9**9**9**9",
    "a" * 20_000,
    " " * 20_000 + "!",
    "1" * 20_000 + "!",
    "<think>" * 4_000,
    "\\boxed{" * 4_000,
    "#### " * 4_000,
    "\n" * 20_000 + "!",
)


def check_hostile_texts(run: BenchRun, section: Section) -> None:
    """Try odd texts alone and in the form, then texts that make patterns explode."""
    items = run.items[:1]
    wording = run.paid.wordings[0] if run.paid and run.paid.wordings else None
    limit = run.worker.timeout_s
    run.worker.timeout_s = min(limit, _LIMIT_S + 20 * _slowest(run))
    try:
        plain = [Probe("plain text", item, (text,), None) for item in items for text in GARBAGE]
        odd = [Probe("odd text", item, (t,), None) for item in items for t in _texts(run, wording)]
        results = _until_late(run, [*plain, *odd], "hostile texts")
        results += _until_late(
            run, list(_explosive(run, wording)), "texts that make patterns explode"
        )
    finally:
        run.worker.timeout_s = limit
        run.worker.renew()
    report_statuses(run, section, results)
    groups = grouped(results)
    rows = [[name, rate_text(sum(_good(o) for o in group), len(group))]
            for name, group in groups.items()]  # fmt: skip
    section.tables.append(Table("Any text", ["text", "gets a proper reward in time"], rows))


def _slowest(run: BenchRun) -> float:
    items = [(item.index, ("I do not know.",)) for item in run.items[:2]]
    return max((one.seconds for one in run.worker.each(items) if one.status == "ok"), default=0.0)


def _texts(run: BenchRun, wording: Wording | None) -> Iterator[str]:
    yield from ODD
    rng = random.Random(3)
    for _ in range(run.options.texts):
        text = "".join(rng.choices(_SOUP, k=rng.randint(1, 60)))
        yield text
        if wording is not None:
            yield wording.raw(text)
    if wording is not None:
        yield from (wording.raw(text) for text in ODD if len(text) < _ALMOST)


def _explosive(run: BenchRun, wording: Wording | None) -> Iterator[Probe]:
    item = run.items[0]
    for text in EXPLOSIVE:
        yield Probe("text that explodes", item, (text,), None)
        if wording is not None and not wording.loose:
            yield Probe("text that explodes", item, (wording.raw(text),), None)
            yield Probe("text that explodes", item, (f"{text}\n{wording.write('1')}",), None)
            yield Probe("text that explodes", item, (wording.before + text,), None)


def _until_late(run: BenchRun, probes: Sequence[Probe], what: str) -> list[Tried]:
    """Try them until a few have found no answer in time; each death costs one response."""
    found: list[Tried] = []
    until = monotonic() + _SHARE * run.options.within
    for start in range(0, len(probes), 16):
        found += run.tried(probes[start : start + 16], what)
        late = sum(one.status == "hung" for one in found)
        if late >= _LATE or monotonic() > until:
            run.left_out[what] += len(probes) - len(found)
            break
    return found


_HUGE = "Exceeds the limit (4300 digits)"


def _good(one: Tried) -> bool:
    return one.status in ("ok", "unmeasured")


_STATUS = {
    "error": ("any text", "raises an error on {n} of {all} texts: {note}",
              "Catch what reading a response may raise, and give 0",
              "A training run stops, or the trainer puts a 0 or a None there"),
    "range": ("range", "gives on {n} of {all} texts what is no reward in its range: {note}",
              "Return a number in the range that you document, never NaN",
              "One such reward spoils the advantages of its whole group"),
    "hung": ("slow", "finds no answer in time on {n} of {all} texts: {note}",
             "Replace patterns that backtrack, (a+)+ or (\\w+\\s?)*, and bound what is read",
             "A policy that rambles stops the training run"),
    "died": ("any text", "ends its process on {n} of {all} texts: {note}",
             "Never exit, and never run a response", "A training run ends"),
}  # fmt: skip


def report_statuses(run: BenchRun, section: Section, results: Sequence[Tried]) -> None:
    """Report errors, values out of range, time-outs and deaths, one finding for each."""
    huge = [one for one in results if _HUGE in one.note]
    if huge:
        section.notes.append(
            "A number of more than 4,300 digits raises ValueError: Python reads no longer ones."
        )
    for status, (check, words, advice, cost) in _STATUS.items():
        bad = [one for one in results if one.status == status and not _is_allowed(run, one)]
        if bad:
            plain = any(one.name == "plain text" for one in bad)
            text = words.format(n=len(bad), all=len(results), note=bad[0].note or "no number")
            section.find(
                check, text, advice, first_cases(sorted(bad, key=lambda one: len(one.turns[0]))),
                severity="honest" if plain else "fragile", cost=cost, repeat=repeat_of(run, bad[0]),
            )  # fmt: skip


def _is_allowed(run: BenchRun, one: Tried) -> bool:
    """A number outside of a range that was learned, of a reward that grades texts or fines them.

    And a number that is too long for Python: it is noted, and no response has one by chance.
    """
    if _HUGE in one.note:
        return True
    if one.status != "range" or one.raw is None or run.paid is None:
        return False
    learned = run.options.low is None and run.options.high is None
    graded = run.paid.kind in ("shaping", "penalty", "form") and abs(one.raw) < 1e6
    return learned and (graded or one.raw < run.paid.low)
