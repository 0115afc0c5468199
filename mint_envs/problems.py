"""Which problem is meant, and how it is played: one reference, and one way to a ``Reward``.

problem = ProblemRef(seed=3).of(task)  # or index=, problem_id=, prompt=
reward = play(task, problem, ("first response", "second response"))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np

from .core import Episode, Message, Reward, Task, as_reward
from .errors import IndexOutOfRange, MintEnvsError, SettingError, require

#: The responses of one episode, one a turn; of a single-turn task the last of them counts.
Turns = tuple[str, ...]

#: What an episode says to a response.
Answer = str | Sequence[Message] | Reward

#: What names a problem, in the order in which a row is asked for it.
KINDS = ("index", "seed", "problem_id", "prompt")
NUMBERS = ("index", "seed")

LONGEST_EPISODE = 1000  # turns; no task has half as many
_AMONG = 10_000  # problems of an endless task among which a prompt or an id is looked for


class NoVerdict(MintEnvsError):
    """There is no Reward where one is due."""


class OtherLength(NoVerdict):
    """An episode is over before its responses are, or goes on after them."""


# -- which problem --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemRef:
    """Names one problem of a task, by exactly one of these.

    Args:
        index: the row of a data set; of an endless task, the problem of that seed.
        seed: what ``reset(seed=)`` gives, which of a data set is a row that the seed draws.
        problem_id: its stable name.
        prompt: its text, as ``as_text`` has it.

    Raises:
        SettingError: none of them is given, or several; or a number is no whole one from 0 up.
    """

    index: int | None = None
    seed: int | None = None
    problem_id: str | None = None
    prompt: str | None = None

    def __post_init__(self) -> None:
        given = [name for name in KINDS if getattr(self, name) is not None]
        require(len(given) == 1, f"a problem has one name of {', '.join(KINDS)}, got {given}")
        if given[0] in NUMBERS:
            object.__setattr__(self, given[0], _natural(given[0], getattr(self, given[0])))

    @classmethod
    def from_row(cls, row: Mapping[str, Any], kinds: Sequence[str] = KINDS) -> ProblemRef | None:
        """Return what a row says of its problem, by the first of ``kinds`` that it has; or None.

        Raises:
            SettingError: it is a number, and no whole one from 0 up.
        """
        for kind in kinds:
            value = row.get(kind)
            if value is not None:
                return cls(**{kind: _READ[kind](value)})
        return None

    def to_row(self) -> dict[str, Any]:
        """Return it in plain values, as ``from_row`` takes it."""
        return {name: getattr(self, name) for name in KINDS if getattr(self, name) is not None}

    def of(self, task: Task[Any]) -> Any:
        """Return the problem; for many that are known by id or prompt, a ``Finder`` is faster.

        Raises:
            IndexOutOfRange: the data set has no such row.
            SettingError: there is no problem of that id or prompt.
        """
        if self.seed is not None:
            return task.sample(np.random.default_rng(self.seed))
        if self.index is not None:
            return task.problem(self.index)
        return Finder(task).find(self)

    def __str__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.to_row().items())


def _natural(name: str, value: Any) -> int:
    number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    require(number and int(value) >= 0, f"{name}={value!r} must be a whole number from 0 up")
    return int(value)


class Finder:
    """Finds problems of a task; what is known by id or prompt is looked up in one table."""

    def __init__(self, task: Task[Any]) -> None:
        self._task = task
        self._named: dict[ProblemRef, Any] | None = None

    def find(self, ref: ProblemRef) -> Any:
        """Return the problem.

        Raises:
            IndexOutOfRange: the data set has no such row.
            SettingError: there is no problem of that id or prompt.
        """
        if ref.index is not None or ref.seed is not None:
            return ref.of(self._task)
        if self._named is None:
            self._named = dict(self._names())
        if ref not in self._named:
            (kind,) = ref.to_row()
            raise SettingError(
                f"no problem of {self._many:,} has this {kind}. Give the settings of the "
                "environment with --set, or rows with 'index' or 'seed'"
            )
        return self._named[ref]

    @property
    def _many(self) -> int:
        return _AMONG if self._task.size is None else self._task.size

    def _names(self) -> Iterator[tuple[ProblemRef, Any]]:
        problems = [self._task.problem(index) for index in range(self._many)]
        for problem in reversed(problems):  # of several that are alike, the first is meant
            yield ProblemRef(prompt=as_text(self._task.prompt(problem))), problem
            yield ProblemRef(problem_id=self._task.problem_id(problem)), problem


def row_at(rows: Sequence[Any], index: int) -> Any:
    """Return row ``index`` of a data set.

    Raises:
        IndexOutOfRange: there is none.
    """
    if index >= len(rows):
        raise IndexOutOfRange(f"index={index}: the data set has {len(rows)} problems")
    return rows[index]


# -- what a problem says --------------------------------------------------------------------------


def as_text(prompt: Any) -> str:
    """Return the text of a prompt, the contents of its messages if it has any."""
    if isinstance(prompt, str) or not isinstance(prompt, Sequence):
        return str(prompt)
    if not all(isinstance(message, Mapping) for message in prompt):
        return str(prompt)
    return "\n".join(str(message.get("content", "")) for message in prompt)


_READ: Mapping[str, Any] = {
    "index": lambda value: value, "seed": lambda value: value, "problem_id": str, "prompt": as_text,
}  # fmt: skip


def turns_of(key: Any) -> Turns:
    """Return the responses that a key of ``examples``, or what a solver returns, stands for."""
    return (key,) if isinstance(key, str) else tuple(key)


def examples_of(task: Task[Any], problem: Any) -> dict[Turns, float]:
    """Return the worked examples of a problem, one that earns 1 first."""
    return {turns_of(key): value for key, value in task.examples(problem).items()}


# -- how it is played -----------------------------------------------------------------------------


def play(task: Task[Any], problem: Any, turns: Turns) -> Reward:
    """Play ``turns``, then ``""`` until the episode is over; return its reward.

    Raises:
        NoVerdict: the verdict is no Reward, or there is none after 1000 more turns.
    """
    if task.single_turn:
        return _checked_reward(task.score(problem, turns[-1]))
    episode = task.start(problem)
    for text in chain(turns, repeat("", LONGEST_EPISODE)):
        answer = episode.respond(text)
        if not isinstance(answer, str | list | tuple):
            return _checked_reward(answer)
    raise NoVerdict(f"and then {LONGEST_EPISODE} empty ones do not end the episode")


def play_whole(task: Task[Any], problem: Any, turns: Turns, *, cut: bool = False) -> Reward:
    """Play an episode that was these turns and no other; ``cut``: its last one was cut off.

    Raises:
        OtherLength: it is over before, or goes on after.
        NoVerdict: the verdict is no Reward.
    """
    episode = task.start(problem)
    for number, text in enumerate(turns, 1):
        last = number == len(turns)
        answer = respond_or_cut(episode, text, cut and last)
        if isinstance(answer, str | list | tuple):
            continue
        reward = _checked_reward(answer)
        if last:
            return reward
        raise OtherLength(f"the episode was over after {number} of {len(turns)} responses")
    raise OtherLength(f"the episode was not over after {len(turns)} responses")


def play_all(task: Task[Any], games: Sequence[tuple[Any, Turns]]) -> list[Reward]:
    """Play (problem, turns) pairs as ``play`` does; of single turns, all in one batch.

    Raises:
        NoVerdict: as ``play``.
    """
    if task.single_turn:
        return list(task.score_batch([(problem, turns[-1]) for problem, turns in games]))
    return [play(task, problem, turns) for problem, turns in games]


def begin(task: Task[Any], problem: Any, said: Sequence[str] = ()) -> Episode:
    """Return an episode in which these responses were given already."""
    episode = task.start(problem)
    for text in said:
        episode.respond(text)
    return episode


def respond_or_cut(episode: Episode, text: str, cut: bool) -> Answer:
    """Return what an episode says to a response, of which nothing is run if it was cut off."""
    return episode.cut(text) if cut else episode.respond(text)


def _checked_reward(answer: Any) -> Reward:
    if isinstance(answer, Reward | bool | int | float | np.bool_ | np.number):
        return as_reward(answer)
    raise NoVerdict(f"gets {answer!r}, a {type(answer).__name__}")
