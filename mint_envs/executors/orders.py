"""Work that waits for threads: for whichever is free, or for one of them."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

Order = TypeVar("Order")


class Orders(Generic[Order]):
    """What waits for so many threads, first come, first served; a thread's own comes first."""

    def __init__(self, threads: int) -> None:
        self._any: deque[Order] = deque()
        self._own: list[deque[Order]] = [deque() for _ in range(threads)]
        self._ready = threading.Condition()
        self._closed = False

    def put(self, order: Order, at: int | None = None) -> None:
        """Let work wait for a thread, or for the first that is free."""
        with self._ready:
            (self._any if at is None else self._own[at]).append(order)
            self._ready.notify_all()

    def take(self, thread: int) -> Order | None:
        """Wait for work and return it; None once this is closed."""
        own = self._own[thread]
        with self._ready:
            self._ready.wait_for(lambda: own or self._any or self._closed)
            if own or self._any:
                return (own or self._any).popleft()
            return None

    def close(self) -> list[Order]:
        """Take no thread's time any more; return what nobody will take."""
        with self._ready:
            self._closed = True
            left = [order for orders in (self._any, *self._own) for order in orders]
            for orders in (self._any, *self._own):
                orders.clear()
            self._ready.notify_all()
        return left
