"""Families of problems over the toolkits: what is asked, and the calls that do it.

Each family draws one request for a given state, so that request, calls and answer belong to one
another by construction. Where a state has no room for it, the family gives None.
"""

from __future__ import annotations

import importlib

from ..toolkits import TOOLKITS
from .common import DrawRequest, FamilyEntry, Kind, Request, Step

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

#: The families of each toolkit: in a file of its name, here.
FAMILIES: dict[str, tuple[FamilyEntry, ...]] = {
    name: importlib.import_module(f"{__name__}.{name}").ENTRIES for name in sorted(TOOLKITS)
}

#: The most calls that a request needs. It is a default of mint/ToolUse-v0, so that a family with
#: more would draw the seeds of all others anew.
MOST_CALLS = 6


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
