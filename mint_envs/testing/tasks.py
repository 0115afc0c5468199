"""``check_task``: the contract of a ``Task``, rule by rule."""

from __future__ import annotations

import contextlib
import pickle
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core import Reward, Task
from ..errors import GraderFault
from ..problems import Turns, as_text, turns_of
from ..reports.report import Report
from ..responses.solvers import solve as solve_sum
from ..responses.texts import CONSTANTS, GARBAGE, HARMLESS, NONSENSE, ODD, smallest_faults, texts
from .constants import WORTH_SAYING, best_constant
from .findings import Findings, shown
from .guards import global_seed
from .probes import FILE, HERE, equal_to_all, try_probes
from .problem_rules import Drawn, ProblemCheck
from .repeats import RepeatCheck
from .verdicts import VerdictChecker, error_text, said, score_of

Solver = Callable[[Any], str | Sequence[str]]

_DIFFERENT = 3  # questions that one answer must not fit
_HARM = {
    HERE: "runs in the process of the verdict, which it can change",
    FILE: "writes a file outside of any sandbox",
}


def check_task(
    task: Task[Any],
    *,
    problems: int = 8,
    max_examples: int = 100,
    solve: Solver | None = None,
    harmless: Mapping[str, Callable[[str], str]] = HARMLESS,
    other_process: bool = True,
) -> Report:
    """Check that ``task`` keeps the contract of ``mint_envs.Task``.

    Args:
        task: the task.
        problems: how many problems (seeds 0, 1, ...) to try.
        max_examples: how many texts Hypothesis tries, beside the built-in hostile ones.
        solve: takes a prompt and returns the right response, found *from the prompt* (a tuple of
            responses for several turns). With it a question that does not go with its answer
            is found at once; without it only if two seeds give one question two answers.
        harmless: rewritings that change no answer, so that they must not change a full mark.
        other_process: replay in a new Python process too (takes a second or two).

    Returns:
        What was checked, on how many inputs, and what could not be.

    Raises:
        ContractError: the task breaks the contract; every finding is listed.
    """
    findings = Findings(type(task).__name__)
    with global_seed(1):
        check = TaskCheck(task, findings, problems, max_examples)
        check.run(solve, harmless, other_process)
    return findings.report()


