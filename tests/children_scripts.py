"""What the tests of children and of their parents share."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends them so")

HEAD = """
import os, signal, sys, time
def say(*words): os.write(1, " ".join(map(str, words)).encode() + b"\\n")
def offspring():
    "A process that outlives this one, and holds its pipes."
    if pid := os.fork(): return pid
    time.sleep(600)
"""


def alive(pid: int) -> bool:
    """Whether a process is there; one that waits to be reaped is not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def soon(what: Callable[[], bool], wall_s: float = 10) -> bool:
    end = time.monotonic() + wall_s
    while not what() and time.monotonic() < end:
        time.sleep(0.01)
    return what()
