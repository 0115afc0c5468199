"""Orders for threads: each is taken once, by whom it is for, and none waits beside an idle one."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from mint_envs.executors.orders import Orders

THREADS, PATIENCE_S = 4, 60.0


def attending(orders: Orders[str], do: Callable[[int, str], None]) -> list[threading.Thread]:
    """Start threads that take orders until these are closed."""

    def attend(thread: int) -> None:
        while (order := orders.take(thread)) is not None:
            do(thread, order)

    threads = [threading.Thread(target=attend, args=(i,), daemon=True) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    return threads


def ended(orders: Orders[str], threads: list[threading.Thread]) -> list[str]:
    left = orders.close()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    return left


@pytest.mark.parametrize("seed", range(3))
def test_each_order_is_taken_once_by_whom_it_is_for(seed: int) -> None:
    orders: Orders[str] = Orders(THREADS)
    taken: list[tuple[int, str]] = []
    all_taken = threading.Semaphore(0)

    def note(thread: int, order: str) -> None:
        taken.append((thread, order))
        all_taken.release()

    threads = attending(orders, note)
    names = [f"{seed}-{number}" for number in range(2000)]
    draw = random.Random(seed)
    homes = {name: draw.choice([None, *range(THREADS)]) for name in names}

    def put(some: list[str]) -> None:
        for name in some:
            orders.put(name, homes[name])

    with ThreadPoolExecutor(2) as putting:
        list(putting.map(put, (names[::2], names[1::2])))
    for _ in names:
        assert all_taken.acquire(timeout=PATIENCE_S)
    assert Counter(name for _, name in taken) == Counter(names)
    assert all(homes[name] in (None, thread) for thread, name in taken)
    assert ended(orders, threads) == []


def test_an_order_for_anybody_is_not_left_to_a_thread_that_has_its_own_to_do() -> None:
    """Whoever was woken for it may be given its own first: another that is idle must have it."""
    orders: Orders[str] = Orders(THREADS)
    any_taken, in_time, done = threading.Event(), [], threading.Semaphore(0)

    def work(thread: int, order: str) -> None:
        if order == "own":
            in_time.append(any_taken.wait(PATIENCE_S))
        else:
            any_taken.set()
        done.release()

    threads = attending(orders, work)
    for number in range(300):
        any_taken.clear()
        orders.put("any")
        orders.put("own", number % THREADS)
        for _ in range(2):
            assert done.acquire(timeout=2 * PATIENCE_S)
    assert in_time == [True] * 300
    assert ended(orders, threads) == []


def test_what_nobody_took_is_given_back() -> None:
    orders: Orders[str] = Orders(2)
    orders.put("any")
    orders.put("own", 1)
    assert orders.close() == ["any", "own"]
    assert orders.take(0) is None
