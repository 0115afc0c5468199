"""mint/Mix-v0: several tasks, mixed by weight; every row says which it is of."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from ..core import ChatStyle, Episode, Message, Prompt, Reward, Task, as_reward
from ..errors import SettingError, require
from ..family import Split
from ..registration import settings_of, task_of

_DEFAULT = {"mint/Math-v0": 1.0, "mint/Chat-v0": 1.0}
_FORM = (
    "envs is {'mint/Math-v0': 0.5, 'mint/Chat-v0': {'weight': 0.5, 'level': 'easy'}}, or a list "
    "of {'id': ..., 'weight': ..., settings}"
)


@dataclass(frozen=True, slots=True)
class MixProblem:
    """A problem and the number of the task that it is of."""

    member: int
    problem: Any


@dataclass(frozen=True, slots=True)
class _Member:
    id: str
    weight: float
    task: Task[Any]


class MixTask(Task[MixProblem]):
    """Problems of several tasks, drawn by weight.

    A problem's id begins with its environment's, ``metadata["env"]`` of a reward is that id, and
    ``metadata["details"]`` the metadata of the task itself.

    Only stop strings that all members have are stop strings of the mixture: another's would cut
    good responses.

    Raises:
        SettingError: an unknown id, a wrong weight, or a setting that the id refuses.
    """

    def __init__(
        self,
        envs: Annotated[
            dict[str, Any] | list[Any] | None,
            "weight of each id, or {'weight': w, settings}; default: Math and Chat in equal parts",
        ] = None,
        split: Split = None,  # of the members that have the setting
    ) -> None:
        rows = _member_rows(_DEFAULT if envs is None else envs)
        self._members = [_member(row, split) for row in rows]
        weights = np.array([member.weight for member in self._members])
        self._shares = weights / weights.sum()
        self.stop: Sequence[str] = _common_stops(self._members)
        #: Whether ``split`` divides the problems of all members.
        self.divides = all(_has_split(member.id) for member in self._members)
        self.nondeterministic = any(member.task.nondeterministic for member in self._members)

    @property
    def single_turn(self) -> bool:
        return all(member.task.single_turn for member in self._members)

    def fitted(self, style: ChatStyle) -> Task[MixProblem]:
        twin = copy.copy(self)
        twin._members = [replace(one, task=one.task.fitted(style)) for one in self._members]
        return twin

    def sample(self, rng: np.random.Generator) -> MixProblem:
        number = int(rng.choice(len(self._members), p=self._shares))
        return MixProblem(number, self._members[number].task.sample(rng))

    def prompt(self, problem: MixProblem) -> Prompt:
        return self._task(problem).prompt(problem.problem)

    def score(self, problem: MixProblem, response: str) -> Reward:
        reward = as_reward(self._task(problem).score(problem.problem, response))
        return self._signed(problem, reward)

    def score_batch(self, pairs: Sequence[tuple[MixProblem, str]]) -> list[Reward]:
        """Score each member's share in one batch of its own."""
        rewards: list[Any] = [None] * len(pairs)
        for number, member in enumerate(self._members):
            places = [i for i, (problem, _) in enumerate(pairs) if problem.member == number]
            own = [(pairs[i][0].problem, pairs[i][1]) for i in places]
            for i, reward in zip(places, member.task.score_batch(own) if own else [], strict=True):
                rewards[i] = self._signed(pairs[i][0], reward)
        return rewards

    def start(self, problem: MixProblem) -> Episode:
        return _MixEpisode(self, problem, self._task(problem).start(problem.problem))

    def tools(self, problem: MixProblem | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the tools of the problem's task, or of all; of one name, the first one's."""
        if problem is not None:
            return self._task(problem).tools(problem.problem)
        every = (tool for member in reversed(self._members) for tool in member.task.tools())
        return tuple({tool["name"]: tool for tool in every}.values())

    def examples(self, problem: MixProblem) -> Mapping[Any, float]:
        return self._task(problem).examples(problem.problem)

    def problem_id(self, problem: MixProblem) -> str:
        inner = self._task(problem).problem_id(problem.problem)
        return f"{self._members[problem.member].id}#{inner}"

    def _task(self, problem: MixProblem) -> Task[Any]:
        return self._members[problem.member].task

    def _signed(self, problem: MixProblem, reward: Reward) -> Reward:
        """Return the reward with the id of its environment."""
        named = {"env": self._members[problem.member].id, "details": dict(reward.metadata)}
        return Reward(reward.score, reward.parts, named)


class _MixEpisode(Episode):
    """An episode of a member, whose reward says so."""

    def __init__(self, mix: MixTask, problem: MixProblem, episode: Episode) -> None:
        self._mix, self._problem, self._episode = mix, problem, episode

    def respond(self, text: str) -> str | Sequence[Message] | Reward:
        answer = self._episode.respond(text)
        return self._mix._signed(self._problem, answer) if isinstance(answer, Reward) else answer

    def cut(self, text: str) -> Reward:
        return self._mix._signed(self._problem, self._episode.cut(text))


def _member_rows(envs: Any) -> list[dict[str, Any]]:
    """Return one dict with ``id``, ``weight`` and settings for each member."""
    if isinstance(envs, Mapping):
        envs = [
            {"id": id, **value} if isinstance(value, Mapping) else {"id": id, "weight": value}
            for id, value in envs.items()
        ]
    good = isinstance(envs, list | tuple) and envs
    if not (
        good and all(isinstance(row, Mapping) and isinstance(row.get("id"), str) for row in envs)
    ):
        raise SettingError(f"envs={envs!r}: {_FORM}")
    return [dict(row) for row in envs]


def _member(row: dict[str, Any], split: str | None) -> _Member:
    id, weight = row.pop("id"), row.pop("weight", 1.0)
    number = not isinstance(weight, bool) and isinstance(weight, int | float)
    require(
        number and 0 < weight < float("inf"),
        f"envs: the weight of {id} is {weight!r}; give a number above 0. {_FORM}",
    )
    task_settings = {"split": split} if split and "split" not in row and _has_split(id) else {}
    return _Member(id, float(weight), task_of(id, **{**row, **task_settings}))


def _has_split(id: str) -> bool:
    try:
        return "split" in settings_of(id)
    except SettingError:
        return False


def _common_stops(members: Sequence[_Member]) -> tuple[str, ...]:
    common = tuple(
        mark for mark in members[0].task.stop if all(mark in m.task.stop for m in members)
    )
    for member in members:
        own = set(member.task.stop) - set(common)
        require(
            member.task.single_turn or not own,
            f"envs: {member.id} takes several turns and ends them by {sorted(own)}, which the "
            "others do not: train on it apart, or let it ask by chat messages",
        )
    return common
