"""Policies that solve the requests of mint/ToolUse-v0 from the messages alone, one per pattern."""

from __future__ import annotations

import re
from typing import Any

import policies_offices  # noqa: F401  they enter themselves into the table
import policies_stores  # noqa: F401
from policies import POLICY, Player, written

from mint_envs import Reward
from mint_envs.tooluse import ToolUseTask

__all__ = ["POLICY", "solve", "written"]


def solve(task: ToolUseTask, problem: Any) -> tuple[Reward, str]:
    """Play by the policy; return the reward, and the pattern of the request."""
    request = task.prompt(problem)[-1]["content"]  # type: ignore[index]
    pattern, policy = next((p, f) for p, f in POLICY.items() if re.fullmatch(p, request, re.DOTALL))
    episode = task.start(problem)
    answer = policy(Player(episode), re.fullmatch(pattern, request, re.DOTALL))
    reward = episode.respond("Done." if answer is None else f"Answer: {answer}")
    assert isinstance(reward, Reward)
    return reward, pattern
