"""Problems from the rows of a data set, whatever library it was made for.

Field names tell the shape of a row, capitals aside:

    GSM8K, MATH, AIME      question | problem, answer (``#### 72``) | solution (``\\boxed{72}``)
    verl, DAPO             prompt: messages, reward_model.ground_truth, extra_info.question
    SkyRL                  prompt: messages, reward_spec.ground_truth
    tinker, TRL, OpenRLHF  prompt: text or messages, answer | solution | ground_truth | target
    SYNTHETIC-1, prime-rl  prompt, verification_info (JSON with ground_truth)
    SVAMP, OlympiadBench   body | context before the question; see ``choices`` for options
    chat transcripts       messages, the last of them the assistant's, with the answer in it

Messages are given to the model as they are, since they say how to answer; a question is framed by
the task. Whatever else changes the question or the answer refuses the row: pictures, tolerances,
proofs, places for numbers. Paths and names go through ``mint_envs.datasets``; the presets below are
short names.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import Message, text_of
from ..datasets import Row, field, load_rows, look_up, read_each
from ..errors import DatasetError
from .choices import asked_with_options
from .grade import answer_of_solution, unreadable

#: Short names: (Hugging Face name, the split to take when none is asked for).
PRESETS = {
    "gsm8k": ("openai/gsm8k:main", "train"),
    "math": ("DigitalLearningGmbH/MATH-lighteval", "train"),
    "math500": ("HuggingFaceH4/MATH-500", "test"),
    "aime24": ("HuggingFaceH4/aime_2024", "train"),
    "dapo": ("BytedTsinghua-SIA/DAPO-Math-17k", "train"),
}
_QUESTIONS = ("extra_info.question", "question", "problem", "prompt", "query", "input", "messages")
_ANSWERS = (
    "reward_model.ground_truth",
    "reward_spec.ground_truth",
    "verification_info.ground_truth",
    "answer",
    "answer_number",
    "final_answer",
    "expected_answer",
    "ground_truth",
    "target",
    "gt",
    "solution",
    "messages",
)
_STORIES = ("body", "context", "passage")  # what stands before the question
_OBJECTS = ("verification_info", "reward_model", "reward_spec", "extra_info")
_SHOWN = 5
_PICTURE = re.compile(r"(?:images?|pictures?|decoded_image|figures?)(?:_(?:\d+|path|url))?")
_PICTURE_IN_TEXT = re.compile(r"<image>|!\[[^\]\n]*\]\(")
_NUMBER_GOES_HERE = re.compile(r"\bN_\d\d\b|\bnumber\d\b")
_NO_ANSWER = frozenset(("proof", "not found", "notfound", "n/a"))
_NULLS = ("None", "nan", "NaN", "null")
_COUNTED = re.compile(r"(-?[\d.,/:]+) \([^()\d]+\)")  # 42 (pens)


class UnreadableAnswers(UserWarning):
    """Right answers of a data set that the grader cannot read: only the same text wins them."""


@dataclass(frozen=True, slots=True)
class MathProblem:
    """A question and its answer, as text; ``messages`` if the data set brings a chat prompt."""

    question: str
    answer: str
    messages: tuple[Message, ...] = ()


def load_problems(
    dataset: str,
    split: str | None = None,
    question_field: str | None = None,
    answer_field: str | None = None,
    skip: bool = False,
) -> list[MathProblem]:
    """Return the problems of ``dataset``: a preset, a path or a Hugging Face name.

    Warns ``UnreadableAnswers`` with the number of right answers that cannot be read, and the
    first five. ``skip`` leaves out rows that are refused, with a warning that counts them.

    Raises:
        DatasetError: it is missing, empty or broken, or a row has no question or no answer, or
            asks for what is not read. With ``skip``, all rows do.
    """
    source, default = PRESETS.get(dataset, (dataset, None))

    def read(row: Row, number: int) -> MathProblem:
        return read_math_row(row, source, number, question_field, answer_field)

    problems = read_each(load_rows(source, split or default), read, skip)
    _report(source, problems)
    return problems


def read_math_row(
    row: Row,
    source: str = "rows",
    number: int = 1,
    question_field: str | None = None,
    answer_field: str | None = None,
) -> MathProblem:
    """Return the problem of one row.

    Fields that the user names are taken as they are, without options or what stands before them.

    Raises:
        DatasetError: it has no question or no answer, or what changes them is not read.
    """
    questions = (question_field,) if question_field else _QUESTIONS
    answers = (answer_field,) if answer_field else _ANSWERS
    row = {name: value for name, value in row.items() if not _is_nan(value)}
    row = {str(name).lower(): value for name, value in row.items()} | row
    row |= {name: _from_json_text(row[name]) for name in _OBJECTS if name in row}
    asked = field(row, questions, source, number)
    own = bool(question_field or answer_field)
    try:
        _refuse_unasked(row)
        question, messages = _question_and_messages(row, asked, own)
        _refuse_unshown(row, question)
        chosen = None if own else asked_with_options(row, question)
        if chosen is not None:
            if messages and chosen[0] != question:
                raise ValueError("its messages do not list its options")
            return MathProblem(*chosen, messages)
        told = look_up(row, answers)
        answer = "" if told is None else _graded_answer(told, bool(row.get("body")))
    except ValueError as fault:
        raise DatasetError(f"row {number} of dataset={source!r}: {fault}") from None
    return MathProblem(question, answer or field(row, answers, source, number), messages)


def _is_nan(value: Any) -> bool:
    """What pandas writes where there is nothing."""
    return isinstance(value, float) and value != value


def _question_and_messages(row: Row, asked: Any, own: bool) -> tuple[str, tuple[Message, ...]]:
    """The question, and the messages that ask it, if there are any."""
    if isinstance(asked, str):
        question = asked.strip()
        messages = _messages(row.get("prompt")) or _messages(row.get("messages"), answered=True)
    else:
        messages = _messages(asked, answered=asked is row.get("messages"))
        if not messages:
            raise ValueError(f"its question, {str(asked)[:60]!r}, is no text and no messages")
        question = "\n".join(message["content"] for message in messages).strip()
    if not question:
        raise ValueError("its question is empty")
    whole = question if own else _with_story(row, question)
    if messages and whole != question:
        raise ValueError("its messages do not tell what stands before the question")
    return whole, messages


def _from_json_text(value: Any) -> Any:
    """An object that is written as JSON: ``verification_info``."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, dict) else value


