"""The rules of problems: a function of the seed alone, a proper prompt, an answer that fits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import Task
from ..problems import ProblemRef, Turns, examples_of
from .findings import Findings, apart, shown
from .guards import Watch, global_seed
from .verdicts import OWN_RNG, error_text, problem_print, said, score_of, sorted_json

_DRAWS = 200  # problems that are drawn at least; the first few are tried in full

FROM_RNG = "All randomness of a problem comes from the rng that sample() is given"


@dataclass(frozen=True, slots=True)
class Drawn:
    """One problem that was drawn: its seed, itself, its worked examples, and how it looks."""

    seed: int
    problem: Any
    examples: dict[Turns, float]
    look: str


def draw(task: Task[Any], seed: int) -> Drawn:
    """Return the problem of ``seed``."""
    problem = ProblemRef(seed=seed).of(task)
    return Drawn(seed, problem, examples_of(task, problem), problem_print(task, problem))


class ProblemCheck:
    """One run over the problems of a task."""

    def __init__(self, task: Task[Any], findings: Findings, seeds: Sequence[int]) -> None:
        self.task, self.findings, self.seeds = task, findings, seeds
        self.drawn: list[Drawn] = []  # of self.seeds
        self.many: list[Drawn] = []  # of those and the seeds after them
        self.reproducible = False

    def run(self) -> bool:
        """Try the rules; return whether there are problems to go on with."""
        if not (all(map(self._draw, self.seeds)) and self._prompts() and self._more()):
            return False
        self._stops()
        self.reproducible = all(map(self._same_again, self.drawn))
        if self.reproducible:
            self._same_prompt_same_answer()
            self._indexes()
        return True

    def _draw(self, seed: int) -> bool:
        watch = Watch()
        drawn = self._drawn(seed)
        fault = f"drawing the problem of seed {seed} changes it"
        self.findings.expect(not watch.touched(), "global random state", fault, OWN_RNG)
        self.drawn += [drawn] if drawn else []
        return drawn is not None

    def _more(self) -> bool:
        """Draw more problems, for what shows in many only; return whether none raised."""
        self.many = list(self.drawn)
        for seed in range(len(self.seeds), _DRAWS):
            one = self._drawn(seed)
            if one is None:
                return False
            self.many.append(one)
        return True

    def _drawn(self, seed: int) -> Drawn | None:
        drawn, fault = None, ""
        try:
            drawn = draw(self.task, seed)
        except (Exception, SystemExit) as error:
            fault = f"seed {seed} raises {error_text(error)}"
        advice = "sample(), prompt(), problem_id() and examples() must work for any seed"
        self.findings.expect(not fault, "problem", fault, advice)
        return drawn

    def _same_again(self, drawn: Drawn) -> bool:
        """The same seed gives the same problem, whatever the global generators hold."""
        with global_seed(2):
            again = draw(self.task, drawn.seed).look
        fault = f"seed {drawn.seed} gives %s, and then %s" % apart(drawn.look, again)
        return self.findings.expect(drawn.look == again, "problem", fault, FROM_RNG)

    def _prompts(self) -> bool:
        good = True
        for drawn in self.drawn:
            prompt = self.task.prompt(drawn.problem)
            fault = f"seed {drawn.seed} gives {shown(prompt)}"
            advice = "prompt() returns text, or a list of {'role': str, 'content': str}"
            good &= self.findings.expect(_is_prompt(prompt), "prompt", fault, advice)
            name = self.task.problem_id(drawn.problem)
            fault, advice = f"problem_id is {shown(name)}", "Return a name: a non-empty str"
            self.findings.expect(isinstance(name, str) and name != "", "prompt", fault, advice)
        return good

    def _stops(self) -> None:
        stop = self.task.stop
        good = not isinstance(stop, str) and all(isinstance(s, str) and s for s in stop)
        advice = "Make it a tuple of non-empty strings"
        self.findings.expect(good, "prompt", f"stop is {shown(stop)}", advice)

    def _same_prompt_same_answer(self) -> None:
        """A question whose numbers are not its answer's shows when the question comes back."""
        asked: dict[str, list[Drawn]] = {}
        for drawn in self.many:
            asked.setdefault(sorted_json(self.task.prompt(drawn.problem)), []).append(drawn)
        for first, *others in asked.values():
            for turns in self._full_marks(first) if others else ():
                for later in others:
                    self._right_again(first, later, turns)

    def _full_marks(self, drawn: Drawn) -> list[Turns]:
        return [t for t in drawn.examples if score_of(self.task, drawn.problem, t) == 1.0]

    def _right_again(self, first: Drawn, later: Drawn, turns: Turns) -> None:
        fault = (
            f"seeds {first.seed} and {later.seed} give the same prompt "
            f"{shown(self.task.prompt(later.problem))}, and {said(turns)} earns the full "
            "mark in the first only"
        )
        good = score_of(self.task, later.problem, turns) in (1.0, None)
        advice = "Make question and answer from the same numbers"
        self.findings.expect(good, "question and answer", fault, advice)

    def _indexes(self) -> None:
        size = self.task.size
        good = size is None or (isinstance(size, int) and size > 0)
        advice = "size is a whole number from 1 up, or None for an endless generator"
        if not self.findings.expect(good, "index", f"size is {shown(size)}", advice):
            return
        for index in range(min(3, size or 3)):
            with global_seed(3):
                one = problem_print(self.task, self.task.problem(index))
            two = problem_print(self.task, self.task.problem(index))
            fault = f"problem({index}) gives %s, and then %s" % apart(one, two)
            self.findings.expect(one == two, "index", fault, "Make it a function of the index")
        if size is not None:
            self._beyond(size)

    def _beyond(self, size: int) -> None:
        raised = False
        try:
            self.task.problem(size)
        except IndexError:
            raised = True
        except (Exception, SystemExit) as error:
            raised = self.findings.expect(
                False, "index", error_text(error), "Raise IndexOutOfRange"
            )
        fault = f"problem({size}) of {size} problems raises no IndexError"
        advice = "Raise mint_envs.errors.IndexOutOfRange"
        self.findings.expect(raised, "index", fault, advice)


def _is_prompt(prompt: Any) -> bool:
    if isinstance(prompt, str):
        return True
    return isinstance(prompt, Sequence) and all(
        isinstance(message, Mapping)
        and isinstance(message.get("role"), str)
        and isinstance(message.get("content"), str)
        for message in prompt
    )
