"""Two runs side by side: their settings and rewards, where they part, and problems that both asked.

What is gone through may not fit in memory: kept are sums by step and by problem, and of each
problem the newest response.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from .transcripts import Rollouts, Transcript, TranscriptFilter

#: Steps over which rewards are compared, and the difference, in standard errors, that is no chance.
_WINDOW, _APART = 5, 3.0


@dataclass(slots=True)
class Sum:
    """Values, of which number, mean and variance are wanted."""

    many: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.many += 1
        self.total += value
        self.squares += value * value

    @property
    def mean(self) -> float | None:
        return self.total / self.many if self.many else None


@dataclass(slots=True)
class Asked:
    """A problem in one run: its episodes, measured or not, its rewards, and the newest response."""

    prompt: str
    many: int = 0
    rewards: Sum = field(default_factory=Sum)
    response: str = ""


@dataclass(slots=True)
class Side:
    """What is kept of one run. ``steps`` has the mean reward of each group of a step."""

    name: str
    steps: dict[int, Sum] = field(default_factory=dict)
    problems: dict[str, Asked] = field(default_factory=dict)

    def add(self, group: Iterable[Transcript]) -> None:
        """Count the episodes of one problem in one step."""
        rewards = Sum()
        one: Transcript | None = None
        for one in group:
            asked = self.problems.setdefault(problem_of(one), Asked(one.prompt))
            asked.response = one.turns[-1]
            asked.many += 1
            if one.reward is not None:
                rewards.add(one.reward)
                asked.rewards.add(one.reward)
        if one is not None and one.step is not None and rewards.mean is not None:
            self.steps.setdefault(one.step, Sum()).add(rewards.mean)


@dataclass(frozen=True, slots=True)
class Parting:
    """The first episodes that are not alike, one of each run."""

    one: Transcript
    other: Transcript

    @property
    def same_problem(self) -> bool:
        return problem_of(self.one) == problem_of(self.other)


def problem_of(one: Transcript) -> str:
    """Return what tells the problem of an episode from others."""
    return one.problem_id or one.prompt


def one_side(rollouts: Rollouts, wanted: TranscriptFilter) -> Side:
    """Go through a run once."""
    found = Side(rollouts.name)
    taken = (one for one in rollouts.transcripts if wanted.takes(one))
    for _, group in groupby(taken, lambda one: (one.step, problem_of(one))):
        found.add(group)
    return found


def rewards_part(a: Side, b: Side) -> int | None:
    """Return the first step from which mean rewards differ by more than chance, or None.

    Over five steps from there they are more than three standard errors apart, counted by groups:
    responses to one problem are no independent numbers.
    """
    both = sorted(a.steps.keys() & b.steps.keys())
    for place in range(len(both) - _WINDOW + 1):
        window = both[place : place + _WINDOW]
        (one, one_error), (other, other_error) = (_over_steps(side, window) for side in (a, b))
        if abs(one - other) > _APART * math.sqrt(one_error + other_error):
            return window[0]
    return None


def _over_steps(run: Side, steps: list[int]) -> tuple[float, float]:
    """Return the mean over some steps, and the square of its standard error."""
    sums = [run.steps[step] for step in steps]
    many = sum(one.many for one in sums)
    mean = sum(one.total for one in sums) / many
    spread = sum(one.squares for one in sums) / many - mean**2
    return mean, max(spread, 1e-12) / max(many - 1, 1)


def responses_part(a: Rollouts, b: Rollouts, wanted: TranscriptFilter) -> Parting | None:
    """Return the first episodes, in the order of both files, that are not alike."""
    pairs = ((one for one in rollouts.transcripts if wanted.takes(one)) for rollouts in (a, b))
    for one, other in zip(*pairs, strict=False):
        if (problem_of(one), one.turns) != (problem_of(other), other.turns):
            return Parting(one, other)
    return None


def problems_apart(a: Side, b: Side) -> list[tuple[Asked, Asked]]:
    """Return the problems that both measured, those first whose mean rewards are furthest apart."""

    def gap(pair: tuple[Asked, Asked]) -> float:
        one, other = (asked.rewards.mean or 0.0 for asked in pair)
        return abs(one - other)

    shared = [(a.problems[name], b.problems[name]) for name in a.problems.keys() & b.problems]
    measured = [pair for pair in shared if all(asked.rewards.many for asked in pair)]
    return sorted(measured, key=lambda pair: (-gap(pair), pair[0].prompt))


def settings_apart(a: Path, b: Path) -> list[tuple[str, str, str]]:
    """Return (setting, of one, of the other) for all that differ; nothing if one is no run."""
    one, other = _run_settings(a), _run_settings(b)
    if one is None or other is None:
        return []
    names = sorted((one.keys() | other.keys()) - {"run_dir"})
    told = ((name, *(json.dumps(c.get(name)) for c in (one, other))) for name in names)
    return [(name, mine, theirs) for name, mine, theirs in told if mine != theirs]


def _run_settings(folder: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def rewards_table(
    a: Side, b: Side, most: int = 12
) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield (steps, mean reward of one, of the other), of at most so many spans of steps."""
    steps = sorted(a.steps.keys() | b.steps.keys())
    many = min(most, len(steps))
    for i in range(many):
        span = steps[i * len(steps) // many : (i + 1) * len(steps) // many]
        name = str(span[0]) if len(span) == 1 else f"{span[0]} to {span[-1]}"
        yield name, _mean_reward(a, span), _mean_reward(b, span)


def _mean_reward(run: Side, steps: list[int]) -> float | None:
    sums = [run.steps[step] for step in steps if step in run.steps]
    many = sum(one.many for one in sums)
    return sum(one.total for one in sums) / many if many else None


# -- one run, by problem --------------------------------------------------------------------------


def by_problem(rollouts: Rollouts, wanted: TranscriptFilter, most: int) -> list[Transcript]:
    """Return episodes by problem, those of the lowest mean reward first, each from low to high.

    Of at most ``most`` episodes, and at least one problem: of more problems than that, those that
    are evenly spread over all, by their mean reward.
    """
    problems = one_side(rollouts, wanted).problems
    order = sorted(problems, key=lambda name: (_hardness(problems[name]), name))
    many = len(order)
    while many > 1 and sum(problems[name].many for name in _evenly(order, many)) > most:
        many = min(many - 1, max(1, many * 9 // 10))
    place = {name: number for number, name in enumerate(_evenly(order, many))}
    kept = [one for one in rollouts.transcripts if wanted.takes(one) and problem_of(one) in place]
    return sorted(
        kept,
        key=lambda one: (
            place[problem_of(one)], -math.inf if one.reward is None else one.reward, one.number,
        ),
    )  # fmt: skip


def _hardness(asked: Asked) -> float:
    """A problem that was never measured comes first."""
    return -math.inf if asked.rewards.mean is None else asked.rewards.mean


def _evenly(order: list[str], many: int) -> list[str]:
    return [order[i * len(order) // many] for i in range(many)]
