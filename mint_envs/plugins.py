"""Environments of other packages, by the entry-point group ``mint_envs.environments``.

A package declares either kind::

    [project.entry-points."mint_envs.environments"]
    "theirs/Sums-v0" = "their_package.tasks:Sums"     # an id, and its task class
    theirs = "their_package.envs:register_all"        # a function, or a module that registers ids

Nothing of it is read before an id is asked for that is not registered, or all ids are listed. What
cannot be loaded is a warning that names it, and an id that is there already is never replaced.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import gymnasium as gym
from gymnasium.envs import registration as theirs

GROUP = "mint_envs.environments"

#: What an id looks like: a namespace that may be left out, a name and a version.
ID = re.compile(r"([\w-]+/)?[\w.-]+-v\d+")

Register = Callable[[str, Any], None]

_lock = threading.RLock()
_begun = False


def load_plugins(register: Register) -> None:
    """Register what other packages declare, once in a process. Never raises.

    Args:
        register: takes an id and what makes its task.
    """
    global _begun
    with _lock:
        if _begun:  # also within a plug-in that looks for ids itself
            return
        _begun = True
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
            _load_plugin(point, register)


def _load_plugin(point: EntryPoint, register: Register) -> None:
    before = dict(gym.registry)
    try:
        loaded = point.load()
        if ID.fullmatch(point.name):
            register(point.name, loaded)
        elif callable(loaded):  # a module has registered its ids when it was imported
            loaded()
    except (Exception, SystemExit) as error:  # another package's: whatever it raises
        _warn_of(point, f"cannot be loaded: {type(error).__name__}: {error}")
    for id in _put_back(before):
        _warn_of(point, f"registers {id}, which is taken: its own is left out")


def _put_back(before: Mapping[str, Any]) -> list[str]:
    """Undo changes of ids that were there, and return those."""
    changed = [id for id, spec in before.items() if gym.registry.get(id) is not spec]
    gym.registry.update({id: before[id] for id in changed})
    return changed


def _warn_of(point: EntryPoint, fault: str) -> None:
    package = f" of the package {point.dist.name}" if point.dist else ""
    warnings.warn(f"plug-in {point.name!r} ({point.value}){package} {fault}", stacklevel=2)


def find_lazily(find_missing: Callable[[str], None]) -> None:
    """Let ``gym.make`` look further before it gives an id up. Gymnasium has no hook for that.

    Args:
        find_missing: is told an id that is not registered, and may register it.
    """
    find = getattr(theirs, "_find_spec", None)
    if find is None or hasattr(find, "__wrapped__"):
        return  # a later Gymnasium: ``mint_envs.make`` and the commands find them all the same

    @wraps(find)
    def found(env_id: str) -> Any:
        if ":" not in env_id and env_id not in gym.registry:
            find_missing(env_id)
        return find(env_id)

    theirs._find_spec = found
