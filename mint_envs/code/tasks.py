"""mint/Code-v0: write a function or a program; the reward is what it does in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from ..core import Message, Prompt, Reward
from ..datasets import DatasetTask
from ..errors import require
from ..family import (
    CommonSettings,
    Dataset,
    Drop,
    Level,
    PartialCredit,
    Shots,
    SkipRefused,
    Split,
    Style,
)
from ..sandbox import Sandbox, shared
from .grade import GradeSettings, grade_many, without_clock
from .kinds import LEVELS
from .problems import CodeProblem, generate, passes, say_left_out
from .rows import load_code_problems

#: The worked examples before the question; the first is the one of MinT's documents.
_SHOTS = (
    ("Write a function `double(x)` that returns x * 2.", "def double(x):\n    return x * 2"),
    ("Write `is_zero(n)` that returns True if n is 0.", "def is_zero(n):\n    return n == 0"),
    ("Write `first_char(s)` that returns the first character of s.",
     "def first_char(s):\n    return s[0]"),
)  # fmt: skip
_FENCES = {"javascript": "js", "cpp": "cpp"}


class CodeTask(DatasetTask[CodeProblem]):
    """Programs to write, scored by running them.

    Without ``dataset`` the problems are drawn from the seed, from kinds of graded difficulty:
    ``level`` is easy, medium, hard or all. With ``partial_credit`` a test passed is a share of 1.
    Generated code runs in a sandbox that is on by default; a reward is None when the sandbox
    failed, never 0.

    Raises:
        SettingError: a setting out of range.
        DatasetError: the data set is missing, empty or broken, or the verdict of one of its tests
            would be the program's own.
        SandboxUnavailable: (when the first response is scored) no sandbox works on this machine.
    """

    def __init__(
        self,
        dataset: Dataset = None,
        level: Level = "all",
        partial_credit: PartialCredit = False,  # as in the documents, like the two that follow
        sandbox_timeout_s: Annotated[float, "seconds of CPU time of one run"] = 5.0,
        max_tests_per_problem: Annotated[int, "tests of a problem that are run; 0: all"] = 10,
        sandbox: Annotated[
            Any, "None: this machine's default; 'docker', 'remote' and so on; or a Sandbox"
        ] = None,
        language: Annotated[str, "of the programs; all but Python need stdin tests"] = "python",
        style: Style = "completion",
        shots: Shots = 1,
        split: Split = None,
        drop: Drop = None,
        python: Annotated[
            str | None, "folder of a virtual environment whose packages programs may import"
        ] = None,
        skip_refused: SkipRefused = False,
    ) -> None:
        CommonSettings(dataset, split, drop, style, shots, level, levels=(*LEVELS, "all"))
        require(
            sandbox is None or isinstance(sandbox, str | Sandbox),
            f"sandbox={sandbox!r} must be None, a name or a Sandbox",
        )
        self._settings = GradeSettings(
            bool(partial_credit), sandbox_timeout_s, max_tests_per_problem, language
        )
        self._level, self._style, self._shots = level, style, shots
        self._sandbox, self._python = sandbox, python
        super().__init__(
            None
            if dataset is None
            else load_code_problems(dataset, split, python, bool(skip_refused)),
            split,
            drop,
        )
        require(
            dataset is not None or self._settings.language == "python",
            f"language={language!r} needs dataset=...: the generated problems are Python's",
        )
        if dataset is not None:
            say_left_out(dataset, self.rows or (), max_tests_per_problem)

    @property
    def stop(self) -> Sequence[str]:  # type: ignore[override]
        """A completion ends where the next question would begin."""
        return () if self._style == "chat" else ("\nQ:",)

    def key(self, problem: CodeProblem) -> str:
        return problem.question

    def draw(self, rng: np.random.Generator) -> CodeProblem:
        return generate(rng, self._level)

    def prompt(self, problem: CodeProblem) -> Prompt:
        if self._style == "chat":
            return [Message(role="user", content=f"{problem.question}\n\n{self._instruction}")]
        return f"{self._fewshot}Q: {problem.question}\nA:"

    def score(self, problem: CodeProblem, response: str) -> Reward:
        return self.score_batch([(problem, response)])[0]

    def score_batch(self, pairs: Sequence[tuple[CodeProblem, str]]) -> list[Reward]:
        """Score many responses on every core; the same program is run once."""
        items = [(self._cut(response), problem.plan) for problem, response in pairs]
        rewards = grade_many(items, self._settings, shared(self._sandbox, self._python))
        return [without_clock(reward) for reward in rewards]

    def examples(self, problem: CodeProblem) -> dict[str, float]:
        found = {self._fenced(problem.reference): 1.0} if problem.reference else {}
        for program in problem.wrong:
            found.setdefault(self._fenced(program), self._worth(problem, program))
        return {**found, "": 0.0}

    def _worth(self, problem: CodeProblem, program: str) -> float:
        if self.rows is not None:
            return 0.0
        share = passes(problem, program, self._settings.max_tests_per_problem)
        return share if self._settings.partial_credit else float(share == 1.0)

    def _cut(self, response: str) -> str:
        for mark in self.stop:
            response = response.partition(mark)[0]
        return response

    def _fenced(self, program: str) -> str:
        language = self._settings.language
        return f" ```{_FENCES.get(language, language)}\n{program.rstrip()}\n```\n"

    @cached_property
    def _instruction(self) -> str:
        language = self._settings.language
        return (
            f"Answer with one fenced block of {language.capitalize()} code, as in "
            f"```{_FENCES.get(language, language)}. A program reads standard input and prints to "
            "standard output; a function is called by its name."
        )

    @cached_property
    def _fewshot(self) -> str:
        shots = _SHOTS[: self._shots] if self._settings.language == "python" else ()
        return "".join(f"Q: {q}\nA: ```python\n{a}\n```\n\n" for q, a in shots)
