"""Tasks for tests that do what their responses say: sleep, die, fail, or are not measured."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from mint_envs import Episode, Reward, Task


def kill(pool: Any, number: int = 0) -> None:
    """Kill -9 one of the workers of a pool, if it is there and not dead already."""
    pids = pool.pids
    with contextlib.suppress(ProcessLookupError):
        if pids:
            os.kill(pids[number % len(pids)], 9)


def hang_with_offspring(task: Any, item: Any) -> None:
    """Say who this is and whom it has started, and never come back."""
    left = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    os.write(1, f"{os.getpid()} {left.pid}\n".encode())
    while True:
        pass


class Odd(Task[int]):
    """Does what its response says: sleeps, dies, fails, or is not measured."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(10))

    def prompt(self, problem: int) -> str:
        return f"Say {problem}."

    def score(self, problem: int, response: str) -> Reward:
        word, _, number = response.partition(" ")
        if word == "sleep":
            time.sleep(float(number))
        if word == "die":
            os.kill(os.getpid(), 9)
        if word == "raise":
            raise RuntimeError("a fault of the task")
        if word == "unmeasured":
            return Reward(None, metadata={"reason": "no judge"})
        if word == "nan":
            return Reward(0.0, metadata={"odd": float("nan"), "set": {1}, "text": "\ud800"})
        if word == "meet":
            return _meet(Path(number))
        if word == "pid":
            return Reward(0.5, metadata={"pid": os.getpid()})
        return Reward(float(response == str(problem)))


def _meet(folder: Path) -> Reward:
    """Wait for a second process to come here: so work must be spread for it to go on at all."""
    (folder / str(os.getpid())).touch()
    deadline = time.monotonic() + 120
    while len(found := sorted(path.name for path in folder.iterdir())) < 2:
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return Reward(0.5, metadata={"pid": os.getpid(), "met": len(found)})


class Large(Odd):
    """Its prompts are large."""

    def prompt(self, problem: int) -> str:
        return "x" * 20_000


class Count(Task[int]):
    """Several turns: the responses must be the numbers from 1 to the problem."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(2, 6))

    def prompt(self, problem: int) -> str:
        return f"Count to {problem}."

    def start(self, problem: int) -> Episode:
        return _Counting(problem)


class _Counting(Episode):
    def __init__(self, most: int) -> None:
        self._most, self._said, self._right = most, 0, 0

    def respond(self, text: str) -> str | Reward:
        self._said += 1
        self._right += text == str(self._said)
        if self._said < self._most:
            return f"{self._said} said"
        return Reward(self._right / self._most, metadata={"pid": os.getpid()})


class Chance(Count):
    """Its episodes cannot be played again."""

    nondeterministic = True


class Secret(Count):
    """Has chance in it that it does not declare: it says in which process it is."""

    def start(self, problem: int) -> Episode:
        return _Telling(3)


class _Telling(_Counting):
    def respond(self, text: str) -> str | Reward:
        said = super().respond(text)
        return f"{said} by {os.getpid()}" if isinstance(said, str) else said


class Slow(Count):
    """Episodes of five hundred turns, each of which takes a while."""

    def start(self, problem: int) -> Episode:
        return _Plodding()


class _Plodding(Episode):
    def __init__(self) -> None:
        self._said = 0

    def respond(self, text: str) -> str | Reward:
        self._said += 1
        time.sleep(0.002)
        return str(self._said) if self._said < 500 else Reward(1.0)


class Needs(Task[int]):
    """Cannot be made without a setting."""

    def __init__(self, url: str) -> None:
        self.url = url

    def sample(self, rng: np.random.Generator) -> int:
        return 0

    def prompt(self, problem: int) -> str:
        return ""
