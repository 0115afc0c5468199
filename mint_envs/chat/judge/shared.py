"""Objects of which a process has one, whatever threads ask: clients, caches, the event loop."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Made = TypeVar("Made")


class _Shelf:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.made: dict[tuple[Any, ...], Any] = {}


_shelf = _Shelf()
_parents: list[_Shelf] = []


def shared(factory: Callable[..., Made], *args: Hashable) -> Made:
    """Return ``factory(*args)``, made once in this process."""
    key = (factory, *args)
    with _shelf.lock:
        if key not in _shelf.made:
            _shelf.made[key] = factory(*args)
        made: Made = _shelf.made[key]
        return made


def _begin_again() -> None:
    """A forked child has none of its parent's threads, so it makes everything anew.

    What the parent made is kept, unused: to collect it would close what the parent works with.
    """
    global _shelf
    _parents.append(_shelf)
    _shelf = _Shelf()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)
