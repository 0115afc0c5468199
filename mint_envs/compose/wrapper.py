"""What the wrappers stand on: a task around a task, and an environment with its task changed."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ..core import ChatStyle, Episode, Message, Prompt, Reward, Task, as_reward
from ..env import TokenEnv
from ..errors import SettingError


class TaskWrapper(Task[Any]):
    """A task that is as another, but for what a subclass overrides.

    A wrapped task is a task like any: it can be registered (by a function that returns it),
    trained on, mixed and checked.
    """

    def __init__(self, task: Task[Any]) -> None:
        if not isinstance(task, Task):
            raise SettingError(f"task={task!r} is not a mint_envs.Task")
        self.task = task
        self.stop: Sequence[str] = task.stop
        self.nondeterministic = task.nondeterministic

    def sample(self, rng: np.random.Generator) -> Any:
        return self.task.sample(rng)

    def prompt(self, problem: Any) -> Prompt:
        return self.task.prompt(problem)

    def score(self, problem: Any, response: str) -> Reward:
        return as_reward(self.task.score(problem, response))

    def score_batch(self, pairs: Sequence[tuple[Any, str]]) -> list[Reward]:
        return self.task.score_batch(pairs)

    def start(self, problem: Any) -> Episode:
        return self.task.start(problem)

    def fitted(self, style: ChatStyle) -> Task[Any]:
        twin = copy.copy(self)
        twin.task = self.task.fitted(style)
        return twin

    def tools(self, problem: Any = None) -> Sequence[Mapping[str, Any]]:
        return self.task.tools(problem)

    def examples(self, problem: Any) -> Mapping[Any, float]:
        return self.task.examples(problem)

    def problem(self, index: int) -> Any:
        return self.task.problem(index)

    def problem_id(self, problem: Any) -> str:
        return self.task.problem_id(problem)

    @property
    def size(self) -> int | None:
        return self.task.size

    @property
    def single_turn(self) -> bool:
        return self.task.single_turn


class ShapedTask(TaskWrapper):
    """A task whose rewards are changed by what was said. An unmeasured one stays unmeasured."""

    @abstractmethod
    def shape(self, reward: Reward, turns: Sequence[str]) -> Reward:
        """Return the changed reward. ``reward`` is measured; ``turns`` are the responses."""

    def shaped(self, reward: Reward, turns: Sequence[str]) -> Reward:
        """Return the changed reward, or the same if it was not measured."""
        return self.shape(reward, turns) if reward.measured else reward

    def score(self, problem: Any, response: str) -> Reward:
        return self.shaped(as_reward(self.task.score(problem, response)), [response])

    def score_batch(self, pairs: Sequence[tuple[Any, str]]) -> list[Reward]:
        rewards = self.task.score_batch(pairs)
        rows = zip(rewards, pairs, strict=True)
        return [self.shaped(reward, [response]) for reward, (_, response) in rows]

    def start(self, problem: Any) -> Episode:
        return _ShapedEpisode(self, self.task.start(problem))

    def examples(self, problem: Any) -> dict[Any, float]:
        found = {}
        for key, value in self.task.examples(problem).items():
            turns = [key] if isinstance(key, str) else list(key)
            found[key] = float(self.shape(Reward(value), turns).score or 0.0)
        return found


class _ShapedEpisode(Episode):
    """An episode whose last reward is changed."""

    def __init__(self, task: ShapedTask, episode: Episode) -> None:
        self._task, self._episode = task, episode
        self._turns: list[str] = []

    def respond(self, text: str) -> str | Sequence[Message] | Reward:
        self._turns.append(text)
        answer = self._episode.respond(text)
        return self._task.shaped(answer, self._turns) if isinstance(answer, Reward) else answer

    def cut(self, text: str) -> Reward:
        self._turns.append(text)
        return self._task.shaped(self._episode.cut(text), self._turns)


class TaskChange(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """A Gymnasium wrapper that changes the task of an environment of this package.

    The environment that is given stays as it was: the wrapper holds a copy of it with another
    task, so that ``unwrapped`` is a ``TokenEnv`` of the changed task too.
    """

    def __init__(
        self, env: gym.Env[Any, Any], change: Callable[[Task[Any]], Task[Any]], **arguments: Any
    ) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, **arguments)
        gym.Wrapper.__init__(self, with_task(env, change))


def with_task(env: gym.Env[Any, Any], change: Callable[[Task[Any]], Task[Any]]) -> Any:
    """Return a copy of ``env`` whose task is changed.

    Raises:
        SettingError: ``env`` is not an environment of this package.
    """
    if isinstance(env, gym.Wrapper):
        twin = copy.copy(env)
        twin.env = with_task(env.env, change)
        return twin
    core = copy.copy(token_env(env))
    core.task = change(core.task)
    core._np_random = None
    return core


def token_env(env: gym.Env[Any, Any]) -> TokenEnv:
    """Return the ``TokenEnv`` in ``env``.

    Raises:
        SettingError: there is none.
    """
    core = env.unwrapped
    if not isinstance(core, TokenEnv):
        raise SettingError(f"{env} is not an environment of mint_envs (a TokenEnv)")
    return core
