"""Rewards from a judge: each answer by itself, or against the others of its group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from ..core import Reward
from .judge.panel import Panel, Verdict
from .judge.settings import JudgeSettings


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer to be judged.

    Args:
        gate: the gate that it failed, or ``""``; then it is worth 0, and nobody is asked.
        reference: an answer to compare a lone one with, or ``""``.
    """

    request: str
    answer: str
    gate: str
    reference: str


def judged(settings: JudgeSettings, entries: Sequence[JudgedAnswer]) -> list[Reward]:
    """Return the rewards of ``entries``, in order.

    In pairwise mode entries with one request are a group. An answer earns the mean of its
    comparisons with the others: 1 for a win, 0.5 for a tie, 0 for a defeat. Where comparisons
    could not be made, the answers that they have in common are unmeasured, and the others earn
    what their other comparisons say: an answer that no judge will speak of takes none along.
    """
    panel = settings.panel()
    about = {"judge": settings.model or panel.judge.name, "rubric": panel.rubric_version}
    found = (_ratings if settings.mode == "score" else _standings)(panel, entries)
    return [
        _judged_reward(entry, *result, about) for entry, result in zip(entries, found, strict=True)
    ]


#: (what it is worth, or why that is not known; in words; the worth of each criterion)
Result = tuple[float | Verdict, str, Mapping[str, float]]


def _judged_reward(
    entry: JudgedAnswer,
    result: float | Verdict,
    note: str,
    criteria: Mapping[str, float],
    about: Mapping[str, Any],
) -> Reward:
    error = "" if isinstance(result, float) else result.error
    metadata = {**about, "gate": entry.gate, "verdict": note, "error": error}
    if not isinstance(result, float):
        return Reward(None, {}, metadata)
    parts = {"gate": float(not entry.gate), "judge": result, **criteria}
    return Reward(result, parts, metadata)


# -- each by itself -----------------------------------------------------------------------------


def _ratings(panel: Panel, entries: Sequence[JudgedAnswer]) -> list[Result]:
    asked = [i for i, entry in enumerate(entries) if not entry.gate]
    verdicts = panel.rate([(entries[i].request, entries[i].answer) for i in asked])
    results: list[Result] = [(0.0, "", {})] * len(entries)
    for i, verdict in zip(asked, verdicts, strict=True):
        results[i] = _rating(panel, verdict)
    return results


def _rating(panel: Panel, verdict: Verdict) -> Result:
    """A criterion that the judge skipped is not measured, and so neither is the whole."""
    if not verdict.choice:
        return verdict, "", {}
    if not panel.criteria:
        return panel.worth(verdict.choice), verdict.choice, {}
    parts = panel.parts(verdict)
    skipped = [name for name, _ in panel.criteria if name not in parts]
    if skipped:
        return Verdict(error=f"the judge skipped {skipped[0]!r}"), verdict.choice, {}
    return panel.weighted(parts), verdict.choice, parts


# -- against the others of a group --------------------------------------------------------------


def _standings(panel: Panel, entries: Sequence[JudgedAnswer]) -> list[Result]:
    matches = _matches(entries)
    played = [match for match in matches if not match.settled]
    outcomes = panel.compare([match.item for match in played])
    scores: list[list[float]] = [[] for _ in entries]
    failed: list[tuple[_Match, Verdict]] = []
    settled = [(match, match.outcome) for match in matches if match.settled]
    for match, outcome in [*zip(played, outcomes, strict=True), *settled]:
        if not isinstance(outcome, float):
            failed.append((match, outcome))
            continue
        for i, flipped in match.sides:
            scores[i].append(1.0 - outcome if flipped else outcome)
    errors = _left_out(failed)
    return [_standing(entry, scores[i], errors.get(i)) for i, entry in enumerate(entries)]


def _left_out(failed: Sequence[tuple[_Match, Verdict]]) -> dict[int, Verdict]:
    """Return the answers to leave out, and why: those that most failures have in common.

    They are left out one by one, the one with the most failures first, until no failure is left
    that is not theirs. Where two have as many, nobody can say whose fault it is, and both go.
    """
    errors: dict[int, Verdict] = {}
    left = list(failed)
    while left:
        counts = Counter(i for match, _ in left for i, _ in match.sides)
        most = max(counts.values())
        errors |= {i: why for match, why in left for i, _ in match.sides if counts[i] == most}
        left = [(match, why) for match, why in left if not any(i in errors for i, _ in match.sides)]
    return errors


def _standing(entry: JudgedAnswer, scores: Sequence[float], error: Verdict | None) -> Result:
    if entry.gate:
        return 0.0, "", {}
    if error is not None:
        return error, "", {}
    if not scores:
        return Verdict(error="pairwise: no other answer to compare with"), "", {}
    won, lost = scores.count(1.0), scores.count(0.0)
    return fmean(scores), f"{won} won, {len(scores) - won - lost} tied, {lost} lost", {}


@dataclass(frozen=True, slots=True)
class _Match:
    """Two answers to one request; ``sides`` are (entry, whether it is the second) pairs."""

    item: tuple[str, str, str]
    sides: tuple[tuple[int, bool], ...]
    outcome: float = 0.0
    settled: bool = False  # the outcome is known without asking


def _matches(entries: Sequence[JudgedAnswer]) -> list[_Match]:
    groups: dict[str, list[int]] = {}
    for i, entry in enumerate(entries):
        groups.setdefault(entry.request, []).append(i)
    found = []
    for members in groups.values():
        found += [_match(entries, i, j) for i, j in combinations(members, 2)]
        lone = entries[members[0]]
        if len(members) == 1 and lone.reference and not lone.gate:
            item = (lone.request, lone.answer, lone.reference)
            same = lone.answer == lone.reference
            found.append(_Match(item, ((members[0], False),), 0.5, same))
    return found


def _match(entries: Sequence[JudgedAnswer], i: int, j: int) -> _Match:
    one, other = entries[i], entries[j]
    item = (one.request, one.answer, other.answer)
    sides = ((i, False), (j, True))
    if one.gate or other.gate or one.answer == other.answer:
        return _Match(item, sides, (1.0 + bool(other.gate) - bool(one.gate)) / 2, True)
    return _Match(item, sides)
