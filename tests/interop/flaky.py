"""Environments for the live tests: sums and a guessing game whose sandbox can be told to fail."""

from __future__ import annotations

import numpy as np

import mint_envs
from mint_envs import Episode, Message, Reward, Task
from mint_envs.core import Prompt


class Sum(Task[tuple[int, int]]):
    """Add two digits. A response with "down" in it meets a broken sandbox."""

    def sample(self, rng: np.random.Generator) -> tuple[int, int]:
        return int(rng.integers(1, 10)), int(rng.integers(1, 10))

    def prompt(self, problem: tuple[int, int]) -> Prompt:
        return [Message(role="user", content=f"{problem[0]} + {problem[1]} = ?")]

    def score(self, problem: tuple[int, int], response: str) -> Reward:
        if "down" in response:
            return Reward(None, metadata={"error": "sandbox is down"})
        right = float(response.strip() == str(sum(problem)))
        return Reward(right, {"right": right}, {"error": ""})


class Guess(Task[int]):
    """Guess a number from 0 to 9 within three messages; "down" as above."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(0, 10))

    def prompt(self, problem: int) -> Prompt:
        return [
            Message(role="system", content="A game."),
            Message(role="user", content=f"Guess, 0 to 9 (game {problem * 7 % 11})."),
        ]

    def start(self, problem: int) -> Episode:
        return _Guessing(problem)


class _Guessing(Episode):
    closed = 0  # counted over all episodes

    def __init__(self, number: int) -> None:
        self._number, self._left = number, 3

    def respond(self, text: str) -> str | Reward:
        if "down" in text:
            return Reward(None, metadata={"error": "sandbox is down"})
        self._left -= 1
        if text.strip() == str(self._number):
            return Reward((self._left + 1) / 3)
        if self._left == 0:
            return Reward(0.0)
        return "higher" if text.strip() < str(self._number) else "lower"

    def close(self) -> None:
        _Guessing.closed += 1


mint_envs.register("flaky/Sum-v0", Sum)
mint_envs.register("flaky/Guess-v0", Guess)

#: Found in a new process too, where this module has to be imported first.
SUM, GUESS = "flaky:flaky/Sum-v0", "flaky:flaky/Guess-v0"


def answer(env: str, seed: int) -> str:
    """Return the full mark of a problem."""
    problem = mint_envs.make(env).unwrapped.task.problem(seed)  # type: ignore[attr-defined]
    return str(sum(problem)) if isinstance(problem, tuple) else str(problem)
