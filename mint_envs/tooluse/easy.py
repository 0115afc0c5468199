"""The worked examples of ``level="easy"``: a prompt from which a very small model can go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core import Message
from .formats.framing import Framing
from .formats.writers import Step

_SYSTEM = "Use the tools get_value(key), set_value(key, value) and delete_key(key)."

#: Request, call, result and last message of each. The keys and values occur in no problem.
_EXAMPLES: tuple[tuple[str, Step, str, str], ...] = (
    (
        "Set the entry 'animal' to '34'.",
        ("set_value", {"key": "animal", "value": "34"}),
        "done",
        "Done.",
    ),
    ("Delete the entry 'drink'.", ("delete_key", {"key": "drink"}), "done", "Done."),
    (
        "What is the value of the entry 'fruit'?",
        ("get_value", {"key": "fruit"}),
        "plum-12",
        "Answer: plum-12",
    ),
)


def worked_examples(framing: Framing) -> list[Message]:
    """Return the messages before the request: what there is, and two requests carried out."""
    system = Message(role="system", content=_SYSTEM, trusted=len(_SYSTEM))
    return [system, *(m for example in _EXAMPLES for m in _dialogue(framing, *example))]


def _dialogue(framing: Framing, request: str, call: Step, result: str, last: str) -> Iterator[Any]:
    yield Message(role="user", content=request)
    yield framing.made([call])
    yield from framing.results([result])
    yield _ours("assistant", last)


def _ours(role: str, content: str) -> Message:
    return Message(role=role, content=content, trusted=len(content))
