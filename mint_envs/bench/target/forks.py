"""A call in a copy of the worker, which it may change, hang or end; and how answers are written."""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

# By name: what a reward function puts into these modules is no part of the benchmark.
from json import dumps, loads
from select import select
from time import monotonic
from typing import Any, NoReturn, TextIO

_PDEATHSIG = 1
_POLL_S = 0.02
_MOST_CROWD = 8.0  # times that a crowded machine is waited for
CLOCK = 6  # seconds by the clock for one of CPU time: a busy machine is not a hanging one


def crowd() -> float:
    """Return by how much this machine has more to do than it can: what waits does not hang."""
    try:
        return min(_MOST_CROWD, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))
    except OSError:
        return 1.0


class NoAnswer(Exception):
    """A copy of this process gave none: ``status`` is "hung" or "died"."""

    def __init__(self, status: str, text: str, seconds: float = 0.0) -> None:
        super().__init__(text)
        self.status, self.seconds = status, seconds


def in_fork(call: Callable[[], Any], seconds: float) -> Any:
    """Return what ``call`` returns in a copy of this process.

    What the call changes, or that it ends or hangs its process, is lost with the copy, and so are
    the processes that it leaves behind.

    It is a copy, where a ``children.Child`` is a new program, and the call may meddle with all that
    this imports: so it shares nothing with that.

    Raises:
        NoAnswer: the copy ended or hung.
    """
    reading, writing = os.pipe()
    maker = os.getpid()
    child = os.fork()
    if not child:
        os.close(reading)
        _answer_in_child(call, writing, math.ceil(seconds), maker)
    os.close(writing)
    answer = _read_from_child(reading, child, monotonic() + CLOCK * seconds * crowd())
    os.close(reading)
    if answer is None:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if answer is None or (not answer and status in (-signal.SIGXCPU, -signal.SIGKILL)):
        raise NoAnswer("hung", f"no answer within {seconds:g} s", seconds)
    try:
        return loads(answer)
    except ValueError:
        raise NoAnswer("died", f"its process ended with code {status}") from None


def _answer_in_child(call: Callable[[], Any], target: int, seconds: int, maker: int) -> NoReturn:
    """Write what ``call`` returns, and end; in a group of its own, which can be ended with it."""
    try:
        os.setpgid(0, 0)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != maker:
            os._exit(1)  # it ended before that was set
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        write_reply(os.fdopen(target, "w"), call())
        os._exit(0)
    finally:
        os._exit(1)


def _read_from_child(source: int, child: int, deadline: float) -> bytes | None:
    """Return the line that comes from a child, less if it ends; None if that is too late.

    A process that the child leaves behind may hold the pipe open, so its end is no sign.
    """
    found, sources = b"", [source]
    while not found.endswith(b"\n"):
        if select(sources, [], [], _POLL_S)[0]:
            data = os.read(source, 1 << 16)
            found += data
            sources = sources if data else []
        elif os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return found
        elif monotonic() > deadline:
            return None
    return found


def write_reply(replies: TextIO, value: Any) -> None:
    replies.write(dumps(_finite_only(value)) + "\n")
    replies.flush()


def _finite_only(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return [_finite_only(item) for item in value] if isinstance(value, list) else value
