"""How the planted reward functions find an answer in a text."""

from __future__ import annotations

import json
import re
from typing import Any

NUMBER = r"-?\d+(?:\.\d+)?"


def last(pattern: str, text: str) -> str | None:
    found = re.findall(pattern, text, re.DOTALL)
    return found[-1].strip() if found else None


def only(pattern: str, text: str) -> str | None:
    """The one match there is."""
    found = re.findall(pattern, text, re.DOTALL)
    return found[0].strip() if len(found) == 1 else None


HASHES, BOX, TAG = r"####\s*([^\n]*)", r"\\boxed\{([^{}]*)\}", r"<answer>(.*?)</answer>"
SAID, FENCE = r"Answer:[ \t]*([^\n]*)", r"```\n(.*?)```"


def number(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(NUMBER, text, re.ASCII) else None


def same(text: str | None, answer: str) -> float:
    """Equal as numbers, or else word for word."""
    given, wanted = number(text), number(answer)
    return float(given == wanted if wanted is not None else text == answer)


def in_json(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value.get("answer") if isinstance(value, dict) else None
