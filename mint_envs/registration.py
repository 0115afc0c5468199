"""The table of environment ids, and how an id becomes an environment.

Gymnasium 1.x ignores plug-in entry points, so ids exist once ``mint_envs`` is imported:
``import mint_envs`` first, or ``gym.make("mint_envs:mint/Math-v0")``. Entry points are strings,
so the import stays light and worker processes find the same ids. Ids of other packages are looked
for when one is asked for that is not there: see ``mint_envs.plugins``.
"""

from __future__ import annotations

import difflib
import inspect
import json
import numbers
import re
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from .core import Task
from .env import TokenEnv
from .errors import SettingError, did_you_mean, nearest, require
from .family import BUILT_IN, Family, record_of
from .interop.mint import AdapterTask, RLAdapter
from .loading import FUNCTIONS, imported, locate
from .plugins import ID, find_lazily, load_plugins
from .vector import TokenVectorEnv

_ENTRY_POINT = "mint_envs.registration:make_env"

#: Settings of every id, beside those of its task; the rest are names of our own entry points.
_COMMON = ("tokenizer", "render_mode")
#: Which problems of a task, by how hard they are: ``mint_envs.compose.measured``.
DIFFICULTY = ("pass_rates", "min_pass_rate", "max_pass_rate", "curriculum")
_OF_VECTORS = ("num_envs", "executor", "autoreset_mode")
_TAKEN = (*_COMMON, *DIFFICULTY, "task", *_OF_VECTORS, "presets", "client_settings")

#: What was said of ids beside their tasks.
_families: dict[str, Family] = {}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a task: its type, default and one line of help."""

    type: Any
    default: Any
    help: str


def register(
    id: str,
    task: Any,
    *,
    presets: Mapping[str, Mapping[str, Any]] | None = None,
    client_settings: Iterable[str] = (),
    **defaults: Any,
) -> None:
    """Register ``task`` under ``id``, so that ``gym.make(id)`` makes an environment of it.

    Args:
        id: ``"namespace/Name-v0"``; it carries a version, since a changed prompt or reward is a
            new one. Registering an id again replaces it.
        task: a ``Task`` subclass whose keyword arguments are the settings, a function that
            returns a task, an ``RLAdapter`` subclass, ``"module:Class"``, or what
            ``from_reward_func`` returned.
        presets: defaults of ``mint-grpo`` for it, by name: ``{"local": {"steps": 20}}`` for a
            small model on this machine, ``"documents"`` for any other.
        client_settings: settings that a client of ``mint-envs serve`` may choose.
        defaults: values for some of the settings, JSON-able.

    Raises:
        SettingError: the id has no version, ``task`` makes no task, a default is not a setting of
            it or no JSON value, the task has a setting of a name that is taken, or a preset has
            another name.
    """
    if not ID.fullmatch(id):
        raise SettingError(f"id={id!r} must look like 'namespace/Name-v0', with a version")
    if recipe := getattr(task, "recipe", None):
        task, defaults = recipe[0], {**recipe[1], **defaults}
    if isinstance(task, Task) and not callable(task):
        raise SettingError(
            f"task={task!r} must be a Task subclass, 'module:Class', or what from_reward_func() "
            "made of functions and a file by name: other processes must make it again"
        )
    if not (isinstance(task, str) or callable(task)):
        raise SettingError(f"task={task!r} must be a Task subclass, or 'module:Class'")
    spec = task if isinstance(task, str) else _importable(task)
    if not isinstance(task, str):
        _check_methods(task)
        _check_task_settings(id, task, defaults)
    for name, value in defaults.items():
        _check_plain(name, value)
    family = Family(frozenset(client_settings), dict(presets or {}))
    gym.registry.pop(id, None)
    _families[id] = family
    gym.register(
        id=id,
        entry_point=_ENTRY_POINT,
        vector_entry_point="mint_envs.registration:make_vector_env",
        nondeterministic=bool(getattr(task, "nondeterministic", False)),
        kwargs={"task": spec, **defaults},
    )


def register_built_in() -> None:
    """Register the ids of this package, and let ``gym.make`` find those of others when asked."""
    for id, task in BUILT_IN.items():
        if id not in gym.registry:
            register(id, task)
            del _families[id]  # it stands in the family's folder
    find_lazily(_find_missing)


def _find_missing(id: str) -> None:
    """Register an id that is not there, if it is that of a function, or of a plug-in."""
    if FUNCTIONS.fullmatch(id):
        imported("mint_envs.interop.reward_functions:register_function")(id, register)
    else:
        load_plugins(register)


def register_envs() -> None:
    """Register the ids of this package, and now those of others; harmless to call again."""
    register_built_in()
    load_plugins(register)


def family_of(id: str) -> Family:
    """Return the record of an id; ``"module:id"`` counts as ``id``, and an unknown one has none."""
    name = id.rpartition(":")[2]
    if name in BUILT_IN and name not in _families:
        _families[name] = record_of(name)
    return _families.get(name, Family())


def make(id: str, **settings: Any) -> gym.Env[Any, Any]:
    """Return ``gym.make(id, **settings)``.

    Raises:
        SettingError: a setting that the task does not have, or a value it refuses.
        gymnasium.error.Error: an unknown id (the message suggests the nearest).
    """
    _check_no_task(id, settings)
    try:
        return gym.make(locate(id), **settings)
    except gym.error.UnregisteredEnv as error:
        raise type(error)(unknown_id(id)) from None


def env_ids() -> list[str]:
    """Return every registered id whose environments are ``TokenEnv``, sorted; plug-ins' too."""
    load_plugins(register)
    return sorted(id for id, spec in gym.registry.items() if spec.entry_point == _ENTRY_POINT)


