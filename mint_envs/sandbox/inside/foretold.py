"""Calls of one function that can be seen coming, since a loop of the tests makes them.

Many are made in one message. A call of the tests then takes its answer from here, if it is the one
that was foretold: the same function, and arguments that are the same to the last bit.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable
from typing import Any

#: Instead of an answer: the call is to be made for itself.
MISSED = object()
#: Calls of the first message, times how many in the next, and in the largest.
_FIRST, _GROWTH, _LARGEST = 8, 4, 512
#: Longer parts of an item are not looked into.
_SHORT = 16


class Foretold:
    """Calls that wait for the tests to make them.

    Args:
        what: the function's name.
        sent: the arguments of each call, as ``marshal`` has them.
    """

    __slots__ = ("done", "others", "sent", "values", "what")

    def __init__(self, what: str, sent: list[bytes]) -> None:
        self.what, self.sent = what, sent
        self.done = 0
        self.values: list[Any] = []
        self.others: dict[int, Any] = {}  # replies that are more than a value

    def is_next(self, what: str, arguments: tuple[Any, ...]) -> bool:
        try:
            return what == self.what and self.sent[self.done] == marshal.dumps(arguments, 2)
        except (IndexError, ValueError):
            return False

    def next_message(self) -> list[bytes]:
        """Return the arguments of as many calls as are to be made next."""
        count = min(max(_GROWTH * self.done, _FIRST), _LARGEST)
        return self.sent[self.done : self.done + count]

    def add(self, values: list[Any], others: list[Any]) -> None:
        """Take the answers to some of ``next_message``, from its first on."""
        for place, reply in others:
            self.others[len(self.values) + place] = reply
        self.values += values


def foretold(
    what: str, items: list[Any], expected: Callable[[Any], list[Any]], plain: bool
) -> Foretold | None:
    """Return the calls of a loop over ``items``; ``expected`` says the arguments of each.

    None where an argument of one call is what another is to answer: a program sees the arguments
    of a message before it answers the first. Only of what JSON could hold, or ``plain`` literals:
    ``marshal`` would take an array for bytes.
    """
    try:
        arguments = expected(items)
        if not plain:
            json.dumps(arguments)
        if _shows_answers(items, arguments):
            return None
        return Foretold(what, [marshal.dumps(each, 2) for each in arguments])
    except (TypeError, ValueError, RecursionError):
        return None


def _shows_answers(items: list[Any], arguments: list[Any]) -> bool:
    """Whether an argument of a call stands in an item as something else than an argument."""
    asked: set[object] = set()
    told: set[object] = set()
    for item, given in zip(items, arguments, strict=True):
        own = {_key(each) for each in given}
        asked |= own
        told.update(key for part in _parts(item) if (key := _key(part)) not in own)
    return not asked.isdisjoint(told)


def _parts(item: Any) -> list[Any]:
    """What stands in an item, and in its parts if they are short."""
    parts = _inside(item)
    deeper = (_inside(part) for part in parts)
    return parts + [each for inside in deeper if len(inside) <= _SHORT for each in inside]


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


def _key(value: Any) -> object:
    """Something to tell a value by: 3 is 3.0."""
    return value if isinstance(value, int | float | str) else marshal.dumps(value, 2)
