"""Which problems are trained on, and which are kept for evaluation.

Held out is held out: a problem that is evaluated is never trained on, whatever the environment.
One that has a ``split`` setting draws from its own two sides; of any other, one problem in ten is
kept out of training, chosen by a digest of its ``problem_id``, else of its prompt's tokens. What
has fewer than 50 distinct problems is not divided, and its evaluations say so.

A data set is gone through by epochs, each row once, in an order that comes from the seed. With a
range of pass rates or a curriculum the order is that of ``trainers/difficulty.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

import mint_envs  # noqa: F401  (registers the ids)
from mint_envs.datasets import held_out
from mint_envs.errors import MintEnvsError
from mint_envs.problems import ProblemRef
from mint_envs.registration import settings_of

from .backends import Backend
from .config import EvalConfig, TrainConfig
from .difficulty import Difficulty, Named
from .errors import TrainerError
from .pool import EnvPool

#: Fewer distinct problems than this are not divided.
FEWEST = 50
#: So many draws in a row without a new problem: there are no more.
_IDLE = 200
#: Times as many problems as a step has are drawn to choose from, by pass rates.
_AMONG = 4
#: Problems of evaluations come from a stream of their own, the same in every run.
_STREAM = 0x65766131

Accept = Callable[[str], bool]


@dataclass(frozen=True)
class Evaluation:
    """The problems of one evaluation, and how they are answered."""

    name: str  # "" is the one of --eval-problems and its like
    title: str  # whether it is held out, or of which environment
    held_out: bool
    pool: EnvPool
    refs: Sequence[ProblemRef]
    settings: EvalConfig


class Data:
    """The environments of a run, and their problems."""

    def __init__(self, config: TrainConfig, tokenizer: Any, ends: Sequence[int] = ()) -> None:
        self._config, self._tokenizer, self._ends = config, tokenizer, ends
        self.difficulty = Difficulty(config)
        self._open = ExitStack()
        try:
            self._divide()
            named = config.evaluations if config.eval_every else {}
            pairs = [self._evaluation(name, one) for name, one in named.items()]
        except BaseException:
            self._open.close()
            raise
        self.evaluations = [evaluation for evaluation, _ in pairs]
        self._kept = {name for evaluation, names in pairs if evaluation.held_out for name in names}
        self._rows = self._trained_rows()
        self._measured = self._measured_problems()

    def close(self) -> None:
        """Close all environments."""
        self._open.close()

    def problems(self, step: int) -> list[ProblemRef]:
        """Return the problems of a step: they come from the seed and the step alone.

        Raises:
            TrainerError: there are none that are not kept for evaluation.
        """
        config = self._config
        if self._measured is not None:
            return self.difficulty.choose(self._measured, config.batch, step)
        if self._rows is not None:
            first, many = (step - 1) * config.batch, len(self._rows)
            places = [divmod(first + i, many) for i in range(config.batch)]
            return [self._rows[self._order(epoch)[place]] for epoch, place in places]
        drawn = candidates(self.pool, [config.seed, step])
        if self._by_digest or self._kept:
            among = islice(drawn, 100 * config.batch + _IDLE)
            drawn = (ref for ref in among if self._trains(self.pool.name_of(ref)))
        if self.difficulty.chooses:
            some = [(ref, self.pool.name_of(ref)) for ref in islice(drawn, _AMONG * config.batch)]
            drawn = iter(self.difficulty.choose(some, config.batch, step))
        found = list(islice(drawn, config.batch))
        if len(found) < config.batch:
            raise TrainerError(_NONE_LEFT)
        return found

    # -- inside ------------------------------------------------------------------------------

    def _pool(self, env: str, settings: dict[str, Any]) -> EnvPool:
        config = self._config
        made = EnvPool(
            env, 1, self._tokenizer, settings, self._ends, config.env_timeout_s, config.env_retries
        )
        return self._open.enter_context(closing(made))

    def _divide(self) -> None:
        """Find out how the training's environment is divided, and make it."""
        config = self._config
        self.pool = whole = self._pool(config.env, config.env_settings)
        small = is_small(whole)
        self._own = _divides_itself(whole) and not (small and whole.size is not None)
        self._by_digest = not self._own and not small
        if self._own:
            self.pool = self._pool(config.env, {**config.env_settings, "split": "train"})

    def _evaluation(self, name: str, given: EvalConfig) -> tuple[Evaluation, set[str]]:
        """Return an evaluation, and the names of its problems."""
        config = self._config
        same = given.env in (None, config.env)
        own_data = not same or bool({"dataset", "split"} & given.settings.keys())
        settings = {**(config.env_settings if same else {}), **given.settings}
        pool = self._pool(given.env or config.env, settings)
        if (self._own and not own_data) or (not same and _divides_itself(pool)):
            pool = self._pool(given.env or config.env, {**settings, "split": "test"})
        accept: Accept = held_out if self._by_digest and not own_data else lambda name: True
        refs, names = distinct(pool, given.problems, accept)
        if not refs:
            raise TrainerError(f"the evaluation {name or pool.env} has no problem to ask")
        apart = same and (own_data or self._own or self._by_digest)
        title = "held out" if apart else "not held out" if same else f"of {pool.env}"
        return Evaluation(name, title, apart, pool, refs, given), names

    def _trains(self, name: str | None) -> bool:
        """Return whether a problem may be trained on; one whose environment failed may not."""
        kept = name is None or name in self._kept
        return not kept and not (self._by_digest and held_out(name or ""))

    def _trained_rows(self) -> list[ProblemRef] | None:
        """Return the rows of a data set that are trained on; None: problems are drawn."""
        if self.pool.size is None:
            return None
        rows = [ProblemRef(index=index) for index in range(self.pool.size)]
        if self._by_digest or self._kept:
            rows = [row for row in rows if self._trains(self.pool.name_of(row))]
        if not rows:
            raise TrainerError(_NONE_LEFT)
        self._order = lru_cache(4)(self._shuffled)
        self._many = len(rows)
        return rows

    def _measured_problems(self) -> list[Named] | None:
        """Return what is chosen from by pass rates, with names: the rows, or the drawn problems of
        the file; None: the problems are not chosen so, or are drawn anew at each step.

        Raises:
            TrainerError: there is a file, and none of its problems is trained on here.
        """
        known = self.difficulty.file
        if not self.difficulty.chooses and not known:
            return None
        rows = self._rows
        if rows is None:
            rows = [one.ref for one in known.values() if one.ref is not None]
        named: list[Named] = [(ref, self.pool.name_of(ref)) for ref in rows]
        if self._rows is None:
            named = [(ref, name) for ref, name in named if name in known and self._trains(name)]
        if known and not known.keys() & {name for _, name in named}:
            raise TrainerError(_NONE_KNOWN.format(self._config.pass_rates))
        return named or None

    def _shuffled(self, epoch: int) -> Any:
        return np.random.default_rng([self._config.seed, epoch]).permutation(self._many)


