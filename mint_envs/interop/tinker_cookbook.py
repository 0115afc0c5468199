"""tinker-cookbook: token-level environments, groups of them, and a data set of groups.

    from tinker_cookbook.rl import train
    data = tinker_cookbook.MintDatasetBuilder("mint/Code-v0", model_name, batch_size=32,
                                              group_size=8, batches=100)
    await train.main(train.Config(model_name=model_name, dataset_builder=data, ...))

Tokens go in and out as they are. Unmeasured: the mean reward of the rest of its group, so that
its advantage is exactly 0 and the baseline of the others does not move.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .shapes import TextTask, TokenEpisode, codec


class MintEnv:
    """One episode, as ``tinker_cookbook.rl.types.Env``. It is used once.

    Args:
        task: an environment's problems.
        tokenizer: the model's.
        index: of the problem.
    """

    def __init__(self, task: TextTask, tokenizer: Any, index: int) -> None:
        self.episode, self._index = TokenEpisode(task, tokenizer), index

    async def initial_observation(self) -> tuple[Any, Any]:
        """Return the prompt, and what ends a response."""
        await asyncio.to_thread(self.episode.begin, self._index)
        return self._observation(), self._stop()

    async def step(self, action: Sequence[int], *, extra: Any = None) -> Any:
        """Take one response; return a ``StepResult``, whose observation is the whole context."""
        from tinker_cookbook.rl.types import StepResult

        await asyncio.to_thread(self.episode.step, action)
        info, score = self.episode.info, self.episode.score
        metrics = {f"mint/{name}": value for name, value in info["parts"].items()}
        if self.episode.done:
            metrics["mint/measured"] = float(score is not None)
        return StepResult(
            reward=score or 0.0,
            episode_done=self.episode.done,
            next_observation=self._observation(),
            next_stop_condition=self._stop(),
            metrics=metrics,
            logs={"response": info["response"], "problem": info["problem_id"]},
        )

    def _observation(self) -> Any:
        import tinker

        return tinker.ModelInput.from_ints(list(self.episode.tokens))

    def _stop(self) -> list[str] | list[int]:
        """Strings where the environment has any, else tokens: a sampler takes one kind."""
        return (
            [*self.episode.stop, *self._ends()] if self.episode.stop else self.episode.stop_tokens
        )

    def _ends(self) -> list[str]:
        return [self.episode.decode([i]) for i in self.episode.stop_tokens]


@dataclass(frozen=True)
class MintGroup:
    """G episodes on the problem of an index, as ``EnvGroupBuilder``; plain values: it pickles."""

    env: str
    tokenizer: str | None
    index: int
    size: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    async def make_envs(self) -> list[MintEnv]:
        task = TextTask(self.env, **self.settings)
        return [MintEnv(task, codec(self.tokenizer), self.index) for _ in range(self.size)]

    async def compute_group_rewards(
        self, trajectory_group: Sequence[Any], env_group: Sequence[MintEnv]
    ) -> list[tuple[float, dict[str, float]]]:
        """Add nothing to a measured reward; give an unmeasured one the mean of the others."""
        scores = [env.episode.score for env in env_group]
        known = [score for score in scores if score is not None]
        mean = sum(known) / len(known) if known else 0.0
        return [(0.0 if score is not None else mean, {}) for score in scores]

    async def cleanup(self) -> None:
        """Nothing is held."""

    def logging_tags(self) -> list[str]:
        return [self.env]


@dataclass(frozen=True)
class MintDataset:
    """Batches of groups, as ``RLDataset``: batch i has the problems from ``start + i * batch``."""

    groups: MintDatasetBuilder
    start: int
    batches: int

    def get_batch(self, index: int) -> list[MintGroup]:
        g, first = self.groups, self.start + index * self.groups.batch_size
        return [
            MintGroup(g.env, g.tokenizer, problem, g.group_size, g.settings)
            for problem in range(first, first + g.batch_size)
        ]

    def __len__(self) -> int:
        return self.batches


@dataclass(frozen=True)
class MintDatasetBuilder:
    """What ``train.Config(dataset_builder=...)`` takes: training batches, no test set.

    Args:
        env: an id.
        tokenizer: the model's, by name or folder; None: bytes.
        batch_size: problems of a batch.
        group_size: episodes of a problem.
        batches: how many.
        start: index of the first problem.
        settings: of the environment.
    """

    env: str
    tokenizer: str | None
    batch_size: int
    group_size: int
    batches: int
    start: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    async def __call__(self) -> tuple[MintDataset, None]:
        return MintDataset(self, self.start, self.batches), None