def settings_of(id: str) -> dict[str, Setting]:
    """Return the settings of a registered id, by name (``tokenizer`` is not among them)."""
    kwargs = dict(_spec_of(id).kwargs)
    found = _signature_settings(_resolve(kwargs.pop("task")))
    return {
        name: Setting(setting.type, kwargs.get(name, setting.default), setting.help)
        for name, setting in found.items()
    }


def summary_of(id: str) -> str:
    """Return the first sentence of an environment's docstring; "" if it has none of its own."""
    task = _resolve(_spec_of(id).kwargs["task"])
    said = inspect.getdoc(task) or ""
    if said == inspect.getdoc(Task):
        return ""
    return " ".join(said.partition("\n\n")[0].split())


def task_of(id: str, **settings: Any) -> Task[Any]:
    """Return the task of a registered id, without an environment.

    Raises:
        SettingError: the id is unknown or not one of a task, or a setting is refused.
    """
    _check_no_task(id, settings)
    for name in ("tokenizer", "render_mode"):
        require(name not in settings, f"{id}: {name} is the environment's, and not its task's")
    kwargs = {**_spec_of(id).kwargs, **settings}
    return make_task(kwargs.pop("task"), kwargs)


def _check_no_task(id: str, settings: Mapping[str, Any]) -> None:
    """Settings come from files and commands too: they may not name what is called."""
    require("task" not in settings, f"{id}: 'task' is no setting; it is what the id stands for")


def _spec_of(id: str) -> Any:
    try:
        spec = find_spec(id)
    except gym.error.Error as error:
        raise SettingError(unknown_id(id)) from error
    if spec.entry_point != _ENTRY_POINT:
        raise SettingError(f"{id} was not registered by mint_envs.register, and has no task")
    return spec


