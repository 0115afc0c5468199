"""Saved and labelled responses, and the problems to which they belong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..datasets import Row, numbered_rows
from ..errors import DatasetError
from ..problems import NUMBERS, ProblemRef, as_text
from ..responses.items import Item
from .fields import prompt_of

RESPONSE = ("response", "completion", "output", "generation", "turns", "responses", "completions")
LABEL = ("label", "correct", "is_correct", "human", "wanted")
#: Fields that belong to a response and not to its problem.
_OF_RESPONSE = {*RESPONSE, *LABEL, "reward", "score", "step", "logprobs", "tokens", "advantage"}


@dataclass(frozen=True)
class Saved:
    """One response of a file; ``item`` is the position of its problem, ``label`` its worth.

    ``kind``: what was done to make it, if that is known.
    """

    line: int
    turns: tuple[str, ...]
    label: float | None
    row: Row
    item: int = -1
    kind: str = ""


def read_saved(path: str, labelled: bool = False) -> list[Saved]:
    """Return the responses of a file, one or several a row.

    Raises:
        DatasetError: it cannot be read, or a row lacks a field; names line and field.
    """
    if not Path(path).is_file():
        raise DatasetError(f"{path!r} does not exist (looked from {Path.cwd()})")
    found: list[Saved] = []
    for line, row in numbered_rows(Path(path)):
        label = label_of(row, path, line)
        if labelled and label is None:
            raise DatasetError(f"line {line} of {path!r} has no label: one of {', '.join(LABEL)}")
        found += [Saved(line, turns, label, row) for turns in responses_of(row, path, line)]
    if not found:
        raise DatasetError(f"{path!r} is empty: it must hold at least one response")
    return found


def responses_of(row: Row, path: str, line: int) -> list[tuple[str, ...]]:
    """Return the responses in a row, each as a tuple of turns.

    ``response`` is text, or for several turns a list of texts (as is ``turns``); ``responses`` is
    a list of several responses.

    Raises:
        DatasetError: there is none, or it is no text; names line and field.
    """
    for name in RESPONSE:
        if name in row:
            value = row[name]
            many = value if name in ("responses", "completions") else [value]
            if isinstance(many, str) or not isinstance(many, Sequence):
                raise DatasetError(f"line {line} of {path!r}: {name!r} is no list of responses")
            return [_turns_in_field(item, name, path, line) for item in many]
    raise DatasetError(
        f"line {line} of {path!r} has no response: one of {', '.join(RESPONSE)}. "
        f"It has {', '.join(map(str, row)) or '(nothing)'}"
    )


def _turns_in_field(value: Any, name: str, path: str, line: int) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Sequence) and value:
        items = [m.get("content") if isinstance(m, Mapping) else m for m in value]
        texts = [item for item in items if isinstance(item, str)]
        if len(texts) == len(items):
            return tuple(texts)
    raise DatasetError(
        f"line {line} of {path!r}: {name!r} is a {type(value).__name__}, not text or texts"
    )


def label_of(row: Row, path: str, line: int) -> float | None:
    """Return the label of a row in [0, 1], or None if it has none.

    Raises:
        DatasetError: it is no number from 0 to 1, true or false; names line and field.
    """
    for name in LABEL:
        value = row.get(name)
        if isinstance(value, bool | int | float) and 0 <= value <= 1:
            return float(value)
        if value is not None and name != "label":
            raise DatasetError(
                f"line {line} of {path!r}: {name!r} is {value!r}, not true, false or from 0 to 1"
            )
    return None


def problem_row(row: Row) -> dict[str, Any]:
    """Return what of a row belongs to its problem."""
    return {str(key): value for key, value in row.items() if key not in _OF_RESPONSE}


def problems_of(saved: Sequence[Saved]) -> list[dict[str, Any]]:
    """Return the problems of the responses, each once."""
    return list({_row_key(row): row for one in saved if (row := problem_row(one.row))}.values())


def _row_key(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, default=str)


def numbered(row: Row) -> ProblemRef | None:
    """Return the problem that a row names by ``index`` or ``seed``.

    Where these hold no number from 0 up, they are fields of somebody else's.
    """
    kinds = [kind for kind in NUMBERS if type(row.get(kind)) is int and row[kind] >= 0]
    return ProblemRef.from_row(row, kinds)


def places(saved: Sequence[Saved]) -> list[ProblemRef]:
    """Return the problems that rows name by ``index`` or ``seed``, each once."""
    found = [ref for one in saved if (ref := numbered(one.row)) is not None]
    return sorted(dict.fromkeys(found), key=str)


class Matcher:
    """Finds the problem of a response among the items; ``rows``: what they were made of, if so."""

    def __init__(self, items: Sequence[Item], rows: Sequence[Mapping[str, Any]]) -> None:
        self._places = {ref: i for i, item in enumerate(items) for ref in item.refs}
        self._ids = {i: ref.problem_id for i, item in enumerate(items) for ref in item.refs
                     if ref.problem_id is not None}  # fmt: skip
        self._by_row = {_row_key(row): ProblemRef(index=i) for i, row in enumerate(rows)}

    def place(self, one: Saved, path: str) -> Saved:
        """Return the response with its problem.

        Raises:
            DatasetError: it belongs to none; names the line.
        """
        found = self._find(one.row)
        if found is None:
            raise DatasetError(
                f"line {one.line} of {path!r} names no problem: give 'index', 'seed', "
                "'problem_id' or 'prompt' as the environment has it"
            )
        self._check_id(found, one, path)
        return replace(one, item=found)

    def _check_id(self, found: int, one: Saved, path: str) -> None:
        """Refuse a row whose number names another problem here: its settings were others."""
        wanted, here = one.row.get("problem_id"), self._ids.get(found)
        if numbered(one.row) is None or not wanted or here is None or wanted == here:
            return
        settings = one.row.get("env_settings")
        told = settings.items() if isinstance(settings, Mapping) else ()
        given = " ".join(f"--set {name}={value}" for name, value in told if value is not None)
        raise DatasetError(
            f"line {one.line} of {path!r}: {numbered(one.row)} is the problem {here} here, and was "
            f"{wanted} there: other settings, another version or other data. Give the settings "
            f"that it was made with{given and f': {given}'}"
        )

    def _find(self, row: Row) -> int | None:
        ref = (
            self._by_row.get(_row_key(problem_row(row)))
            or numbered(row)
            or ProblemRef.from_row(row, ["problem_id"])
            or ProblemRef(prompt=as_text(prompt_of(row)))
        )
        return self._places.get(ref)
