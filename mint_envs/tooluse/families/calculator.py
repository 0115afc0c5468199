"""Requests for the calculator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .common import NO_TOOL, FamilyEntry, Request, in_turn, pick


def product(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    a, b, c = map(int, rng.integers(100, 1000, 3))
    sign = pick(rng, ["+", "-"])
    expression = f"{a} * {b} {sign} {c}"
    answer = a * b + (c if sign == "+" else -c)
    steps = in_turn(("calculate", {"expression": expression}))
    return Request(f"What is {expression}?", steps, str(answer))


def remainder(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    a, b = map(int, rng.integers(100, 1000, 2))
    c = int(rng.integers(200, 1000))
    steps = in_turn(
        ("calculate", {"expression": f"{a} * {b}"}),
        ("calculate", {"expression": f"{a * b} % {c}"}),
    )
    text = f"{a} boxes hold {b} screws each. They are packed anew, {c} to a box: how many are left?"
    return Request(text, steps, str(a * b % c))


def change_due(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    (a, b), (p, q) = map(int, rng.integers(12, 90, 2)), map(int, rng.integers(101, 990, 2))
    paid = (a * p + b * q) // 1000 * 1000 + 1000
    steps = (
        (("calculate", {"expression": f"{a} * {p}"}), ("calculate", {"expression": f"{b} * {q}"})),
        (("calculate", {"expression": f"{paid} - ({a * p} + {b * q})"}),),
    )
    text = (
        f"{a} chairs at {p} each and {b} lamps at {q} each were paid for with {paid}. "
        "How much is given back?"
    )
    return Request(text, steps, str(paid - a * p - b * q))


def printed_signs(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    a, b, c = map(int, rng.integers(100, 1000, 3))
    shown, expression = f"{a} \u00d7 {b} \u2212 {c}", f"{a} * {b} - {c}"
    steps = in_turn(("calculate", {"expression": shown}), ("calculate", {"expression": expression}))
    return Request(f"How much is {shown}?", steps, str(a * b - c))


ENTRIES = (
    FamilyEntry(1, product),
    FamilyEntry(2, remainder),
    FamilyEntry(3, change_due),
    FamilyEntry(2, printed_signs, "recover"),
    *NO_TOOL,
)