def unknown_id(id: str) -> str:
    """Return what to say of an id that is not registered, in one line: which may be meant."""
    module, _, name = id.rpartition(":")
    if name.endswith(".py") or (not module and Path(f"{name}.py").is_file()):
        return _of_a_file(Path(name if name.endswith(".py") else f"{name}.py"))
    here = [f"{file}:{name}" for file in sorted(Path().glob("*.py")) if name in _registers(file)]
    if here:
        return f"{name} is registered in a file: {' or '.join(here)}"
    ids = env_ids()
    same = [one for one in ids if _bare(one) == _bare(name)]
    same = same or difflib.get_close_matches(name, ids, n=1, cutoff=0.75)
    if same:
        return f"there is no {name}. Did you mean {' or '.join(same)}?"
    if module:
        return f"{module} registers no {name}. Registered: {', '.join(ids)}"
    return (
        f"there is no environment {name}. Registered: {', '.join(ids)}. "
        f"One that a file of yours registers is named with the file: my_file.py:my/Name-v0"
    )


def _bare(id: str) -> str:
    """Return the name in an id, without its namespace and version."""
    return re.sub(r"-v\d+$", "", id.rpartition("/")[2]).lower()


def _of_a_file(file: Path) -> str:
    """Return what to say of a file that was given in place of an id: what may be meant by it."""
    if not file.is_file():
        close = nearest(file.name, [path.name for path in file.parent.glob("*.py")])
        meant = f". Did you mean {file.with_name(close)}?" if close else ""
        return f"there is no file {file} (looked from {Path.cwd()}){meant}"
    if ids := _registers(file):
        return f"{file} is a file: name what it registers, {_joined(file, ids)}"
    if names := re.findall(r"^(?:def|class) ([A-Za-z]\w*)\b", _text_of(file), re.MULTILINE):
        what = "name its reward function or task class"
        return f"{file} is a file that registers no environment: {what}, {_joined(file, names[:5])}"
    return f"{file} registers no environment: add mint_envs.register('my/Name-v0', YourTask)"


def _joined(file: Path, names: Iterable[str]) -> str:
    return " or ".join(f"{file}:{name}" for name in names)


def _registers(file: Path) -> list[str]:
    """Return the ids that a Python file seems to register, without importing it."""
    return re.findall(r"""\bregister\(\s*["']([\w./-]+-v\d+)["']""", _text_of(file))


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def find_spec(id: str) -> Any:
    """Return Gymnasium's spec of an id, ours or another's; ``"module:id"`` imports the module.

    Raises:
        SettingError: the module cannot be imported.
        gymnasium.error.Error: the id is not registered.
    """
    name = locate(id).rpartition(":")[2]
    if name not in gym.registry:
        _find_missing(name)
    return gym.spec(name)


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
    executor: Any = None,
    autoreset_mode: Any = AutoresetMode.DISABLED,
    **settings: Any,
) -> TokenVectorEnv:
    """Vector entry point of every id."""
    built = make_task(task, settings)
    return TokenVectorEnv(built, num_envs, tokenizer, render_mode, executor, autoreset_mode)


def make_task(task: Any, settings: dict[str, Any]) -> Task[Any]:
    """Build a task from its class (or ``"module:Class"``) and checked settings.

    Those of ``DIFFICULTY``, which every id has, choose among its problems.

    Raises:
        SettingError: a setting is unknown, missing or of the wrong type.
    """
    cls = _resolve(task)
    if not (inspect.isclass(cls) or inspect.isroutine(cls)):
        raise SettingError(f"task={task!r} is {cls!r}, not a mint_envs.Task class")
    measured = {name: settings[name] for name in DIFFICULTY if name in settings}
    settings = {name: value for name, value in settings.items() if name not in measured}
    _check_methods(cls)
    _check_settings(cls.__name__, cls, settings)
    built = cls(**settings)
    if isinstance(built, RLAdapter) or hasattr(built, "compute_reward"):
        built = AdapterTask(built)
    if not isinstance(built, Task):
        raise SettingError(f"task={task!r} makes a {type(built).__name__}, not a mint_envs.Task")
    if measured:
        chosen: Task[Any] = imported("mint_envs.compose.measured:by_difficulty")(built, measured)
        return chosen
    return built


def _check_methods(cls: Any) -> None:
    """Raise SettingError if a class of tasks lacks a method that it needs."""
    if missing := sorted(getattr(cls, "__abstractmethods__", ())):
        raise SettingError(
            f"the class {cls.__name__} has no method {' and no '.join(missing)}: "
            "a task needs sample, prompt and score"
        )


