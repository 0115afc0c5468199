"""``check_task``: the contract of a ``Task``, rule by rule."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core import Reward, Task
from .findings import Findings, Report, shown
from .guards import Watch, global_seed, in_child, in_thread
from .texts import GARBAGE, HARMLESS, ODD, search, texts
from .verdicts import (
    Judge,
    Turns,
    named,
    outcome,
    plain,
    problem_print,
    replay,
    reward_print,
    said,
    score_of,
    turns_of,
)

_SAME_PROMPT_DRAWS = 200

_PURE = "A reward is a pure function of (problem, response): no clock, counter, cache or order"
_FROM_RNG = "All randomness of a problem comes from the rng that sample() is given"
_OWN_RNG = "Draw from the rng given to sample(); leave random and numpy.random alone"


def check_task(
    task: Task[Any],
    *,
    problems: int = 8,
    max_examples: int = 100,
    solve: Callable[[Any], str | Sequence[str]] | None = None,
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
        TaskCheck(task, findings, problems, max_examples, solve, harmless, other_process).run()
    return findings.report()


class TaskCheck:
    """One run over a task; ``run`` is the list of rules."""

    def __init__(
        self,
        task: Task[Any],
        findings: Findings,
        problems: int,
        max_examples: int,
        solve: Callable[[Any], str | Sequence[str]] | None = None,
        harmless: Mapping[str, Callable[[str], str]] = HARMLESS,
        other_process: bool = True,
    ) -> None:
        self.task, self.findings = task, findings
        self.seeds = list(range(max(1, problems)))
        self.max_examples, self.solve, self.harmless = max_examples, solve, harmless
        self.other_process = other_process
        self.problems: list[Any] = []
        self.examples: list[dict[Turns, float]] = []
        self._drawn: list[str] = []  # what can be seen of each problem
        self.judge = Judge(task, findings)

    def run(self) -> None:
        """Try every rule. Without problems or prompts there is nothing to try the rest on."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SyntaxWarning and the like of a grader at work
            if not (self._sampling() and self._prompts()):
                return
            if reproducible := self._same_again():
                self._same_prompt_same_answer()
                self._indexing()
            self._worked_examples()
            self._solved_from_prompt()
            self._rewritings()
            self._gameable()
            self._hostile_text()
            self.judge.compare_parts()
            self._repeats()
            if self._pickles() and reproducible:
                self._elsewhere()

    # -- problems ---------------------------------------------------------------------------

    def _sampling(self) -> bool:
        """Problems come out."""
        for seed in self.seeds:
            watch = Watch()
            try:
                problem, text = self._draw(seed)
                self.examples.append(self._examples(problem))
            except Exception as error:
                fault = f"seed {seed} raises {named(error)}"
                advice = "sample(), prompt(), problem_id() and examples() must work for any seed"
                return self.findings.expect(False, "problem", fault, advice)
            fault = f"drawing the problem of seed {seed} changes it"
            self.findings.expect(not watch.touched(), "global random state", fault, _OWN_RNG)
            self.problems.append(problem)
            self._drawn.append(text)
        return True

    def _same_again(self) -> bool:
        """The same seed gives the same problem, whatever the global generators hold."""
        good = True
        for seed, text in zip(self.seeds, self._drawn, strict=True):
            with global_seed(2):
                again = self._draw(seed)[1]
            fault = f"seed {seed} gives first {shown(text)}, then {shown(again)}"
            good &= self.findings.expect(text == again, "problem", fault, _FROM_RNG)
        return good

    def _draw(self, seed: int) -> tuple[Any, str]:
        problem = self.task.sample(np.random.default_rng(seed))
        return problem, problem_print(self.task, problem)

    def _examples(self, problem: Any) -> dict[Turns, float]:
        return {turns_of(key): value for key, value in self.task.examples(problem).items()}

    def _prompts(self) -> bool:
        good = True
        for seed, problem in zip(self.seeds, self.problems, strict=True):
            prompt = self.task.prompt(problem)
            fault = f"seed {seed} gives {shown(prompt)}"
            advice = "prompt() returns text, or a list of {'role': str, 'content': str}"
            good &= self.findings.expect(_is_prompt(prompt), "prompt", fault, advice)
            name = self.task.problem_id(problem)
            fault, advice = f"problem_id is {shown(name)}", "Return a name: a non-empty str"
            self.findings.expect(isinstance(name, str) and name != "", "prompt", fault, advice)
        stop = self.task.stop
        clean = not isinstance(stop, str) and all(isinstance(s, str) and s for s in stop)
        advice = "Make it a tuple of non-empty strings"
        self.findings.expect(clean, "prompt", f"stop is {shown(stop)}", advice)
        return good

    def _same_prompt_same_answer(self) -> None:
        """A question whose numbers are not its answer's shows when a question comes back."""
        first: dict[str, tuple[int, Any]] = {}
        for seed in range(_SAME_PROMPT_DRAWS):
            problem = self.task.sample(np.random.default_rng(seed))
            prompt = self.task.prompt(problem)
            earlier, other = first.setdefault(plain(prompt), (seed, problem))
            for turns, value in self._examples(other).items():
                if earlier == seed or value < 1.0:
                    continue
                good = score_of(self.task, problem, turns) in (1.0, None)
                fault = (
                    f"seeds {earlier} and {seed} give the same prompt {shown(prompt)}, but "
                    f"{said(turns)} earns the full mark in one of them only"
                )
                advice = "Make question and answer from the same numbers"
                self.findings.expect(good, "question and answer", fault, advice)

    def _indexing(self) -> None:
        size = self.task.size
        good = size is None or (isinstance(size, int) and size > 0)
        advice = "size is a whole number from 1 up, or None for an endless generator"
        if not self.findings.expect(good, "index", f"size is {shown(size)}", advice):
            return
        for index in range(min(3, size or 3)):
            with global_seed(3):
                one = problem_print(self.task, self.task.problem(index))
            two = problem_print(self.task, self.task.problem(index))
            fault = f"problem({index}) gives first {shown(one)}, then {shown(two)}"
            self.findings.expect(one == two, "index", fault, "Make it a function of the index")
        if size is not None:
            advice = "Raise mint_envs.errors.IndexOutOfRange"
            fault = f"problem({size}) is beyond the {size} problems, and raises no IndexError"
            good = _raises(IndexError, lambda: self.task.problem(size))
            self.findings.expect(good, "index", fault, advice)

    # -- verdicts ---------------------------------------------------------------------------

    def _worked_examples(self) -> None:
        """The first example earns the full mark, "" nothing, and every value holds."""
        for number, (seed, examples) in enumerate(zip(self.seeds, self.examples, strict=True)):
            fault = f"examples() of seed {seed} is empty"
            advice = "Give {right response: 1.0, ...}: a task that nobody can solve looks like this"
            self.findings.expect(bool(examples or self.solve), "examples", fault, advice)
            first = next(iter(examples.items()), None)
            fault = f"the first example of seed {seed} is {first and said(first[0])}: {first}"
            advice = "Put the response with the full mark (1.0) first"
            self.findings.expect(first is None or first[1] == 1.0, "examples", fault, advice)
            for turns, value in {**examples, ("",): 0.0}.items():
                self._holds(number, turns, value)

    def _holds(self, number: int, turns: Turns, value: float) -> None:
        reward = self._judge(number, turns)
        if reward is None or reward.score is None:
            return
        seed = self.seeds[number]
        fault = f"{said(turns)} earns {reward.score}, not {value} (seed {seed})"
        if turns == ("",):
            advice, kind = 'The empty response earns 0: return Reward(0.0) for ""', "empty"
        elif value == 1.0:
            advice, kind = "The right answer must earn the full mark: correct score()", "full"
        else:
            advice, kind = "Correct examples() or score()", "value"
        good = abs(reward.score - value) < 1e-9
        self.findings.expect(good, "examples", fault, advice, kind)

    def _solved_from_prompt(self) -> None:
        if self.solve is None:
            self.findings.skipped["solved from the prompt"] = "no solve= was given"
            return
        for number, problem in enumerate(self.problems):
            prompt = self.task.prompt(problem)
            turns = turns_of(self.solve(prompt))
            reward = self._judge(number, turns)
            fault = (
                f"{said(turns)}, solved from the prompt {shown(prompt)}, earns "
                f"{reward and reward.score}"
            )
            advice = "Make question and answer from the same numbers"
            good = reward is not None and reward.score in (1.0, None)
            self.findings.expect(good, "question and answer", fault, advice)

    def _rewritings(self) -> None:
        """A parser that is too narrow takes the mark away for a space or a line end."""
        for number, turns in self._full_marks():
            for name, rewrite in self.harmless.items():
                again = tuple(map(rewrite, turns))
                reward = self._judge(number, again)
                if reward is None or reward.score is None:
                    continue
                fault = f"with {name}, {said(again)} earns {reward.score} instead of 1.0"
                advice = "Strip the response, and read it with a pattern that lets this pass"
                self.findings.expect(reward.score == 1.0, "narrow parser", fault, advice)

    def _full_marks(self) -> list[tuple[int, Turns]]:
        """Return (number of the problem, response) of the examples that do earn the full mark."""
        pairs = [
            (n, turns)
            for n, rows in enumerate(self.examples)
            for turns, v in rows.items()
            if v == 1
        ]
        return [
            (n, turns) for n, turns in pairs if score_of(self.task, self.problems[n], turns) == 1.0
        ]

    def _gameable(self) -> None:
        """Nothing that answers no question may earn the full mark, problem after problem."""
        tries: list[tuple[str, Callable[[Any], str]]] = [
            (f"the response {text!r}", lambda _, text=text: text)  # type: ignore[misc]
            for text in GARBAGE
        ]
        tries.append(("the prompt, copied,", lambda problem: _as_text(self.task.prompt(problem))))
        for name, respond in tries:
            marks = [
                score_of(self.task, problem, (respond(problem),)) == 1.0
                and (respond(problem),) not in self.examples[number]
                for number, problem in enumerate(self.problems)
            ]
            fault = f"{name} earns the full mark on {sum(marks)} of {len(marks)} problems"
            advice = "Give the full mark to right answers only"
            self.findings.expect(sum(marks) * 2 <= len(marks), "gameable", fault, advice)

    # -- any text ---------------------------------------------------------------------------

    def _hostile_text(self) -> None:
        for text in ODD:
            self._judge(0, (text,))
        seeds = [t for turns in self.examples[0] for t in turns]
        seeds.append(_as_text(self.task.prompt(self.problems[0])))

        def faults_of(text: str) -> set[str]:
            self.findings.cases["any text"] += 1
            return {check for check, _, _ in self.judge.verdict(0, self.problems[0], (text,))[1]}

        for text in search(texts(seeds), faults_of, self.max_examples):
            self._judge(0, (text,))

    def _judge(self, number: int, turns: Turns) -> Reward | None:
        return self.judge.judge(number, self.problems[number], turns)

    # -- the same again: later, backwards, in another thread, in another process -------------

    def _games(self) -> list[list[Turns]]:
        return [
            [*examples, *((text,) for text in GARBAGE[:4] if (text,) not in examples)]
            for examples in self.examples
        ]

    def _repeats(self) -> None:
        if self.task.nondeterministic:
            self.findings.skipped["determinism"] = "the task says that it is nondeterministic"
            return
        pairs = [(p, turns) for p, rows in zip(self.problems, self._games(), strict=True)
                 for turns in rows]  # fmt: skip
        kept = [outcome(self.task, problem, turns) for problem, turns in pairs]
        before = [reward_print(reward) for reward in kept]

        def forwards() -> list[str]:
            return [reward_print(outcome(self.task, *pair)) for pair in pairs]

        def backwards() -> list[str]:
            return [reward_print(outcome(self.task, *pair)) for pair in reversed(pairs)][::-1]

        with global_seed(4):
            self._same(pairs, before, forwards(), "a second time")
        self._same(pairs, before, backwards(), "in another order")
        self._same(pairs, before, in_thread(forwards), "in another thread")
        if self.task.single_turn:
            self._same(pairs, before, self._batch(pairs), "by score_batch")
        advice = "Give every Reward metadata of its own; never change what was returned"
        for (_, turns), text, reward in zip(pairs, before, kept, strict=True):
            fault = (
                f"the reward of {said(turns)} was {text} and later became {reward_print(reward)}"
            )
            self.findings.expect(text == reward_print(reward), "shared metadata", fault, advice)

    def _batch(self, pairs: list[tuple[Any, Turns]]) -> list[str]:
        try:
            rewards = self.task.score_batch([(problem, turns[0]) for problem, turns in pairs])
        except (Exception, SystemExit) as error:
            return [f"raises {named(error)}"] * len(pairs)
        if len(rewards) != len(pairs):
            return [f"{len(rewards)} rewards for {len(pairs)} pairs"] * len(pairs)
        return [reward_print(reward) for reward in rewards]

    def _same(self, pairs: list[Any], before: list[str], after: list[str], when: str) -> None:
        for (_, turns), one, two in zip(pairs, before, after, strict=True):
            fault = f"{said(turns)} gets {one}, and {two} {when}"
            self.findings.expect(one == two, "determinism", fault, _PURE, when)

    def _pickles(self) -> bool:
        advice = "Keep locks, files, lambdas and clients out of the task (open them when used)"
        try:
            copy = pickle.loads(pickle.dumps(self.task))
            same = problem_print(copy, self.problems[0]) == self._drawn[0]
            fault = "the pickled copy sees another problem"
        except Exception as error:
            same, fault = False, f"pickling raises {named(error)}"
        return self.findings.expect(same, "pickling", fault, advice)

    def _elsewhere(self) -> None:
        """Another process, with other hashes, sees the same problems and rewards."""
        if not self.other_process or type(self.task).__module__ == "__main__":
            why = "the task is in __main__" if self.other_process else "other_process=False"
            self.findings.skipped["another process"] = why
            return
        games = [[] for _ in self.seeds] if self.task.nondeterministic else self._games()
        try:
            drawn, rewards = in_child(replay, self.task, self.seeds, games)
        except Exception as error:
            advice = "Define the task in a module that other processes can import"
            fault = f"in another process it raises {named(error)}"
            self.findings.expect(False, "another process", fault, advice)
            return
        for seed, here, there in zip(self.seeds, self._drawn, drawn, strict=True):
            fault = f"seed {seed} gives {shown(here)}, and {shown(there)} in another process"
            advice = f"{_FROM_RNG}; hash() of text and the order of sets differ between processes"
            self.findings.expect(here == there, "another process", fault, advice)
        if drawn == self._drawn:
            pairs = self._pairs(games)
            here_all = [reward_print(outcome(self.task, *pair)) for pair in pairs]
            self._same(pairs, here_all, rewards, "in another process")

    def _pairs(self, games: list[list[Turns]]) -> list[tuple[Any, Turns]]:
        return [(p, turns) for p, rows in zip(self.problems, games, strict=True) for turns in rows]


def _is_prompt(prompt: Any) -> bool:
    if isinstance(prompt, str):
        return True
    return isinstance(prompt, Sequence) and all(
        isinstance(m, Mapping)
        and isinstance(m.get("role"), str)
        and isinstance(m.get("content"), str)
        for m in prompt
    )


def _as_text(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(m["content"] for m in prompt)


def _raises(kind: type[Exception], call: Callable[[], Any]) -> bool:
    try:
        call()
    except kind:
        return True
    except Exception:
        return False
    return False
