"""Gymnasium wrappers of environments, and the same of tasks.

    env = TextIO(LengthPenalty(gym.make("mint/Math-v0"), free=20, limit=200))

Each that changes prompts, rewards or the end of an episode changes the *task*: so the wrapped
environment is scored in batches, checked by the kit and trained on like any other. To train on
one, register a function that returns the task::

    def short_sums(digits: int = 2) -> Task:
        return LengthPenaltyTask(task_of("mint/Math-v0", digits=digits), free=20, limit=200)

    mint_envs.register("my/ShortSums-v0", short_sums)
"""

from __future__ import annotations

from .compose.episodes import RecordJSONL, TimeLimit, TimeLimitTask
from .compose.pad import PadTokens
from .compose.prompts import FewShot, FewShotTask, SystemPrompt, SystemPromptTask
from .compose.rewards import FormatCredit, FormatCreditTask, LengthPenalty, LengthPenaltyTask
from .compose.text import TextIO, TextSpace
from .compose.wrapper import ShapedTask, TaskWrapper
from .registration import task_of

__all__ = [
    "FewShot",
    "FewShotTask",
    "FormatCredit",
    "FormatCreditTask",
    "LengthPenalty",
    "LengthPenaltyTask",
    "PadTokens",
    "RecordJSONL",
    "ShapedTask",
    "SystemPrompt",
    "SystemPromptTask",
    "TaskWrapper",
    "TextIO",
    "TextSpace",
    "TimeLimit",
    "TimeLimitTask",
    "task_of",
]
