"""The search for hacks: from wrong responses, by small changes, towards a higher reward."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from ..code.grade import grade as run_code
from ..math.grade import grade as grade_answer
from ..math.grade import unreadable
from ..responses.changes import joined, reworded, sayings, unfenced
from ..responses.framing import framed
from ..responses.hacks import fenced
from ..responses.items import Item
from ..responses.mutants import mutants
from ..responses.probes import Probe
from .run import BenchRun, Tried

Scored = tuple[float, list[str]]
#: Says of responses whether they are right: True, False, or None where it cannot tell.
Referee = Callable[[Sequence[Tried]], list[bool | None]]

_KEPT = 8  # the population
_ROUND = 16  # children of it at a time
_TRANSFER = 20  # problems on which what was found is tried again


def search(run: BenchRun) -> list[Tried]:
    """Return responses that are paid and wrong."""
    return [*_constant_nonsense(run), *_mutations(run)]


# -- texts: something that says nothing, and is paid whatever was asked ---------------------------


def _constant_nonsense(run: BenchRun) -> list[Tried]:
    """Climb from meaningless words to a text that is paid on most problems; return where it is.

    Meaningless words answer no question, so nothing that is paid for them is earned.
    """
    items = [item for item in run.items if item.kind in ("text", "answer")]
    if not items:
        return []
    text = " ".join(_climb(run, items[0], random.Random(0)))
    results = run.tried(_nonsense_probes(items[:_TRANSFER], text), "nonsense on other problems")
    reads = run.paid if run.reads_answers else None
    paid = [one for one in results if (reads.is_full(one.item, one.score) if reads else one.paid)]
    return paid if len(paid) * 2 >= len(results) else []


def _nonsense_probes(items: Sequence[Item], *texts: str) -> list[Probe]:
    return [Probe("nonsense words", item, (text,), 0.0) for item in items for text in texts]


def _climb(run: BenchRun, item: Item, rng: random.Random) -> list[str]:
    """Return the words of the best nonsense found for one problem."""
    budget, done = run.options.search, 0
    population: list[Scored] = [(0.0, words) for words in sayings(rng)]
    while done < budget and not run.out_of_time and max(p[0] for p in population) < 1.0:
        children = reworded([words for _, words in population], rng, _ROUND)
        results = run.tried(_nonsense_probes([item], *map(" ".join, children)))
        scored = [(r.score or 0.0, words) for r, words in zip(results, children, strict=False)]
        # Of equals the newer: a plateau is walked, not sat on.
        population = sorted([*scored, *population], key=lambda pair: -pair[0])[:_KEPT]
        done += len(children)
        run.progress("search: nonsense", min(done, budget), budget)
    run.progress("search: nonsense", budget, budget)
    return population[0][1]


# -- answers and programs: paid, and refused by a stricter reference ------------------------------


def _mutations(run: BenchRun) -> list[Tried]:
    """Change responses a little; return those that are paid though the reference says no.

    The reference is the other target that was given, or for programs with tests
    ``mint_envs.code.grade``, or for whole numbers ``mint_envs.math.grade``.
    """
    strict = None if run.learned and run.reference is None else _referee(run)
    probes = [*_changed_programs(run.items, run.options.search), *_changed_answers(run)]
    if strict is None or not probes:
        return []
    results = run.tried(probes, "search: mutations", apart=any(p.item.tests for p in probes))
    paid = [one for one in results if one.paid]
    return [one for one, right in zip(paid, strict(paid), strict=False) if right is False]


def _changed_answers(run: BenchRun) -> list[Probe]:
    items = [item for item in run.items if item.kind == "answer"]
    if not items:
        return []
    made = joined(items, random.Random(1), run.options.search, run.about["stop"])
    return [Probe(kind, item, (text,), 0.0) for kind, item, text in made]


def _changed_programs(items: Sequence[Item], count: int) -> list[Probe]:
    """Return programs that are nearly right; whether they are wrong the reference must say."""
    programs = [item for item in items if item.kind == "program" and item.gold and item.tests]
    return [
        Probe("a changed program", item, (fenced(mutant.source + "\n"),), 0.0)
        for item in programs
        for mutant in mutants(unfenced(str(item.gold)), max(1, count // len(programs)))
    ]


def _referee(run: BenchRun) -> Referee | None:
    if run.reference is not None:
        return lambda paid: [_by_reference(one) for one in run.tried(paid, by=run.reference)]
    if any(item.kind == "program" and item.plan() for item in run.items):
        return lambda paid: [_by_tests(one) for one in paid]
    if any(item.kind == "answer" for item in run.items):
        return lambda paid: [_by_answer(one) for one in paid]
    return None


def _by_reference(one: Tried) -> bool | None:
    return None if one.score is None else one.paid


def _by_tests(one: Tried) -> bool | None:
    """Whether a program passes its tests; where only a part is paid, half of them."""
    plan = one.item.plan()
    share = run_code(one.turns[0], plan, partial_credit=True).score if plan else None
    if share is None:
        return None
    return share == 1.0 if one.score == 1.0 else share >= 0.5


def _by_answer(one: Tried) -> bool | None:
    if one.item.gold is None:
        return None
    gold = framed(one.item.gold)[1]
    if unreadable(gold):
        return None
    if grade_answer(gold, one.turns[0], one.item.prompt).score == 1.0:
        return True
    # What is wrong without a doubt: another number than the right one comes last.
    last = re.findall(r"-?\d+", one.turns[0])[-1:]
    return False if last and last[0] != gold and gold.lstrip("-").isdecimal() else None
