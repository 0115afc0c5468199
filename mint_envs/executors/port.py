"""What an executor is, and how work is cut up for one."""

from __future__ import annotations

import pickle
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from ..core import Reward, Task
from ..errors import MintEnvsError, SettingError

Item = TypeVar("Item")
Work = Callable[[Any, Any], Any]

_LARGEST_PIECE = 32
_TASKS = 64  # that a sender, and a worker, keeps


class Lost(MintEnvsError):
    """Work could not be done: every worker that tried it was lost. Its reward is unmeasured."""


class CannotStart(SettingError):
    """No worker can be started at all, as things are."""


class Executor(Protocol):
    """A place to run work.

    One may also have ``abandon(future)``, which ends work that nobody waits for, and take
    ``submit(..., at=i)`` for the slot that is to do it: then it has ``chooses = True``.
    """

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


def run_pieces(
    where: Executor, function: Work, task: Task[Any] | None, items: Sequence[Any]
) -> list[Any]:
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
            found += _piece_result(where, function, task, piece, future)
    finally:
        for future in futures:
            future.cancel()
    return found


def _piece_result(
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
        for one in _piece_result(where, function, task, [item], again)
    ]


def piece_size(items: int, slots: int) -> int:
    """Return how many items go together: few enough for every slot to get several pieces."""
    return max(1, min(_LARGEST_PIECE, -(-items // (4 * slots))))


def unmeasured(reason: str) -> Reward:
    """Return the reward of work that could not be done. It is None, never 0."""
    return Reward(None, metadata={"reason": reason})


def lost_as_unmeasured(found: Any) -> Any:
    """Return what was found, or the unmeasured reward that stands for a ``Lost``."""
    return unmeasured(str(found)) if isinstance(found, Lost) else found


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
