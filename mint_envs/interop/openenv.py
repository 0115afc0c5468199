"""OpenEnv: an ``Environment``, and the server of it (HTTP, and WebSocket for several turns).

    uvicorn.run(openenv.app("mint/ToolUse-v0", count=1000), port=8000)

    async with GenericEnvClient(base_url="http://localhost:8000") as client:
        result = await client.reset(index=7)            # problem number 7; seed=7: of that seed
        result = await client.step({"message": "..."})  # reward, done, observation["messages"]

Unmeasured: ``reward`` is None with ``done`` true, and ``metadata["measured"]`` is 0.
"""
# No ``from __future__ import annotations``: pydantic must see the types of classes made in here.

import importlib
import secrets
from typing import Any

from ..core import Task
from ..problems import NUMBERS, ProblemRef
from .shapes import TextEpisode, TextTask, details, lazily


def app(env: str | Task[Any], count: int | None = None, sessions: int = 64, **settings: Any) -> Any:
    """Return the FastAPI application.

    Args:
        env: what to serve.
        count: problems that are listed as tasks; None is all rows of a data set.
        sessions: WebSocket sessions at a time.
        settings: of the environment.
    """
    from openenv.core.env_server import create_app

    here: Any = importlib.import_module(__name__)
    task = TextTask(env, **settings)
    return create_app(
        lambda: here.MintEnvironment(task, count),
        here.MintAction,
        here.MintObservation,
        env_name="mint",
        max_concurrent_envs=sessions,
    )


class _Environment:
    """One session: ``reset(index=i)`` begins problem i, ``reset(seed=s)`` the one of that seed."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    _new_state: Any  # OpenEnv's State and our observation, once they are made
    _new_observation: Any

    def __init__(self, task: TextTask, count: int | None = None) -> None:
        super().__init__()
        self._task, self._count = task, task.task.size if count is None else count
        self._episode: TextEpisode | None = None
        self._state = self._new_state()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Any:
        """Begin; without an index and a seed, a problem is drawn. The state says which it is."""
        given = {**kwargs, "seed": secrets.randbits(31) if seed is None else seed}
        ref = ProblemRef.from_row(given, NUMBERS)
        assert ref is not None
        self.close()
        self._episode = self._task.start(ref)
        which = {f"task_{kind}": number for kind, number in ref.to_row().items()}
        self._state = self._new_state(episode_id=episode_id, step_count=0, **which)
        return self._observe(self._episode.messages)

    def step(self, action: Any, timeout_s: float | None = None, **kwargs: Any) -> Any:
        if self._episode is None:
            raise RuntimeError("no episode: reset() first (plain HTTP keeps none; use /ws)")
        said = self._episode.respond(action.message)
        self._state.step_count += 1
        return self._observe(said)

    @property
    def state(self) -> Any:
        return self._state

    def list_splits(self) -> list[str]:
        return ["train"]

    def num_tasks(self, split: str) -> int:
        return self._count or 0

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return [self.get_task(split, index) for index in range(self.num_tasks(split))]

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        if not 0 <= index < self.num_tasks(split):
            raise IndexError(f"there are {self.num_tasks(split)} tasks")
        return {"id": f"{self._task.name}#{index}", "index": index}

    def close(self) -> None:
        if self._episode is not None:
            self._episode.close()

    def _observe(self, messages: Any) -> Any:
        episode = self._episode
        assert episode is not None
        reward = episode.reward
        return self._new_observation(
            messages=[dict(message) for message in messages],
            done=episode.done,
            reward=None if reward is None else reward.score,
            metadata={} if reward is None else dict(details(reward)),
        )


def _server_classes() -> list[type]:
    from openenv.core.env_server import Action, Environment, Observation, State

    class MintAction(Action):
        """One message of the model."""

        message: str

    class MintObservation(Observation):
        """What the model sees next: the prompt, or what the environment says to a message."""

        messages: list[dict[str, str]]

    made = {
        "__doc__": _Environment.__doc__,
        "_new_state": State,
        "_new_observation": MintObservation,
    }
    return [
        MintAction,
        MintObservation,
        type("MintEnvironment", (_Environment, Environment), made),
    ]


_find = lazily(globals(), _server_classes, "MintAction", "MintObservation", "MintEnvironment")


def __getattr__(name: str) -> Any:
    return _find(name)
