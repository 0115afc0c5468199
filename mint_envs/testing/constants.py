"""What one answer for all problems earns: the first thing a model learns, if it pays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from ..core import Task
from ..problems import Turns
from .problem_rules import Drawn
from .verdicts import score_of, sorted_json

WORTH_SAYING = 0.5  # mean reward of one answer from which on it is told

_DRAWS = 50  # problems
_FIRST = 10  # of them, on which candidates are tried first; and different questions, at least
_CANDIDATES = 2
_HOPELESS = 0.2  # mean reward on the first problems with which a candidate is left


def best_constant(task: Task[Any], many: Sequence[Drawn]) -> tuple[Turns, float] | None:
    """Return the answer that earns most when it is given to 50 of ``many``, and its mean.

    Candidates are the full-mark examples that come most often. None where there is no telling:
    too few different questions, no examples, nothing measured.
    """
    drawn = many[:_DRAWS]
    questions = {sorted_json(task.prompt(one.problem)) for one in drawn}
    if len(questions) < _FIRST:
        return None
    right = Counter(turns for one in drawn for turns, value in one.examples.items() if value == 1.0)
    tried = [
        (_constant_mean(task, drawn, turns), turns) for turns, _ in right.most_common(_CANDIDATES)
    ]
    mean, turns = max(tried, default=(0.0, ("",)))
    return (turns, mean) if mean > _HOPELESS else None


def _constant_mean(task: Task[Any], drawn: Sequence[Drawn], turns: Turns) -> float:
    """Return the mean reward of ``turns``; on the first problems alone if it is hopeless there."""
    first = _mean_of_all(task, drawn[:_FIRST], turns)
    return first if first <= _HOPELESS else _mean_of_all(task, drawn, turns)


def _mean_of_all(task: Task[Any], drawn: Sequence[Drawn], turns: Turns) -> float:
    scores = [score_of(task, one.problem, turns) for one in drawn]
    return fmean([score for score in scores if score is not None] or [0.0])
