"""Problems from the rows of a data set, whatever library it was made for.

Field names tell the shape of a row, capitals aside:

    GSM8K, MATH, AIME      question | problem, answer (``#### 72``) | solution (``\\boxed{72}``)
    verl, DAPO             prompt: messages, reward_model.ground_truth, extra_info.question
    SkyRL                  prompt: messages, reward_spec.ground_truth
    tinker, TRL, OpenRLHF  prompt: text or messages, answer | solution | ground_truth | target
    chat transcripts       messages, the last of them the assistant's, with the answer in it

Messages are given to the model as they are, since they say how to answer; a question is framed by
the task. Paths and names go through ``mint_envs.datasets``; the presets below are short names.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import Message
from ..datasets import Row, field, load_rows
from ..errors import DatasetError
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
    "answer",
    "final_answer",
    "expected_answer",
    "ground_truth",
    "target",
    "solution",
    "messages",
)
_SHOWN = 5


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
) -> list[MathProblem]:
    """Return the problems of ``dataset``: a preset, a path or a Hugging Face name.

    Warns ``UnreadableAnswers`` with the number of right answers that cannot be read, and the
    first five.

    Raises:
        DatasetError: it is missing, empty or broken, or a row has no question or no answer.
    """
    source, default = PRESETS.get(dataset, (dataset, None))
    problems = [
        read_math_row(row, source, number, question_field, answer_field)
        for number, row in enumerate(load_rows(source, split or default), 1)
    ]
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

    Raises:
        DatasetError: it has no question or no answer.
    """
    questions = (question_field,) if question_field else _QUESTIONS
    answers = (answer_field,) if answer_field else _ANSWERS
    row = {str(name).lower(): value for name, value in row.items()} | dict(row)
    asked = field(row, questions, source, number)
    answer = _answer(field(row, answers, source, number))
    if not answer:
        raise DatasetError(f"row {number} of dataset={source!r} has an empty answer")
    messages = _messages(row.get("prompt")) or _messages(row.get("messages"))
    question = asked if isinstance(asked, str) else "\n".join(m["content"] for m in messages)
    return MathProblem(question.strip(), answer, messages)


def _messages(value: Any) -> tuple[Message, ...]:
    """The chat messages before the assistant's; ``()`` if ``value`` is no list of messages."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    found = []
    for item in value:
        if (
            not isinstance(item, Mapping)
            or "content" not in item
            or item.get("role") == "assistant"
        ):
            break
        found.append(Message(role=str(item.get("role", "user")), content=str(item["content"])))
    return tuple(found)


def _answer(value: Any) -> str:
    """The answer as text: of a worked solution its end, of a list of one its only member."""
    if isinstance(value, Mapping):
        value = value.get("value", value.get("content", ""))
    if isinstance(value, Sequence) and not isinstance(value, str):
        last = value[-1] if value else ""
        if isinstance(last, Mapping):
            return _answer(last)
        return ", ".join(map(_answer, value))
    return answer_of_solution(str(value).strip())


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
