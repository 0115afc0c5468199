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

    Only of what JSON could hold, or ``plain`` literals: ``marshal`` would take an array for bytes.
    """
    try:
        arguments = expected(items)
        if not plain:
            json.dumps(arguments)
        return Foretold(what, [marshal.dumps(each, 2) for each in arguments])
    except (TypeError, ValueError, RecursionError):
        return None
