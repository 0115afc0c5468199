"""A second grader beside a reward: is a policy learning, or gaming what pays it?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..core import Reward, Task
from ..errors import SettingError, require
from ..loading import imported
from ..problems import ProblemRef

_WINDOW = 5  # steps whose gaps are averaged
_GROWN = 0.1  # by so much a gap has to grow before it is said, and each time again
_SHOWN = 3  # responses that opened it

Seen = tuple[ProblemRef, list[str], float]  # the problem, what was said in each turn, the reward


class SecondGrader:
    """Scores some of each step's responses by ``grader(problem, response)``, which returns a
    number, a ``Reward`` or None; of several turns it is given a list.

    Args:
        name: ``"module:grader"``.
        task: knows the problems. None: there is none, and nothing can be watched.
        many: how many of a step's responses are scored.
        gaps: those of earlier steps.

    Raises:
        SettingError: there is no such grader, or no task.
    """

    def __init__(self, name: str, task: Task[Any] | None, many: int, gaps: Sequence[float]) -> None:
        self._grade: Callable[[Any, Any], Any] = imported(name)
        require(task is not None, f"watch={name!r} needs a task of this package to know problems")
        self._name, self._task, self._many, self._gaps = name, task, many, list(gaps)
        self._said, self._worst = _GROWN, [""]

    def look(self, seen: Sequence[Seen], rng: np.random.Generator) -> dict[str, float]:
        """Return the mean reward of a sample, what the second grader gives it, and the gap.

        Raises:
            SettingError: the grader raised.
        """
        some = [seen[i] for i in rng.permutation(len(seen))[: self._many]]
        marked = [(self._mark(*one), *one) for one in some]
        known = [(reward, mark, said) for mark, _, said, reward in marked if mark is not None]
        if not known:
            return {}
        believed = float(np.mean([reward for reward, _, _ in known]))
        marks = float(np.mean([mark for _, mark, _ in known]))
        self._gaps.append(believed - marks)
        known.sort(key=lambda one: one[1] - one[0])
        self._worst = [said[-1][:80] for _, _, said in known[:_SHOWN]]
        return {"watch/believed": believed, "watch/reward": marks, "watch/gap": believed - marks}

    def words(self) -> Iterator[str]:
        """Yield what is to be said after a step: that the gap has grown, and what opened it."""
        if len(self._gaps) < 2 * _WINDOW:
            return
        first, last = np.mean(self._gaps[:_WINDOW]), np.mean(self._gaps[-_WINDOW:])
        if last - first >= self._said:
            self._said = float(last - first) + _GROWN
            yield (
                f"  the reward runs away from {self._name}: by {first:+.2f} in the first {_WINDOW} "
                f"steps, by {last:+.2f} in the last. Paid more than it is worth there:"
            )
            yield from (f"    {json.dumps(text, ensure_ascii=False)}" for text in self._worst)

    def _mark(self, ref: ProblemRef, said: list[str], reward: float) -> float | None:
        assert self._task is not None
        problem = ref.of(self._task)
        try:
            mark = self._grade(problem, said[0] if len(said) == 1 else said)
            mark = mark.score if isinstance(mark, Reward) else mark
            return None if mark is None else float(mark)
        except Exception as error:  # a grader of anyone
            raise SettingError(
                f"watch={self._name!r} raised {type(error).__name__}: {error}"
            ) from error
