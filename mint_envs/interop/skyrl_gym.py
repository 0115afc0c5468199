"""SkyRL-gym: ``BaseTextEnv``, one or several turns.

    from skyrl_gym.envs import register
    register(id="mint", entry_point="mint_envs.interop.skyrl_gym:MintTextEnv")

The data set is made of ``rows``, which say all that an episode needs. Unmeasured: SkyRL has no way
to leave a sample out, so ``step`` raises ``Unmeasured``; a 0 would be learned from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..core import Task
from .shapes import TextEpisode, TextTask, as_messages, details, index_of, lazily, measured


def rows(
    env: str | Task[Any],
    count: int | None = None,
    start: int = 0,
    id: str = "mint",
    **settings: Any,
) -> list[dict[str, Any]]:
    """Return rows of a SkyRL data set: prompt, environment class, and the problem's index.

    Args:
        env: an id, or a task.
        count: how many rows; None: all of a data set, which a task without end needs told.
        start: index of the first problem.
        id: under which ``MintTextEnv`` was registered.
        settings: of the environment, JSON values.
    """
    return [
        {
            "data_source": str(env),
            "prompt": as_messages(row["prompt"]),
            "env_class": id,
            "reward_spec": {"method": "rule", "ground_truth": str(row["task_index"])},
            "task_index": row["task_index"],
            "settings": json.dumps(settings),
        }
        for row in TextTask(env, **settings).rows(count, start)
    ]


class _TextEnv:
    """One episode; ``extras`` is a row of ``rows``."""

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        extras = dict(extras or {})
        settings = json.loads(extras.get("settings") or "{}")
        self._task = TextTask(extras["data_source"], **settings)
        self._index = index_of(extras)
        self._episode: TextEpisode | None = None
        self.max_turns = int(extras.get("max_turns", 100))

    def init(self, prompt: Any) -> tuple[Any, dict[str, Any]]:
        """Begin; the prompt is the problem's own, whatever the row says."""
        self.close()
        self._episode = self._task.start(self._index)
        return self._episode.messages, {"task_index": self._index}

    def step(self, action: str) -> Any:
        """Take one response.

        Raises:
            Unmeasured: the episode is over, and its reward could not be measured.
        """
        episode = self._episode
        if episode is None:
            raise RuntimeError("step() before init()")
        said = episode.respond(action)
        if not episode.done and episode.turns >= self.max_turns:
            said, _ = [], episode.finish()
        score = measured(episode.reward) if episode.reward else 0.0
        return {
            "observations": said,
            "reward": score,
            "done": episode.done,
            "metadata": dict(episode.reward.metadata) if episode.reward else {},
        }

    def get_metrics(self) -> dict[str, Any]:
        """Return the parts of the reward, and the number of turns."""
        episode = self._episode
        if episode is None or episode.reward is None:
            return {}
        return {**details(episode.reward), "turns": episode.turns}

    def close(self) -> None:
        if self._episode is not None:
            self._episode.close()


def _text_env_class() -> list[type]:
    from skyrl_gym.envs.base_text_env import BaseTextEnv

    return [type("MintTextEnv", (_TextEnv, BaseTextEnv), {"__doc__": _TextEnv.__doc__})]


_find = lazily(globals(), _text_env_class, "MintTextEnv")


def __getattr__(name: str) -> Any:
    return _find(name)
