"""What is asked: which problems, how often, and how."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..core import Task
from ..datasets import HELD_OUT, held_out
from ..errors import SettingError, require
from ..jsonl import line_of
from ..policies import check_request
from ..problems import ProblemRef
from ..registration import settings_of, task_of

#: Fewer different problems than this, and keeping one in ten apart leaves too few to measure on.
_FEW = 50
_MISSES = 40  # times as many draws as problems are wanted, before a task counts as exhausted


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalPlan:
    """One evaluation: everything that its result hangs on, but for the model.

    Args:
        env: a registered id.
        settings: of its task.
        problems: how many, each once; a data set with fewer gives all that it has.
        samples: responses to each problem.
        max_tokens: longest response of one turn, in tokens.
        temperature: 0 is greedy.
        seed: which problems are drawn, and the seeds of the responses.
        pass_mark: reward from which a response counts as passed.
        max_turns: turns after which an episode ends without a reward (it counts as 0).
        train: ask what is trained on, and not what is held out: to learn how hard it is.

    Raises:
        SettingError: a value out of range.
    """

    env: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    problems: int = 64
    samples: int = 4
    max_tokens: int = 512
    temperature: float = 1.0
    seed: int = 0
    pass_mark: float = 1.0
    max_turns: int = 64
    train: bool = False

    def __post_init__(self) -> None:
        require(self.problems >= 1, f"problems={self.problems} (-n) must be 1 or more")
        require(self.samples >= 1, f"samples={self.samples} (-k) must be 1 or more")
        require(self.max_turns >= 1, f"max_turns={self.max_turns} must be 1 or more")
        require(self.seed >= 0, f"seed={self.seed} must be a whole number from 0 up")
        require(0 < self.pass_mark <= 1, f"pass_mark={self.pass_mark} must be above 0, at most 1")
        check_request(self.samples, self.max_tokens, self.temperature)

    def digest(self, policy: str) -> str:
        """Return a name for the work that this plan and a model are: 12 hex digits."""
        text = line_of({"policy": policy, **asdict(self)}, default=repr)
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()

    def seed_of(self, *place: int) -> int:
        """Return the seed of what is asked at ``place`` (a problem's position, a turn ...)."""
        return int(np.random.SeedSequence([self.seed, *place]).generate_state(1)[0] % 2**31)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The problems of an evaluation, in order, each once.

    ``held_out`` says in words which problems these are; ``settings`` are those of the task that
    has them.
    """

    task: Task[Any]
    settings: Mapping[str, Any]
    refs: tuple[ProblemRef, ...]
    held_out: str


def choose(plan: EvalPlan) -> Chosen:
    """Return the problems that a plan asks for: of the held-out split, where there is one.

    Raises:
        SettingError: the id is unknown, or a setting is refused.
        DatasetError: the data set cannot be read.
    """
    settings = dict(plan.settings)
    splits = "split" in settings_of(plan.env)
    if splits and settings.get("split") is None:
        settings["split"] = "train" if plan.train else "test"
    task = task_of(plan.env, **settings)
    if splits:
        said = f"split={settings['split']!r}"
        told = f"held out ({said})" if settings["split"] == "test" else f"not held out ({said})"
        return Chosen(task, settings, tuple(_distinct(task, plan, lambda name: True)), told)
    if not _many_enough(task):
        told = "not held out: the environment has no split, and few different problems"
        return Chosen(task, settings, tuple(_distinct(task, plan, lambda name: True)), told)
    told = f"held out (one problem in {HELD_OUT}, by its id; mint-grpo leaves them out)"
    if plan.train:
        told = f"not held out (all but one problem in {HELD_OUT}, by its id, as mint-grpo trains)"
    refs = _distinct(task, plan, lambda name: held_out(name) != plan.train)
    return Chosen(task, settings, tuple(refs), told)


def _many_enough(task: Task[Any]) -> bool:
    """Return whether a task without a split has problems enough to keep some apart."""
    seen: set[str] = set()
    many = _FEW * _MISSES if task.size is None else task.size
    for index in range(many):
        seen.add(task.problem_id(task.problem(index)))
        if len(seen) >= _FEW:
            return True
    return False


def _distinct(
    task: Task[Any], plan: EvalPlan, accept: Callable[[str], bool]
) -> Iterator[ProblemRef]:
    """Yield up to ``plan.problems`` references to different problems whose ids are accepted."""
    seen: set[str] = set()
    refs = _rows(task.size, plan.seed) if task.size is not None else _seeds(plan)
    for ref in refs:
        if len(seen) == plan.problems:
            return
        name = task.problem_id(ref.of(task))
        if name not in seen and accept(name):
            seen.add(name)
            yield ref
    if not seen:
        raise SettingError(f"{plan.env} has no problem to ask about")


def _rows(size: int, seed: int) -> Iterator[ProblemRef]:
    for index in np.random.default_rng([seed, size]).permutation(size):
        yield ProblemRef(index=int(index))


def _seeds(plan: EvalPlan) -> Iterator[ProblemRef]:
    for place in range(plan.problems * _MISSES + _FEW * HELD_OUT):
        yield ProblemRef(seed=plan.seed_of(place))