class TaskCheck:
    """One run over a task; ``run`` is the list of rules."""

    def __init__(
        self, task: Task[Any], findings: Findings, problems: int, max_examples: int
    ) -> None:
        self.task, self.findings, self.max_examples = task, findings, max_examples
        self.seeds = range(max(1, problems))
        self.judge = VerdictChecker(task, findings)
        self.drawn: Sequence[Drawn] = ()
        self.many: Sequence[Drawn] = ()

    def run(
        self,
        solve: Solver | None = None,
        harmless: Mapping[str, Callable[[str], str]] = HARMLESS,
        other_process: bool = True,
    ) -> None:
        """Try every rule. Without problems or prompts there is nothing to try the rest on."""
        problems = ProblemCheck(self.task, self.findings, self.seeds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SyntaxWarning and the like of a grader at work
            warnings.simplefilter("error", GraderFault)  # but a crash is a finding
            if not problems.run():
                return
            self.drawn, self.many = problems.drawn, problems.many
            repeats = RepeatCheck(self.task, self.findings, self.drawn)
            self._note_numbers()
            self._worked_examples(solve is not None)
            self._solved_from_prompt(solve)
            self._rewritings(harmless)
            self._gameable()
            self._constant()
            if self._acting(other_process):
                self._hostile_text()
            else:  # an endless loop among the texts would be run too
                self.findings.skipped["any text"] = "responses run in the process of the verdict"
            self._one_answer_for_all()
            self.judge.compare_parts()
            if problems.reproducible:
                repeats.run(other_process)

    def _note_numbers(self) -> None:
        """Say, once, that a number was taken for a Reward."""
        if not self.task.single_turn:
            return
        with contextlib.suppress(Exception, SystemExit):  # what raises is told elsewhere
            given = self.task.score(self.drawn[0].problem, "")
            if not isinstance(given, Reward):
                self.findings.notes.append(
                    f"score() returns a {type(given).__name__}, which is taken for Reward(score); "
                    "with a Reward it can also say why: parts and metadata"
                )

    def _advice_without_examples(self) -> str:
        """Return what to do where a task has none: a task that makes them itself knows more."""
        own = getattr(self.task, "advice_without_examples", None)
        if callable(own):
            return str(own())
        return "Give {right response: 1.0, ...}: else nobody sees whether it can be solved"

    def _worked_examples(self, solvable: bool) -> None:
        """The first example earns the full mark, "" nothing, and every value holds."""
        without = self._advice_without_examples()
        for one in self.drawn:
            fault = f"examples() of seed {one.seed} is empty"
            self.findings.expect(bool(one.examples) or solvable, "examples", fault, without)
            values = list(one.examples.values())
            fault = f"the first example of seed {one.seed} is worth {values[:1]}"
            advice = "Put the response with the full mark (1.0) first"
            self.findings.expect(values[:1] in ([], [1.0]), "examples", fault, advice)
            rewards = [self._holds(one, *case) for case in {**one.examples, ("",): 0.0}.items()]
            down = [reward for reward in rewards if reward is not None]
            good = not down or any(reward.measured for reward in down)
            fault = f"no worked example of seed {one.seed} gets a score: {shown(down[:1])}"
            advice = "Start what the verdict needs (sandbox, judge): a test without it says nothing"
            self.findings.expect(good, "unmeasured", fault, advice)

    def _holds(self, one: Drawn, turns: Turns, value: float) -> Reward | None:
        reward = self._judge(one, turns)
        if reward is None or reward.score is None:
            return reward
        fault = f"{said(turns)} earns {reward.score}, not {value} (seed {one.seed})"
        if turns == ("",):
            advice = 'The empty response earns 0: return Reward(0.0) for ""'
        elif value == 1.0:
            advice = "The right answer must earn the full mark: correct score()"
        else:
            advice = "Correct examples() or score()"
        self.findings.expect(abs(reward.score - value) < 1e-9, "examples", fault, advice)
        return reward

    def _solved_from_prompt(self, solve: Solver | None) -> None:
        if solve is None:
            if not self._sums():
                self.findings.skipped["solved from the prompt"] = "no solve= was given"
            return
        for one in self.drawn:
            prompt = self.task.prompt(one.problem)
            turns = turns_of(solve(prompt))
            reward = self._judge(one, turns)
            score = reward and reward.score
            fault = f"{said(turns)}, solved from the prompt {shown(prompt)}, earns {score}"
            advice = "Make question and answer from the same numbers"
            good = reward is not None and score in (1.0, None)
            self.findings.expect(good, "question and answer", fault, advice, "solved")

    def _sums(self) -> bool:
        """Plain arithmetic needs no solver of the user's; return whether there was any."""
        tried = False
        for one in self.drawn:
            prompt = self.task.prompt(one.problem)
            right, given = solve_sum(as_text(prompt)), _example_number(one.examples)
            if right is None or given is None:
                continue
            tried = True
            fault = (
                f"the prompt {shown(as_text(prompt)[-80:])} asks for {right}, and {given} is paid"
            )
            advice = "Make question and answer from the same numbers"
            self.findings.expect(right == given, "question and answer", fault, advice, "sum")
        return tried

    def _rewritings(self, harmless: Mapping[str, Callable[[str], str]]) -> None:
        """A parser that is too narrow takes the mark away for a space or a line end."""
        advice = "Strip the response, and read it with a pattern that lets this pass"
        for one, turns in self._full_marks():
            for name, rewrite in harmless.items():
                again = tuple(map(rewrite, turns))
                reward = self._judge(one, again)
                if reward is not None and reward.score is not None:
                    fault = f"with {name}, {said(again)} earns {reward.score} instead of 1.0"
                    self.findings.expect(reward.score == 1.0, "narrow parser", fault, advice)

    def _full_marks(self) -> list[tuple[Drawn, Turns]]:
        """Return the worked examples that do earn the full mark."""
        return [
            (one, turns)
            for one in self.drawn
            for turns, value in one.examples.items()
            if value == 1.0 and score_of(self.task, one.problem, turns) == 1.0
        ]

    def _gameable(self) -> None:
        """What answers no question may not earn the full mark, problem after problem."""
        advice = "Give the full mark to right answers only"
        nonsense = [(f"the response {text!r}", [text] * len(self.drawn)) for text in GARBAGE]
        nonsense += [(f"a response of {k}", [v] * len(self.drawn)) for k, v in NONSENSE.items()]
        copied = [as_text(self.task.prompt(one.problem)) for one in self.drawn]
        forged = [equal_to_all([text, repr(one.problem)[:5000], *map(str, one.examples)]) or ""
                  for text, one in zip(copied, self.drawn, strict=True)]  # fmt: skip
        equal = "code whose functions return an object equal to everything"
        for name, responses in [*nonsense, ("the prompt, copied,", copied), (equal, forged)]:
            marks = sum(
                (text,) not in one.examples and score_of(self.task, one.problem, (text,)) == 1.0
                for one, text in zip(self.drawn, responses, strict=True)
            )
            fault = f"{name} earns the full mark on {marks} of {len(self.drawn)} problems"
            self.findings.expect(marks * 2 <= len(self.drawn), "gameable", fault, advice)

    def _constant(self) -> None:
        """One short answer that is right for every question answers none of them."""
        questions = self._different_questions()
        if len(questions) < _DIFFERENT:
            return
        advice = "Take the right answer from the problem, not from the code of the reward"
        for text in CONSTANTS:
            good = any(
                (text,) in one.examples or score_of(self.task, one.problem, (text,)) != 1.0
                for one in questions
            )
            fault = f"the response {text!r} earns the full mark on {len(questions)} questions"
            self.findings.expect(good, "gameable", fault, advice, "constant")

    def _different_questions(self) -> list[Drawn]:
        """Return a few problems with different prompts, those drawn already first."""
        found: dict[str, Drawn] = {}
        for one in self.many:
            found.setdefault(as_text(self.task.prompt(one.problem)), one)
            if len(found) >= _DIFFERENT and one.seed >= len(self.drawn) - 1:
                break
        return list(found.values())

    def _one_answer_for_all(self) -> None:
        """Say what one answer for all problems earns: no fault where answers are yes and no."""
        found = best_constant(self.task, self.many)
        if found is not None and found[1] >= WORTH_SAYING:
            self.findings.notes.append(
                f"{said(found[0])} to every question earns {found[1]:.2f} on average, and a model "
                "learns that first. Draw problems with more answers, or read rewards from there up"
            )

    def _acting(self, other_process: bool) -> bool:
        """No response acts on the process that scores it, nor on files; False if one runs here."""
        if not other_process:
            self.findings.skipped["responses that act"] = "other_process=False"
            return True
        try:
            pickle.dumps(self.task)
            harm = try_probes(self.task, self.drawn[0].seed)
        except (Exception, SystemExit) as error:  # not to be pickled: told elsewhere
            self.findings.skipped["responses that act"] = error_text(error)
            return True
        for kind, fault in _HARM.items():
            what, text = harm.get(kind, ("", ""))
            advice = "Run generated code in a sandbox (mint_envs.code.grade), never eval or exec it"
            told = f"{what} {fault}: {shown(text)}"
            self.findings.expect(kind not in harm, "responses that act", told, advice, kind)
        return HERE not in harm

    # -- any text ---------------------------------------------------------------------------

    def _hostile_text(self) -> None:
        """No text raises, nor gets what is no proper Reward: built-in ones, and a search."""
        one = self.drawn[0]
        openings = self._openings(one)
        seeds = [text for turns in one.examples for text in turns]
        seeds.append(as_text(self.task.prompt(one.problem)))
        for text in ODD:
            for turns in openings:
                self._judge(one, (*turns, text))
            if not self.task.single_turn:
                self._truncated(one, text)

        def faults_of(text: str) -> set[str]:
            self.findings.cases["any text"] += 1
            tried = [self.judge.verdict(one.seed, one.problem, (*t, text))[1] for t in openings]
            return {check for faults in tried for check, _, _ in faults}

        for text in smallest_faults(texts(seeds), faults_of, self.max_examples):
            for turns in openings:
                self._judge(one, (*turns, text))

    def _openings(self, one: Drawn) -> list[Turns]:
        """Return what to say before a hostile text: nothing, and a turn that gets a reply."""
        longer = [turns[:-1] for turns in one.examples if len(turns) > 1]
        return [(), *longer[:1]]

    def _truncated(self, one: Drawn, text: str) -> None:
        """A response that was cut off gets a Reward as well."""
        fault, result = "", None
        try:
            result = self.task.start(one.problem).cut(text)
        except (Exception, SystemExit) as error:
            fault = f" raises {error_text(error)}"
        fault = f"the response {shown(text)}, cut off,{fault or f' gets {result!r}'}"
        advice = "Episode.cut() returns a Reward for any text"
        self.findings.expect(isinstance(result, Reward), "any text", fault, advice)

    def _judge(self, one: Drawn, turns: Turns) -> Reward | None:
        return self.judge.judge(one.seed, one.problem, turns)


def _example_number(examples: Mapping[Turns, float]) -> str | None:
    """Return the first worked example as a whole number, if it is one."""
    for turns in list(examples)[:1]:
        if len(turns) == 1 and re.fullmatch(r"\s*-?[0-9]{1,15}\s*", turns[0]):
            return str(int(turns[0]))
    return None
