"""What one episode has to work with: its toolkits, and the user who can be asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..families import Step
from . import TOOLKITS
from .tools import Toolkit, ToolResult

_MARK = "Question:"
_ALL_SAID = "I have told you all I know."


class Workspace:
    """The toolkits of one episode.

    Args:
        names: the toolkits, whose states are drawn from ``number``.
        more: toolkits that are on offer too, and whose state is not looked at.
    """

    def __init__(self, names: Iterable[str], number: int, more: Iterable[Toolkit] = ()) -> None:
        self._kits = [TOOLKITS[name]() for name in names]
        for kit in self._kits:
            kit.reset(np.random.default_rng(number))
        #: What broke while the wanted states were worked out; ``""`` if nothing did.
        self.failure = ""
        #: Toolkits that are on offer too.
        self.more = list(more)
        every = [*self._kits, *self.more]
        self._by_tool = {schema["name"]: kit for kit in every for schema in kit.offered()}

    def state(self) -> dict[str, Any]:
        """Return a copy of the states of the toolkits, by name."""
        return {kit.name: kit.snapshot() for kit in self._kits}

    def restore(self, states: Mapping[str, Any]) -> None:
        """Put toolkits into states that are given, by name; the others stay as they are."""
        for kit in self._kits:
            if kit.name in states:
                kit.restore(states[kit.name])

    def run(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Run one call of a tool that is on offer."""
        return self._by_tool[name].run(name, arguments)

    def replay(self, turns: Iterable[Iterable[Step]]) -> dict[str, Any]:
        """Run the calls that can change a state, and return the states they lead to.

        Where a toolkit breaks, those are not what is wanted: ``failure`` says so.
        """
        for turn in turns:
            for name, arguments in turn:
                kit = self._by_tool.get(name)
                if kit is not None and not kit.stateless:
                    self.failure = self.failure or kit.run(name, arguments).failure
        return self.state()

    def close(self) -> None:
        """Let go of what the toolkits hold, servers above all. Closing twice is harmless."""
        for kit in [*self._kits, *self.more]:
            kit.close()


class User:
    """The user after the request: says what was missing when asked for it, once.

    A question that was not needed, and every further one, is needless.

    Args:
        reply: what the request lacks, in the user's words; None if it lacks nothing.
    """

    def __init__(self, reply: str | None) -> None:
        self._reply = reply
        self.needless = 0

    def hear(self, text: str) -> str | None:
        """Return what the user says to a message without calls; None if it asks nothing.

        It asks if its last line begins with ``Question:``; thoughts are left out before.
        """
        lines = text.strip().splitlines()
        if not lines or not lines[-1].strip().startswith(_MARK):
            return None
        said, self._reply = self._reply, None
        self.needless += said is None
        return said or _ALL_SAID
