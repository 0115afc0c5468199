"""What a request is, and the requests for which no tool is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

Item = TypeVar("Item")

#: One call: the tool's name and its arguments.
Step = tuple[str, dict[str, Any]]

#: ``plain``: the request says all that is needed, or a tool can find it out. ``ask``: it lacks
#: something that only the user can tell. ``recover``: the obvious call fails, and its error says
#: how to go on. ``no_tool``: it is answered without any call.
Kind = Literal["plain", "ask", "recover", "no_tool"]


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for, and what earns the full mark.

    Args:
        text: the words of the user.
        turns: calls that do it, message by message; the state that they lead to is wanted.
        answer: the right answer; None if no question is asked.
        reply: what the user says when asked for what is missing; None if nothing is missing.
        no_tool: any call is wrong.
    """

    text: str
    turns: tuple[tuple[Step, ...], ...]
    answer: str | None = None
    reply: str | None = None
    no_tool: bool = False


DrawRequest = Callable[[np.random.Generator, Mapping[str, Any]], Request | None]


class FamilyEntry(NamedTuple):
    """A family, the number of calls that its requests need, and their kind."""

    calls: int
    family: DrawRequest
    kind: Kind = "plain"


def pick(rng: np.random.Generator, items: Sequence[Item]) -> Item:
    return items[int(rng.integers(len(items)))]


def pick_two(rng: np.random.Generator, items: Sequence[Item]) -> tuple[Item, Item]:
    one, two = rng.permutation(len(items))[:2].tolist()
    return items[one], items[two]


def in_turn(*steps: Step) -> tuple[tuple[Step, ...], ...]:
    """Return calls that each wait for the result of the one before."""
    return tuple((step,) for step in steps)


# -- no tool fits ---------------------------------------------------------------------------------

_THINGS = ("locker", "gate", "ticket", "parcel", "bicycle", "suitcase")
_ERRANDS = ("Phone Ada", "Water the plants", "Book a taxi", "Print the poster", "Bake a cake")


def told(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    """The answer stands in the request itself."""
    one, two = pick_two(rng, _THINGS)
    numbers = {thing: f"{rng.integers(1000, 10000)}" for thing in (one, two)}
    asked = pick(rng, [one, two])
    text = (
        f"The number of my {one} is {numbers[one]}, that of my {two} is {numbers[two]}. There is "
        f"nothing to look up or to store: what is the number of my {asked}?"
    )
    return Request(text, (), numbers[asked], no_tool=True)


def beyond(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    """What is asked for is beyond every tool."""
    number = f"{rng.integers(1000, 10000)}"
    text = (
        f"{pick(rng, _ERRANDS)}; the number of this errand is {number}. If none of your tools can "
        "do that, call none, and answer with the number of the errand. What is your answer?"
    )
    return Request(text, (), number, no_tool=True)


NO_TOOL = (FamilyEntry(0, told, "no_tool"), FamilyEntry(0, beyond, "no_tool"))
