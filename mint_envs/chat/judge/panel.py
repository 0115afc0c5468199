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
        criteria: what score mode judges one by one, each with its weight; none: the whole.
    """

    judge: Judge
    verdicts: Verdicts
    rubric: str
    choices: tuple[str, ...]
    criteria: tuple[tuple[str, float], ...] = ()

    @property
    def rubric_version(self) -> str:
        """A short name of the rubric, the choices and the words round them."""
        return self._score_question("", "").rubric_version

    def rate(self, items: Sequence[tuple[str, str]]) -> list[Verdict]:
        """Return the verdict on each (request, answer)."""
        return self._ask([self._score_question(*item) for item in items])

    def parts(self, verdict: Verdict) -> dict[str, float]:
        """Return the worth of each criterion that ``verdict`` speaks of."""
        found = self._score_question("", "").by_criterion(verdict.choice)
        return {criterion: self.worth(choice) for criterion, choice in found.items()}

    def weighted(self, parts: Mapping[str, float]) -> float:
        """Return the mean of ``parts``, which are all there, by their weights."""
        total = sum(weight for _, weight in self.criteria)
        return min(1.0, sum(weight * parts[one] for one, weight in self.criteria) / total)

    def worth(self, choice: str) -> float:
        """Return the reward of a choice: 0.0 for the worst, 1.0 for the best, evenly between."""
        return self.choices.index(choice) / (len(self.choices) - 1)

    def compare(self, items: Sequence[tuple[str, str, str]]) -> list[float | Verdict]:
        """Return, for each (request, one, other), what ``one`` earns.

        Both orders are asked; 1.0 if ``one`` is better in both, 0.0 if it is worse in both, and
        0.5 otherwise: a verdict that turns with the order is a tie. A verdict without a choice
        says why a comparison could not be made.
        """
        return [_both_orders(there, back) for there, back in self.in_both_orders(items)]

    def in_both_orders(
        self, items: Sequence[tuple[str, str, str]]
    ) -> list[tuple[Verdict, Verdict]]:
        """Return the verdicts on each (request, one, other), and on (request, other, one)."""
        swapped = [(request, other, one) for request, one, other in items]
        verdicts = self._ask([self._pair_question(*item) for item in [*items, *swapped]])
        return list(zip(verdicts[: len(items)], verdicts[len(items) :], strict=True))

    def _score_question(self, request: str, answer: str) -> Question:
        task = _SCORE.format(", ".join(self.choices))
        data = (("request", request), ("answer", answer))
        names = tuple(name for name, _ in self.criteria)
        return Question(task, self.rubric, self.choices, data, names)

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
            if question.holds(kept):
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
        if question.holds(choice):
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
