"""What workers do for the server, and how the event loop waits for it without being held up."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from ..core import Prompt, Reward, Task
from ..errors import SandboxUnavailable
from ..executors import Answer, Executor, Lost, Turn
from ..executors.port import Work, unmeasured
from ..executors.turns import answer_turns
from ..problems import OtherLength, ProblemRef, Turns, play_all, play_whole

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


class Desk:
    """Takes work in, as far as there is room, and hands it to the executor piece by piece."""

    def __init__(self, executor: Executor, max_waiting: int) -> None:
        self.executor, self._max_waiting = executor, max_waiting
        self.waiting = 0
        self._seconds_each = 0.01
        self._seconds: dict[Work, float] = {}

    async def run(self, function: Work, task: Task[Any] | None, items: Sequence[Any]) -> list[Any]:
        """Run ``function(task, list of items) -> list``; keep the order. ``Lost`` stand in place.

        Raises:
            NoRoom: too many items wait already. Nothing was begun.
        """
        if self.waiting + len(items) > self._max_waiting:
            raise NoRoom(self.retry_s(), f"{self.waiting} responses are waiting to be scored")
        self.waiting += len(items)
        try:
            return await self._run(function, task, items)
        finally:
            self.waiting -= len(items)

    def retry_s(self) -> float:
        """Guess the seconds until the work that waits is done."""
        wait = self.waiting * self._seconds_each / self.executor.slots
        return float(min(60, max(1, math.ceil(wait))))

    async def _run(self, function: Work, task: Task[Any] | None, items: Sequence[Any]) -> list[Any]:
        size = self._piece_size(function, len(items))
        pieces = [list(items[i : i + size]) for i in range(0, len(items), size)]
        if len(pieces) == 1:
            return await self._piece(function, task, pieces[0])
        room = asyncio.Semaphore(self.executor.slots)

        async def one(piece: list[Any]) -> list[Any]:
            async with room:
                return await self._piece(function, task, piece)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(piece)) for piece in pieces]
        return list(itertools.chain.from_iterable(task.result() for task in tasks))

    def _piece_size(self, function: Work, items: int) -> int:
        quick = int(_PIECE_S / self._seconds.get(function, self._seconds_each))
        return max(1, min(_LARGEST_PIECE, quick, -(-items // self.executor.slots)))

    async def _piece(self, function: Work, task: Task[Any] | None, piece: list[Any]) -> list[Any]:
        try:
            found, seconds = await self._submitted(function, task, piece)
        except Lost as error:
            if len(piece) == 1:
                return [error]
            return [one for item in piece for one in await self._piece(function, task, [item])]
        self._note(function, seconds / max(1, len(piece)))
        return found

    def _note(self, function: Work, seconds: float) -> None:
        """Let the latest times weigh in what work of this kind, and of any, takes for one item."""
        seconds = max(seconds, 1e-6)
        before = self._seconds.get(function, seconds)
        self._seconds[function] = before + 0.2 * (seconds - before)
        self._seconds_each += 0.05 * (seconds - self._seconds_each)

    async def _submitted(
        self, function: Work, task: Task[Any] | None, piece: list[Any]
    ) -> tuple[list[Any], float]:
        future: Future[Any] = self.executor.submit(timed, task, (function, piece))
        found: tuple[list[Any], float] = await asyncio.wrap_future(future)
        return found
