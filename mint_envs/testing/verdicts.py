"""One response, played to its verdict, and what is wrong with that verdict."""

from __future__ import annotations

import json
from typing import Any

from ..core import Reward, Task
from ..errors import RewardError
from ..problems import NoVerdict, ProblemRef, Turns, examples_of, play
from .findings import Findings, one_line, shown
from .guards import Watch

Fault = tuple[str, str, str]  # check, what is wrong, what to do

_COMPARED = 60  # different parts of rewards to one problem that are compared with one another

_NO_RAISE = "Any string gets a Reward: return Reward(0.0) for what cannot be read"
_A_REWARD = "Every episode ends with a mint_envs.Reward: return Reward(score)"
_IN_RANGE = "Keep scores and parts in [0, 1]"
OWN_RNG = "Draw from the rng given to sample(); leave random and numpy.random alone"
_PLAIN = "Metadata holds plain JSON values: str, int, finite float, bool, list, dict"
_RISING = "More that is right must never earn less: make the score rise with its parts"


def outcome(task: Task[Any], problem: Any, turns: Turns) -> Reward | str:
    """Return the reward, or which error there was instead."""
    try:
        return play(task, problem, turns)
    except (Exception, SystemExit) as error:
        return f"raises {error_text(error)}"


def score_of(task: Task[Any], problem: Any, turns: Turns) -> float | None:
    """Return the score, or None where there is none (unmeasured, or an error)."""
    result = outcome(task, problem, turns)
    return result.score if isinstance(result, Reward) else None


# -- values reduced to text, so that they can be compared across processes ----------------------


def sorted_json(value: Any) -> str:
    """Return ``value`` as text that is equal exactly when the value is."""
    return json.dumps(value, sort_keys=True, default=repr)


def reward_print(result: Reward | str) -> str:
    """Return all that a response gets as text, which goes on from its name."""
    if not isinstance(result, Reward):
        return str(result)
    parts, metadata = sorted_json(dict(result.parts)), sorted_json(dict(result.metadata))
    return f"earns {result.score} with parts {parts} and metadata {metadata}"


def problem_print(task: Task[Any], problem: Any) -> str:
    """Return what can be seen of a problem as text."""
    examples = [[list(turns), value] for turns, value in examples_of(task, problem).items()]
    prompt, name = sorted_json(task.prompt(problem)), task.problem_id(problem)
    return f"the prompt {prompt} (id {name}, examples {sorted_json(examples)})"


def replayed_prints(
    task: Task[Any], seeds: list[int], games: list[list[Turns]]
) -> tuple[list[str], list[str]]:
    """Return what problems and rewards look like: the job of another process."""
    problems = [ProblemRef(seed=seed).of(task) for seed in seeds]
    prints = [problem_print(task, problem) for problem in problems]
    rewards = [
        reward_print(outcome(task, problem, turns))
        for problem, rows in zip(problems, games, strict=True)
        for turns in rows
    ]
    return prints, rewards


def said(turns: Turns) -> str:
    """Name a response in a finding."""
    return f"the response {shown(turns[0] if len(turns) == 1 else turns)}"


def error_text(error: BaseException) -> str:
    """Name an error in a finding."""
    try:
        text = str(error)
    except Exception:
        text = "(it has no text of its own)"
    return f"{type(error).__name__}: {one_line(text)}" if text else type(error).__name__


class VerdictChecker:
    """Gets verdicts from a task and remembers what must agree from one to the next."""

    def __init__(self, task: Task[Any], findings: Findings) -> None:
        self._task, self._findings = task, findings
        self._kinds: dict[str, tuple[str, Turns]] = {}  # metadata key -> (type, response)
        # problem number -> {parts: (score, response)}
        self._parts: dict[int, dict[tuple[tuple[str, float], ...], tuple[float, Turns]]] = {}

    def judge(self, number: int, problem: Any, turns: Turns) -> Reward | None:
        """Return the reward, or None if it is faulty; note all that is wrong with it."""
        reward, faults = self.verdict(number, problem, turns)
        self._findings.cases["reward"] += 1
        for check, fault, advice in faults:
            self._findings.expect(False, check, f"{fault} (seed {number})", advice)
        return reward

    def verdict(self, number: int, problem: Any, turns: Turns) -> tuple[Reward | None, list[Fault]]:
        """Return (the reward, unless it is faulty; its faults), and note nothing."""
        watch = Watch()
        try:
            reward = play(self._task, problem, turns)
        except RewardError as error:
            return None, [("range", f"{said(turns)} gets: {one_line(str(error))}", _IN_RANGE)]
        except NoVerdict as error:
            return None, [("reward", f"{said(turns)} {error}", _A_REWARD)]
        except (Exception, SystemExit) as error:
            return None, [("any text", f"{said(turns)} raises {error_text(error)}", _NO_RAISE)]
        faults = [*_range_faults(reward, turns), *self._metadata_faults(reward, turns)]
        if watch.touched():
            fault = f"scoring {said(turns)} changes it"
            faults.append(("global random state", fault, OWN_RNG))
        if faults:
            return None, faults
        if reward.score is not None:
            parts = tuple(sorted(reward.parts.items()))
            self._parts.setdefault(number, {}).setdefault(parts, (reward.score, turns))
        return reward, []

    def _metadata_faults(self, reward: Reward, turns: Turns) -> list[Fault]:
        faults: list[Fault] = []
        try:
            json.dumps(dict(reward.metadata), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            faults.append(("metadata", f"{said(turns)} gets metadata that fails: {error}", _PLAIN))
        for key, value in reward.metadata.items():
            kind = type(value).__name__
            known, earlier = self._kinds.setdefault(key, (kind, turns))
            if kind != known:
                was = f"metadata[{key!r}] is {known} for {said(earlier)}"
                fault = f"{was} and {kind} for {said(turns)}"
                faults.append(("metadata type", fault, "Give each key one type on every path"))
        return faults

    def compare_parts(self) -> None:
        """Where all parts are at least as high, the score may not be lower."""
        for seen in self._parts.values():
            rows = [(dict(p), *rest) for p, rest in list(seen.items())[:_COMPARED] if p]
            pairs = [(low, high) for low in rows for high in rows if _at_least(high[0], low[0])]
            for (low, low_score, low_turns), (high, high_score, high_turns) in pairs:
                if high_score >= low_score - 1e-9:
                    self._findings.cases["monotone partial credit"] += 1
                    continue
                fault = (
                    f"{said(high_turns)} earns {high_score} with parts {high}, less than "
                    f"{said(low_turns)} that earns {low_score} with parts {low}"
                )
                self._findings.expect(False, "monotone partial credit", fault, _RISING)


def _at_least(high: dict[str, float], low: dict[str, float]) -> bool:
    return high.keys() == low.keys() and all(high[key] >= low[key] for key in low)


def _range_faults(reward: Reward, turns: Turns) -> list[Fault]:
    values = {"score": reward.score, **reward.parts}
    return [
        ("range", f"{said(turns)} gets {name}={value!r}", _IN_RANGE)
        for name, value in values.items()
        if value is not None and not (isinstance(value, float) and 0.0 <= value <= 1.0)
    ]
