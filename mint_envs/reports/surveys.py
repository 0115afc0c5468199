"""Rollouts that may not fit in memory: gone through once to be counted, once for what is shown."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count as numbers_from

import numpy as np
from numpy.typing import NDArray

from ..datasets import Row
from .transcripts import Rollouts, Transcript, TranscriptFilter

_MOST_DRAWN = 1 << 20  # rewards
_MOST_TEXT = 16 << 20  # letters of what is shown, unless more is asked for
_PIECE = 40  # letters that a token with its log-probability counts as


@dataclass(slots=True)
class Survey:
    """What there is: numbers of all episodes, and the rewards, from which pictures are made.

    ``found`` counts those that the filter takes, ``letters`` how long these are.
    """

    name: str
    evals: Sequence[Row] = ()
    total: int = 0
    found: int = 0
    letters: int = 0
    measured: int = 0
    reward_sum: float = 0.0
    _steps: array[float] = field(default_factory=lambda: array("d"))
    _rewards: array[float] = field(default_factory=lambda: array("d"))
    _every: int = 1

    def add(self, one: Transcript, found: bool) -> None:
        """Count an episode."""
        self.total += 1
        if found:
            self.found += 1
            self.letters += len(one.text) + _PIECE * sum(map(len, one.pieces))
        if one.reward is not None:
            self._add_reward(one.reward, one.step)

    def _add_reward(self, reward: float, step: int | None) -> None:
        """Keep a reward for the pictures; of more than can be kept, every second, fourth ..."""
        if self.measured % self._every == 0:
            self._rewards.append(reward)
            self._steps.append(np.nan if step is None else float(step))
        self.measured += 1
        self.reward_sum += reward
        if len(self._rewards) > _MOST_DRAWN:
            self._rewards, self._steps = self._rewards[::2], self._steps[::2]
            self._every *= 2

    @property
    def rewards(self) -> NDArray[np.float64]:
        """Measured rewards, in order; of very many, evenly spread ones."""
        return np.array(self._rewards)

    @property
    def steps(self) -> NDArray[np.float64]:
        """The steps of ``rewards``; NaN where there is none."""
        return np.array(self._steps)

    def most(self, wanted: int) -> int:
        """Return how many to show of as many as are wanted: fewer, where they are very long."""
        each = max(1, self.letters // max(1, self.found))
        return max(1, min(wanted, _MOST_TEXT // each))


def survey(rollouts: Rollouts, wanted: TranscriptFilter) -> Survey:
    """Count the episodes, and those that the filter takes."""
    found = Survey(rollouts.name, rollouts.evals)
    for one in rollouts.transcripts:
        found.add(one, wanted.takes(one))
    return found


def gather(
    rollouts: Rollouts, wanted: TranscriptFilter, counted: Survey, most: int
) -> list[Transcript]:
    """Return at most ``most`` of those that the filter takes, spread evenly over all of them."""
    most = min(most, counted.found)
    places = iter([i * counted.found // most for i in range(most)])
    at = numbers_from()
    kept: list[Transcript] = []
    place = next(places, None)
    for one in rollouts.transcripts:
        if place is None:
            break
        if wanted.takes(one) and next(at) == place:
            kept.append(one)
            place = next(places, None)
    return kept
