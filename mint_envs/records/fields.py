"""Under which names a row holds its question and its answer, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core import Message, Prompt, text_of
from ..datasets import Row, look_up
from ..errors import DatasetError

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
    "gts",
    "label",
)


def prompt_of(row: Row) -> Prompt:
    """Return the prompt of a row, text or messages; "" if it has none.

    Raises:
        DatasetError: it is another object or list, or a part of a message is no text.
    """
    value = look_up(row, PROMPTS)
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(m, Mapping) for m in value):
        return [_message_of(message) for message in value]
    if isinstance(value, Mapping | Sequence):
        raise DatasetError(f"the prompt, {str(value)[:60]!r}, is no text and no list of messages")
    return "" if value is None else str(value)


def _message_of(given: Mapping[str, Any]) -> Message:
    """A message with the calls in it, and whose result it is."""
    calls = given.get("tool_calls")
    content = (given.get("content") or "") if calls else given["content"]
    found = Message(role=str(given["role"]), content=text_of(content))
    for key in ("tool_calls", "tool_call_id", "name"):
        if given.get(key):
            found[key] = given[key]
    return found


def gold_of(row: Row) -> Any:
    """Return the right answer of a row under any of its usual names, else None."""
    return look_up(row, GOLDS)
