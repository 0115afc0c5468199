"""The rules of determinism: later, backwards, in another thread, in another process."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from ..core import Reward, Task
from ..problems import Turns
from ..responses.texts import GARBAGE, near_misses
from .findings import Findings, apart
from .guards import global_seed, in_child, in_thread
from .problem_rules import FROM_RNG, Drawn
from .verdicts import error_text, outcome, problem_print, replayed_prints, reward_print, said

_PURE = "A reward is a pure function of (problem, response): no clock, counter, cache or order"
_OWN_METADATA = "Give every Reward metadata of its own; never change what was returned"


class RepeatCheck:
    """Scores some responses when it is made, and the same again when it is ``run``."""

    def __init__(self, task: Task[Any], findings: Findings, drawn: Sequence[Drawn]) -> None:
        self.task, self.findings, self.drawn = task, findings, drawn
        self.pairs: list[tuple[Any, Turns]] = []
        self.kept: list[Reward] = []
        self.before: list[str] = []
        self.games: list[list[Turns]] = [[] for _ in drawn]
        for row, one in zip(self.games, drawn, strict=True):
            for turns in _games(one.examples):
                reward = outcome(task, one.problem, turns)
                if isinstance(reward, Reward):  # others are found, and told, elsewhere
                    row.append(turns)
                    self.pairs.append((one.problem, turns))
                    self.kept.append(reward)
                    self.before.append(reward_print(reward))

    def run(self, other_process: bool) -> None:
        pickles = self._pickles()
        if self.task.nondeterministic:
            self.findings.skipped["determinism"] = "the task says that it is nondeterministic"
            self.games = [[] for _ in self.drawn]
        elif not (self._unchanged() and self._again()):
            return
        if not other_process:
            self.findings.skipped["another process"] = "other_process=False"
        elif pickles:
            self._elsewhere()

    def _again(self) -> bool:
        """Score all of it again, in each of the ways; stop at the first that differs."""
        with global_seed(4):
            good = self._same(self._scores(self.pairs), "a second time")
        good = good and self._same(self._scores(self.pairs[::-1])[::-1], "in another order")
        good = good and self._same(in_thread(lambda: self._scores(self.pairs)), "in a thread")
        if good and self.task.single_turn:
            good = self._same(self._batch(), "by score_batch")
        return good

    def _scores(self, pairs: Sequence[tuple[Any, Turns]]) -> list[str]:
        return [reward_print(outcome(self.task, *pair)) for pair in pairs]

    def _batch(self) -> list[str]:
        pairs = [(problem, turns[0]) for problem, turns in self.pairs]
        try:
            rewards = list(self.task.score_batch(pairs))
        except (Exception, SystemExit) as error:
            return [f"raises {error_text(error)}"] * len(pairs)
        if len(rewards) != len(pairs):
            return [f"is one of {len(pairs)} responses to {len(rewards)} rewards"] * len(pairs)
        return [reward_print(reward) for reward in rewards]

    def _same(self, after: Sequence[str], when: str) -> bool:
        good = True
        for (_, turns), one, two in zip(self.pairs, self.before, after, strict=True):
            first, then = apart(one, two)
            fault = f"{said(turns)} {first}, and {when} {then}"
            good &= self.findings.expect(one == two, "determinism", fault, _PURE)
        return good

    def _unchanged(self) -> bool:
        good = True
        for (_, turns), one, reward in zip(self.pairs, self.before, self.kept, strict=True):
            later = reward_print(reward)
            first, then = apart(one, later)
            fault = f"the reward of {said(turns)} first {first}, and later {then}"
            good &= self.findings.expect(one == later, "shared metadata", fault, _OWN_METADATA)
        return good

    def _pickles(self) -> bool:
        advice = "Keep locks, files, lambdas and clients out of the task (open them when used)"
        try:
            copy = pickle.loads(pickle.dumps(self.task))
            same = problem_print(copy, self.drawn[0].problem) == self.drawn[0].look
            fault = "the pickled copy sees another problem"
        except (Exception, SystemExit) as error:
            same, fault = False, f"pickling raises {error_text(error)}"
        return self.findings.expect(same, "pickling", fault, advice)

    def _elsewhere(self) -> None:
        """Another process, with other hashes, sees the same problems and rewards."""
        seeds = [one.seed for one in self.drawn]
        try:
            looks, rewards = in_child(replayed_prints, self.task, seeds, self.games)
        except (Exception, SystemExit) as error:
            advice = "Define the task in a module that other processes can import"
            fault = f"in another process it raises {error_text(error)}"
            self.findings.expect(False, "another process", fault, advice)
            return
        good = True
        advice = f"{FROM_RNG}; hash() of text and the order of sets differ between processes"
        for one, there in zip(self.drawn, looks, strict=True):
            here, other = apart(one.look, there)
            fault = f"seed {one.seed} gives {here}, and in another process {other}"
            good &= self.findings.expect(one.look == there, "another process", fault, advice)
        if good and rewards:
            self._same(rewards, "in another process")


def _games(examples: dict[Turns, float]) -> list[Turns]:
    """Return the responses to repeat: examples, nearly right ones, and nonsense."""
    nearly = [(*turns[:-1], text) for turns in examples for text in near_misses(turns[-1])]
    return list(dict.fromkeys([*examples, *nearly[:8], *((text,) for text in GARBAGE[:4])]))
