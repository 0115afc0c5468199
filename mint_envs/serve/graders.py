"""The graders, as work: ``grade(kind)`` over a list of items. One entry for each grader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core import Reward
from ..errors import SettingError

Items = list[tuple[int, Mapping[str, Any]]]


def math(_: None, items: Items) -> list[Reward]:
    """Grade mathematical answers."""
    from ..math import grade

    return _each(grade, items)


def code(_: None, items: Items) -> list[Reward]:
    """Grade programs, in the default sandbox of the machine."""
    from ..code.grade import grade, without_clock

    return [without_clock(reward) for reward in _each(grade, items)]


def tooluse(_: None, items: Items) -> list[Reward]:
    """Grade calls of tools."""
    from ..tooluse import grade_calls

    return _each(grade_calls, items)


def chat(_: None, items: Items) -> list[Reward]:
    """Grade answers under instructions."""
    from ..chat import grade_instructions

    return _each(grade_instructions, items)


def _each(grade: Callable[..., Reward], items: Items) -> list[Reward]:
    """Grade each item; a mistake in one is said with its number in the request."""
    found = []
    for number, arguments in items:
        try:
            found.append(grade(**arguments))
        except SettingError as error:
            raise SettingError(f"items.{number}: {error}") from None
    return found


GRADERS: dict[str, Callable[[None, Items], list[Reward]]] = {
    "math": math,
    "code": code,
    "tooluse": tooluse,
    "chat": chat,
}
