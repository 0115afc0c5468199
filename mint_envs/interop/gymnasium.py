"""Plain Gymnasium: its own wrappers work, and rewards can say when they are none.

    env = UnmeasuredAsNaN(RecordEpisodeStatistics(gym.make("mint/Code-v0", style="chat")))

For text in place of tokens there is ``mint_envs.wrappers.TextIO``. Unmeasured: the reward is 0.0,
since Gymnasium wants a number, and ``info["scored"]`` is False; ``UnmeasuredAsNaN`` makes it NaN,
which no mean overlooks.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym


class UnmeasuredAsNaN(gym.Wrapper[Any, Any, Any, Any]):
    """A reward that could not be measured leaves ``step`` as NaN, where it would be 0.0."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if (terminated or truncated) and not info["scored"]:
            reward = float("nan")
        return observation, reward, terminated, truncated, info
