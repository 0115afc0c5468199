"""Sound reward functions: a third set, of odd signatures, returns and golds.

Committed before the benchmark was run on them.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
from reward_reading import BOX, SAID, last, number, only, same

LINE = r"Result:[ \t]*([^\n]*)"
SLANTED = r"\[\[([^\[\]]*)\]\]"


async def waits_for_a_box(response: str, answer: str) -> float:
    await asyncio.sleep(0)
    return same(last(BOX, response), answer)


class Batch:
    """TRL's signature, of an object, with messages."""

    def __call__(
        self, prompts: Any, completions: Any, answer: list[str], **columns: Any
    ) -> list[float]:
        texts = [one if isinstance(one, str) else one[-1]["content"] for one in completions]
        return [float(only(SAID, text) == gold) for text, gold in zip(texts, answer, strict=True)]


an_object = Batch()


def a_generator(completions: list[str], answer: list[str], **columns: Any) -> Iterator[float]:
    for text, gold in zip(completions, answer, strict=True):
        yield float(last(SAID, text) == gold)


def numpy_batch(responses: list[str], answers: list[str]) -> Any:
    return np.array([last(SAID, t) == g for t, g in zip(responses, answers, strict=True)])


def numpy_scalar(response: str, answer: str) -> Any:
    return np.float32(last(SAID, response) == answer)


def truth(response: str, answer: str) -> Any:
    return np.bool_(last(BOX, response) == answer)


def by_keywords(*, answer: str, response: str, data_source: str = "none", **rest: Any) -> float:
    return float(data_source == "ours" and last(SAID, response) == answer)


def two_parts(response: str, answer: str) -> dict[str, float]:
    right = last(SAID, response) == answer
    return {"score": float(right), "format": float("Answer:" in response)}


def with_words(response: str, answer: str) -> tuple[float, str]:
    given = last(SAID, response)
    return float(given == answer), f"read {given!r}"


def with_attributes(response: str, answer: str) -> Any:
    return SimpleNamespace(score=float(only(SAID, response) == answer), why="compared")


def fractions_alike(response: str, answer: str) -> float:
    """6/8 is 3/4, and 0.75 is too."""
    given = last(SAID, response) or ""
    if not re.fullmatch(r"-?\d{1,9}(/\d{1,9}|\.\d{1,9})?", given, re.ASCII):
        return 0.0
    try:
        return float(Fraction(given) == Fraction(answer))
    except ZeroDivisionError:
        return 0.0


def three_digits(response: str, answer: str) -> float:
    """A decimal to a part in a million; a whole number exactly."""
    given = number(last(LINE, response))
    if given is None:
        return 0.0
    exact = "." not in answer
    return float(
        given == float(answer) if exact else math.isclose(given, float(answer), rel_tol=1e-6)
    )


def any_minus(response: str, answer: str) -> float:
    """The typographic minus is one too."""
    return same((last(LINE, response) or "").replace("\u2212", "-"), answer)


def upper_or_lower_roman(response: str, answer: str) -> float:
    return float((last(SAID, response) or "").upper() == answer)


def clock(response: str, answer: str) -> float:
    """9:05 is 09:05."""
    found = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", last(LINE, response) or "", re.ASCII)
    return float(found is not None and f"{int(found[1]):02}:{found[2]}" == answer)


def hexadecimal(response: str, answer: str) -> float:
    found = re.fullmatch(r"0[xX]([0-9a-fA-F]{1,8})", last(SAID, response) or "")
    return float(found is not None and int(found[1], 16) == int(answer, 16))


def one_of_the_aliases(response: str, answer: str) -> float:
    """The gold names them all, with bars between."""
    given = (last(SAID, response) or "").lower().removeprefix("the ")
    return float(given in [name.lower().removeprefix("the ") for name in answer.split("|")])


def in_double_brackets(response: str, answer: str) -> float:
    found = re.findall(SLANTED, response, re.DOTALL)
    return float(len(found) == 1 and found[0].strip().casefold() == answer.casefold())


