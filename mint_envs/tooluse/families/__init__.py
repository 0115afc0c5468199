"""Families of problems over the toolkits: what is asked, and the calls that do it.

Each family draws one request for a given state, so that request, calls and answer belong to one
another by construction. Where a state has no room for it, the family gives None.
"""

from __future__ import annotations

from .calculator import CALCULATOR
from .calendar import CALENDAR
from .common import DrawRequest, FamilyEntry, Kind, Request, Step
from .database import DATABASE
from .files import FILES
from .keyvalue import KEYVALUE
from .python import PYTHON
from .retail import RETAIL

__all__ = [
    "FAMILIES",
    "MOST_CALLS",
    "DrawRequest",
    "FamilyEntry",
    "Kind",
    "Request",
    "Step",
    "drawable",
]

#: The families of each toolkit.
FAMILIES: dict[str, tuple[FamilyEntry, ...]] = {
    "calculator": CALCULATOR,
    "calendar": CALENDAR,
    "database": DATABASE,
    "files": FILES,
    "keyvalue": KEYVALUE,
    "python": PYTHON,
    "retail": RETAIL,
}

#: The most calls that a request needs.
MOST_CALLS = max(entry.calls for entries in FAMILIES.values() for entry in entries)


def drawable(
    toolkits: tuple[str, ...], max_calls: int, plain: bool = False
) -> list[tuple[str, DrawRequest]]:
    """Return (toolkit, family) of all requests that need at most ``max_calls`` calls.

    ``plain`` leaves out those that lack something, go wrong at first, or fit no tool.
    """
    return [
        (name, entry.family)
        for name in toolkits
        for entry in FAMILIES[name]
        if entry.calls <= max_calls and (entry.kind == "plain" or not plain)
    ]
