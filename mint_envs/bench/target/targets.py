"""From ``mint/Math-v0``, ``module:function`` or ``file.py:Class`` to a ``Task``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core import Task
from ...errors import SettingError
from ...interop.mint import AdapterTask
from ...loading import imported, is_file
from .functions import adapt
from .rows_task import CallableTask, FunctionTask, built

_MINTS = ["prompt", "response"]


@dataclass(frozen=True)
class Target:
    """What is benchmarked, in plain values, so that other processes can load it too.

    Args:
        name: an environment id, ``module:object`` or ``path.py:object``.
        settings: of an environment or a task class.
        rows: the problems, for a function that brings none of its own.
        low, high: the range of the rewards of a function or an adapter.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] = ()
    low: float = 0.0
    high: float = 1.0

    @property
    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest reward."""
        return self.low, self.high


#: What a user's own reward is, once loaded: unlike a ``Task`` it keeps no contract, so it is
#: scored one response at a time, where it may hang or end its process.
FOREIGN = (FunctionTask, AdapterTask)


def load(target: Target) -> Task[Any]:
    """Return the target as a task. Imports the user's code: called in a child process only.

    Raises:
        SettingError: there is no such thing, it is no reward, or it needs rows and has none.
    """
    if is_file(target.name) and ":" not in target.name:
        raise SettingError(f"{target.name!r} is a file: name its function, {target.name}:FUNCTION")
    if ":" not in target.name or target.name.partition(":")[2].count("/"):
        return _task_of_env(target)
    task = _task_of(imported(target.name), target)
    if isinstance(task, FOREIGN):
        task.source = load, target
    return task


def _task_of_env(target: Target) -> Task[Any]:
    import gymnasium as gym

    from ...env import TokenEnv
    from ...registration import make

    try:
        env = make(target.name, **target.settings).unwrapped
    except gym.error.Error as error:
        raise SettingError(
            f"{target.name!r} is no environment ({error}) and no 'module:function'"
        ) from None
    if not isinstance(env, TokenEnv):
        raise SettingError(
            f"{target.name!r} is a {type(env).__name__}, not an environment of tokens"
        )
    return env.task


def _task_of(found: Any, target: Target) -> Task[Any]:
    if inspect.isclass(found) and issubclass(found, Task):
        return found(**target.settings)
    if isinstance(found, Task):
        return found
    if hasattr(found, "compute_reward") and hasattr(found, "build_dataset"):
        return AdapterTask(built(found, target.name), None, target.reward_range)
    _needs_rows(target)
    made = built(found, target.name)
    if not callable(made):
        methods = [m for m in ("score", "reward", "grade", "verify") if hasattr(made, m)]
        hint = f": name its method, {target.name}.{methods[0]}" if methods else ""
        what = f"is a {type(made).__name__}, which cannot be called{hint}"
        raise SettingError(f"{target.name!r} {what}")
    if not inspect.isroutine(made) and _takes_tokens(found, made):
        return CallableTask(target.rows, made, target.reward_range)
    call = adapt(made, target.name, target.rows)
    return FunctionTask(target.rows, call, target.reward_range)


def _takes_tokens(found: Any, made: Any) -> bool:
    """Tell MinT's adapters, which are called with tokens, from any other callable object."""
    if hasattr(made, "get_tokenizer") or hasattr(made, "tokenizer"):
        return True
    return inspect.isclass(found) and list(inspect.signature(made).parameters) == _MINTS


def _needs_rows(target: Target) -> None:
    if not target.rows:
        raise SettingError(
            f"{target.name!r} brings no problems of its own: give --data FILE (JSONL or Parquet "
            "rows with a prompt and an answer), --cases or --responses"
        )
