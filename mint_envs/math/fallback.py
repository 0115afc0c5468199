"""Ask sympy, in a process of its own, about what the parser here cannot read.

Only with the extra ``mint-envs[math]``, and only about sums, products, integrals and limits. It is
asked for a *proof*: sympy must reduce the difference of the two answers to an exact 0, so floats,
units, bases and sets never get this far, and its answer is never "different".

Static limits keep out what could take long; one warm worker (``sympy_worker``) works under limits
of its own on memory and CPU time, so that a busy machine changes no verdict, and this process keeps
a deadline besides: a worker that misses it is killed and a new one started. That works from any
thread, and after a fork.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import re
import select
import subprocess
import sys
import threading
from functools import cache, lru_cache

_DEADLINE_S = 10.0  # wall clock: only a backstop, for a call that the worker cannot interrupt
_START_S = 60.0
_LONGEST = 160  # characters of an answer
_ALLOWED = re.compile(r"[A-Za-z0-9\\{}()\[\]^_+\-*/=,!|' ]+", re.ASCII)
_REFUSED = re.compile(
    r"\d{7}|\^\{?\s*-?\d{3}|\^[^ +\-*/]*\^|!\s*!|_\{?\d+\}?$"
    r"|\\(?:text|mathrm|mbox|begin|input|cup|cap|pm)"
)
_WORK = re.compile(r"\\(?:sum|prod|i*nt|lim)(?![A-Za-z])")  # what the parser here leaves to sympy
_MODULE = "mint_envs.math.sympy_worker"


def equal(wanted: str, given: str) -> bool:
    """Return whether sympy proves the two answers equal; False if it is not installed."""
    if not (_WORK.search(wanted) or _WORK.search(given)):
        return False
    if _unusable or not (_may_ask(wanted) and _may_ask(given) and installed()):
        return False
    return _asked(wanted, given)


@cache
def installed() -> bool:
    """Whether the extra ``mint-envs[math]`` is there."""
    return bool(importlib.util.find_spec("latex2sympy2_extended")) and os.name == "posix"


def _may_ask(text: str) -> bool:
    """The static limits: short, plain, without towers, long numbers and huge bounds."""
    if not 0 < len(text) <= _LONGEST or not _ALLOWED.fullmatch(text):
        return False
    return not _REFUSED.search(text) and len(_WORK.findall(text)) <= 1


@lru_cache(4096)
def _asked(wanted: str, given: str) -> bool:
    with _lock:
        return _worker().ask(wanted, given)


class _Worker:
    """A running ``sympy_worker``."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._ready = False

    def ask(self, wanted: str, given: str) -> bool:
        try:
            if not self._ready:
                self._ready = self._line(_START_S) == b"ready\n"
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps([wanted, given]).encode() + b"\n")
            self._process.stdin.flush()
            return self._line(_DEADLINE_S) == b"equal\n"
        except (OSError, TimeoutError):
            self.stop()
            _current.clear()
            if self._ready:  # else it cannot be started here, and the next would not be either
                _current.append(_Worker())
            else:
                _unusable.append(True)
            return False

    def _line(self, timeout_s: float) -> bytes:
        """One line of the worker; each is short enough to come in one piece."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], timeout_s)[0]:
            raise TimeoutError
        line = self._process.stdout.readline()
        if not line:
            raise OSError("the worker has ended")
        return line

    def stop(self) -> None:
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was written to a worker that has ended
                if stream is not None:
                    stream.close()


_lock = threading.Lock()
_current: list[_Worker] = []
_unusable: list[bool] = []  # not empty once a worker has failed to start


def _worker() -> _Worker:
    """This process's worker; a process that was forked starts one of its own."""
    if _current and _current[0].owner != os.getpid():
        _current.pop().stop()
    if not _current:
        _current.append(_Worker())
    return _current[0]


def close() -> None:
    """Stop the worker; the next question starts another."""
    while _current:
        _current.pop().stop()


def _after_fork() -> None:
    """A lock that another thread held at the fork would never be released in the child."""
    global _lock
    _lock = threading.Lock()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
