"""Things of which each process has one: clients, caches, executors, a loop, a warm worker.

_clients = ProcessLocal(Client, Client.close)
_clients.get("http://localhost:8000")     # made once, whatever threads ask
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Hashable
from contextlib import ExitStack, suppress
from typing import Any, Generic, TypeVar

Made = TypeVar("Made")

_NOTHING: Any = object()


class ProcessLocal(Generic[Made]):
    """One thing for each key, made when it is first asked for, and begun anew after a fork.

    A forked child has none of its parent's threads, and what the parent made belongs to the parent:
    the child makes its own, and closes nothing of the parent's. At exit, what was made last is
    closed first, whichever of these objects keeps it, since it may need what was made before.

    Args:
        make: makes the thing of a key, one thread at a time. What it raises goes to who asked;
            nothing is kept then, and the next who asks makes it.
        close: ends a thing.
        inherited: a forked child goes on with what is there: plain data, or what sees to forks
            itself.
    """

    def __init__(
        self,
        make: Callable[..., Made],
        close: Callable[[Made], object] | None = None,
        *,
        inherited: bool = False,
    ) -> None:
        self._make, self._close, self._inherited = make, close, inherited
        self._made: dict[tuple[Hashable, ...], Made] = {}
        self._lock = threading.RLock()  # making one may ask for another
        _HOMES.add(self)

    def get(self, *key: Hashable) -> Made:
        """Return what was made of ``make(*key)`` in this process."""
        with self._lock:
            with suppress(KeyError):
                return self._made[key]
            made = self._make(*key)
            if self._close is not None:
                atexit.register(_close_at_exit, weakref.ref(self), key)
            self._made[key] = made
            return made

    def drop(self, *key: Hashable) -> None:
        """Close what a key has, if anything; the next who asks for it gets another."""
        # Without the lock: who ends a process need not wait until a thread has made something.
        made = self._made.pop(key, _NOTHING)
        if made is not _NOTHING and self._close is not None:
            self._close(made)

    def close(self) -> None:
        """Close all, the latest first. What one raises is raised once the others are closed."""
        with ExitStack() as stack:
            for key in list(self._made):
                stack.callback(self.drop, *key)

    def __del__(self) -> None:
        self.close()

    def _begin_anew(self) -> None:
        self._lock = threading.RLock()  # the thread that held the old one may not be here
        if not self._inherited:
            _LEFT.append(self._made)
            self._made = {}


_HOMES: weakref.WeakSet[ProcessLocal[Any]] = weakref.WeakSet()
#: What belongs to the process that this one was copied from. It is kept, unused: to collect it
#: would close what the parent works with.
_LEFT: list[dict[Any, Any]] = []


def _close_at_exit(home: weakref.ref[ProcessLocal[Any]], key: tuple[Hashable, ...]) -> None:
    """For each thing that was made; in a forked child it finds nothing of the parent's."""
    if (found := home()) is not None:
        found.drop(*key)


def _begin_anew() -> None:
    for home in list(_HOMES):
        home._begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