def _refuse_unasked(row: Row) -> None:
    """Refuse what a model that reads text is not asked, and what is not graded.

    Raises:
        ValueError: with the reason.
    """
    picture = next((n for n in row if _PICTURE.fullmatch(str(n)) and row[n]), None)
    if picture:
        raise ValueError(f"it has a picture ({picture}), which no text shows")
    if row.get("final_answer") and row.get("error"):
        raise ValueError(f"a tolerance (error={row['error']!r}) is not graded")
    if row.get("tolerance"):
        raise ValueError(f"a tolerance ({row['tolerance']!r}) is not graded")
    if str(row.get("question_type")).lower() == "proof":
        raise ValueError("a proof has no final answer to grade")
    if str(row.get("problem_is_valid", "Yes")) not in ("Yes", "None"):
        raise ValueError(f"its problem is not valid (problem_is_valid={row['problem_is_valid']!r})")
    if row.get("nums") and row.get("target") is not None:
        raise ValueError("what its nums are to be made into is no answer to grade")


def _refuse_unshown(row: Row, question: str) -> None:
    """Refuse a question that shows a picture, or has places for numbers of the row."""
    if _PICTURE_IN_TEXT.search(question):
        raise ValueError("it has a picture in its text, which a model does not see")
    place = _NUMBER_GOES_HERE.search(question)
    if place and row.get("numbers") is not None:
        raise ValueError(f"put its numbers in the place of {place.group()} first")


def _with_story(row: Row, question: str) -> str:
    """The question after what it is asked of, as SVAMP and OlympiadBench have it."""
    told = [(name, row[name]) for name in _STORIES if row.get(name)]
    for name, story in reversed(told):
        if not isinstance(story, str):
            raise ValueError(f"its {name} is no text")
        if not re.search(rf"{re.escape(story.strip())}(?!\w)", question):
            question = f"{story.strip()} {question}"
    return question


def _messages(value: Any, answered: bool = False) -> tuple[Message, ...]:
    """The chat messages of a prompt; ``()`` if ``value`` is no list of messages.

    Args:
        value: of a row.
        answered: whether a last message of the assistant's is the answer, and no part of it.

    Raises:
        ValueError: the assistant has the last word, or a message is none.
    """
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return ()
    if not isinstance(value[0], Mapping) or "content" not in value[0]:
        return ()
    if not all(isinstance(item, Mapping) and "content" in item for item in value):
        raise ValueError("not all of its messages have a content")
    found = [
        Message(role=str(item.get("role", "user")), content=text_of(item["content"]))
        for item in value
    ]
    if found[-1]["role"] == "assistant":
        if not answered:
            raise ValueError("its prompt ends with a message of the assistant's: leave it out")
        found.pop()
    if found and (found[-1]["role"] == "system" or not found[-1]["content"].strip()):
        raise ValueError("its last message asks nothing")
    return tuple(found)


def _graded_answer(value: Any, counted: bool) -> str:
    """The answer of a row; ``counted``: things may stand behind a number, ``42 (pens)``.

    Raises:
        ValueError: it is empty, or there is none to grade.
    """
    answer = _answer(value)
    if not answer:
        raise ValueError("it has an empty answer")
    if answer.lower() in _NO_ANSWER or answer in _NULLS:
        raise ValueError(f"it has no final answer to grade, but {answer!r}")
    number = _COUNTED.fullmatch(answer) if counted else None
    return number.group(1) if number else answer


def _answer(value: Any) -> str:
    """The answer as text: of a worked solution its end, of a list of one its only member."""
    if isinstance(value, Mapping):
        value = value.get("value", value.get("content", ""))
    if isinstance(value, Sequence) and not isinstance(value, str):
        last = value[-1] if value else ""
        if isinstance(last, Mapping):
            return _answer(last)
        return ", ".join(map(_answer, value))
    return answer_of_solution(_only_member(str(value).strip()))


def _only_member(text: str) -> str:
    """``42`` of ``["42"]``, a list that is written as JSON.

    Raises:
        ValueError: it has several, of which each may be right or all together.
    """
    if not (text.startswith('["') and text.endswith('"]')):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if len(found) > 1:
        raise ValueError(
            f"it has {len(found)} right answers: make each a row, or one answer of them"
        )
    return str(found[0]).strip()


def _report(source: str, problems: Sequence[MathProblem]) -> None:
    bad = [(number, p.answer) for number, p in enumerate(problems, 1) if unreadable(p.answer)]
    if bad:
        shown = "; ".join(
            f"row {number}: {answer[:60]!r} ({unreadable(answer)})"
            for number, answer in bad[:_SHOWN]
        )
        warnings.warn(
            f"dataset={source!r}: {len(bad)} of {len(problems)} right answers cannot be read, so "
            f"only a response with the same text wins them. The first: {shown}",
            UnreadableAnswers,
            stacklevel=5,
        )
