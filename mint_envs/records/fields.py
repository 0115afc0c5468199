"""Under which names a row holds its question and its answer, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core import Message, Prompt, text_of
from ..datasets import Row, look_up

PROMPTS = ("prompt", "question", "problem", "query", "q", "instruction", "input", "text", "content")
GOLDS = (
    "reward_model.ground_truth",
    "reward_spec.ground_truth",
    "answer",
    "gold",
    "ground_truth",
    "expected",
    "target",
    "reference",
    "canonical_solution",
    "solution",
    "label",
    "gts",
)


def prompt_of(row: Row) -> Prompt:
    """Return the prompt of a row, text or messages; "" if it has none.

    Raises:
        DatasetError: a part of a message is no text.
    """
    value = look_up(row, PROMPTS)
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(m, Mapping) for m in value):
        return [Message(role=str(m["role"]), content=text_of(m["content"])) for m in value]
    return "" if value is None else str(value)


def gold_of(row: Row) -> Any:
    """Return the right answer of a row under any of its usual names, else None."""
    return look_up(row, GOLDS)
