"""Where scoring runs: in this process, in others beside it, or on the nodes of a Ray cluster.

    rewards = mint_envs.score_batch(task, pairs, executor="ray")
    envs = gym.make_vec("mint/Code-v0", num_envs=64, executor="processes")

An executor runs ``function(task, item)`` somewhere and does it again when the worker is lost.
That is safe, since a reward is a pure function of problem and text, and an episode one of problem
and texts: it is played again from its start wherever it is not under way. Every task gets this
without a line of its own; it must only be picklable, as any task of plain settings is.
"""

from __future__ import annotations

import atexit
import os
import pickle
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from .core import Episode, Message, Reward, Task
from .errors import MintEnvsError, SettingError, did_you_mean, require

Item = TypeVar("Item")
Answer = str | Sequence[Message] | Reward
Work = Callable[[Any, Any], Any]

_LARGEST_PIECE = 32
_RUNNING = 4096
_TASKS = 64  # that a sender, and a worker, keeps


class Lost(MintEnvsError):
    """Work could not be done: every worker that tried it was lost. Its reward is unmeasured."""


class Executor(Protocol):
    """A place to run work."""

    @property
    def slots(self) -> int:
        """How many pieces it runs at once."""
        ...

    def submit(self, function: Work, task: Task[Any] | None, item: Any) -> Future[Any]:
        """Run ``function(task, item)``; the function is one of a module, all are picklable.

        The future raises what the function raises, or ``Lost``.
        """
        ...

    def close(self) -> None:
        """End what it started. Closing twice is harmless."""
        ...


class Local:
    """In this process, at once. ``Task.score_batch`` uses every core where that is worth it."""

    slots = 1

    def submit(self, function: Work, task: Task[Any] | None, item: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(task, item))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Turn:
    """One response of an episode, with all that is needed to play the episode anew.

    ``episode`` names it, uniquely over all processes; ``history`` holds the responses before.
    """

    problem: Any
    episode: str
    history: tuple[str, ...]
    response: str
    cut: bool = False


def score_batch(
    task: Task[Any],
    pairs: Sequence[tuple[Any, str]],
    executor: str | Executor | None = None,
) -> list[Reward]:
    """Return the rewards of (problem, response) pairs, in order.

    Args:
        executor: ``None`` or ``"local"``: this process; ``"processes"`` (or ``"processes:4"``);
            ``"ray"`` (or ``"ray:ADDRESS"``); or an ``Executor``.

    Raises:
        SettingError: there is no such executor, the task cannot be sent to another process or
            loaded there, or no process can be started (a script without its ``__main__`` guard).
    """
    where = executor_of(executor)
    if isinstance(where, Local):
        return task.score_batch(pairs)
    return [measured(one) for one in run(where, _score, task, pairs)]


def play_turns(
    task: Task[Any], turns: Sequence[Turn], executor: str | Executor | None = None
) -> list[Answer]:
    """Return what each episode says to its response: the next text or messages, or the reward.

    Answers keep the order of ``turns``. What was lost, with every worker that tried it, is an
    unmeasured reward.

    Raises:
        SettingError: as ``score_batch``.
    """
    where = executor_of(executor)
    return [measured(one) for one in run(where, play, task, turns)]


def run(where: Executor, function: Work, task: Task[Any] | None, items: Sequence[Any]) -> list[Any]:
    """Run ``function(task, list of items) -> list`` over pieces of ``items``; keep the order.

    The items of a piece that is lost are tried one by one, so that one that ends every worker
    takes no other with it. In its place stands the ``Lost``.
    """
    size = piece_size(len(items), where.slots)
    pieces = [list(items[i : i + size]) for i in range(0, len(items), size)]
    futures = [where.submit(function, task, piece) for piece in pieces]
    found: list[Any] = []
    try:
        for piece, future in zip(pieces, futures, strict=True):
            found += _result(where, function, task, piece, future)
    finally:
        for future in futures:
            future.cancel()
    return found


def _result(
    where: Executor, function: Work, task: Task[Any] | None, piece: list[Any], future: Future[Any]
) -> list[Any]:
    try:
        return list(future.result())
    except Lost as error:
        if len(piece) == 1:
            return [error]
    futures = [where.submit(function, task, [item]) for item in piece]
    return [
        one
        for item, again in zip(piece, futures, strict=True)
        for one in _result(where, function, task, [item], again)
    ]


