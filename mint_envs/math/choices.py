"""The options of a row that asks for a choice, and which of them is right.

    options: [...]     AQuA (``"A)40"``), MMLU-Pro          choices: [...]   MMLU
    options: {A: ...}  MedQA                                choices: {"text", "label"}   ARC
    options: "a ) 40 , b ) 42"  MathQA                      columns A, B, C, D   C-Eval

The right one is named by its letter or label, its place from 0 or its text. Options that cannot be
read, and a right one that is not among them, are errors: a row asked without them asks for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from ..datasets import Row, look_up

_OPTIONS = ("options", "choices", "candidates")
_RIGHT = (
    *("answer", "correct", "answer_index", "answer_idx", "answerkey", "answer_key"),
    *("answer_choice", "answer_letter", "correct_option", "label", "target", "ground_truth"),
)
_LABELLED = re.compile(r"\(?([A-Za-z])\s?[).:]\s*|\(?(\d)\s?(?:\)\s*|\.\s+)")
_IN_LINE = re.compile(r"(?:^|\s*,\s*)([a-z]) \) ")
_IN_CAPITALS = re.compile(r"(?:^|\s+)([A-Z])[).]\s*")
_PLACES = ("answer_index", "answer_idx")
_LETTER = re.compile(r"\(?([A-Za-z0-9])[).:]?")
_ASKS = "Give the letter of the right option."


def asked_with_options(row: Row, question: str) -> tuple[str, str] | None:
    """Return the question with its options, and the right letter; None: there are no options.

    ``row`` has its names in lower case too.

    Raises:
        ValueError: they cannot be read, or the right one is not told or told twice.
    """
    options = _offered(row)
    if not options:
        return None
    told = {name: row[name] for name in _RIGHT if row.get(name) is not None}
    found = {name: _option_named(name, value, options) for name, value in told.items()}
    places = {place for place in found.values() if place is not None}
    if not places:
        shown = next(iter(told.values()), None)
        raise ValueError(f"its right answer, {shown!r}, is none of its options")
    if len(places) > 1:
        names = [name for name, place in found.items() if place is not None]
        raise ValueError(f"{' and '.join(names)} name different options")
    place = places.pop()
    if _are_listed(options, question):
        return question, options[place][0].upper()
    texts = (text for _, text in options)
    listed = "\n".join(f"{a}) {text}" for a, text in zip(ascii_uppercase, texts, strict=False))
    return f"{question}\n\n{listed}\n\n{_ASKS}", ascii_uppercase[place]


def _are_listed(options: Sequence[tuple[str, str]], question: str) -> bool:
    """Whether the question has each option behind its label, in their order."""
    start = 0
    for label, text in options:
        listed = re.compile(
            rf"(?<!\w){re.escape(label)}\s?[).:]\s*{re.escape(text)}", re.IGNORECASE
        )
        found = listed.search(question, start)
        if found is None:
            return False
        start = found.end()
    return True


def _offered(row: Row) -> list[tuple[str, str]]:
    """(label, text) of each option, by their labels."""
    given = look_up(row, _OPTIONS)
    if given is None or given in ("", [], {}):
        given = {letter: row[letter] for letter in "ABCDEFGHIJ" if row.get(letter) is not None}
        texts = all(isinstance(text, str) for text in given.values())
        if not texts or list(given) != list("ABCDEFGHIJ"[: len(given)]) or len(given) < 3:
            return []
    found = _with_labels(given)
    if not 2 <= len(found) <= len(ascii_uppercase):
        raise ValueError(f"its options, {str(given)[:60]!r}, cannot be read")
    labels = "".join(sorted(label.upper() for label, _ in found))
    if labels not in (ascii_uppercase[: len(found)], "123456789"[: len(found)]):
        raise ValueError(f"the labels of its options are {labels!r}, and not A, B, C or 1, 2, 3")
    return sorted(found, key=lambda option: option[0].upper())


def _with_labels(given: Any) -> list[tuple[str, str]]:
    if isinstance(given, Mapping) and {"text", "label"} <= given.keys():
        texts, labels = given["text"], given["label"]
        if not isinstance(texts, list) or not isinstance(labels, list):
            return []
        return list(zip(map(str, labels), map(str, texts), strict=True))
    if isinstance(given, Mapping):
        return [(str(label), str(text).strip()) for label, text in given.items() if text]
    if isinstance(given, str):
        split = _IN_CAPITALS if given.startswith("A") else _IN_LINE
        _, *pieces = split.split(given)
        return list(zip(pieces[::2], map(str.strip, pieces[1::2]), strict=False))
    if not isinstance(given, Sequence):
        return []
    if all(isinstance(one, Mapping) and {"text", "label"} <= one.keys() for one in given):
        return [(str(one["label"]), str(one["text"])) for one in given]
    if any(not isinstance(one, str) for one in given):
        return []  # of numbers nobody knows whether one is told by its place or by itself
    return _without_labels([one.strip() for one in given])


def _without_labels(texts: list[str]) -> list[tuple[str, str]]:
    """``("A", "40")`` of ``"A)40"``, where all are written so."""
    matches = [_LABELLED.match(text) for text in texts]
    labels = "".join((m.group(1) or m.group(2)) for m in matches if m).upper()
    if labels and labels in (ascii_uppercase[: len(texts)], "123456789"[: len(texts)]):
        return [(m.group(1) or m.group(2), m.string[m.end() :]) for m in matches if m]
    return list(zip(ascii_uppercase, texts, strict=False))


def _option_named(name: str, value: Any, options: Sequence[tuple[str, str]]) -> int | None:
    """The place of the option that ``value`` names; None: of none.

    Raises:
        ValueError: it may name either of two.
    """
    if name in _PLACES and isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    by_place = isinstance(value, int) and not isinstance(value, bool)
    text = str(value).strip()
    letter = _LETTER.fullmatch(text)
    named = [k for k, (label, _) in enumerate(options) if _is_label(letter, label)]
    if by_place and (name in _PLACES or not named):
        return value if 0 <= value < len(options) else None
    told = [k for k, (_, option) in enumerate(options) if option == text]
    if len({*named, *told}) > 1:
        raise ValueError(f"{value!r} is the label of one of its options, and the text of another")
    return next(iter((*named, *told)), None)


def _is_label(letter: re.Match[str] | None, label: str) -> bool:
    return letter is not None and letter.group(1).upper() == label.strip().upper()
