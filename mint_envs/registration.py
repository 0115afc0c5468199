"""The table of environment ids, and how an id becomes an environment.

Gymnasium 1.x ignores plug-in entry points, so ids exist once ``mint_envs`` is imported:
``import mint_envs`` first, or ``gym.make("mint_envs:mint/Math-v0")``. Entry points are strings,
so the import stays light and worker processes find the same ids.
"""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from .core import Task
from .env import TokenEnv
from .errors import SettingError, did_you_mean
from .vector import TokenVectorEnv

#: The ids that this package brings, and the task class of each.
BUILT_IN = {
    "mint/Math-v0": "mint_envs.math.tasks:MathTask",
    "mint/Code-v0": "mint_envs.code.tasks:CodeTask",
}

_COMMON = ("tokenizer", "render_mode")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a task: its type, default and one line of help."""

    type: Any
    default: Any
    help: str


def register(id: str, task: type[Task[Any]] | str, **defaults: Any) -> None:
    """Register ``task`` under ``id``, so that ``gym.make(id)`` makes an environment of it.

    Args:
        id: ``"namespace/Name-v0"``; it carries a version, since a changed prompt or reward is a
            new one. Registering an id again replaces it.
        task: a ``Task`` subclass whose keyword arguments are the settings, or ``"module:Class"``.
        defaults: values for some of the settings, JSON-able.

    Raises:
        SettingError: the id has no version, or a default is not a setting of the task.
    """
    if not re.fullmatch(r"([\w-]+/)?[\w.-]+-v\d+", id):
        raise SettingError(f"id {id!r} must look like 'namespace/Name-v0', with a version")
    spec = task if isinstance(task, str) else _importable(task)
    if not isinstance(task, str):
        _check_names(id, task, defaults)
    if id in gym.registry:
        del gym.registry[id]
    gym.register(
        id=id,
        entry_point="mint_envs.registration:make_env",
        vector_entry_point="mint_envs.registration:make_vector_env",
        nondeterministic=not isinstance(spec, str) and bool(spec.nondeterministic),
        kwargs={"task": spec, **defaults},
    )


def register_envs() -> None:
    """Register the ids of this package; called when it is imported, harmless to call again."""
    for id, task in BUILT_IN.items():
        if id not in gym.registry:
            register(id, task)


def make(id: str, **settings: Any) -> gym.Env[Any, Any]:
    """Return ``gym.make(id, **settings)``.

    Raises:
        SettingError: a setting that the task does not have, or a value it refuses.
        gymnasium.error.Error: an unknown id (the message suggests the nearest).
    """
    return gym.make(id, **settings)


def env_ids() -> list[str]:
    """Return every registered id whose environments are ``TokenEnv``, sorted."""
    return sorted(id for id, spec in gym.registry.items() if spec.entry_point == _entry_point())


def settings_of(id: str) -> dict[str, Setting]:
    """Return the settings of a registered id, by name (``tokenizer`` is not among them)."""
    spec = gym.spec(id)
    kwargs = dict(spec.kwargs)
    found = _settings(_resolve(kwargs.pop("task")))
    return {
        name: Setting(setting.type, kwargs.get(name, setting.default), setting.help)
        for name, setting in found.items()
    }


def make_env(
    task: Any, tokenizer: Any = None, render_mode: str | None = None, **settings: Any
) -> TokenEnv:
    """Entry point of every id: build the task from its settings, and the environment."""
    return TokenEnv(make_task(task, settings), tokenizer, render_mode)


def make_vector_env(
    task: Any,
    num_envs: int,
    tokenizer: Any = None,
    render_mode: str | None = None,
    **settings: Any,
) -> TokenVectorEnv:
    """Vector entry point of every id."""
    return TokenVectorEnv(make_task(task, settings), num_envs, tokenizer, render_mode)


def make_task(task: Any, settings: dict[str, Any]) -> Task[Any]:
    """Build a task from its class (or ``"module:Class"``) and checked settings."""
    cls = _resolve(task)
    _check_names(cls.__name__, cls, settings)
    built = cls(**settings)
    if not isinstance(built, Task):
        raise SettingError(f"{cls!r} makes a {type(built).__name__}, not a mint_envs.Task")
    return built


def _entry_point() -> str:
    return "mint_envs.registration:make_env"


def _resolve(task: Any) -> Any:
    if not isinstance(task, str):
        return task
    module, _, name = task.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingError(f"task={task!r} cannot be imported: {error}") from error


def _importable(task: type[Task[Any]]) -> type[Task[Any]] | str:
    """Return ``"module:Class"`` if that names this very class in any process, else the class."""
    if task.__module__ == "__main__" or "." in task.__qualname__:
        return task
    path = f"{task.__module__}:{task.__qualname__}"
    try:
        return path if _resolve(path) is task else task
    except SettingError:
        return task


def _settings(cls: Any) -> dict[str, Setting]:
    """Read a task's settings from its signature; help is the string in ``Annotated[type, help]``."""
    parameters = list(inspect.signature(cls).parameters.values())
    target = cls.__init__ if inspect.isclass(cls) else cls
    hints = typing.get_type_hints(target, include_extras=True)
    found = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        hint = hints.get(parameter.name, Any)
        notes = [note for note in typing.get_args(hint)[1:] if isinstance(note, str)]
        annotated = typing.get_origin(hint) is typing.Annotated
        kind = typing.get_args(hint)[0] if annotated else hint
        found[parameter.name] = Setting(
            kind, parameter.default, notes[0] if annotated and notes else ""
        )
    return found


def _check_names(owner: str, cls: Any, settings: dict[str, Any]) -> None:
    valid = _settings(cls)
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(cls).parameters.values()):
        return
    for name in settings:
        if name not in valid:
            hint = did_you_mean(name, [*valid, *_COMMON])
            raise SettingError(f"{owner} has no setting {name!r}. {hint}")
