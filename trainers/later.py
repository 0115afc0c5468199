"""Calls made in threads of their own, which do not keep a process from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def later(call: Callable[[], T], name: str) -> Future[T]:
    """Return the future of ``call()``, which runs in a thread called ``name``."""
    box: Future[T] = Future()
    box.set_running_or_notify_cancel()  # from here on only ``run`` ends it

    def run() -> None:
        try:
            box.set_result(call())
        except BaseException as error:
            box.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return box
