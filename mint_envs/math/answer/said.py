"""What a question says of its letters; without a question, nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """Facts about letters.

    Args:
        letters: all that stand in the question; None if there is no question.
        whole: that are whole numbers.
        below: of those, which may be below 1.
        primes: that are prime.
        positive: that are above 0.
        least: the least values of some.
        parity: 1 of those that are odd, 0 of those that are even.
        based: a base of logarithms is given.
        bases: that numbers are to be written in.
    """

    letters: frozenset[str] | None = None
    whole: frozenset[str] = _NONE
    below: frozenset[str] = _NONE
    primes: frozenset[str] = _NONE
    positive: frozenset[str] = _NONE
    least: Mapping[str, int] = field(default_factory=dict)
    parity: Mapping[str, int] = field(default_factory=dict)
    based: bool = False
    bases: frozenset[int] = frozenset()


NOTHING = Said()
