"""What a kind of instruction is, and what its arguments must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Returns what the value should be, or ``""`` if it is.
Fault = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class InstructionKind:
    """A kind of instruction.

    Args:
        follows: the checker, of (response as it is seen, arguments by name).
        arguments: their names, and what each must be.
        official: the checker of the official verdict, where ours is stricter.
        trained: a checker that is stricter still, for prompts that are drawn here: a policy finds
            what satisfies an official checker and is not what was asked.
        prompt: the argument that is the prompt where it is not given, or ``""``.
        optional: names of arguments that may be missing.
    """

    follows: Callable[..., bool]
    arguments: Mapping[str, Fault] = field(default_factory=dict)
    official: Callable[..., bool] | None = None
    trained: Callable[..., bool] | None = None
    prompt: str = ""
    optional: frozenset[str] = frozenset()


def some_count(value: Any) -> str:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    return "" if whole and value >= 0 else "a whole number from 0 up"


def some_place(value: Any) -> str:
    return "" if not some_count(value) and value >= 1 else "a whole number from 1 up"


def some_relation(value: Any) -> str:
    return "" if value in ("at least", "less than") else "'at least' or 'less than'"


def some_text(value: Any) -> str:
    return "" if isinstance(value, str) and value.strip() else "a text that is not blank"


def some_letter(value: Any) -> str:
    return "" if isinstance(value, str) and len(value) == 1 else "one character"


def some_texts(value: Any) -> str:
    many = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
    return "" if many and not any(map(some_text, value)) else "a list of texts"


def related(count: int, relation: str, wanted: float) -> bool:
    """Return whether ``count`` is at least, or less than, ``wanted``."""
    return count >= wanted if relation == "at least" else count < wanted
