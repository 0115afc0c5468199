"""Plain Gymnasium: text in place of tokens, and rewards that say when they are none.

    env = TextEnv(gym.make("mint/Code-v0", style="chat"))
    prompt, info = env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step("def ...")

Gymnasium's own wrappers work without any of this (``RecordEpisodeStatistics`` among them).
Unmeasured: the reward is 0.0, since Gymnasium wants a number, and ``info["scored"]`` is False;
``UnmeasuredAsNaN`` makes it NaN, which no mean overlooks.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from ..env import TokenEnv
from ..errors import SettingError


class Text(gym.Space[str]):
    """Any string; ``gymnasium.spaces.Text`` knows neither white space nor other scripts."""

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return a few characters, drawn from all over Unicode."""
        points = self.np_random.integers(0x20, 0xD7FF, int(self.np_random.integers(0, 40)))
        return "".join(map(chr, points))

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text)

    def __repr__(self) -> str:
        return "Text()"


class TextEnv(gym.Wrapper[str, str, Any, Any]):
    """Strings for observations and actions: a whole response, without its end-of-turn token.

    Raises:
        SettingError: the environment is none of this package.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        if not isinstance(env.unwrapped, TokenEnv):
            raise SettingError(f"{env!r} is not an environment of mint_envs")
        self._codec = env.unwrapped.codec
        self.observation_space = self.action_space = Text()

    def reset(self, **kwargs: Any) -> tuple[str, dict[str, Any]]:
        tokens, info = self.env.reset(**kwargs)
        return self._codec.decode([int(i) for i in tokens]), info

    def step(self, action: str) -> tuple[str, Any, bool, bool, dict[str, Any]]:
        ids = self._codec.encode_response(action)
        if self._codec.eos_token_id is not None:
            ids.append(self._codec.eos_token_id)
        inner: gym.Env[Any, Any] = self.env
        tokens, *rest = inner.step(ids)
        return self._codec.decode([int(i) for i in tokens]), *rest  # type: ignore[return-value]


class UnmeasuredAsNaN(gym.Wrapper[Any, Any, Any, Any]):
    """A reward that could not be measured leaves ``step`` as NaN, where it would be 0.0."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if (terminated or truncated) and not info["scored"]:
            reward = float("nan")
        return observation, reward, terminated, truncated, info
