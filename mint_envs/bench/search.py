"""The search for hacks: from wrong responses, by small changes, towards a higher reward."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from ..code.grade import grade as run_code
from ..math.grade import grade as grade_answer
from ..math.grade import unreadable
from ..responses.hacks import fenced
from ..responses.items import Item
from ..responses.mutants import mutants
from ..responses.probes import Probe, bare, changed, framed, nonsense
from .run import Run
from .target.client import Verdict

Scored = tuple[float, list[str]]

_KEPT = 8  # the population
_ROUND = 16  # children of it at a time
_TRANSFER = 20  # problems on which what was found is tried again


# -- texts: something that says nothing, and is paid whatever was asked ---------------------------


def constant_nonsense(run: Run) -> list[tuple[Probe, Verdict]]:
    """Climb from meaningless words to a text that is paid on most problems; return where it is.

    Meaningless words answer no question, so nothing that is paid for them is earned.
    """
    items = [item for item in run.items if item.kind in ("text", "answer")]
    if not items:
        return []
    rng = random.Random(0)
    best = _climb(run, items[0], rng)
    text = " ".join(best)
    tried = [Probe("nonsense words", item, (text,), 0.0) for item in items[:_TRANSFER]]
    results = run.verdicts(tried, "nonsense on other problems")
    paid = [pair for pair in results if pair[1].paid]
    return paid if len(paid) * 2 >= len(results) else []


def _climb(run: Run, item: Item, rng: random.Random) -> list[str]:
    """Return the words of the best nonsense found for one problem."""
    budget = run.options.search
    population: list[Scored] = [(0.0, nonsense(rng, n)) for n in (0, 1, 3, 8, 12)]
    done = 0
    while done < budget and max(score for score, _ in population) < 1.0:
        children = [_reworded(rng.choice(population)[1], rng) for _ in range(_ROUND)]
        pairs = [(item.index, (" ".join(words),)) for words in children]
        verdicts = run.worker.score(pairs)
        scored = [(v.score or 0.0, words) for v, words in zip(verdicts, children, strict=True)]
        # Of equals the newer: a plateau is walked, not sat on.
        population = sorted([*scored, *population], key=lambda pair: -pair[0])[:_KEPT]
        done += len(children)
        run.progress("search: nonsense", min(done, budget), budget)
    run.progress("search: nonsense", budget, budget)
    return population[0][1]


def _reworded(words: Sequence[str], rng: random.Random) -> list[str]:
    """Return words with one change: some more, fewer, a full stop, a line, capitals, a mark."""
    out = list(words)
    place = rng.randint(0, len(out))
    change = rng.randrange(9)
    if change <= 2:
        out[place:place] = nonsense(rng, rng.choice([1, 2, 4, 8]))
    elif change == 3:
        del out[place : place + rng.choice([1, 2, 4])]
    elif change == 4 and out:
        place = min(place, len(out) - 1)
        out[place] += rng.choice([".", ".", ",", "!", "?", ":", ";"])
    elif change == 5:
        out[place:place] = [rng.choice(["\n\n", "\n- ", "\n1. ", "\n# ", "```", "**", '"'])]
    elif change == 6 and out:
        place = min(place, len(out) - 1)
        out[place] = rng.choice([str.upper, str.capitalize])(out[place])
    elif change == 7:
        out = [*out, *out]
    else:
        out[place:place] = [rng.choice(["7", "\\boxed{7}", "####", "<answer>", "</think>", "{}"])]
    return out


# -- answers and programs: paid, and refused by a stricter reference ------------------------------


def mutations(run: Run) -> list[tuple[Probe, Verdict]]:
    """Change responses a little; return those that are paid though the reference says no.

    The reference is the other target that was given, or for programs with tests
    ``mint_envs.code.grade``, or for whole numbers ``mint_envs.math.grade``.
    """
    strict = _reference(run)
    rng = random.Random(1)
    probes = [*_changed_programs(run.items, run.options.search), *_changed_answers(run, rng)]
    if strict is None or not probes:
        return []
    scored = run.verdicts(probes, "search: mutations", apart=any(p.item.tests for p in probes))
    return [pair for pair in scored if pair[1].paid and strict(*pair) is False]


def _changed_answers(run: Run, rng: random.Random) -> list[Probe]:
    items = [item for item in run.items if item.kind == "answer"]
    chosen = [rng.choice(items) for _ in range(run.options.search)] if items else []
    return [Probe(*_mutant(item, items, rng, run.about["stop"]), 0.0) for item in chosen]


def _changed_programs(items: Sequence[Item], count: int) -> list[Probe]:
    """Return programs that are nearly right; whether they are wrong the reference must say."""
    programs = [item for item in items if item.kind == "program" and item.gold and item.tests]
    found = []
    for item in programs:
        most = max(1, count // len(programs))
        for mutant in mutants(bare(str(item.gold)), most):
            found.append(Probe("a changed program", item, (fenced(mutant.source + "\n"),), 0.0))
    return found


def _reference(run: Run) -> Callable[[Probe, Verdict], bool | None] | None:
    """Return what says whether a verdict is right: True, False, or None if it cannot tell."""
    reference = run.reference
    if reference is not None:
        return lambda probe, _: _paid(reference.score([(probe.item.index, probe.turns)])[0])
    if any(item.kind == "program" and item.plan() for item in run.items):
        return _by_tests
    if any(item.kind == "answer" for item in run.items):
        return _by_answer
    return None


def _paid(verdict: Verdict) -> bool | None:
    return None if verdict.score is None else verdict.paid


def _by_tests(probe: Probe, verdict: Verdict) -> bool | None:
    """Whether a program passes its tests; where only a part is paid, half of them."""
    plan = probe.item.plan()
    share = run_code(probe.turns[0], plan, partial_credit=True).score if plan else None
    if share is None:
        return None
    return share == 1.0 if verdict.score == 1.0 else share >= 0.5


def _by_answer(probe: Probe, _: Verdict) -> bool | None:
    if probe.item.gold is None:
        return None
    gold = framed(probe.item.gold)[1]
    if unreadable(gold):
        return None
    if grade_answer(gold, probe.turns[0], probe.item.prompt).score == 1.0:
        return True
    # What is wrong without a doubt: another number than the right one comes last.
    last = re.findall(r"-?\d+", probe.turns[0])[-1:]
    return False if last and last[0] != gold and gold.lstrip("-").isdecimal() else None


def _mutant(
    item: Item, items: Sequence[Item], rng: random.Random, stop: Sequence[str]
) -> tuple[str, Item, tuple[str]]:
    """Return (kind of change, problem, response): two pieces of responses put together.

    A response ends where the task's own stop strings end it.
    """
    pieces = _pieces(item, items, rng)
    first, second = rng.choice(pieces), rng.choice(pieces)
    joint = rng.choice([" ", "\n", ", ", " or ", ". ", " = ", "\n\n#### ", " not ", "; so "])
    kind = f"{first[0]}, then {second[0]}"
    text = (first[1] + joint + second[1]).strip()
    for mark in stop:
        text = text.partition(mark)[0]
    return kind, item, (text,)


def _pieces(item: Item, items: Sequence[Item], rng: random.Random) -> list[tuple[str, str]]:
    other = rng.choice(items)
    gold, foreign = item.gold or "", other.gold or "0"
    wrong = changed(gold)[:2] or [foreign]
    return [
        ("the right answer", gold),
        ("another answer", foreign),
        *[("a near answer", text) for text in wrong],
        ("words", " ".join(nonsense(rng, rng.randint(1, 6)))),
        ("the prompt", item.prompt[-rng.randint(1, 80) :]),
        ("a mark", rng.choice(["\\boxed{}", "Answer:", "</think>", "<answer>", "```", "(", "-"])),
    ]
