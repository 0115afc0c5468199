"""How the server cuts batches: by how long the work takes, not by how long it had to wait."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import Future
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mint_envs.executors import Lost
from mint_envs.executors.processes import Processes
from mint_envs.serve import work
from mint_envs.serve.fair import CLIENT, FairQueue
from mint_envs.serve.work import Desk, NoRoom, warm


class Queue:
    """An executor behind a queue of so many seconds."""

    slots = 2

    def __init__(self, wait_s: float) -> None:
        self.wait_s, self.pieces = wait_s, [0]

    def submit(self, function: Any, task: Any, item: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.pieces.append(len(item[1]))

        def work() -> None:
            time.sleep(self.wait_s)
            future.set_result(function(task, item))

        threading.Thread(target=work).start()
        return future

    def close(self) -> None:
        pass


def quick(_: None, items: list[Any]) -> list[Any]:
    return items


def slow(_: None, items: list[Any]) -> list[Any]:
    time.sleep(0.6 * len(items))
    return items


@pytest.mark.parametrize(
    ("function", "wait_s", "pieces"), [(quick, 0.6, [8, 8]), (slow, 0.0, [1, 1, 1])]
)
def test_a_batch_is_cut_by_the_time_that_its_work_takes(
    function: Any, wait_s: float, pieces: list[int]
) -> None:
    executor = Queue(wait_s)
    desk = Desk(executor, 100)
    assert asyncio.run(desk.run(function, None, ["one"])) == ["one"]
    executor.pieces.clear()
    items = list(range(sum(pieces)))
    assert asyncio.run(desk.run(function, None, items)) == items
    assert executor.pieces == pieces


# -- whose turn it is -----------------------------------------------------------------------------


class ByHand:
    """An executor whose work ends when the test says so."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.begun: list[tuple[str, Future[Any]]] = []
        self.abandoned: list[Future[Any]] = []

    def submit(self, function: Any, task: Any, item: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        self.begun.append((item[1][0], future))
        return future

    def abandon(self, future: Future[Any]) -> None:
        self.abandoned.append(future)
        future.set_exception(Lost("it was given up"))

    def end(self, seconds: float = 1.0) -> None:
        """End the piece that was begun first, as if it had taken so long."""
        name, future = next(pair for pair in self.begun if not pair[1].done())
        future.set_result(([name], seconds))

    def names(self) -> list[str]:
        return [name for name, _ in self.begun]

    def close(self) -> None:
        pass


async def asked(desk: Desk, client: str, function: Any, name: str) -> asyncio.Task[Any]:
    """Let a client ask, and the desk begin what it can."""

    async def ask() -> Any:
        CLIENT.set(client)
        return await desk.run(function, None, [name])

    made = asyncio.create_task(ask())
    await asyncio.sleep(0.01)
    return made


def test_clients_take_turns() -> None:
    async def play() -> None:
        executor = ByHand(1)
        desk = Desk(executor, 100)
        many = [await asked(desk, "many", slow, f"many {i}") for i in range(4)]
        few = await asked(desk, "few", slow, "few")
        for _ in range(5):
            executor.end()
            await asyncio.sleep(0.01)
        assert executor.names() == ["many 0", "many 1", "few", "many 2", "many 3"]
        assert await few == ["few"]
        assert await asyncio.gather(*many) == [[f"many {i}"] for i in range(4)]
        assert desk.waiting == 0

    asyncio.run(play())


def test_quick_work_does_not_wait_for_slow_work() -> None:
    async def play() -> None:
        executor = ByHand(3)
        desk = Desk(executor, 100)  # of three slots slow work, and any one client, has two
        first = await asked(desk, "a", quick, "unknown")  # how long it takes is not known yet
        executor.end(0.001)
        await first
        slows = [await asked(desk, "a", slow, f"slow {i}") for i in range(5)]
        assert executor.names()[1:] == ["slow 0", "slow 1"]  # one slot is left
        one = await asked(desk, "b", quick, "quick")
        assert executor.names()[-1] == "quick"
        executor.begun[-1][1].set_result((["quick"], 0.001))
        assert await one == ["quick"]
        while not all(one.done() for one in slows):
            executor.end()
            await asyncio.sleep(0.01)

    asyncio.run(play())


@pytest.mark.parametrize(("slots", "before"), [(3, 1), (2, 1), (1, 2)])
def test_slow_work_does_not_wait_for_as_long_as_quick_work_comes(slots: int, before: int) -> None:
    async def play() -> None:
        executor = ByHand(slots)
        desk = Desk(executor, 100)
        for function, seconds in ((quick, 0.001), (slow, 1.0)):
            first = await asked(desk, "a", function, "first")
            executor.end(seconds)
            await first
        executor.begun.clear()
        quicks = [await asked(desk, f"client {i}", quick, f"quick {i}") for i in range(20)]
        late = await asked(desk, "z", slow, "slow")
        ended = 0
        while "slow" not in executor.names():
            executor.end(0.001)
            ended += 1
            await asyncio.sleep(0.01)
        assert ended <= before
        while not all(one.done() for one in (*quicks, late)):
            executor.end(0.001)
            await asyncio.sleep(0.01)

    asyncio.run(play())


def test_what_waits_is_sorted_anew_once_it_is_known_how_long_its_kind_takes() -> None:
    async def play() -> None:
        executor = ByHand(2)
        desk = Desk(executor, 100)
        first = [await asked(desk, "a", quick, f"first {i}") for i in range(5)]
        assert (len(desk._quick), len(desk._slow)) == (0, 4)  # one runs, of a kind not known yet
        executor.end(0.001)
        await first[0]
        assert len(desk._slow) == 0
        assert len(desk._quick) == 3
        executor.end(60.0)  # it is not what it was
        await first[1]
        assert len(desk._quick) == 0
        assert len(desk._slow) == 2
        while not all(one.done() for one in first):
            executor.end()
            await asyncio.sleep(0.01)
        assert desk.waiting == desk._slow_running == 0

    asyncio.run(play())


def test_work_that_was_thought_quick_is_learned_to_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is ended, a little later, if nobody waits for it."""
    monkeypatch.setattr(work, "_OVERDUE_S", 0.05)

    async def play() -> None:
        executor = ByHand(3)
        desk = Desk(executor, 100)
        first = await asked(desk, "a", quick, "first")
        executor.end(0.001)
        await first
        liars = [await asked(desk, "a", quick, f"liar {i}") for i in range(3)]
        assert executor.names() == ["first", "liar 0", "liar 1"]  # no client has all slots
        for one in liars:
            one.cancel()
        while len(executor.abandoned) < 2:
            await asyncio.sleep(0.01)
        assert executor.names() == ["first", "liar 0", "liar 1"]

    asyncio.run(play())


def test_work_that_is_late_is_ended_when_its_client_leaves_later_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(work, "_OVERDUE_S", 0.01)

    async def play() -> None:
        executor = ByHand(3)
        desk = Desk(executor, 100)
        first = await asked(desk, "a", quick, "first")
        executor.end(0.001)
        await first
        liar = await asked(desk, "a", quick, "liar")
        await asyncio.sleep(0.2)
        assert not executor.abandoned
        liar.cancel()
        while not executor.abandoned:
            await asyncio.sleep(0.01)

    asyncio.run(play())


def test_what_nobody_waits_for_is_not_begun_and_what_runs_is_ended() -> None:
    async def play() -> None:
        executor = ByHand(1)
        desk = Desk(executor, 100)
        gone = [await asked(desk, "gone", slow, f"gone {i}") for i in range(3)]
        there = await asked(desk, "there", slow, "there")
        for one in gone:
            one.cancel()
        await asyncio.wait(gone)
        while not executor.abandoned:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        assert executor.names() == ["gone 0", "there"]
        assert desk.given_up == 3
        executor.end()
        assert await there == ["there"]
        assert desk.waiting == 0

    asyncio.run(play())


def test_work_that_waits_for_its_client_is_not_in_the_queue_meanwhile() -> None:
    """What others ask for would look at each piece of it, time and again."""

    async def play() -> None:
        executor = ByHand(2)
        desk = Desk(executor, 100)
        desk._keep_wait("leaves", 0.05)
        CLIENT.set("leaves")
        gone = asyncio.create_task(desk.run(slow, None, [f"gone {i}" for i in range(8)]))
        await asyncio.sleep(0)
        assert not len(desk._slow)
        assert desk.waiting == 8
        gone.cancel()
        await asyncio.wait([gone])
        assert (desk.waiting, desk.given_up, executor.names()) == (0, 1, [])
        stays = await asked(desk, "leaves", slow, "stays")
        assert executor.names() == []
        while not executor.names():
            await asyncio.sleep(0.01)
        executor.end()
        assert await stays == ["stays"]

    asyncio.run(play())


def test_a_client_has_a_quota() -> None:
    async def play() -> None:
        executor = ByHand(1)
        desk = Desk(executor, 100, 2)
        waiting = [await asked(desk, "a", slow, name) for name in ("one", "two")]
        with pytest.raises(NoRoom, match="2 responses of yours"):
            await (await asked(desk, "a", slow, "three"))
        waiting.append(await asked(desk, "b", slow, "other"))
        for one in waiting:
            executor.end()
            await one
        await asyncio.sleep(0)
        waiting = [await asked(desk, "a", slow, "four")]
        executor.end()
        assert await waiting[0] == ["four"]

    asyncio.run(play())


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40))
def test_the_queue_keeps_all_and_goes_round(steps: list[tuple[str, bool]]) -> None:
    queue: FairQueue[tuple[str, int]] = FairQueue()
    put: list[tuple[str, int]] = []
    taken: list[tuple[str, int]] = []
    for number, (client, take) in enumerate(steps):
        if take:
            taken += [one] if (one := queue.take()) else []
        else:
            put.append((client, number))
            queue.put(client, put[-1])
    while (one := queue.take()) is not None:
        taken.append(one)
    assert sorted(taken) == sorted(put)
    for client in "abc":  # each client's own keep their order
        assert [one for one in taken if one[0] == client] == [p for p in put if p[0] == client]


def test_a_worker_is_taken_from_work_that_nobody_waits_for() -> None:
    pool = Processes(1)
    try:
        pool.submit(nap, None, 0.0).result(60)
        long = pool.submit(nap, None, 300.0)
        behind, waiting = pool.submit(nap, None, 0.0), pool.submit(nap, None, 300.0)
        while not long.running():
            time.sleep(0.01)
        began = time.monotonic()
        pool.abandon(waiting)
        pool.abandon(long)
        with pytest.raises(Lost, match="nobody waits"):
            long.result(60)
        assert waiting.cancelled()
        assert behind.result(60) == 0.0
        assert time.monotonic() - began < 120
        pool.abandon(behind)  # it is over: nothing happens
        assert pool.submit(nap, None, 0.0).result(60) == 0.0
    finally:
        pool.close()


def test_a_place_is_free_again_once_its_next_worker_is_up() -> None:
    """Else a quick piece that is given to it waits until a process has started."""
    pool = Processes(1)
    try:
        pool.submit(nap, None, 0.0).result(60)
        (before,) = pool.pids
        long = pool.submit(nap, None, 300.0)
        while not long.running():
            time.sleep(0.01)
        pool.abandon(long)
        with pytest.raises(Lost, match="nobody waits"):
            long.result(60)
        (after,) = pool.pids
        assert after != before
        assert pool.submit(own_pid, None, None).result(60) == after
    finally:
        pool.close()


class Held:
    """An executor whose work goes on until it is abandoned, or the test ends it."""

    slots = 3

    def __init__(self) -> None:
        self.begun: list[Future[Any]] = []

    def submit(self, function: Any, task: Any, item: Any) -> Future[Any]:
        self.begun.append(Future())
        self.begun[-1].set_running_or_notify_cancel()
        return self.begun[-1]

    def abandon(self, future: Future[Any]) -> None:
        future.set_exception(Lost("it was given up"))


@pytest.mark.parametrize("wait_s", [3600.0, 0.01])
def test_who_leaves_slow_work_waits_before_more_of_it_is_begun(
    wait_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "_LEFT_S", wait_s)
    monkeypatch.setattr(work, "_LONGEST_LEFT_S", wait_s)
    executor = Held()
    desk = Desk(executor, 100)  # type: ignore[arg-type]

    async def ask(client: str) -> asyncio.Task[Any]:
        CLIENT.set(client)
        task = asyncio.create_task(desk.run(nap, None, [0]))
        await asyncio.sleep(0)
        return task

    async def begun(number: int) -> Future[Any]:
        while len(executor.begun) < number:
            await asyncio.sleep(0.001)
        assert len(executor.begun) == number
        return executor.begun[-1]

    async def all_of_it() -> None:
        stays, leaves = await ask("stayer"), await ask("leaver")
        await begun(2)
        executor.begun[0].set_result(([0], 1.0))
        assert await stays == [0]
        leaves.cancel()
        while not executor.begun[1].done():
            await asyncio.sleep(0.001)
        again, new = await ask("leaver"), await ask("not known")
        stays = await ask("stayer")  # is served at once
        if wait_s > 1:
            (await begun(3)).set_result(([0], 1.0))
            assert await stays == [0]
            assert desk.waiting == 2
            again.cancel()
            new.cancel()
            return
        await begun(4)  # of three slots slow work has two
        for future in executor.begun[2:]:
            future.set_result(([0], 1.0))
        (await begun(5)).set_result(([0], 1.0))
        assert [await stays, await again, await new] == [[0]] * 3
        await ask("leaver")  # has stayed once, and is served at once again
        assert desk._waits == {"stayer": 0.0, "leaver": 0.0, "not known": 0.0}

    asyncio.run(all_of_it())


def test_programs_give_way_to_the_server() -> None:
    pool = Processes(1, nice=7)
    try:
        assert pool.submit(warm, None, None).result(60) == ""
        worker = psutil.Process(pool.pids[0])
        assert worker.nice() == os.getpriority(os.PRIO_PROCESS, 0)
        niceness = [one.nice() for one in worker.children(recursive=True)]
        assert niceness
        assert set(niceness) == {min(19, worker.nice() + 7)}
    finally:
        pool.close()


def own_pid(_: Any, __: Any) -> int:
    return os.getpid()


def nap(_: Any, seconds: float) -> float:
    time.sleep(seconds)
    return seconds
