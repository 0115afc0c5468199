"""Sums that are written out: ``\\sum_{k=1}^{n} k^2``."""

from __future__ import annotations

from abc import abstractmethod

from .commands import Atoms
from .limits import Unreadable
from .tree import INFINITY, Apply, Node, Relation, Sym


class Series(Atoms):
    """The rule for a sum: its terms are the product that follows it."""

    @abstractmethod
    def product(self) -> Node: ...

    def series(self) -> Node:
        """``\\sum_{k=1}^{n} k^2``: its letter, bounds and terms."""
        return Apply("sum", (*self.bounds(), self.product()))

    def bounds(self) -> tuple[Sym, Node, Node]:
        """The letter and bounds that follow a command: ``_{k=1}^{n}``."""
        self.here += 1
        low: Node | None = None
        high: Node | None = None
        while self.text in ("^", "_"):
            if self.next() == "^":
                high = self.argument()
            else:
                self.expect("{")
                low = self.relation()
                self.expect("}")
        if not isinstance(low, Relation) or low.operators != ("=",) or high is None:
            raise Unreadable("a sum without bounds")
        letter, start = low.sides
        if not isinstance(letter, Sym) or letter.name in ("e", "pi", "inf"):
            raise Unreadable("a sum over no letter")
        return letter, start, Sym("endless") if high == INFINITY else high
