"""Watching what must not be touched: global random state, and everything outside this process."""

from __future__ import annotations

import os
import pickle
import random
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector.utils import CloudpickleWrapper

from ..children import Child

_CHILD_SECONDS = 300


def _global_state() -> tuple[Any, ...]:
    _, keys, position, *rest = np.random.get_state(legacy=True)  # noqa: NPY002 - it is watched
    return random.getstate(), keys.tobytes(), position, *rest  # type: ignore[union-attr]


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Seed the global generators for a while, and put back the state they had."""
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 - put back below
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what a task must not depend on
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002


class Watch:
    """Tells whether the global generators have been advanced or seeded since it was made."""

    def __init__(self) -> None:
        self._mark()

    def _mark(self) -> None:
        """Go on by one draw: a generator that is seeded every time would look the same."""
        random.random()
        np.random.random()  # noqa: NPY002 - it is watched
        self._state = _global_state()

    def touched(self) -> bool:
        found = self._state != _global_state()
        self._mark()
        return found


def in_thread(call: Callable[[], Any]) -> Any:
    """Return what ``call`` returns in another thread; raise what it raises."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend([True, call()])
        except (Exception, SystemExit) as error:
            outcome.extend([False, error])

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if not outcome[0]:
        raise outcome[1]
    return outcome[1]


def in_child(job: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``job(*arguments)`` as computed by a new Python process with its own hash seed.

    Raises:
        RuntimeError: the process failed; the message is the last line that it wrote.
        ChildLate: it has not ended within five minutes.
    """
    with tempfile.TemporaryDirectory() as folder:
        given, answer, said = (Path(folder, name) for name in ("given", "answer", "said"))
        # The wrapper takes classes along that only a script or a notebook knows.
        work = pickle.dumps(CloudpickleWrapper(partial(job, *arguments)))
        given.write_bytes(pickle.dumps(sys.path) + work)
        command = [sys.executable, "-c", _CHILD, str(given), str(answer)]
        with said.open("wb") as stderr:  # a pipe could be held open by what it leaves behind
            child = Child(command, stderr=stderr, env={**os.environ, "PYTHONHASHSEED": "20011"})
        try:
            child.wait(_CHILD_SECONDS)
        finally:
            code = child.end()
        if code:
            lines = said.read_text(errors="replace").strip().splitlines() or ["no message"]
            raise RuntimeError(lines[-1])
        return pickle.loads(answer.read_bytes())


_CHILD = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    sys.path[:] = pickle.load(file)
    job = pickle.load(file)
result = job()
with open(sys.argv[2], "wb") as file:
    pickle.dump(result, file)
"""
