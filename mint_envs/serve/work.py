"""What workers do for the server, and how the event loop waits for it without being held up."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..core import Prompt, Reward, Task
from ..errors import SandboxUnavailable, require
from ..executors import Executor, Lost
from ..executors.port import Work, unmeasured
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
_HOMESICK_S = 0.25  # after which work does not wait for its home any more
#: So long slow work waits whose client went away from some that was under way, which costs a
#: worker; each time twice as long, up to the second number. Who stays that long is served.
_LEFT_S, _LONGEST_LEFT_S = 0.5, 8.0
_WARY_S = 10.0  # for so long after anybody has left, clients that are not known wait too
_KNOWN = 4096  # clients of which it is known how they are
_WAITED: ContextVar[bool] = ContextVar("mint_envs_waited", default=False)  # this request has


@dataclass(frozen=True, slots=True)
class Home:
    """The slot that has the episode of a turn: another must play it again, or cannot (``only``)."""

    slot: int
    only: bool = False


@dataclass(eq=False)
class _Piece:
    """Items that go to a worker together. ``done`` is what the request waits for."""

    client: str
    function: Work
    task: Task[Any] | None
    items: list[Any]
    quick: bool
    home: Home | None
    done: asyncio.Future[tuple[list[Any], float]]
    since: float = field(default_factory=time.monotonic)
    running: Future[Any] | None = None
    slot: int = -1
    overdue: bool = False  # it was thought quick, and is not

    @property
    def kind(self) -> tuple[Work, type]:
        return self.function, type(self.task)

    def suits(self, slot: int, now: float) -> bool:
        """Whether a slot may have it: its home, or any, if it has none or has waited for it."""
        if self.home is None or self.home.slot == slot:
            return True
        return not self.home.only and now - self.since > _HOMESICK_S


class Desk:
    """Takes work in, as far as there is room, and hands it to the executor piece by piece.

    Clients take turns, and none has all slots. Slow work leaves one of several free, so that quick
    work need not wait until a program has ended; quick work leaves one to slow work. What belongs
    to a request that was given up is not begun; what is under way and takes long is ended.
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
        self._kinds: dict[str, tuple[Work, type]] = {}  # of work, by what requests call it
        self._quick: FairQueue[_Piece] = FairQueue()
        self._slow: FairQueue[_Piece] = FairQueue()
        self._running: Counter[str] = Counter()  # pieces, by client
        self._busy: set[int] = set()  # slots
        self._slow_running = 0
        self._was_quick = True  # what was begun last
        self._waits: OrderedDict[str, float] = OrderedDict()  # slow work of clients; 0: they stay
        self._left_at = -math.inf  # when the last client went away from slow work

    async def run(
        self, function: Work, task: Task[Any] | None, items: Sequence[Any], about: str = ""
    ) -> list[Any]:
        """Run ``function(task, list of items) -> list``; keep the order. ``Lost`` stand in place.

        Args:
            function, task, items: the work.
            about: what requests call such work; ``before_reading`` knows it by that from now on.

        Raises:
            NoRoom: too many items wait already, of this client or of all. Nothing was begun.
        """
        if about:
            self._kinds[about] = function, type(task)
        with self._taken_in(len(items)) as client:
            return await self._run(client, function, task, items)

    async def run_at(
        self, home: Home | None, function: Work, task: Task[Any], item: Any
    ) -> tuple[Any, int]:
        """Run ``function(task, [item])``, at home if it can be; return the result, and its slot.

        Raises:
            NoRoom: as ``run``.
        """
        with self._taken_in(1) as client:
            await self._keep_waiting(client, (function, type(task)))
            piece = self._piece(client, function, task, [item], home)
            (found,) = await self._found(piece)
            return found, piece.slot

    async def before_reading(self, about: str) -> None:
        """Let a request wait while it is still text, if it must wait at all.

        To read its form costs more than all else of a request whose client does not stay.

        Args:
            about: what it says that it is about: if that is not true, it waits in ``run``.

        Raises:
            NoRoom: as ``run``.
        """
        kind = self._kinds.get(about)
        if kind is not None and self._wait_of(CLIENT.get(), kind):
            with self._taken_in(1) as client:
                await self._keep_waiting(client, kind)

    @contextlib.contextmanager
    def _taken_in(self, items: int) -> Iterator[str]:
        """Count so many items of the client, whose name is given, until they are done."""
        client = CLIENT.get()
        if self.waiting + items > self._max_waiting:
            raise NoRoom(self.retry_s(), f"{self.waiting} responses are waiting to be scored")
        if self._of_client[client] + items > self._max_client:
            waiting = self._of_client[client]
            raise NoRoom(self.retry_s(), f"{waiting} responses of yours are waiting to be scored")
        self.waiting += items
        self._of_client[client] += items
        try:
            yield client
        finally:
            self.waiting -= items
            self._of_client[client] -= items
            if not self._of_client[client]:
                del self._of_client[client]

    def retry_s(self) -> float:
        """Guess the seconds until the work that waits is done."""
        wait = self.waiting * self._seconds_each / self.executor.slots
        return float(min(60, max(1, math.ceil(wait))))

    async def _run(
        self, client: str, function: Work, task: Task[Any] | None, items: Sequence[Any]
    ) -> list[Any]:
        await self._keep_waiting(client, (function, type(task)))
        size = self._piece_size((function, type(task)), len(items))
        pieces = [
            self._piece(client, function, task, list(items[i : i + size]))
            for i in range(0, len(items), size)
        ]
        if len(pieces) == 1:
            return await self._found(pieces[0])
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._found(piece)) for piece in pieces]
        return list(itertools.chain.from_iterable(task.result() for task in tasks))

    def _piece_size(self, kind: tuple[Work, type], items: int) -> int:
        quick = int(_PIECE_S / self._seconds.get(kind, self._seconds_each))
        return max(1, min(_LARGEST_PIECE, quick, -(-items // self.executor.slots)))

    def _piece(
        self, client: str, function: Work, task: Task[Any] | None, items: list[Any],
        home: Home | None = None,
    ) -> _Piece:  # fmt: skip
        done = asyncio.get_running_loop().create_future()
        quick = self._is_quick((function, type(task)))
        return _Piece(client, function, task, items, quick, home, done)

    def _is_quick(self, kind: tuple[Work, type]) -> bool:
        return self._seconds.get(kind, math.inf) < _QUICK_S

    async def _keep_waiting(self, client: str, kind: tuple[Work, type]) -> None:
        """Let slow work of a client wait, if others of it were given up.

        It waits here, whole, and not as pieces in the queue: of fifty clients that come and leave,
        each request would be cut, queued, looked at for each sum of others, and taken out again.
        """
        wait_s = self._wait_of(client, kind)
        if not wait_s or _WAITED.get():
            return
        try:
            await asyncio.sleep(wait_s)
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        _WAITED.set(True)

    async def _found(self, piece: _Piece) -> list[Any]:
        (self._quick if piece.quick else self._slow).put(piece.client, piece)
        self._begin_next()
        if piece.home is not None and piece.slot < 0 and not piece.home.only:
            asyncio.get_running_loop().call_later(_HOMESICK_S, self._begin_next)
        try:
            found, seconds = await piece.done
        except asyncio.CancelledError:
            self._give_up(piece)
            raise
        except Lost as error:
            if len(piece.items) == 1:
                return [error]
            alone = [
                self._piece(piece.client, piece.function, piece.task, [item])
                for item in piece.items
            ]
            return [one for again in alone for one in await self._found(again)]
        self._note(piece.kind, seconds / max(1, len(piece.items)))
        return list(found)

    def _note(self, kind: tuple[Work, type], seconds: float) -> None:
        """Let the latest times weigh in what work of this kind, and of any, takes for one item."""
        seconds, was_quick = max(seconds, 1e-6), self._is_quick(kind)
        before = self._seconds.get(kind, seconds)
        self._seconds[kind] = before + 0.2 * (seconds - before)
        self._seconds_each += 0.05 * (seconds - self._seconds_each)
        if self._is_quick(kind) != was_quick:
            self._sort_anew(kind, not was_quick)

    def _sort_anew(self, kind: tuple[Work, type], quick: bool) -> None:
        """Let what waits of a kind that is known better now wait where it belongs."""
        before, after = (self._slow, self._quick) if quick else (self._quick, self._slow)
        for client, piece in before.pull(lambda one: one.kind == kind):
            piece.quick = quick
            after.put(client, piece)
        self._begin_next()

    # -- one piece after the other ----------------------------------------------------------------

    def _begin_next(self) -> None:
        """Hand out what waits, as far as there are slots for it that suit."""
        for slot in range(self.executor.slots):
            while slot not in self._busy and (piece := self._next_for(slot)) is not None:
                self._begin(piece, slot)

    def _next_for(self, slot: int) -> _Piece | None:
        most = max(1, self.executor.slots - 1)
        full = [client for client, count in self._running.items() if count >= most]
        now = time.monotonic()
        suits = partial(_Piece.suits, slot=slot, now=now)
        quick, slow = (partial(queue.take, full, suits) for queue in (self._quick, self._slow))
        if self._slow_running >= most:
            piece = quick()
        elif self._is_turn_of_slow():
            piece = slow() or quick()
        else:
            piece = quick() or slow()
        self._was_quick = piece is None or piece.quick
        return piece

    def _is_turn_of_slow(self) -> bool:
        """Whether slow work goes first: else it would wait for as long as quick work comes.

        Of several slots it has one; of one slot, every other time.
        """
        return not self._slow_running and (self.executor.slots > 1 or self._was_quick)

    def _begin(self, piece: _Piece, slot: int) -> None:
        where = {"at": slot} if getattr(self.executor, "chooses", False) else {}
        work = piece.function, piece.items
        try:
            piece.running = self.executor.submit(timed, piece.task, work, **where)
        except Exception as error:  # a task that cannot be sent, an executor that is closed
            piece.done.set_exception(error)
            return
        piece.slot = slot
        self._busy.add(slot)
        self._running[piece.client] += 1
        self._slow_running += not piece.quick
        asyncio.wrap_future(piece.running).add_done_callback(partial(self._ended, piece))
        asyncio.get_running_loop().call_later(_OVERDUE_S, self._look_at, piece)

    def _look_at(self, piece: _Piece) -> None:
        """After a second, learn that a piece is slow; end it if nobody waits for it any more."""
        assert piece.running is not None
        if piece.running.done():
            return
        piece.overdue = True
        self._note(piece.kind, _OVERDUE_S / len(piece.items))
        if piece.done.cancelled():
            self._abandon(piece)

    def _wait_of(self, client: str, kind: tuple[Work, type]) -> float:
        """Return for how long work of a client waits before it is begun."""
        if self._is_quick(kind):
            return 0.0
        wary = time.monotonic() - self._left_at < _WARY_S
        return self._waits.get(client, _LEFT_S if wary else 0.0)

    def _keep_wait(self, client: str, seconds: float) -> None:
        self._waits[client] = seconds
        self._waits.move_to_end(client)
        if len(self._waits) > _KNOWN:
            self._waits.popitem(last=False)

    def _abandon(self, piece: _Piece) -> None:
        """End a piece under way that nobody waits for; its client's next slow work waits."""
        before = max(self._waits.get(piece.client, 0.0), _LEFT_S / 2)
        self._keep_wait(piece.client, min(2 * before, _LONGEST_LEFT_S))
        self._left_at = time.monotonic()
        abandon = getattr(self.executor, "abandon", None)
        if abandon is not None:
            asyncio.get_running_loop().run_in_executor(None, abandon, piece.running)

    def _ended(self, piece: _Piece, found: asyncio.Future[Any]) -> None:
        self._busy.discard(piece.slot)
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
                if not piece.quick:
                    self._keep_wait(piece.client, 0.0)  # it has stayed
        self._begin_next()

    def _give_up(self, piece: _Piece) -> None:
        """Drop a piece whose request is gone: it is not begun, or looked at once more."""
        self.given_up += 1
        if (self._quick if piece.quick else self._slow).remove(piece.client, piece):
            return
        slow = piece.overdue or not piece.quick
        if piece.running is not None and not piece.running.done() and slow:
            self._abandon(piece)
