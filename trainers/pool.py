"""Copies of one environment, and what becomes of an episode that hangs or raises.

Such an episode is played anew on a fresh copy, its acts given again, up to ``retries`` times; then
it is lost: one sample that was not measured. Ten lost in a row end the run. What an environment
refuses in a MintEnvsError is a mistake in how it is used, and ends the run at once.
"""

from __future__ import annotations

import inspect
import logging
import signal
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np

from mint_envs.env import TokenEnv, step_many
from mint_envs.errors import MintEnvsError
from mint_envs.loading import locate
from mint_envs.problems import ProblemRef
from mint_envs.registration import find_spec, task_of
from mint_envs.tokens import Codec

from .errors import TrainerError, mistakes_said

log = logging.getLogger("trainers.pool")
_OURS = "mint_envs.registration:make_vector_env"
_MOST_LOST = 10  # in a row
T = TypeVar("T")


class Overtime(BaseException):
    """A call took too long. No Exception: an environment that catches those would go on."""


#: What an environment's fault looks like from here. Ctrl-C is none.
_FAULTS = (Exception, SystemExit, Overtime)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise Overtime in what runs here after ``seconds`` (0: never), and each second from then on.

    An alarm does it, since nothing else ends a regular expression, a sleep and an endless loop
    alike. Alarms are for the main thread: in others, and on Windows, there is no limit; nor in an
    environment that sets alarms of its own, from there on.
    """
    here = threading.current_thread() is threading.main_thread()
    if not seconds or not here or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: Any) -> None:
        if running:
            raise Overtime(f"no answer within {seconds:g} s (--env-timeout-s)")

    running, before = True, signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class _Seat:
    """One copy of the environment, and what was said in its episode, to play that anew."""

    env: gym.Env[Any, Any]
    ref: ProblemRef | None = None
    acts: list[Any] = field(default_factory=list)
    heard: list[list[int]] = field(default_factory=list)  # observations: before each act


class EnvPool:
    """Copies of an environment, stepped together where they can be; more are made when needed.

    Args:
        env: a registered id, or ``"module:id"``.
        size: how many to begin with.
        tokenizer: the model's; given to the environments of this package, and to any other whose
            entry point takes a ``tokenizer``.
        settings: keyword arguments of the environment.
        ends: ids that end the model's turn, beside those that its tokenizer and template tell.
        timeout_s: longest wait for one reset or step (or one batch of them), in seconds; 0: none.
        retries: how often an episode whose environment failed is played anew.

    Raises:
        TrainerError: the id is unknown, or a setting is refused. Later: the environment failed ten
            times in a row, or says what was wrong with how it was used.
    """

    def __init__(
        self,
        env: str,
        size: int,
        tokenizer: Any,
        settings: Mapping[str, Any],
        ends: Iterable[int] = (),
        timeout_s: float = 0.0,
        retries: int = 0,
    ) -> None:
        self.env, self.settings = env, dict(settings)
        self._faults: Counter[str] = Counter(retries=0, timeouts=0, lost=0)
        self._timeout_s, self._retries, self._lost_in_row = timeout_s, retries, 0
        known = frozenset() if tokenizer is None else Codec(tokenizer).stop_tokens
        self._ends = known.union(ends)
        self._seats: list[_Seat] = []
        try:
            self._make = _maker(locate(env), tokenizer, self.settings)
        except (gym.error.Error, MintEnvsError) as error:
            raise TrainerError(f"the environment {env!r} cannot be made: {error}") from error
        except (Exception, SystemExit) as error:
            raise TrainerError(_raised(env, "when it was looked for", error)) from error
        self.grow(size)
        first = self._seats[0].env
        self.task = first.unwrapped.task if isinstance(first.unwrapped, TokenEnv) else None
        self._plain = type(first) is TokenEnv
        self._together = self._plain and self.task is not None and self.task.single_turn

    def grow(self, size: int) -> None:
        """Make copies until there are ``size``."""
        try:
            while len(self._seats) < size:
                self._seats.append(_Seat(self._make()))
        except (gym.error.Error, MintEnvsError, TypeError) as error:
            raise TrainerError(f"the environment {self.env!r} cannot be made: {error}") from error
        except (Exception, SystemExit) as error:  # a third party's: whatever its code raises
            raise TrainerError(_raised(self.env, "when it was made", error)) from error

    @property
    def envs(self) -> list[gym.Env[Any, Any]]:
        """The copies, in order."""
        return [seat.env for seat in self._seats]

    @property
    def size(self) -> int | None:
        """The number of problems of a data set, or None: they are drawn from seeds."""
        return None if self.task is None else self.task.size

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings that end a response, if the environment names any."""
        return tuple(getattr(self.envs[0].unwrapped, "stop", ()))

    @property
    def stop_tokens(self) -> tuple[int, ...]:
        """Token ids that end a response: the environment's, or all that end the model's turn."""
        codec = getattr(self.envs[0].unwrapped, "codec", None)
        return tuple(sorted(getattr(codec, "stop_tokens", self._ends)))

    def name_of(self, ref: ProblemRef) -> str | None:
        """Return what tells a problem from others: its id, else its first tokens.

        None if the environment failed.
        """
        if self._plain:
            return self._guarded(self._seats[0], "in sample", partial(self._problem_id, ref))
        found = self.reset(0, ref)
        if found is None:
            return None
        observation, info = found
        return str(info.get("problem_id") or _copy(observation))

    def reset(self, index: int, ref: ProblemRef) -> tuple[Any, Mapping[str, Any]] | None:
        """Begin the episode of ``ref`` in copy ``index``; return (observation, info).

        None if the environment failed.
        """
        seat = self._seats[index]
        seat.ref = None
        return self._guarded(seat, "in reset", lambda: self._begin(seat, ref))

    def step(self, indices: Sequence[int], actions: Sequence[Sequence[int]]) -> list[Any]:
        """Step these copies; return the five results of each, or None where it failed."""
        if self._together:
            envs = [env for i in indices if isinstance(env := self._seats[i].env, TokenEnv)]
            with suppress(*_FAULTS), mistakes_said(), time_limit(self._timeout_s):
                results = list(step_many(envs, actions))
                self._lost_in_row = 0
                return results
        # At the fault of one of many, each goes alone: so it shows which it was.
        seats = [self._seats[i] for i in indices]
        return [
            self._guarded(seat, "in step", partial(self._step, seat, act), self._together)
            for seat, act in zip(seats, actions, strict=True)
        ]

    def take_faults(self) -> dict[str, int]:
        """Return what went wrong since the last time: ``retries``, ``timeouts``, ``lost``."""
        found = dict(self._faults)
        self._faults = Counter(retries=0, timeouts=0, lost=0)
        return found

    def close(self) -> None:
        for seat in self._seats:
            with suppress(Overtime), time_limit(self._timeout_s):
                self._close(seat)

    # -- inside ------------------------------------------------------------------------------

    def _problem_id(self, ref: ProblemRef) -> str:
        assert self.task is not None
        return str(self.task.problem_id(ref.of(self.task)))

    def _begin(self, seat: _Seat, ref: ProblemRef) -> tuple[Any, Mapping[str, Any]]:
        row = ref.index is not None
        observation, info = seat.env.reset(
            seed=ref.index if row else ref.seed, options={"index": ref.index} if row else None
        )
        seat.ref, seat.acts, seat.heard = ref, [], [_copy(observation)]
        return observation, info

    def _step(self, seat: _Seat, act: Sequence[int]) -> Any:
        result = _checked(seat.env.step(np.asarray(act, dtype=np.int64)))
        seat.acts.append(act)
        seat.heard.append(_copy(result[0]))
        return result

    def _guarded(
        self, seat: _Seat, where: str, call: Callable[[], T], anew: bool = False
    ) -> T | None:
        """Return ``call()``, tried again on a fresh copy; None if that does not help either."""
        said, past = "", _Seat(seat.env, seat.ref, list(seat.acts), list(seat.heard))
        for left in range(self._retries, -1, -1):
            try:
                with mistakes_said(), time_limit(self._timeout_s):
                    if anew:
                        self._play_anew(seat, past)
                    result = call()
            except _FAULTS as error:
                if isinstance(error, TrainerError):
                    raise
                said, anew = _raised(self.env, where, error), True
                self._faults["timeouts"] += isinstance(error, Overtime)
                self._faults["retries"] += left > 0
            else:
                self._lost_in_row = 0
                return result
        log.warning("an episode is lost: %s", said)
        self._faults["lost"] += 1
        self._lost_in_row += 1
        if self._lost_in_row >= _MOST_LOST:
            raise TrainerError(f"{_MOST_LOST} episodes in a row were lost: {said}")
        return None

    def _play_anew(self, seat: _Seat, past: _Seat) -> None:
        """Bring a fresh copy to where the episode stood before what failed."""
        self._close(seat)
        seat.env = self._make()
        if past.ref is None:
            return
        self._begin(seat, past.ref)
        for act in past.acts:
            self._step(seat, act)
        if seat.heard != past.heard:
            raise RuntimeError("played anew, it says something else")

    def _close(self, seat: _Seat) -> None:
        with suppress(*_FAULTS):
            seat.env.close()


