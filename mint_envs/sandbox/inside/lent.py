"""Lists, dicts and sets that an object of the program's may have kept: each side has its own.

What one side has changed of them is sent along with the next message, so that both are as one.
Only those that were empty when they were given, as logs are: what the tests have put into a list
they may compare with, and a program must not get at it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .wire import Unsupported, encode

MUTABLE = (list, dict, set)
#: So many are looked at in each message, and of so many items.
_MOST, _LARGEST = 8, 1000


class Lent:
    """Arguments of earlier calls, by the number of the call and their place in it."""

    def __init__(self) -> None:
        self.kept: list[tuple[int, Any, Any]] = []
        self._seen: dict[tuple[int, Any], Any] = {}

    def add(self, number: int, arguments: Iterable[tuple[Any, Any]]) -> None:
        for place, value in arguments:
            if type(value) in MUTABLE and not value:
                self.kept.append((number, place, value))
                self._seen[number, place] = encode(value)
        del self.kept[:-_MOST]

    def changed(self) -> list[Any]:
        """Return [number, place, new wire] of what has changed since it was last looked at."""
        found = []
        for number, place, value in self.kept:
            new = _contents(value) if len(value) <= _LARGEST else None
            if new is not None and new != self._seen[number, place]:
                self._seen[number, place] = new
                found.append([number, place, new])
        return found

    def value(self, number: int, place: Any) -> Any:
        """Return an argument as it was given.

        Raises:
            LookupError: none of that number and place was lent.
        """
        return next(value for n, p, value in self.kept if (n, p) == (number, place))


def _contents(value: Any) -> Any:
    """Return the wire form of a value, or None if it holds what cannot be compared."""
    try:
        return encode(value, 1)
    except Unsupported:
        return None


def copy_back(old: list[Any], new: list[Any]) -> None:
    """Give old values the contents of the new ones, where these can be changed in place."""
    for one, other in zip(old, new, strict=False):
        if type(other) is not type(one):
            continue
        if isinstance(one, list):
            one[:] = other
        elif isinstance(one, dict | set):
            one.clear()
            one.update(other)
        elif type(one).__name__ == "deque":
            one.clear()
            one.extend(other)
        elif type(one).__module__ == "numpy" and getattr(other, "shape", ()) == one.shape != ():
            one[...] = other
