"""How the server cuts batches: by how long the work takes, not by how long it had to wait."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from typing import Any

import pytest

from mint_envs.serve.work import Desk


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
