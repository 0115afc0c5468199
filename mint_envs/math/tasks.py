"""mint/Math-v0: seeded arithmetic, or any data set with questions and answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated

import numpy as np

from ..core import Message, Prompt, Reward
from ..datasets import DatasetTask
from ..errors import require
from ..family import CommonSettings, Dataset, Drop, Shots, SkipRefused, Split, Style
from .answer.normal import plain_number
from .grade import grade
from .rows import MathProblem, load_problems

#: The worked examples before the question; the first is the one of MinT's documents.
_SHOTS = (("What is 4 + 5?", "9"), ("What is 7 + 8?", "15"), ("What is 36 + 21?", "57"))
_INSTRUCTION = "End with the line 'Answer: ' and the {}."


class MathTask(DatasetTask[MathProblem]):
    """Questions with one right answer: a number, a formula, words.

    Without ``dataset`` they are drawn from the seed: ``"What is 47 + 25?"``. The default, sums of
    two numbers from 0 to 99, is the task of MinT's Math RL page, made so that the question's
    numbers are the answer's. ``dataset`` takes gsm8k, math, math500, aime24 and dapo too.

    Raises:
        SettingError: a setting out of range.
        DatasetError: the data set is missing, empty or broken.
    """

    def __init__(
        self,
        dataset: Dataset = None,
        operators: Annotated[str, "operators to draw from: any of + - *"] = "+",
        digits: Annotated[int, "largest number of digits of a term, 1 to 9"] = 2,
        terms: Annotated[int, "numbers in one question, 2 to 9"] = 2,
        style: Style = "completion",
        shots: Shots = 1,
        split: Split = None,
        drop: Drop = None,
        question_field: Annotated[str | None, "field of a row that holds the question"] = None,
        answer_field: Annotated[str | None, "field of a row that holds the answer"] = None,
        strict: Annotated[
            bool, "take an answer only from a box, ####, 'Answer:' or <answer>"
        ] = False,
        format_credit: Annotated[float, "score of a well-formed wrong answer, 0 to 0.1"] = 0.0,
        set_credit: Annotated[bool, "score the share of several answers that is right"] = False,
        skip_refused: SkipRefused = False,
    ) -> None:
        require(
            bool(operators) and set(operators) <= set("+-*"),
            f"operators={operators!r}: give the signs to draw from, of + - *, e.g. '+-'",
        )
        require(1 <= digits <= 9, f"digits={digits} must be from 1 to 9")
        require(2 <= terms <= 9, f"terms={terms} must be from 2 to 9")
        CommonSettings(dataset, split, drop, style, shots)
        self._operators, self._digits, self._terms = operators, digits, terms
        self._style, self._shots = style, shots
        require(0 <= format_credit <= 0.1, f"format_credit={format_credit} must be from 0 to 0.1")
        self._strict, self._format_credit, self._set_credit = strict, format_credit, set_credit
        rows = None
        if dataset is not None:
            rows = load_problems(dataset, split, question_field, answer_field, bool(skip_refused))
        super().__init__(rows, split, drop)

    @property
    def stop(self) -> Sequence[str]:  # type: ignore[override]
        """A completion ends where the next question would begin."""
        if self._style == "chat":
            return ()
        return ("\n",) if self.rows is None else ("\nQ:",)

    def prompt(self, problem: MathProblem) -> Prompt:
        if self._style == "chat":
            asked = f"{problem.question}\n{self._instruction}"
            return problem.messages or [Message(role="user", content=asked)]
        return f"{self._fewshot}Q: {problem.question}\nA:"

    def score(self, problem: MathProblem, response: str) -> Reward:
        text = response.strip()
        for mark in self.stop:
            text = text.partition(mark)[0]
        return grade(
            problem.answer,
            text,
            problem.question,
            strict=self._strict,
            format_credit=self._format_credit,
            set_credit=self._set_credit,
            worked_out=self.rows is None,
        )

    def examples(self, problem: MathProblem) -> dict[str, float]:
        if not self._strict and problem.answer.lstrip("-").isdecimal():
            return {problem.answer: 1.0, f"{problem.answer}1": 0.0, "": 0.0}
        return {f"\\boxed{{{problem.answer}}}": 1.0, "": 0.0}

    @cached_property
    def _instruction(self) -> str:
        plain = all(plain_number(row.answer) is not None for row in self.rows or ())
        return _INSTRUCTION.format("number" if plain else "answer")

    @cached_property
    def _fewshot(self) -> str:
        return "".join(f"Q: {q}\nA: {a}\n\n" for q, a in _SHOTS[: self._shots])

    def key(self, problem: MathProblem) -> str:
        return problem.question

    def draw(self, rng: np.random.Generator) -> MathProblem:
        drawn = rng.integers(0, 10**self._digits, self._terms)
        first, *others = map(int, drawn)  # Python's own: nine factors of nine digits are large
        signs = [self._operators[i] for i in rng.integers(0, len(self._operators), self._terms - 1)]
        text, sums = str(first), [first]
        for sign, value in zip(signs, others, strict=True):
            text += f" {sign} {value}"
            if sign == "*":
                sums[-1] *= value
            else:
                sums.append(-value if sign == "-" else value)
        return MathProblem(f"What is {text}?", str(sum(sums)))