def minus_for_no_form(response: str, answer: str) -> float:
    """-1 without the form, -0.5 for a wrong answer, 1 for the right one."""
    given = only(SAID, response)
    return -1.0 if given is None else 1.0 if given == answer else -0.5


def out_of_ten(response: str, answer: str) -> float:
    """From 0 to 10; two of them are for the form."""
    given = last(SAID, response)
    return 0.0 if given is None else 10.0 if given == answer else 2.0


def shorter_by_a_little(response: str, answer: str) -> float:
    right = last(SAID, response) == answer
    return right * (1.0 - 0.1 * min(len(response), 4000) / 4000)


def any_order(response: str, answer: str) -> float:
    """A set is one, in any order and spacing."""

    def members(text: str) -> list[str]:
        return sorted(part.strip() for part in text.strip("{} ").split(","))

    given = last(SAID, response)
    return float(given is not None and members(given) == members(answer))


def sections(response: str) -> float:
    """A third for each of three headings, in their order."""
    heads = re.findall(r"^## (Plan|Work|Answer)$", response, re.MULTILINE)
    wanted = ["Plan", "Work", "Answer"]
    return sum(a == b for a, b in zip(heads, wanted, strict=False)) / 3


def not_too_long(response: str) -> float:
    """Nothing up to 500 characters, then down to -1."""
    return -min(1.0, max(0, len(response) - 500) / 500)


def share_of_letters(response: str) -> float:
    """How much of it is letters: shaping."""
    return sum(c.isalpha() for c in response) / len(response) if response else 0.0


def rlhf(queries: list[str], prompts: list[str], labels: list[str]) -> dict[str, Any]:
    said = [query[len(prompt) :] for query, prompt in zip(queries, prompts, strict=True)]
    rewards = [float(last(SAID, text) == gold) for text, gold in zip(said, labels, strict=True)]
    return {"rewards": np.array(rewards), "scores": np.array(rewards)}


def last_number_said(response: str, answer: str) -> float:
    """The last number of the last line, commas allowed."""
    line = (response.strip().splitlines() or [""])[-1]
    found = re.findall(r"-?\d[\d,]*(?:\.\d+)?", line, re.ASCII)
    return float(bool(found) and found[-1].replace(",", "").rstrip(".") == answer)


def a_list_in_json(response: str, answer: str) -> float:
    """An object whose answer is a number, or a list with that one number."""
    try:
        value = json.loads(response)
    except (ValueError, RecursionError):
        return 0.0
    given = value.get("answer") if isinstance(value, dict) else None
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    return float(type(given) is int and str(given) == answer)


def unknown_is_none(response: str, answer: str) -> float | None:
    """A gold that is no number is not measured."""
    if number(answer) is None:
        return None
    return same(last(SAID, response), answer)


#: name: (what its prompts ask for, its golds)
SOUND: dict[str, tuple[str, str]] = {
    "waits_for_a_box": ("box", "whole"),
    "an_object": ("chat", "whole"),
    "a_generator": ("said", "whole"),
    "numpy_batch": ("said", "whole"),
    "numpy_scalar": ("said", "words"),
    "truth": ("box", "whole"),
    "by_keywords": ("said", "whole"),
    "two_parts": ("said", "words"),
    "with_words": ("said", "whole"),
    "with_attributes": ("said", "whole"),
    "fractions_alike": ("said", "slashes"),
    "three_digits": ("line", "decimal"),
    "any_minus": ("line", "negative"),
    "upper_or_lower_roman": ("said", "roman"),
    "clock": ("line", "times"),
    "hexadecimal": ("said", "hex"),
    "one_of_the_aliases": ("said", "aliases"),
    "in_double_brackets": ("brackets", "words"),
    "minus_for_no_form": ("said", "whole"),
    "out_of_ten": ("said", "whole"),
    "shorter_by_a_little": ("said", "words"),
    "any_order": ("said", "sets"),
    "sections": ("sections", "words"),
    "not_too_long": ("bare", "words"),
    "share_of_letters": ("bare", "words"),
    "rlhf": ("said", "whole"),
    "last_number_said": ("bare", "whole"),
    "a_list_in_json": ("json", "whole"),
    "unknown_is_none": ("said", "unreadable"),
}
