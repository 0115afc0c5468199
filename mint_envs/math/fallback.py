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

import importlib.util
import json
import os
import re
import sys
import threading
from functools import cache, lru_cache

from ..children import ChildGone, ChildLate, LineChild
from ..process_local import ProcessLocal

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
    return _worker.get().ask(wanted, given)


class _Worker:
    """A ``sympy_worker`` that is started when it is first asked, and again when it is lost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: LineChild | None = None
        self._ready = self._stopped = False

    def ask(self, wanted: str, given: str) -> bool:
        """Return whether it proves the two equal."""
        with self._lock:
            if _unusable or self._stopped:  # another thread has seen to that
                return False
            try:
                question = json.dumps([wanted, given]).encode() + b"\n"
                return self._running().ask(question, _DEADLINE_S) == b"equal"
            except (OSError, ChildGone, ChildLate):
                self._replace()
                return False

    def _running(self) -> LineChild:
        if self._child is None or self._child.over:
            self._start()
        assert self._child is not None
        if not self._ready:
            self._ready = self._child.line(_START_S) == b"ready"
        return self._child

    def _start(self) -> None:
        self._ready = False
        self._child = LineChild([sys.executable, "-m", _MODULE])

    def _replace(self) -> None:
        """Let another be made ready, unless the first could not: then the next could not either."""
        if self._child is not None:
            self._child.end()
        if not self._ready:
            _unusable.append(True)
        elif not self._stopped:
            self._start()

    def stop(self) -> None:
        self._stopped = True
        if self._child is not None:
            self._child.end()


_worker = ProcessLocal(_Worker, _Worker.stop)
_unusable: list[bool] = []  # not empty once a worker has failed to start


def close() -> None:
    """Stop the worker; the next question starts another."""
    _worker.close()
