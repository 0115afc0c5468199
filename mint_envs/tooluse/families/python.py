"""Requests that a short program answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .common import NO_TOOL, FamilyEntry, Request, in_turn, pick

#: The digits of a power of ten have a sum that nobody needs a program for.
_BASES = [base for base in range(3, 30) if base % 10]


def digit_sum(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    base, power = pick(rng, _BASES), int(rng.integers(60, 200))
    steps = in_turn(("run_python", {"code": f"print(sum(map(int, str({base} ** {power}))))"}))
    answer = sum(map(int, str(base**power)))
    return Request(f"What is the sum of the digits of {base} ** {power}?", steps, str(answer))


def collatz(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    start = int(rng.integers(1000, 100_000))
    step = "n, k = (3 * n + 1 if n % 2 else n // 2), k + 1"
    code = f"n, k = {start}, 0\nwhile n > 1:\n    {step}\nprint(k)"
    n, steps = start, 0
    while n > 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    text = (
        f"Begin with {start}. An even number is halved; an odd one is multiplied by 3, and 1 is "
        "added. After how many steps is it 1?"
    )
    return Request(text, in_turn(("run_python", {"code": code})), str(steps))


def mend(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    base, power = pick(rng, _BASES), int(rng.integers(60, 200))
    broken = f"print(sum(int(d) for d in {base} ** {power}))"
    mended = f"print(sum(int(d) for d in str({base} ** {power})))"
    steps = in_turn(("run_python", {"code": broken}), ("run_python", {"code": mended}))
    text = (
        "This program is to print the sum of the digits of a number, but it fails. Mend it: what "
        f"does it print then?\n{broken}"
    )
    return Request(text, steps, str(sum(map(int, str(base**power)))))


ENTRIES = (
    FamilyEntry(1, digit_sum),
    FamilyEntry(1, collatz),
    FamilyEntry(2, mend, "recover"),
    *NO_TOOL,
)
