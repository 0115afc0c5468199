"""Small tasks: good ones, and some that say what is wrong with them."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

from mint_envs import Episode, Message, Reward, Task
from mint_envs.core import Prompt
from mint_envs.errors import IndexOutOfRange

Sum = tuple[int, int]


class Adder(Task[Sum]):
    """``12 + 7 =``, with credit for each right digit. It keeps the contract."""

    def sample(self, rng: np.random.Generator) -> Sum:
        return int(rng.integers(10, 100)), int(rng.integers(10, 100))

    def prompt(self, problem: Sum) -> Prompt:
        return f"{problem[0]} + {problem[1]} ="

    def score(self, problem: Sum, response: str) -> Reward:
        right = self.answer(problem)
        text = response.strip()
        digits = sum(a == b for a, b in zip(text, right, strict=False)) / len(right)
        if len(text) != len(right):
            digits = 0.0
        return Reward(digits, {"digits": digits}, {"read": text[:20]})

    def examples(self, problem: Sum) -> dict[str, float]:
        right = self.answer(problem)
        return {right: 1.0, "": 0.0, right[:-1] + "x": (len(right) - 1) / len(right)}

    def answer(self, problem: Sum) -> str:
        return str(sum(problem))


class NoIndexError(Adder):
    size = 5

    def problem(self, index: int) -> Sum:
        return (10, 10 + index % 5)


class GoodRows(NoIndexError):
    def problem(self, index: int) -> Sum:
        if index >= 5:
            raise IndexOutOfRange(f"index={index}: there are 5 problems")
        return super().problem(index)


class RandomAlways(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        reward = super().score(problem, response)
        return Reward(reward.score, metadata={"noise": random.SystemRandom().random()})


class Judged(RandomAlways):
    """Says so itself."""

    nondeterministic = True


class Down(Adder):
    """Its sandbox does not run."""

    def score(self, problem: Sum, response: str) -> Reward:
        return Reward(None, metadata={"error": "sandbox is down"})


# -- several turns --------------------------------------------------------------------------------


class GuessNumber(Task[int]):
    """Guess a number from 0 to 99: "higher" or "lower", five turns. Keeps the contract."""

    chat = False
    turns = 5

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(0, 100))

    def prompt(self, problem: int) -> Prompt:
        text = f"Guess my number from 0 to 99 (game {problem * 37 % 101}).\n"
        if self.chat:
            return [Message(role="system", content="A game."), Message(role="user", content=text)]
        return text

    def start(self, problem: int) -> Episode:
        return _Guessing(problem, self.turns)

    def examples(self, problem: int) -> Any:
        other = (problem + 1) % 100
        return {str(problem): 1.0, (str(other), str(problem)): 1 - 1 / self.turns, "": 0.0}


class _Guessing(Episode):
    def __init__(self, number: int, turns: int) -> None:
        self._number, self._turns, self._left = number, turns, turns

    def respond(self, text: str) -> str | Reward:
        guess = re.fullmatch(r"\s*(\d{1,2})\s*", text, re.ASCII)
        if guess and int(guess[1]) == self._number:
            return Reward(self._left / self._turns, metadata={"turns": self._turns - self._left})
        self._left -= 1
        if guess is None or self._left == 0:
            return Reward(0.0, metadata={"turns": self._turns - self._left})
        return "higher\n" if int(guess[1]) < self._number else "lower\n"

    def cut(self, text: str) -> Reward:
        return Reward(0.0, metadata={"turns": self._turns - self._left})


class GuessNumberChat(GuessNumber):
    chat = True
