"""The Open Reward Standard (package ``openreward``): an ``Environment`` and its ``Server``.

    openreward.server("mint/ToolUse-v0", count=1000).run(port=8080)

The model acts by tools: the environment's own (``Task.tools``), or ``submit(response)``.
Unmeasured: ``reward`` is None with ``finished`` true, and ``metadata["measured"]`` is 0.
"""
# No ``from __future__ import annotations``: openreward reads the types of tools made in here.

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from ..core import Task
from .shapes import TextTask, details, index_of
from .toolcalls import offered


def server(env: str | Task[Any], count: int | None = None, **settings: Any) -> Any:
    """Return an ``openreward`` server of one environment; its ``app`` is ASGI.

    Args:
        env: an id, or a task.
        count: problems that are offered; None: all of a data set.
        settings: of the environment.
    """
    from openreward.environments import Server

    return Server([environment(env, count, **settings)])


def environment(env: str | Task[Any], count: int | None = None, **settings: Any) -> type:
    """Return a subclass of ``openreward.environments.Environment``.

    Args:
        env: what to serve.
        count: number of tasks of the one split, ``train``; None is all rows of a data set.
        settings: of the environment.

    Raises:
        SettingError: problems without end, and no ``count``.
    """
    from openreward.environments import Environment, TextBlock

    task = TextTask(env, **settings)
    tools = offered(task.task)
    specs = [{"task_index": index} for index in task.numbers(count)]

    class MintEnvironment(Environment):
        def setup(self) -> None:
            self.episode = tools.start(index_of(self.task_spec))

        def teardown(self) -> None:
            self.episode.close()

        def get_prompt(self) -> Any:
            return [TextBlock(text=tools.prompt(self.episode))]

        @classmethod
        def list_splits(cls) -> list[str]:
            return ["train"]

        @classmethod
        def list_tasks(cls, split: str) -> list[dict[str, Any]]:
            return specs

        def _respond(self, text: str) -> str:
            return tools.read(self.episode.respond(text))

    tools.put_in(
        MintEnvironment, {name: _tool(name, each) for name, each in tools.functions.items()}
    )
    MintEnvironment.__name__ = MintEnvironment.__qualname__ = task.name.rpartition("/")[2].lower()
    return MintEnvironment


def _tool(name: str, function: Callable[..., str]) -> Callable[..., Any]:
    """Return a method as a tool of openreward: asynchronous, with one pydantic argument."""
    from openreward.environments import TextBlock, ToolOutput, tool

    arguments = _model(name, function)

    async def call(self: Any, given: Any) -> ToolOutput:
        said = await asyncio.to_thread(function, self, **given.model_dump(exclude_unset=True))
        reward = self.episode.reward
        return ToolOutput(
            blocks=[TextBlock(text=said)],
            reward=None if reward is None else reward.score,
            finished=self.episode.done,
            metadata={} if reward is None else details(reward),
        )

    call.__annotations__ = {"given": arguments, "return": ToolOutput}  # the tool's schema
    call.__name__, call.__doc__ = name, (function.__doc__ or "").partition("\n\n")[0]
    made: Callable[..., Any] = tool(call)
    return made


def _model(name: str, function: Callable[..., str]) -> Any:
    """Return a pydantic model of a function's arguments."""
    from pydantic import create_model

    hints = function.__annotations__
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is p.empty else p.default)
        for p in inspect.signature(function, eval_str=True).parameters.values()
        if p.name != "self"
    }
    return create_model(name, **fields)
