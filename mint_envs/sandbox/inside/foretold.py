"""Calls of one function that can be seen coming, since a loop of the tests makes them.

Many are made in one message. A call of the tests then takes its answer from here, if it is the one
that was foretold: the same function, and arguments that are the same to the last bit.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .giveaway import telltales

#: Instead of an answer: the call is to be made for itself.
MISSED = object()
#: Calls of the first message, times how many in the next, and in the largest.
_FIRST, _GROWTH, _LARGEST = 8, 4, 512


class Foretold:
    """Calls that wait for the tests to make them.

    Args:
        what: the function's name.
        sent: the arguments of each call, as ``marshal`` has them.
        ends: after which calls a message ends.
    """

    __slots__ = ("done", "ends", "others", "sent", "values", "what")

    def __init__(self, what: str, sent: list[bytes], ends: list[int]) -> None:
        self.what, self.sent, self.ends = what, sent, ends
        self.done = 0
        self.values: list[Any] = []
        self.others: dict[int, Any] = {}  # replies that are more than a value

    def is_next(self, what: str, arguments: tuple[Any, ...]) -> bool:
        try:
            return what == self.what and self.sent[self.done] == marshal.dumps(arguments, 2)
        except (IndexError, ValueError):
            return False

    def next_value(self, what: str, arguments: tuple[Any, ...]) -> Any:
        """Return the answer to the next call if it is there and is but a value, else ``MISSED``."""
        place = self.done
        if place >= len(self.values) or place in self.others or not self.is_next(what, arguments):
            return MISSED
        self.done = place + 1
        value, self.values[place] = self.values[place], None  # large ones are not to pile up
        return value

    def next_message(self) -> list[bytes]:
        """Return the arguments of as many calls as are to be made next."""
        return self.sent[self.done : next(end for end in self.ends if end > self.done)]

    def add(self, values: list[Any], others: list[Any]) -> None:
        """Take the answers to some of ``next_message``, from its first on."""
        for place, reply in others:
            self.others[len(self.values) + place] = reply
        self.values += values


def foretold(
    what: str, items: list[Any], told: Callable[[Any], Iterable[Any]], ends: list[int] | None
) -> Foretold | None:
    """Return the calls of a loop over ``items``.

    Args:
        told: says the arguments of each call, and what the loop compares its result with.
        ends: where messages end, if that was found before: then all are literals. Else only of
            what JSON could hold: ``marshal`` would take an array for bytes.
    """
    try:
        calls = told(items)
        if ends is None:
            calls = list(calls)
            json.dumps([arguments for arguments, _ in calls])
            ends = ends_of_messages(calls)
        return Foretold(what, [marshal.dumps(arguments, 2) for arguments, _ in calls], ends)
    except (TypeError, ValueError, RecursionError):
        return None


def ends_of_messages(calls: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> list[int]:
    """Return after which calls a message ends; a call is its arguments, and what is wanted.

    In no message has a call the answer to another among its arguments: a program sees the
    arguments of a message before it answers the first.
    """
    ends: list[int] = []
    seen: set[object] = set()
    secret: set[object] = set()
    begun, most = 0, _FIRST
    for place, (arguments, wanted) in enumerate(calls):
        shown = telltales(arguments)
        hidden = telltales(wanted) - shown
        told = not (shown.isdisjoint(secret) and hidden.isdisjoint(seen))
        if told or place - begun == most:
            ends.append(place)
            seen, secret = set(), set()
            begun, most = place, min(max(_GROWTH * place, _FIRST), _LARGEST)
        seen |= shown
        secret |= hidden
    return [*ends, len(calls)]
