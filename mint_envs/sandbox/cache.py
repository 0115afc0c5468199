"""Outcomes by job: a group repeats programs, and the same job has the same outcome."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence

from .blame import LIMIT
from .port import Job, Outcome

_KEPT = 4096
_KEPT_BYTES = 128 << 20


class Cache:
    """The latest outcomes. Those that time on the wall or a fault decided are not kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Job, Outcome] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        _CACHES.add(self)

    def get_all(self, jobs: Sequence[Job]) -> dict[Job, Outcome]:
        """Return what is known of the jobs."""
        with self._lock:
            known = {job: self._kept[job] for job in jobs if job in self._kept}
            for job in known:
                self._kept.move_to_end(job)
        return known

    def put(self, job: Job, outcome: Outcome) -> None:
        if outcome.failure or outcome.limit in ("wall", LIMIT):
            return
        with self._lock:
            if job not in self._kept:
                self._size += _weight(job, outcome)
            self._kept[job] = outcome
            while len(self._kept) > _KEPT or self._size > _KEPT_BYTES:
                self._size -= _weight(*self._kept.popitem(last=False))


#: Every cache of this process: a fork may happen while another thread holds the lock of one.
_CACHES: weakref.WeakSet[Cache] = weakref.WeakSet()


def _unlock_all() -> None:
    for cache in list(_CACHES):
        cache._lock = threading.Lock()


os.register_at_fork(after_in_child=_unlock_all)


def _weight(job: Job, outcome: Outcome) -> int:
    """Return about how many bytes a pair keeps; records take more than their text."""
    asked = sum(map(len, (job.program, job.stdin, job.setup, *job.calls)))
    asked += sum(len(text) for _, text in job.steps)
    return asked + len(outcome.stdout) + outcome.record_bytes * 20
