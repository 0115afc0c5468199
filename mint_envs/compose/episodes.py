"""Wrappers of episodes: a limit of turns, and a record of every episode in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym

from ..core import Episode, Message, Reward, Task
from ..errors import SettingError, require
from ..jsonl import append_rows
from .wrapper import TaskChange, TaskWrapper, token_env


class TimeLimitTask(TaskWrapper):
    """A task whose episodes end after ``turns`` responses: with 0, unless they ended before.

    A clock would make rewards differ from run to run; turns do not.
    """

    def __init__(self, task: Task[Any], turns: int) -> None:
        super().__init__(task)
        require(turns >= 1, f"turns={turns} must be 1 or more")
        self._turns = turns

    def start(self, problem: Any) -> Episode:
        return _Limited(self.task.start(problem), self._turns)

    def examples(self, problem: Any) -> dict[Any, float]:
        """Leave out the examples that take longer, ended by "" as they may be."""
        found = self.task.examples(problem).items()
        return {k: v for k, v in found if isinstance(k, str) or len(k) <= self._turns}


class _Limited(Episode):
    """An episode that ends after so many turns."""

    def __init__(self, episode: Episode, left: int) -> None:
        self._episode, self._left = episode, left

    def respond(self, text: str) -> str | Sequence[Message] | Reward:
        self._left -= 1
        answer = self._episode.respond(text)
        if self._left > 0 or isinstance(answer, Reward):
            return answer
        return Reward(0.0, metadata={"error": "out of turns"})

    def cut(self, text: str) -> Reward:
        return self._episode.cut(text)


class TimeLimit(TaskChange):
    """End the episodes of an environment after ``turns`` responses; see ``TimeLimitTask``."""

    def __init__(self, env: gym.Env[Any, Any], turns: int) -> None:
        super().__init__(env, lambda task: TimeLimitTask(task, turns), turns=turns)


class RecordJSONL(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Append one line to a file for every finished episode, as a training run does.

    The line holds what rebuilds the episode: id, version, settings, seed (or index) and the
    responses; ``mint-envs replay FILE`` computes the rewards again. Make this the outermost
    wrapper but for ``TextIO``; episodes that began without a seed get one, which is recorded.

    Args:
        env: an environment of this package.
        path: the file; its folder is made if it is missing.
    """

    def __init__(self, env: gym.Env[Any, Any], path: str) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, path=path)
        gym.Wrapper.__init__(self, env)
        token_env(env)  # raises if there is none
        self._path = Path(path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingError(f"path={path!r}: the folder cannot be made: {error}") from error
        self._row: dict[str, Any] = {}
        self._turns: list[str] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset, and begin a new line."""
        chosen = seed
        if chosen is None and (options or {}).get("index") is None:
            chosen = int(token_env(self).np_random.integers(2**31))
        observation, info = self.env.reset(seed=chosen, options=options)
        self._turns = []
        self._row = {**_origin(self), "seed": chosen, "index": (options or {}).get("index")}
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, and append the line when the episode is over."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._turns.append(info["response"])
        if terminated or truncated:
            names = ("problem_id", "prompt", "response", "scored", "parts", "metadata")
            verdict = {name: info[name] for name in names}
            ends = {"turns": self._turns, "reward": info["score"], "truncated": truncated}
            # A setting may be an object (a judge): its name is kept, for a reader.
            append_rows(self._path, [{**self._row, **verdict, **ends}], default=repr)
        return observation, float(reward), terminated, truncated, info


def _origin(env: gym.Env[Any, Any]) -> dict[str, Any]:
    """Return what the environment was made of: id, version, settings and wrappers."""
    from .. import __version__

    spec = env.spec
    if spec is None:
        return {"env": "", "version": __version__, "env_settings": {}, "wrappers": []}
    settings = {
        k: v for k, v in spec.kwargs.items() if k not in ("task", "tokenizer", "render_mode")
    }
    wrappers = [
        {"name": _public(one.entry_point), "settings": one.kwargs or {}}
        for one in spec.additional_wrappers
        if not one.entry_point.endswith((":RecordJSONL", ":TextIO"))
    ]
    module, colon, _ = str(spec.kwargs.get("task", "")).partition(":")
    ours = not colon or module.split(".")[0] in ("mint_envs", "__main__")
    id = spec.id if ours else f"{module}:{spec.id}"  # importing the task registers the id
    return {"env": id, "version": __version__, "env_settings": settings, "wrappers": wrappers}


def _public(entry_point: str) -> str:
    """Return the name under which a wrapper of ours is public: files outlive our folders."""
    module, _, name = entry_point.partition(":")
    return f"mint_envs.wrappers:{name}" if module.startswith(f"{__package__}.") else entry_point
