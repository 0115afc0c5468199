"""Work that waits for threads: for whichever is free, or for one of them."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

Order = TypeVar("Order")


class Orders(Generic[Order]):
    """What waits for so many threads, first come, first served; a thread's own comes first.

    Only a thread that has something to do is woken: to wake all of them for each order costs the
    event loop, which puts orders here, a tenth of its time.
    """

    def __init__(self, threads: int) -> None:
        self._any: deque[Order] = deque()
        self._own: list[deque[Order]] = [deque() for _ in range(threads)]
        self._lock = threading.Lock()
        self._ready = [threading.Condition(self._lock) for _ in range(threads)]
        self._idle: set[int] = set()  # threads that wait, and were not woken
        self._closed = False

    def put(self, order: Order, at: int | None = None) -> None:
        """Let work wait for a thread, or for the first that is free."""
        with self._lock:
            if at is None:
                self._any.append(order)
                self._wake_one()
            else:
                self._own[at].append(order)
                self._wake(at)

    def take(self, thread: int) -> Order | None:
        """Wait for work and return it; None once this is closed."""
        own = self._own[thread]
        with self._lock:
            while not (own or self._any or self._closed):
                self._idle.add(thread)
                self._ready[thread].wait()
                self._idle.discard(thread)
            order = (own or self._any).popleft() if own or self._any else None
            self._wake_one()  # this thread may have been woken for what still waits
            return order

    def close(self) -> list[Order]:
        """Take no thread's time any more; return what nobody will take."""
        with self._lock:
            self._closed = True
            left = [order for orders in (self._any, *self._own) for order in orders]
            for orders in (self._any, *self._own):
                orders.clear()
            for thread in range(len(self._own)):
                self._wake(thread)
        return left

    def _wake_one(self) -> None:
        if self._any and self._idle:
            self._wake(next(iter(self._idle)))

    def _wake(self, thread: int) -> None:
        self._idle.discard(thread)
        self._ready[thread].notify()
