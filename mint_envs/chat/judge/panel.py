"""From responses to verdicts: questions, the cache, and each question asked once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from .cache import Verdicts
from .port import Answer, Judge
from .question import Question

_SCORE = "Judge how good the answer is, and choose a verdict (from worst to best: {})."
_PAIR = (
    "Judge which of two answers to the request is better, and choose a verdict: first, second or "
    "tie. Which one comes first means nothing."
)
_OUTCOMES = ("first", "second", "tie")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge chose, or (``choice`` empty) why there is no verdict."""

    choice: str = ""
    error: str = ""


@dataclass(frozen=True)
class Panel:
    """A judge with a rubric, and the verdicts it has given.

    Args:
        choices: the verdicts of score mode, from worst to best.
    """

    judge: Judge
    verdicts: Verdicts
    rubric: str
    choices: tuple[str, ...]

    @property
    def rubric_version(self) -> str:
        """A short name of the rubric, the choices and the words round them."""
        return self._score_question("", "").rubric_version

    def rate(self, items: Sequence[tuple[str, str]]) -> list[Verdict]:
        """Return the verdict on each (request, answer)."""
        return self._ask([self._score_question(*item) for item in items])

    def worth(self, choice: str) -> float:
        """Return the reward of a choice: 0.0 for the worst, 1.0 for the best, evenly between."""
        return self.choices.index(choice) / (len(self.choices) - 1)

    def compare(self, items: Sequence[tuple[str, str, str]]) -> list[float | Verdict]:
        """Return, for each (request, one, other), what ``one`` earns.

        Both orders are asked; 1.0 if ``one`` is better in both, 0.0 if it is worse in both, and
        0.5 otherwise: a verdict that turns with the order is a tie. A verdict without a choice
        says why a comparison could not be made.
        """
        swapped = [(request, other, one) for request, one, other in items]
        verdicts = self._ask([self._pair_question(*item) for item in [*items, *swapped]])
        pairs = zip(verdicts[: len(items)], verdicts[len(items) :], strict=True)
        return [_both_orders(there, back) for there, back in pairs]

    def _score_question(self, request: str, answer: str) -> Question:
        task = _SCORE.format(", ".join(self.choices))
        return Question(task, self.rubric, self.choices, (("request", request), ("answer", answer)))

    def _pair_question(self, request: str, first: str, second: str) -> Question:
        data = (("request", request), ("first", first), ("second", second))
        return Question(_PAIR, self.rubric, _OUTCOMES, data)

    def _ask(self, questions: Sequence[Question]) -> list[Verdict]:
        """Return the verdict on each question; equal ones are asked once.

        So they are by threads that ask at the same time: one asks, the others wait for it.
        """
        keys = [question.key(self.judge.name) for question in questions]
        unique = dict(zip(keys, questions, strict=True))
        found: dict[str, Verdict] = {}
        with self._claimed(list(unique)) as (mine, others):
            for key, verdict in self._verdicts({key: unique[key] for key in mine}):
                found[key] = verdict
                mine[key].set_result(verdict)
        found.update({key: future.result() for key, future in others.items()})
        return [found[key] for key in keys]

    @contextmanager
    def _claimed(
        self, keys: Sequence[str]
    ) -> Iterator[tuple[Mapping[str, Future[Verdict]], Mapping[str, Future[Verdict]]]]:
        """Yield the keys that are ours to ask, and those that another thread is asking."""
        asking = self.verdicts.asking
        with self.verdicts.lock:
            others = {key: asking[key] for key in keys if key in asking}
            mine: dict[str, Future[Verdict]] = {key: Future() for key in keys if key not in others}
            asking.update(mine)
        try:
            yield mine, others
        finally:
            with self.verdicts.lock:
                for key in mine:
                    del asking[key]
            for future in mine.values():
                if not future.done():  # an exception came between; nobody may wait for ever
                    future.set_result(Verdict(error="the judge was interrupted"))

    def _verdicts(self, questions: Mapping[str, Question]) -> Iterator[tuple[str, Verdict]]:
        """Yield each verdict as it is known: those kept first, then those asked for."""
        left = []
        for key, question in questions.items():
            kept = self.verdicts.get(key)
            if kept in question.choices:
                yield key, Verdict(str(kept))
            else:
                left.append((key, question))
        waiting = dict(enumerate(left))
        for position, answer in self.judge.ask([question for _, question in left]) if left else ():
            key, question = waiting.pop(position)
            yield key, self._read(key, question, answer)
        for key, _ in waiting.values():
            yield key, Verdict(error="the judge gave no answer")

    def _read(self, key: str, question: Question, answer: Answer) -> Verdict:
        choice = None if answer.error else question.read(answer.text)
        if choice is None:
            return Verdict(error=answer.error or "the judge's answer holds no verdict")
        about = {"judge": self.judge.name, "rubric": question.rubric_version}
        self.verdicts.put(key, choice, about)
        return Verdict(choice)


def _both_orders(there: Verdict, back: Verdict) -> float | Verdict:
    """Join the verdicts on one pair in both orders."""
    for verdict in (there, back):
        if not verdict.choice:
            return verdict
    if {there.choice, back.choice} == {"first", "second"}:
        return float(there.choice == "first")
    return 0.5
