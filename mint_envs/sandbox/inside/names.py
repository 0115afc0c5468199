"""Which built-in names are the program's, and which are Python's. See ``code/names.py``."""

from __future__ import annotations

from typing import Any

from .wire import Unsupported

UNCLEAR = "a value that depends on which built-in name is the program's"


def defined(names: dict[str, Any], python: dict[str, Any]) -> set[str]:
    """Return the built-in names that a program has made its own."""
    return {n for n, real in python.items() if n in names and names[n] is not real}


def readings(whose: Any, own: set[str]) -> list[set[str]]:
    """Return what a test is to hold for: sets of names that are the program's, the rest Python's.

    ``whose`` is ``[fixed, group, ...]``: of a group one at a time. See ``names.py`` outside.
    """
    groups = [own.intersection(group) for group in whose[1:]]
    found: list[set[str]] = []
    for name in sorted(set().union(*groups)):
        if any(name in reading for reading in found):
            continue
        reading = {name}
        for other in sorted(set().union(*groups)):
            if not any(other in group and reading & group for group in groups):
                reading.add(other)
        found.append(reading)
    return found or [set()]


def agreed(values: list[Any]) -> Any:
    """Return the value of a call that is one and the same by every reading."""
    if any(value != values[0] for value in values):
        raise Unsupported(UNCLEAR)
    return values[0]
