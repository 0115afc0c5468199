"""Draws of arguments for generated problems: each returns a function of the generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Draw = Callable[[np.random.Generator], tuple[Any, ...]]

_WORDS = (
    "apple", "river", "stone", "level", "banana", "noon", "quick", "brown", "fox", "lazy",
    "dog", "radar", "tree", "cloud", "zebra", "queen", "otter", "kayak", "mango", "night",
)  # fmt: skip


def integer(low: int = -50, high: int = 50) -> Callable[[np.random.Generator], int]:
    return lambda rng: int(rng.integers(low, high + 1))


def integers(count: int, low: int = -50, high: int = 50) -> Draw:
    return lambda rng: tuple(int(x) for x in rng.integers(low, high + 1, count))


def int_list(rng: np.random.Generator, low: int = -9, high: int = 20, least: int = 0) -> list[int]:
    return [int(x) for x in rng.integers(low, high + 1, int(rng.integers(least, 9)))]


def a_list(least: int = 0, low: int = -9, high: int = 20) -> Draw:
    return lambda rng: (int_list(rng, low, high, least),)


def two_lists(rng: np.random.Generator) -> tuple[Any, ...]:
    return int_list(rng), int_list(rng)


def list_and_int(low: int = 1, high: int = 5, least: int = 1) -> Draw:
    return lambda rng: (int_list(rng, least=least), int(rng.integers(low, high + 1)))


def word(rng: np.random.Generator) -> str:
    return _WORDS[int(rng.integers(len(_WORDS)))]


def a_word(rng: np.random.Generator) -> tuple[Any, ...]:
    return (word(rng),)


def a_sentence(rng: np.random.Generator) -> tuple[Any, ...]:
    return (" ".join(word(rng) for _ in range(int(rng.integers(1, 7)))),)


def word_list(rng: np.random.Generator) -> tuple[Any, ...]:
    return ([word(rng) for _ in range(int(rng.integers(1, 7)))],)


def word_and_int(rng: np.random.Generator) -> tuple[Any, ...]:
    return word(rng), int(rng.integers(1, 6))


def word_and_letter(rng: np.random.Generator) -> tuple[Any, ...]:
    text = word(rng)
    return text, text[int(rng.integers(len(text)))]


def a_grid(rng: np.random.Generator) -> tuple[Any, ...]:
    rows, columns = (int(x) for x in rng.integers(1, 5, 2))
    return ([[int(x) for x in rng.integers(0, 10, columns)] for _ in range(rows)],)


def a_table(rng: np.random.Generator) -> tuple[Any, ...]:
    return ({word(rng): int(rng.integers(0, 20)) for _ in range(int(rng.integers(1, 6)))},)


def brackets(rng: np.random.Generator) -> tuple[Any, ...]:
    if rng.random() < 0.5:
        return ("".join("()[]"[int(i)] for i in rng.integers(0, 4, int(rng.integers(0, 7)))),)
    text = ""
    for _ in range(int(rng.integers(1, 4))):
        text = (f"({text})", f"[{text}]", f"{text}()")[int(rng.integers(3))]
    return (text,)


def intervals(rng: np.random.Generator) -> tuple[Any, ...]:
    starts = rng.integers(0, 20, int(rng.integers(1, 6)))
    return ([[int(s), int(s + rng.integers(1, 6))] for s in starts],)
