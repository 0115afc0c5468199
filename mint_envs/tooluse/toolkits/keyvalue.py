"""A store of texts by key."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from .tools import ToolError, Toolkit, tool

_KEYS = (
    "color", "city", "owner", "status", "mode", "level", "theme", "region", "plan", "team",
    "editor", "language", "phone", "room", "budget",
)  # fmt: skip
_VALUES = (
    "red", "blue", "green", "amber", "north", "south", "east", "west", "alpha", "beta", "gamma",
    "open", "closed", "ready", "paused", "large", "small",
)  # fmt: skip
_MAX_KEYS, _MAX_LENGTH = 1000, 10_000

Key = Annotated[str, "name of the entry"]


class KeyValueStore(Toolkit):
    """State: ``{"entries": {key: text}}``, at first four to eight entries."""

    name = "keyvalue"
    call_s = None

    def initial(self, rng: np.random.Generator) -> dict[str, Any]:
        keys = rng.permutation(len(_KEYS))[: int(rng.integers(4, 9))]
        return {"entries": {_KEYS[k]: _draw_value(rng) for k in keys}}

    @tool
    def get_value(self, key: Key) -> str:
        """Return the value of an entry."""
        return str(self._entries[self._known(key)])

    @tool
    def set_value(self, key: Key, value: Annotated[str, "what to store"]) -> None:
        """Store a value; an entry of that name is replaced."""
        if not key or len(key) > _MAX_LENGTH or len(value) > _MAX_LENGTH:
            raise ToolError(f"key and value have 1 and 0 to {_MAX_LENGTH} characters")
        if key not in self._entries and len(self._entries) >= _MAX_KEYS:
            raise ToolError(f"the store is full: it holds {_MAX_KEYS} entries")
        self._entries[key] = value

    @tool
    def delete_key(self, key: Key) -> None:
        """Remove an entry."""
        del self._entries[self._known(key)]

    @tool
    def list_keys(self) -> list[str]:
        """Return the names of all entries, in alphabetical order."""
        return sorted(self._entries)

    @property
    def _entries(self) -> dict[str, str]:
        entries: dict[str, str] = self.state["entries"]
        return entries

    def _known(self, key: str) -> str:
        if key not in self._entries:
            raise ToolError(f"there is no entry {key[:80]!r}; list_keys gives the names")
        return key


def _draw_value(rng: np.random.Generator) -> str:
    """Return a word and a number, so that a value cannot well be guessed."""
    return f"{_VALUES[int(rng.integers(len(_VALUES)))]}-{rng.integers(100, 1000)}"
