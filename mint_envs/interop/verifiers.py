"""verifiers v1: a ``Taskset``. Its package id is ``mint_envs_verifiers``.

    eval mint_envs_verifiers --env.taskset.env mint/Code-v0 --env.taskset.count 64

One turn. Unmeasured: the reward raises ``Unmeasured``, so the trace carries an error; verifiers
and prime-rl leave such traces out.
"""
# No ``from __future__ import annotations``: pydantic must see the types of classes made in here.

import asyncio
from collections.abc import Iterable
from typing import Any

from .shapes import TextTask, as_messages, details, lazily, measured

__all__ = ["MintTaskset"]  # noqa: F822  (made when asked for; verifiers looks here)


def _taskset_classes() -> list[type]:
    import verifiers.v1 as vf

    class MintData(vf.TaskData):
        """Which problem of which environment."""

        env: str
        settings: dict[str, Any]
        task_index: int

    class MintTask(vf.Task[MintData]):
        """One problem; the reward is the environment's verdict on the last reply."""

        @vf.reward(weight=1.0)
        async def verdict(self, trace: Any) -> float:
            data = self.data
            task = TextTask(data.env, **data.settings)
            reward = await asyncio.to_thread(task.score, data.task_index, trace.last_reply)
            trace.record_metrics(details(reward))
            return measured(reward)

    class MintConfig(vf.TasksetConfig):
        """``env`` and its ``settings``; ``count`` problems from index ``start`` on."""

        env: str = "mint/Math-v0"
        settings: dict[str, Any] = {}
        count: int | None = 128
        start: int = 0

    class MintTaskset(vf.Taskset[MintTask, MintConfig]):
        """Problems of a registered environment."""

        def load(self) -> Iterable[MintTask]:
            config = self.config
            task = TextTask(config.env, **config.settings).single_turn("another library")
            for row in task.rows(config.count, config.start):
                data = MintData(
                    name=f"{config.env}#{row['task_index']}",
                    prompt=_plain_messages(row["prompt"]),
                    env=config.env,
                    settings=config.settings,
                    task_index=row["task_index"],
                )
                yield MintTask(data, config.task)

    return [MintData, MintTask, MintConfig, MintTaskset]


def _plain_messages(prompt: Any) -> Any:
    return prompt if isinstance(prompt, str) else [dict(m) for m in as_messages(prompt)]


_find = lazily(globals(), _taskset_classes, "MintData", "MintTask", "MintConfig", "MintTaskset")


def __getattr__(name: str) -> Any:
    return _find(name)
