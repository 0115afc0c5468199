"""How hard the problems of a run are, from a file and from what the run itself has seen.

All that is known follows from the file and from the episodes of earlier steps; a checkpoint keeps
it, so a resumed run chooses as the uninterrupted one would have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mint_envs.jsonl import line_of
from mint_envs.pass_rates import PassRate, read_pass_rates
from mint_envs.problems import ProblemRef

from .config import TrainConfig
from .errors import mistakes_said
from .metrics import FULL_MARK
from .rollout import Episode

#: What a problem's earlier responses count for, once it is asked again: the policy has moved.
_KEPT = 0.5
#: A problem outside the range is asked again only after the others were, so often: it may move.
_REST = 4
#: Under a curriculum, a problem of which nothing is known stands in the middle.
_UNKNOWN = 0.5

Named = tuple[ProblemRef, str | None]


class Difficulty:
    """Pass rates by problem_id, refreshed at every step, and the choice of problems by them.

    Raises:
        TrainerError: the file of ``config.pass_rates`` is missing or broken.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.file: Mapping[str, PassRate] = {}
        if config.pass_rates is not None:
            with mistakes_said():
                self.file = read_pass_rates(config.pass_rates)
        self._low, self._high = config.min_pass_rate, config.max_pass_rate
        self._curriculum, self._seed = config.curriculum, config.seed
        self.chooses = self._curriculum or self._low is not None or self._high is not None
        self._rates = {name: (one.rate * one.samples, one.samples * 1.0)
                       for name, one in self.file.items()}  # fmt: skip
        self._asked: dict[str, int] = {}

    def rate(self, name: str | None) -> float | None:
        """Return the pass rate of a problem as it is known now, or None."""
        found = self._rates.get(name or "")
        return None if found is None else found[0] / found[1]

    def side(self, rate: float) -> str:
        """Return ``"too_hard"``, ``"too_easy"`` or ``"alive"``; with no range, 0 and 1 are dead."""
        if rate < self._low if self._low is not None else rate == 0.0:
            return "too_hard"
        if rate > self._high if self._high is not None else rate == 1.0:
            return "too_easy"
        return "alive"

    def counts(self) -> dict[str, float]:
        """Return how many of the problems that are known are too easy, too hard, alive."""
        found = {"too_easy": 0.0, "too_hard": 0.0, "alive": 0.0}
        for passed, total in self._rates.values():
            found[self.side(passed / total)] += 1
        return found

    # -- choosing ----------------------------------------------------------------------------------

    def choose(self, problems: Sequence[Named], many: int, step: int) -> list[ProblemRef]:
        """Return ``many`` of these problems.

        Those come first that were asked least; of them, with a curriculum, the easiest; then by
        lot. One that is outside the range rests until the others were asked some times more.
        """
        if not problems:
            return []
        lots = np.random.default_rng([self._seed, step]).permutation(len(problems))
        order = sorted(range(len(problems)), key=lambda i: (*self._turn(problems[i][1]), lots[i]))
        return [problems[order[i % len(order)]][0] for i in range(many)]

    def _turn(self, name: str | None) -> tuple[int, float]:
        rate = self.rate(name)
        rests = rate is not None and self.rests(rate)
        known = _UNKNOWN if rate is None else rate
        asked = self._asked.get(name or "", 0)
        return asked + _REST * rests, -known if self._curriculum else 0.0

    def rests(self, rate: float) -> bool:
        """Return whether a problem of this pass rate is outside the range that was given."""
        low = 0.0 if self._low is None else self._low
        high = 1.0 if self._high is None else self._high
        return not low <= rate <= high

    # -- learning ----------------------------------------------------------------------------------

    def note(self, groups_P: Sequence[Sequence[Episode]]) -> None:
        """Take in what the groups of a step have earned."""
        for group in groups_P:
            name = next((e.infos[-1].get("problem_id") for e in group if e.infos), None)
            if not isinstance(name, str) or not name:
                continue
            self._asked[name] = self._asked.get(name, 0) + 1
            if rewards := [e.reward for e in group if e.scored]:
                passed, total = self._rates.get(name, (0.0, 0.0))
                new = sum(reward >= FULL_MARK for reward in rewards)
                self._rates[name] = (_KEPT * passed + new, _KEPT * total + len(rewards))

    @property
    def state(self) -> dict[str, Any]:
        """What was learned so far, for a checkpoint."""
        return {"rates": self._rates, "asked": self._asked}

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Go on from what a checkpoint kept, if there is one."""
        if state is not None:
            self._rates = {
                name: (passed, total) for name, (passed, total) in state["rates"].items()
            }
            self._asked = dict(state["asked"])

    def text(self) -> str:
        """Return all pass rates as they are known now, as lines of a file ``pass_rates``."""
        return "".join(
            line_of(PassRate(passed / total, max(1, round(total)), self._place(name)).to_row(name))
            for name, (passed, total) in self._rates.items()
        )

    def _place(self, name: str) -> ProblemRef | None:
        return self.file[name].ref if name in self.file else None
