"""Outcomes by job: the group of a problem repeats programs, and a run of the same job is the same."""

from __future__ import annotations

import threading
from collections import OrderedDict

from .base import Job, Outcome

_KEPT = 4096
_KEPT_BYTES = 128 << 20


class Cache:
    """The latest outcomes. Those that time on the wall or a fault decided are not kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Job, Outcome] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, job: Job) -> Outcome | None:
        with self._lock:
            outcome = self._kept.get(job)
            if outcome is not None:
                self._kept.move_to_end(job)
            return outcome

    def put(self, job: Job, outcome: Outcome) -> None:
        if outcome.failure or outcome.limit == "wall":
            return
        with self._lock:
            if job not in self._kept:
                self._size += _weight(job, outcome)
            self._kept[job] = outcome
            while len(self._kept) > _KEPT or self._size > _KEPT_BYTES:
                self._size -= _weight(*self._kept.popitem(last=False))


def _weight(job: Job, outcome: Outcome) -> int:
    """Return about how many bytes a pair keeps; records take more than their text."""
    return len(job.program) + len(job.stdin) + len(outcome.stdout) + outcome.record_bytes * 20
