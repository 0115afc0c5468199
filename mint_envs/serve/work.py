"""What workers do for the server, and how the event loop waits for it without being held up."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..core import Prompt, Reward, Task
from ..errors import SandboxUnavailable, require
from ..executors import Answer, Executor, Lost, Turn
from ..executors.port import Work, unmeasured
from ..executors.turns import answer_turns
from ..problems import OtherLength, ProblemRef, Turns, play_all, play_whole
from .fair import CLIENT, FairQueue

# A batch shares the workers with other clients' requests: no piece of it takes them for long.
_LARGEST_PIECE, _PIECE_S = 8, 0.5


class NoRoom(Exception):
    """There is too much work already; ``retry_s`` is a guess at when there is less."""

    def __init__(self, retry_s: float, why: str) -> None:
        super().__init__(why)
        self.retry_s = retry_s


# -- in a worker ----------------------------------------------------------------------------------


def score_items(task: Task[Any], items: list[tuple[ProblemRef, Turns]]) -> list[Reward]:
    """Score responses; of a task of several turns, all responses of the episode."""
    problems = {ref: ref.of(task) for ref, _ in items}
    games = [(problems[ref], turns) for ref, turns in items]
    if task.single_turn:
        most = max((len(turns) for _, turns in items), default=1)
        require(most == 1, f"{most} responses to a problem that takes one: send text, not a list")
        return play_all(task, games)
    return [_played(task, problem, turns) for problem, turns in games]


def _played(task: Task[Any], problem: Any, turns: Turns) -> Reward:
    try:
        return play_whole(task, problem, turns)
    except OtherLength as error:
        return unmeasured(str(error))


def show_prompts(task: Task[Any], refs: list[ProblemRef]) -> list[tuple[Prompt, str]]:
    """Return (prompt, problem id) of problems."""
    problems = [ref.of(task) for ref in refs]
    return [(task.prompt(problem), task.problem_id(problem)) for problem in problems]


def respond_turns(task: Task[Any], turns: list[Turn]) -> list[Answer]:
    """Play turns whose problems are given by ``ProblemRef``."""
    found: list[Answer] = []
    for turn in turns:
        problem = turn.problem.of(task)
        whole = Turn(problem, turn.episode, turn.history, turn.response, turn.cut)
        found += answer_turns(task, [whole])
    return found


def timed(task: Task[Any] | None, asked: tuple[Work, list[Any]]) -> tuple[list[Any], float]:
    """Run ``function(task, items)``; return what it gives and its seconds, without any waiting."""
    function, items = asked
    began = time.monotonic()
    return list(function(task, items)), time.monotonic() - began


def warm(_: None, __: None) -> str:
    """Start the sandbox of a worker; return why there is none, or ``""``."""
    from ..sandbox import shared

    try:
        shared(None)
    except SandboxUnavailable as error:
        return str(error)
    return ""


# -- in the event loop ----------------------------------------------------------------------------

#: Work of which an item takes less than this does not queue behind work that takes more.
_QUICK_S = 0.2
_OVERDUE_S = 1.0  # after which work that was thought quick is known to be slow


@dataclass(eq=False)
class _Piece:
    """Items that go to a worker together. ``done`` is what the request waits for."""

    client: str
    function: Work
    task: Task[Any] | None
    items: list[Any]
    quick: bool
    done: asyncio.Future[tuple[list[Any], float]]
    running: Future[Any] | None = None


class Desk:
    """Takes work in, as far as there is room, and hands it to the executor piece by piece.

    Clients take turns, and none has all slots. Slow work leaves one of several free, so that quick
    work need not wait until a program has ended. What belongs to a request that was given up is
    not begun; what is under way and takes long is ended.
    """

    def __init__(
        self, executor: Executor, max_waiting: int, max_client_waiting: int | None = None
    ) -> None:
        self.executor, self._max_waiting = executor, max_waiting
        self._max_client = max_client_waiting or max_waiting
        self.waiting = 0
        self.given_up = 0  # pieces whose clients had gone
        self._of_client: Counter[str] = Counter()
        self._seconds_each = 0.01
        self._seconds: dict[tuple[Work, type], float] = {}
        self._quick: FairQueue[_Piece] = FairQueue()
        self._slow: FairQueue[_Piece] = FairQueue()
        self._running: Counter[str] = Counter()  # pieces, by client
        self._slow_running = 0

    async def run(self, function: Work, task: Task[Any] | None, items: Sequence[Any]) -> list[Any]:
        """Run ``function(task, list of items) -> list``; keep the order. ``Lost`` stand in place.

        Raises:
            NoRoom: too many items wait already, of this client or of all. Nothing was begun.
        """
        client = CLIENT.get()
        if self.waiting + len(items) > self._max_waiting:
            raise NoRoom(self.retry_s(), f"{self.waiting} responses are waiting to be scored")
        if self._of_client[client] + len(items) > self._max_client:
            waiting = self._of_client[client]
            raise NoRoom(self.retry_s(), f"{waiting} responses of yours are waiting to be scored")
        self.waiting += len(items)
        self._of_client[client] += len(items)
        try:
            return await self._run(client, function, task, items)
        finally:
            self.waiting -= len(items)
            self._of_client[client] -= len(items)
            if not self._of_client[client]:
                del self._of_client[client]

    def retry_s(self) -> float:
        """Guess the seconds until the work that waits is done."""
        wait = self.waiting * self._seconds_each / self.executor.slots
        return float(min(60, max(1, math.ceil(wait))))

    async def _run(
        self, client: str, function: Work, task: Task[Any] | None, items: Sequence[Any]
    ) -> list[Any]:
        size = self._piece_size((function, type(task)), len(items))
        pieces = [list(items[i : i + size]) for i in range(0, len(items), size)]
        if len(pieces) == 1:
            return await self._found(client, function, task, pieces[0])
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._found(client, function, task, p)) for p in pieces]
        return list(itertools.chain.from_iterable(task.result() for task in tasks))

    def _piece_size(self, kind: tuple[Work, type], items: int) -> int:
        quick = int(_PIECE_S / self._seconds.get(kind, self._seconds_each))
        return max(1, min(_LARGEST_PIECE, quick, -(-items // self.executor.slots)))

    async def _found(
        self, client: str, function: Work, task: Task[Any] | None, items: list[Any]
    ) -> list[Any]:
        kind = function, type(task)
        quick = self._seconds.get(kind, math.inf) < _QUICK_S
        done = asyncio.get_running_loop().create_future()
        piece = _Piece(client, function, task, items, quick, done)
        (self._quick if quick else self._slow).put(client, piece)
        self._begin_next()
        try:
            found, seconds = await done
        except asyncio.CancelledError:
            self._give_up(piece)
            raise
        except Lost as error:
            if len(items) == 1:
                return [error]
            return [
                one for item in items for one in await self._found(client, function, task, [item])
            ]
        self._note(kind, seconds / max(1, len(items)))
        return list(found)

    def _note(self, kind: tuple[Work, type], seconds: float) -> None:
        """Let the latest times weigh in what work of this kind, and of any, takes for one item."""
        seconds = max(seconds, 1e-6)
        before = self._seconds.get(kind, seconds)
        self._seconds[kind] = before + 0.2 * (seconds - before)
        self._seconds_each += 0.05 * (seconds - self._seconds_each)

    # -- one piece after the other ----------------------------------------------------------------

    def _begin_next(self) -> None:
        """Hand out what waits, as far as there are slots for it."""
        slots = self.executor.slots
        most = max(1, slots - 1)
        while self._running.total() < slots:
            full = [client for client, count in self._running.items() if count >= most]
            piece = self._quick.take(full)
            if piece is None and self._slow_running < most:
                piece = self._slow.take(full)
            if piece is None:
                return
            self._begin(piece)

    def _begin(self, piece: _Piece) -> None:
        try:
            piece.running = self.executor.submit(timed, piece.task, (piece.function, piece.items))
        except Exception as error:  # a task that cannot be sent, an executor that is closed
            piece.done.set_exception(error)
            return
        self._running[piece.client] += 1
        self._slow_running += not piece.quick
        asyncio.wrap_future(piece.running).add_done_callback(partial(self._ended, piece))
        asyncio.get_running_loop().call_later(_OVERDUE_S, self._look_at, piece)

    def _look_at(self, piece: _Piece) -> None:
        """After a second, learn that a piece is slow; end it if nobody waits for it any more."""
        assert piece.running is not None
        if piece.running.done():
            return
        self._note((piece.function, type(piece.task)), _OVERDUE_S / len(piece.items))
        if piece.done.cancelled():
            self._abandon(piece)

    def _abandon(self, piece: _Piece) -> None:
        abandon = getattr(self.executor, "abandon", None)
        if abandon is not None:
            asyncio.get_running_loop().run_in_executor(None, abandon, piece.running)

    def _ended(self, piece: _Piece, found: asyncio.Future[Any]) -> None:
        self._running[piece.client] -= 1
        self._running += Counter()  # those without any are left out
        self._slow_running -= not piece.quick
        error = None if found.cancelled() else found.exception()  # it is looked at, whoever waits
        if not piece.done.done():
            if found.cancelled():
                piece.done.set_exception(Lost("it was given up"))
            elif error is not None:
                piece.done.set_exception(error)
            else:
                piece.done.set_result(found.result())
        self._begin_next()

    def _give_up(self, piece: _Piece) -> None:
        """Drop a piece whose request is gone: it is not begun, or looked at once more."""
        self.given_up += 1
        if (self._quick if piece.quick else self._slow).remove(piece.client, piece):
            return
        if piece.running is not None and not piece.running.done() and not piece.quick:
            self._abandon(piece)
