"""How long the processes of a job have slept, neither running nor waiting for a CPU.

Standard library only: also used in containers.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path


def pid_of(handle: int) -> int:
    """Return the process behind a pidfd, as this process numbers it; -1 if that is not told."""
    try:
        lines = Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines()
    except OSError:
        return -1
    return next((int(line.split()[1]) for line in lines if line.startswith("Pid:")), -1)


class SleptTime:
    """Adds up the seconds in which no process of a job has run or waited for a CPU.

    Where the kernel does not tell, a quarter of the time that goes by.
    """

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._looked, self._slept = time.monotonic(), 0.0
        self._seen: dict[int, float] = {}

    def seconds(self) -> float:
        """Look again, and return the sum so far."""
        passed, self._looked = time.monotonic() - self._looked, time.monotonic()
        if self._pids and all(os.path.exists(f"/proc/{pid}/schedstat") for pid in self._pids):
            now = {pid: _busy_seconds(pid) for root in self._pids for pid in (root, *_below(root))}
            worked = sum(max(0.0, busy - self._seen.get(pid, 0.0)) for pid, busy in now.items())
            self._seen = now
        else:
            worked = 0.75 * passed
        self._slept += max(0.0, passed - worked)
        return self._slept


def _below(pid: int) -> list[int]:
    """Return the processes that a process has started (a compiler's), and they in turn."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += [int(child), *_below(int(child))]
    return found


def _busy_seconds(pid: int) -> float:
    """Return the seconds that the threads of a process have run or waited for a CPU."""
    nanoseconds = 0
    with contextlib.suppress(OSError):  # it, or a thread of it, has just ended
        for task in os.listdir(f"/proc/{pid}/task"):
            ran, waited, _ = Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()
            nanoseconds += int(ran) + int(waited)
    return nanoseconds / 1e9