_NONE_KNOWN = (
    "none of the problems of --pass-rates {} is trained on here: measure those that are, with the "
    "same settings: mint-envs eval ID --train --write-pass-rates FILE"
)
_NONE_LEFT = (
    "no problem is left to train on: all are kept for evaluation. Lower --eval-problems, or "
    "evaluate on other data by --eval-settings"
)


def open_data(config: TrainConfig, backend: Backend) -> closing[Data]:
    """Return a context with the problems of a run; their environments are closed at the end."""
    return closing(Data(config, backend.tokenizer, backend.stop_tokens))


def candidates(pool: EnvPool, stream: Sequence[int]) -> Iterator[ProblemRef]:
    """Yield the problems of a data set, each once, in an order from ``stream``; else seeds from it,
    without end."""
    if pool.size is not None:
        order = np.random.default_rng(stream).permutation(pool.size)
        yield from (ProblemRef(index=int(index)) for index in order)
        return
    done, many = 0, 64
    while True:
        state = np.random.SeedSequence(stream).generate_state(many)
        yield from (ProblemRef(seed=int(seed)) for seed in state[done:])
        done, many = many, 2 * many


def distinct(pool: EnvPool, most: int, accept: Accept) -> tuple[list[ProblemRef], set[str]]:
    """Return at most so many accepted problems, no two alike, and their names."""
    refs: list[ProblemRef] = []
    names: set[str] = set()
    idle = 0
    for ref in candidates(pool, [_STREAM]):
        name = pool.name_of(ref)
        idle += 1
        if name is not None and name not in names and accept(name):
            refs.append(ref)
            names.add(name)
            idle = 0
        if len(refs) == most or (pool.size is None and idle == _IDLE):
            break
    return refs, names


def is_small(pool: EnvPool) -> bool:
    """Return whether there are too few distinct problems to divide."""
    return len(distinct(pool, FEWEST, lambda name: True)[0]) < FEWEST


def _divides_itself(pool: EnvPool) -> bool:
    """Return whether the environment has a ``split`` that divides all its problems, and that
    nobody chose."""
    if "split" in pool.settings or not getattr(pool.task, "divides", True):
        return False
    try:
        return "split" in settings_of(pool.env)
    except (MintEnvsError, KeyError):
        return False
