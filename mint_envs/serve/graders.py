"""The graders of the families, as work over a list of items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core import Reward
from ..errors import SettingError
from ..loading import imported

Items = list[tuple[int, Mapping[str, Any]]]


def graded(grader: str, _: None, items: Items) -> list[Reward]:
    """Grade each item by ``"module:function"``; a mistake is said with its number in the request.

    Raises:
        SettingError: arguments that the grader refuses.
    """
    grade: Callable[..., Reward] = imported(grader)
    found = []
    for number, arguments in items:
        try:
            found.append(grade(**arguments))
        except SettingError as error:
            raise SettingError(f"items.{number}: {error}") from None
    return found