def _resolve(task: Any) -> Any:
    if not isinstance(task, str):
        return task
    try:
        return imported(task)
    except SettingError as error:
        raise SettingError(f"task={task!r} cannot be imported: {error}") from error


def _importable(task: Any) -> Any:
    """Return ``"module:Class"`` if that names this very class, else the class.

    A script's own classes count (``"__main__:Class"``): worker processes import the script too.
    """
    name = getattr(task, "__qualname__", "")
    if not name.isidentifier():
        return task
    found = getattr(sys.modules.get(task.__module__), name, None)
    return f"{task.__module__}:{name}" if found is task else task


# -- settings -----------------------------------------------------------------------------------


def _signature_settings(cls: Any) -> dict[str, Setting]:
    """Read a task's settings from its signature; ``Annotated[type, help]`` carries their help."""
    hints = _hints(cls.__init__ if inspect.isclass(cls) else cls)
    found = {}
    for parameter in inspect.signature(cls).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name == "tokenizer" and _is_adapter(cls):  # the environment's own setting
            continue
        kind, help = hints.get(parameter.name, Any), ""
        if typing.get_origin(kind) is typing.Annotated:
            kind, *notes = typing.get_args(kind)
            help = next((note for note in notes if isinstance(note, str)), "")
        found[parameter.name] = Setting(kind, parameter.default, help)
    return found


def _is_adapter(cls: Any) -> bool:
    return inspect.isclass(cls) and issubclass(cls, RLAdapter)


def _hints(call: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(call, include_extras=True)
    except NameError:  # names that exist for type checkers only
        return {}


def _check_settings(owner: str, cls: Any, given: dict[str, Any]) -> None:
    """Raise SettingError unless ``given`` suits the signature of ``cls``."""
    valid = _signature_settings(cls)
    for name, setting in valid.items():
        if name not in given and setting.default is inspect.Parameter.empty:
            raise SettingError(f"{owner} needs the setting {name!r}: {setting.help or 'give it'}")
    _check_names(owner, cls, given)
    for name, value in given.items():
        if name in valid and not _may_be(value, valid[name].type):
            raise SettingError(f"{owner}: {name}={value!r} must be {type_name(valid[name].type)}")


def _check_task_settings(id: str, task: Any, defaults: dict[str, Any]) -> None:
    _check_names(id, task, defaults)
    for name in _signature_settings(task):
        if name in _TAKEN:
            raise SettingError(f"{id}: a task may not have a setting named {name!r}; rename it")


def _check_names(owner: str, cls: Any, given: dict[str, Any]) -> None:
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(cls).parameters.values()):
        return
    valid = [*_signature_settings(cls), *_COMMON, *DIFFICULTY]
    for name in given:
        if name not in valid:
            raise SettingError(f"{owner} has no setting {name!r}. {did_you_mean(name, valid)}")


def _check_plain(name: str, value: Any) -> None:
    try:
        json.dumps(value)
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"default {name}={value!r} is no JSON value, so that the id could not be written to "
            "a file or sent to another process. Use a name, a path or a number."
        ) from error


def _may_be(value: Any, kind: Any) -> bool:
    """Return False if ``value`` is certainly not of type ``kind``."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_may_be(value, one) for one in arguments)
    if origin is typing.Literal:
        return value in arguments
    if kind is None or kind is type(None):
        return value is None
    if kind is int or kind is float:
        wanted = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, wanted) and not isinstance(value, bool | np.bool_)
    return isinstance(value, kind) if kind in (str, bool, list, dict, tuple) else True


def type_name(kind: Any) -> str:
    """Return a type as people write it: ``int``, ``str | None``, ``one of 'a', 'b'``."""
    if typing.get_origin(kind) is typing.Literal:
        return f"one of {', '.join(map(repr, typing.get_args(kind)))}"
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")
