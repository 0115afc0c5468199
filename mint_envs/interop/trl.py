"""TRL's GRPOTrainer: ``reward_funcs``, and ``environment_factory`` for several turns.

    rows = trl.rows("mint/Code-v0", 512, style="chat")
    GRPOTrainer(model=..., train_dataset=Dataset.from_list(rows),
                reward_funcs=trl.reward_func("mint/Code-v0", style="chat"))

Unmeasured: ``None``, which TRL leaves out of the group if no other reward function scores the row.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..core import Reward, Task
from ..errors import require
from .shapes import TextEpisode, TextTask, completion_text, details, index_of
from .toolcalls import offered


def rows(
    env: str | Task[Any], count: int | None = None, start: int = 0, **settings: Any
) -> list[dict[str, Any]]:
    """Return rows for ``datasets.Dataset.from_list``: ``prompt``, ``task_index``, ``fingerprint``.

    The prompt may be changed; the fingerprint tells a row that was made with other settings than
    those of the reward function.

    Args:
        env: an id, or a task.
        count: how many rows; None: all of a data set, which a task without end needs told.
        start: index of the first problem.
        settings: of the environment.
    """
    return TextTask(env, **settings).rows(count, start)


def empty_rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Return rows whose prompt comes from the environment, for ``environment_factory``.

    Args:
        count: how many rows.
        start: index of the first problem.
    """
    user = {"role": "user", "content": ""}
    return [{"prompt": [user], "task_index": index} for index in range(start, start + count)]


def reward_func(env: str | Task[Any], **settings: Any) -> Callable[..., list[float | None]]:
    """Return a function for ``reward_funcs``; the data set has the columns of ``rows``.

    Args:
        env: an id, or a task.
        settings: of the environment. Those of the rows, or the rows are refused.

    Raises:
        SettingError: the environment has several turns. Later: a row has no ``task_index``, or was
            made with other settings.
    """
    task = TextTask(env, **settings).single_turn("trl.environment_factory")

    def reward(
        prompts: Any = None,
        completions: Sequence[Any] = (),
        task_index: Sequence[int | None] | None = None,
        task_seed: Sequence[int | None] | None = None,
        fingerprint: Sequence[str] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **_: Any,
    ) -> list[float | None]:
        indexes = _indexes(len(completions), task_index=task_index, task_seed=task_seed)
        if fingerprint is not None:
            task.check_rows(indexes, fingerprint)
        rewards = task.score_batch(zip(indexes, map(completion_text, completions), strict=True))
        if log_metric is not None:
            _log(rewards, log_metric)
        return [reward.score for reward in rewards]

    reward.__name__ = task.name
    return reward


def environment_factory(env: str | Task[Any], **settings: Any) -> Callable[[], Any]:
    """Return a class for ``environment_factory``; the data set is ``empty_rows`` or alike.

    The model acts by tool calls: the tools of the environment (``Task.tools``) where it has such,
    and else one tool ``submit``. An episode that the model leaves unfinished has the reward of a
    cut one.

    Args:
        env: an id, or a task.
        settings: of the environment.
    """
    task = TextTask(env, **settings)

    class Environment:
        def __init__(self) -> None:
            self._open: list[TextEpisode] = []
            weakref.finalize(self, _close_all, self._open)  # TRL closes nothing

        def reset(self, prompt: Any = None, **row: Any) -> str:
            index = index_of(row, "trl.empty_rows")
            _close_all(self._open)
            self._open.append(tools.start(index))
            return tools.prompt(self._open[0])

        def get_reward(self) -> float | None:
            return self._open[0].finish().score if self._open else None

        def _respond(self, text: str) -> str:
            episode = self._open[0]
            return "The work is over." if episode.done else tools.read(episode.respond(text))

    tools = offered(task.task)
    tools.put_in(Environment, tools.functions)
    Environment.__name__ = Environment.__qualname__ = task.name
    return Environment


def _indexes(count: int, **columns: Sequence[int | None] | None) -> list[int]:
    """Return the index of each row of a batch, of its columns ``task_index`` and ``task_seed``."""
    given = {name: column for name, column in columns.items() if column is not None}
    require(bool(given), "the data set has no column task_index: make it of trl.rows")
    for name, column in given.items():
        told = f"{count} completions and {len(column)} {name}: one is needed for each"
        require(len(column) == count, told)
    rows = zip(*given.values(), strict=True)
    return [index_of(dict(zip(given, row, strict=True))) for row in rows]


def _close_all(episodes: list[TextEpisode]) -> None:
    while episodes:
        episodes.pop().close()


def _log(rewards: Sequence[Reward], log_metric: Callable[[str, float], None]) -> None:
    """Log the mean of every part, over the responses that have it."""
    found: dict[str, list[float]] = {}
    for reward in rewards:
        for name, value in details(reward).items():
            found.setdefault(name, []).append(value)
    for name, values in found.items():
        log_metric(f"mint/{name}", sum(values) / len(values))
