"""From ``mint/Math-v0``, ``module:function`` or ``file.py:Class`` to a ``Task``."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import Task
from ...errors import SettingError, did_you_mean
from .functions import adapt
from .rows_task import AdapterTask, BenchTask, CallableTask, FunctionTask, built

_MINTS = ["prompt", "response"]


@dataclass(frozen=True)
class Target:
    """What is benchmarked, in plain values, so that other processes can load it too.

    Args:
        name: an environment id, ``module:object`` or ``path.py:object``.
        settings: of an environment or a task class.
        rows: the problems, for a function that brings none of its own.
        low, high: the range of the rewards of a function.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] = ()
    low: float = 0.0
    high: float = 1.0


def load(target: Target) -> Task[Any]:
    """Return the target as a task. Imports the user's code: called in a child process only.

    Raises:
        SettingError: there is no such thing, it is no reward, or it needs rows and has none.
    """
    if target.name.endswith(".py"):
        raise SettingError(f"{target.name!r} is a file: name its function, {target.name}:FUNCTION")
    if ":" not in target.name or target.name.partition(":")[2].count("/"):
        return _environment(target)
    found = imported(target.name)
    task = _task_of(found, target)
    if isinstance(task, BenchTask):
        task.low, task.high, task.source = target.low, target.high, (load, target)
    return task


def _environment(target: Target) -> Task[Any]:
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


def imported(name: str) -> Any:
    """Return what ``module:name`` or ``file.py:name`` names; a file is loaded once.

    Raises:
        SettingError: there is no such module, file or name; says what there is.
    """
    module, _, path = name.rpartition(":")
    try:
        found: Any = (
            _from_file(module) if module.endswith(".py") else importlib.import_module(module)
        )
    except ImportError as error:
        raise SettingError(f"{name!r}: {error} (looked from {Path.cwd()})") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise SettingError(f"{module} has no {part!r}. {did_you_mean(part, _names(found))}")
        found = getattr(found, part)
    return found


def _names(found: Any) -> list[str]:
    """Return what a module, or a class, defines and does not import, if it can be called."""
    home = getattr(found, "__name__", "")
    return [
        name
        for name, value in getattr(found, "__dict__", {}).items()
        if callable(value) and not name.startswith("_")
        and getattr(value, "__module__", home) in (home, getattr(found, "__module__", home))
    ]  # fmt: skip


def _from_file(path: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise SettingError(f"{path!r} is no Python file (looked from {Path.cwd()})")
    known = sys.modules.get(spec.name)
    if known is not None and getattr(known, "__file__", None) == spec.origin:
        return known  # loaded twice, its functions would not be those that pickle finds
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _task_of(found: Any, target: Target) -> Task[Any]:
    if inspect.isclass(found) and issubclass(found, Task):
        return found(**target.settings)
    if isinstance(found, Task):
        return found
    if hasattr(found, "compute_reward") and hasattr(found, "build_dataset"):
        return AdapterTask(built(found, target.name))
    _needs_rows(target)
    made = built(found, target.name)
    if not callable(made):
        raise SettingError(f"{target.name!r} is a {type(made).__name__}, which cannot be called")
    if not inspect.isroutine(made) and _takes_tokens(found, made):
        return CallableTask(target.rows, made)
    return FunctionTask(target.rows, adapt(made, target.name, target.rows))


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
