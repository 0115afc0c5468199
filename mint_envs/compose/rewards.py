"""Wrappers that shape rewards. All keep [0, 1], rise with the reward, and leave None as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym

from ..core import Reward, Task
from ..errors import SettingError, require
from .wrapper import ShapedTask, TaskChange

Unit = Literal["words", "characters"]


class LengthPenaltyTask(ShapedTask):
    """Pays less for long responses: ``reward * (1 - weight * excess)``.

    Excess is 0 up to ``free`` words (or characters), then rises evenly to 1 at ``limit``. The
    right answer must be within ``free``, else it does not earn the full mark. All turns count.

    Args:
        task: the task.
        free: length that costs nothing.
        limit: length from which the whole ``weight`` is lost.
        weight: largest part of the reward that length can cost, above 0 and up to 1.
        unit: what is counted.
    """

    def __init__(
        self, task: Task[Any], free: int, limit: int, weight: float = 0.5, unit: Unit = "words"
    ) -> None:
        super().__init__(task)
        require(0 <= free < limit, f"free={free} and limit={limit}: 0 <= free < limit")
        require(0 < weight <= 1, f"weight={weight} must be above 0, up to 1")
        require(unit in ("words", "characters"), f"unit={unit!r}: 'words' or 'characters'")
        self._free, self._limit, self._weight, self._unit = free, limit, weight, unit

    def shape(self, reward: Reward, turns: Sequence[str]) -> Reward:
        length = sum(len(turn.split() if self._unit == "words" else turn) for turn in turns)
        excess = min(1.0, max(0.0, (length - self._free) / (self._limit - self._free)))
        factor = 1.0 - self._weight * excess
        return _rescored(reward, (reward.score or 0.0) * factor, "brevity", 1.0 - excess)


class FormatCreditTask(ShapedTask):
    """Keeps a small part of the reward for a form: ``(1 - credit) * reward + credit * formed``.

    A right answer in another form earns ``1 - credit``; a wrong one in the form ``credit``. The
    form is a pattern of Python's ``re``, looked for in the last response. Mind that a form alone
    is easy to learn: keep the credit small.

    Args:
        task: the task. Its right answers must have the form, else none earns the full mark.
        pattern: what the last response must contain, e.g. ``r"<answer>.*</answer>"``. It must not
            be one that takes exponential time, such as ``(a+)+b``.
        credit: above 0, up to 0.2.
    """

    def __init__(self, task: Task[Any], pattern: str, credit: float = 0.1) -> None:
        super().__init__(task)
        require(0 < credit <= 0.2, f"credit={credit} must be above 0, up to 0.2")
        try:
            self._find = re.compile(pattern, re.DOTALL)
        except re.error as error:
            raise SettingError(f"pattern={pattern!r} is no regular expression: {error}") from error
        require(not self._find.search(""), f"pattern={pattern!r} fits the empty response")
        self._credit = credit

    def shape(self, reward: Reward, turns: Sequence[str]) -> Reward:
        formed = float(self._find.search(turns[-1]) is not None)
        score = (1.0 - self._credit) * (reward.score or 0.0) + self._credit * formed
        return _rescored(reward, min(1.0, score), "format", formed)


def _rescored(reward: Reward, score: float, name: str, part: float) -> Reward:
    """Return the reward with another score; the parts say what it was, and why."""
    inner = {f"task.{key}": value for key, value in reward.parts.items()}
    parts = {"task": reward.score or 0.0, name: part, **inner}
    return Reward(score, parts, reward.metadata)


class LengthPenalty(TaskChange):
    """Make an environment pay less for long responses; see ``LengthPenaltyTask``.

    Args:
        free: length that costs nothing, in ``unit``.
        limit: length from which the whole ``weight`` is taken.
        weight: the largest share of the reward that is taken.
        unit: what is counted.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        free: int,
        limit: int,
        weight: float = 0.5,
        unit: Unit = "words",
    ) -> None:
        options = {"free": free, "limit": limit, "weight": weight, "unit": unit}
        super().__init__(
            env, lambda task: LengthPenaltyTask(task, free, limit, weight, unit), **options
        )


class FormatCredit(TaskChange):
    """Make an environment keep a small part of the reward for a form; see ``FormatCreditTask``.

    Args:
        pattern: a regular expression, looked for in the last response.
        credit: what the form alone earns: above 0, up to 0.2.
    """

    def __init__(self, env: gym.Env[Any, Any], pattern: str, credit: float = 0.1) -> None:
        super().__init__(
            env,
            lambda task: FormatCreditTask(task, pattern, credit),
            pattern=pattern,
            credit=credit,
        )