def _maker(
    env: str, tokenizer: Any, settings: Mapping[str, Any]
) -> Callable[[], gym.Env[Any, Any]]:
    """Return what makes a copy. Ours share their task, so that they are scored together."""
    spec = find_spec(env)
    if spec.vector_entry_point != _OURS or spec.additional_wrappers:
        extra = {"tokenizer": tokenizer} if _takes_tokenizer(spec) else {}
        return lambda: gym.make(env, **{**extra, **settings})
    first = TokenEnv(task_of(env, **settings), tokenizer)

    def copy() -> TokenEnv:
        made = TokenEnv(first.task, first.codec)
        made.task = first.task
        return made

    return copy


def _takes_tokenizer(spec: Any) -> bool:
    entry = spec.entry_point
    creator = gym.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    return "tokenizer" in inspect.signature(creator).parameters


def _raised(env: str, where: str, error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = [frame for frame in frames if frame.filename != __file__ or frame is frames[0]][-1]
    return (
        f"the environment {env!r} raised {type(error).__name__} {where}: {error} "
        f"({place.filename}:{place.lineno}). This is a fault in it, not in the response."
    )


def _copy(observation: Any) -> list[Any]:
    """Return an observation to compare with, though its buffer be used again."""
    try:
        return [int(token) for token in observation]
    except (TypeError, ValueError):
        return [repr(observation)]


def _checked(result: Any) -> tuple[Any, float, bool, bool, Mapping[str, Any]]:
    observation, reward, terminated, truncated, info = result
    return observation, float(reward), bool(terminated), bool(truncated), dict(info)
