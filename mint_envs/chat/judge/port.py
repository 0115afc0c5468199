"""``Judge``: whoever answers questions; and ``ScriptedJudge``, the double for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from .question import Question, read_fenced


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: a text, or (``error`` not empty) why there is none. Never holds a key."""

    text: str = ""
    error: str = ""


@runtime_checkable
class Judge(Protocol):
    """Whoever answers questions: a model behind an address, a person, a test double."""

    @property
    def name(self) -> str:
        """What verdicts are kept under: the model, and whatever else changes its verdicts."""
        ...

    def ask(self, questions: Sequence[Question]) -> Iterable[tuple[int, Answer]]:
        """Yield (position, answer) for every question, as they come and in any order.

        It has retried what can be retried, and raises for no fault that may pass: such an answer
        has an ``error``. What ``Question.read`` does not understand counts as such a fault.
        """
        ...


class ScriptedJudge:
    """A judge whose verdicts are a function of the data, and of nothing else in the messages.

    Args:
        rule: takes the data by name (``request`` and ``answer``; or ``request``, ``first`` and
            ``second`` in pairwise mode) and returns the verdict, or None for no answer at all;
            with criteria, a mapping from their numbers, ``"1"`` on, to verdicts.
        name: what verdicts are kept under.

    ``asked`` holds the data of every question, in order.
    """

    #: The same data get the same verdict, so rewards by it are pure.
    nondeterministic = False

    def __init__(
        self,
        rule: Callable[[Mapping[str, str]], str | Mapping[str, str] | None],
        name: str = "scripted",
    ) -> None:
        self._rule, self.name = rule, name
        self.asked: list[Mapping[str, str]] = []

    def ask(self, questions: Sequence[Question]) -> Iterable[tuple[int, Answer]]:
        for position, question in enumerate(questions):
            fence, data = read_fenced(question.messages())
            self.asked.append(data)
            verdict = self._rule(data)
            if verdict is None:
                yield position, Answer(error="the script gives no answer")
            else:
                named = "verdict" if isinstance(verdict, str) else "verdicts"
                said = verdict if isinstance(verdict, str) else dict(verdict)
                yield position, Answer(json.dumps({"fence": fence, named: said}))