def piece_size(items: int, slots: int) -> int:
    """Return how many items go together: few enough for every slot to get several pieces."""
    return max(1, min(_LARGEST_PIECE, -(-items // (4 * slots))))


def unmeasured(reason: str) -> Reward:
    """Return the reward of work that could not be done. It is None, never 0."""
    return Reward(None, metadata={"reason": reason})


def measured(found: Any) -> Any:
    """Return what was found, or the unmeasured reward that stands for a ``Lost``."""
    return unmeasured(str(found)) if isinstance(found, Lost) else found


# -- what runs in the workers ---------------------------------------------------------------------


def _score(task: Task[Any], pairs: list[tuple[Any, str]]) -> list[Reward]:
    return task.score_batch(pairs)


def play(task: Task[Any], turns: list[Turn]) -> list[Answer]:
    """Answer each turn, in an episode that is under way here or else played anew."""
    return [_answer(task, turn) for turn in turns]


#: Episodes under way in this process, by name and a hash of the responses so far: an environment
#: that was copied goes on in two ways under one name.
_running: OrderedDict[tuple[str, int], Episode] = OrderedDict()


def _answer(task: Task[Any], turn: Turn) -> Answer:
    past = turn.history
    episode = _running.pop((turn.episode, hash(past)), None) if past else None
    if episode is None:
        if past and task.nondeterministic:
            return unmeasured("the episode was lost, and cannot be played again: it has chance")
        episode = task.start(turn.problem)
        for text in past:
            episode.respond(text)
    answer = episode.cut(turn.response) if turn.cut else episode.respond(turn.response)
    if not isinstance(answer, Reward):
        _running[turn.episode, hash((*past, turn.response))] = episode
        while len(_running) > _RUNNING:
            _running.popitem(last=False)
    return answer


# -- by name --------------------------------------------------------------------------------------


def remembered(kept: OrderedDict[Any, Item], key: Any, make: Callable[[], Item]) -> Item:
    """Return the item of a key, made if it is not there; the latest ones are kept."""
    if key not in kept:
        kept[key] = make()
    kept.move_to_end(key)
    while len(kept) > _TASKS:
        kept.popitem(last=False)
    return kept[key]


class TaskTable:
    """Tasks made ready to be sent, by a name each; the latest are kept.

    Args:
        pack: makes the task ready.

    Raises:
        SettingError: (by ``get``) the task cannot be sent.
    """

    def __init__(self, pack: Callable[[Any], Any]) -> None:
        self._pack = pack
        self._packed: OrderedDict[int, tuple[Any, str, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._prefix, self._count = uuid.uuid4().hex, 0

    def get(self, task: Task[Any] | None) -> tuple[str, Any]:
        """Return (name, what was packed). The task is held, so that its id stays its own."""
        with self._lock:
            return remembered(self._packed, id(task), lambda: self._entry(task))[1:]

    def _entry(self, task: Task[Any] | None) -> tuple[Any, str, Any]:
        self._count += 1
        return task, f"{self._prefix}-{self._count}", self._ready(task)

    def _ready(self, task: Task[Any] | None) -> Any:
        try:
            return self._pack(task)
        except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:
            raise SettingError(
                f"{type(task).__name__} cannot be sent to another process: {error}. Define the "
                "class in a module, and give it names and numbers as settings, not open objects "
                "(sandbox='docker', not a Sandbox)."
            ) from error


_shared: dict[str, Executor] = {}
_lock = threading.RLock()


def executor_of(executor: str | Executor | None) -> Executor:
    """Return the executor that a setting names; one of each name is kept for the process.

    Raises:
        SettingError: it is no executor, there is none of that name, or its package is missing.
    """
    if not (executor is None or isinstance(executor, str)):
        require(hasattr(executor, "submit"), f"executor={executor!r} is no Executor, and no name")
        return executor
    name = executor or "local"
    with _lock:
        if name not in _shared:
            _shared[name] = make_executor(name)
        return _shared[name]


def make_executor(name: str, deadline_s: float | None = None) -> Executor:
    """Return an executor of one's own, to be closed when it is of no more use.

    Args:
        name: as for ``score_batch``.
        deadline_s: seconds after which ``"processes"`` give a piece of work up; None means never.

    Raises:
        SettingError: there is no such executor, or its package is missing.
    """
    kind, _, argument = name.partition(":")
    if kind == "local" and not argument:
        return Local()
    if kind == "processes" and (not argument or argument.isdecimal()):
        from .processes import Processes

        return Processes(int(argument or 0), deadline_s)
    if kind == "ray":
        from .ray_executor import RayExecutor

        return RayExecutor(argument or None)
    raise SettingError(
        f"executor={name!r}. {did_you_mean(kind, ['local', 'processes', 'ray'])} "
        "'processes:4' says how many, 'ray:ADDRESS' which cluster."
    )


def _forget_shared() -> None:
    """In a copy of the process made by fork: what is kept belongs to the process that was copied.

    The copy has none of its threads, and the lock may be held by one of them.
    """
    global _lock
    _shared.clear()
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_shared)


@atexit.register
def close_shared() -> None:
    """Close the executors that are kept."""
    with _lock:
        while _shared:
            _shared.popitem()[1].close()
