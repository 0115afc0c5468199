"""Comparison of what a program printed with what it should have."""

from __future__ import annotations

import math
import re

from .values import Tolerance

COMPARE = ("tokens", "exact", "float")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")


def same_output(
    got: str, want: str, compare: str = "tokens", tolerance: Tolerance | None = None
) -> bool:
    """Return whether ``got`` is right.

    Args:
        compare: ``"tokens"``: the same words, however they are spaced; ``"exact"``: the same
            text, but for white space at the very end; ``"float"``: the same words, and those
            that are numbers may be off by ``tolerance`` (default 1e-6, absolute or relative).
    """
    if compare == "exact":
        return got.rstrip() == want.rstrip()
    words, wanted = got.split(), want.split()
    if compare == "tokens" or len(words) != len(wanted):
        return words == wanted
    room = tolerance or Tolerance(1e-6, 1e-6)
    return all(_near_word(a, b, room) for a, b in zip(words, wanted, strict=True))


def _near_word(word: str, wanted: str, tolerance: Tolerance) -> bool:
    if word == wanted:
        return True
    if not (_NUMBER.fullmatch(word) and _NUMBER.fullmatch(wanted)):
        return False
    value, target = float(word), float(wanted)
    room = max(tolerance.absolute, tolerance.relative * abs(target))
    return math.isfinite(value) and abs(value - target) <= room
