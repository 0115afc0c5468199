"""Problems from the rows of a data set.

    IFEval, IFBench    prompt, instruction_id_list, kwargs
    IF-RLVR            messages, ground_truth: a list, written down, of instruction_id and kwargs

A prompt may be one message of the user. With a judge a row needs no instructions.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core import text_of
from ..datasets import Row, field, load_rows
from ..errors import DatasetError, SettingError
from .instructions import LEFT_OUT, Instruction, check_instructions
from .topics import Topic

_PROMPTS = ("prompt", "messages")


@dataclass(frozen=True, slots=True)
class ChatProblem:
    """A prompt, what it asks for, and an answer that follows all of it (``""`` if unknown)."""

    prompt: str
    request: str
    instructions: tuple[Instruction, ...]
    topic: Topic | None = None  # None: a row of a data set
    answer: str = ""
    form: str = "prose"  # of a drawn prompt: see ``makers.maker.Maker``


def load_chat_problems(dataset: str, split: str | None, has_judge: bool) -> list[ChatProblem]:
    """Return the problems of a file or a Hugging Face name, without those of kinds left out.

    Raises:
        DatasetError: it is missing or broken, or every row has a kind that is left out.
    """
    rows = enumerate(load_rows(dataset, split), 1)
    read = _read_for_judge if has_judge else read_chat_row
    found = [read(row, dataset, number) for number, row in rows]
    kept = [problem for problem in found if problem is not None]
    if not kept:
        left = ", ".join(LEFT_OUT)
        raise DatasetError(f"dataset={dataset!r}: every row has a kind that is left out ({left})")
    return kept


def _read_for_judge(row: Row, dataset: str, number: int) -> ChatProblem:
    """Read a row for a judge: a prompt, and an answer to compare with if it has one."""
    prompt = _prompt_in(row, dataset, number)
    answer = row.get("answer")
    return ChatProblem(prompt, prompt, (), answer=answer if isinstance(answer, str) else "")


def read_chat_row(row: Row, dataset: str, number: int) -> ChatProblem | None:
    """Return the problem of a row; None if it has a kind that is left out.

    Raises:
        DatasetError: it is of another form, or its instructions cannot be read.
    """
    prompt = _prompt_in(row, dataset, number)
    where = f"row {number} of dataset={dataset!r}"
    told = _told_in_ground_truth(row) or row
    kinds = field(told, ("instruction_id_list", "instruction_id"), dataset, number)
    arguments = field(told, ("kwargs",), dataset, number)
    arguments = _written_down(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(kinds, list) or not isinstance(arguments, list):
        raise DatasetError(f"{where}: instruction_id_list and kwargs must be lists")
    if len(kinds) != len(arguments):
        raise DatasetError(f"{where} has {len(kinds)} instructions and {len(arguments)} kwargs")
    written = (_written_down(given) if isinstance(given, str) else given for given in arguments)
    arguments = [given or {} for given in written]
    if not all(isinstance(kind, str) for kind in kinds) or not all(
        isinstance(given, Mapping) for given in arguments
    ):
        raise DatasetError(f"{where}: instructions are names, and kwargs are objects")
    if any(kind in LEFT_OUT for kind in kinds):
        return None
    instructions = tuple(
        (kind, {k: v for k, v in given.items() if v is not None})
        for kind, given in zip(kinds, arguments, strict=True)
    )
    try:
        check_instructions(instructions, prompt)
    except SettingError as error:
        raise DatasetError(f"{where}: {error}") from error
    return ChatProblem(prompt, prompt, instructions)


def _prompt_in(row: Row, dataset: str, number: int) -> str:
    """The prompt of a row as text.

    Raises:
        DatasetError: there is none, or it is a chat of more than one message.
    """
    value = field(row, _PROMPTS, dataset, number)
    if isinstance(value, str) and value.strip():
        return value
    asked = value[0] if isinstance(value, list) and len(value) == 1 else None
    if not isinstance(asked, Mapping) or asked.get("role", "user") != "user":
        raise DatasetError(
            f"row {number} of dataset={dataset!r}: the prompt must be a text, or one message of "
            f"the user, and is {str(value)[:60]!r}"
        )
    try:
        return text_of(asked.get("content"))
    except DatasetError as error:
        raise DatasetError(f"row {number} of dataset={dataset!r}: {error}") from None


def _told_in_ground_truth(row: Row) -> Row | None:
    """What IF-RLVR writes down as ``ground_truth``; None where a row tells it in columns."""
    if row.get("instruction_id_list") is not None:
        return None
    found = row.get("ground_truth")
    found = _written_down(found) if isinstance(found, str) else found
    found = found[0] if isinstance(found, list) and len(found) == 1 else found
    return found if isinstance(found, Mapping) and "instruction_id" in found else None


def _written_down(text: str) -> Any:
    """A value in JSON, or as Python prints it; None if it is neither. Nothing is evaluated."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return None
