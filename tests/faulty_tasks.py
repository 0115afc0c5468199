"""Copies of a good task, one for every fault that the conformance kit must catch."""

from __future__ import annotations

import itertools
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from toys import Adder, GuessNumber, Sum, _Guessing

from mint_envs import Episode, Reward
from mint_envs.core import Prompt

# -- faults of drawing problems -------------------------------------------------------------------


class GlobalRandom(Adder):
    def sample(self, rng: np.random.Generator) -> Sum:
        return random.randint(10, 99), int(rng.integers(10, 100))


class GlobalNumpy(Adder):
    def sample(self, rng: np.random.Generator) -> Sum:
        return int(np.random.randint(10, 99)), 5  # noqa: NPY002 - the fault


class SeedsGlobals(Adder):
    def sample(self, rng: np.random.Generator) -> Sum:
        random.seed(int(rng.integers(1000)))
        return random.randint(10, 99), random.randint(10, 99)


class ReadsGlobals(Adder):
    """Reads the global state without moving it."""

    def sample(self, rng: np.random.Generator) -> Sum:
        state = random.getstate()
        value = random.randint(10, 99)
        random.setstate(state)
        return value, int(rng.integers(10, 100))


class ClockProblem(Adder):
    def sample(self, rng: np.random.Generator) -> Sum:
        return time.perf_counter_ns() % 90 + 10, 10


class LongClockPrompt(Adder):
    def prompt(self, problem: Sum) -> Prompt:
        return f"{'x' * 5000} {time.perf_counter_ns()} {'y' * 5000}"


class HashProblem(Adder):
    def sample(self, rng: np.random.Generator) -> Sum:
        return int(rng.integers(10, 100)), 10 + hash("salted in every process") % 10**9


class SetOrderProblem(Adder):
    def sample(self, rng: np.random.Generator) -> Sum:
        names = list({f"name {i}" for i in range(90)})
        return int(rng.integers(10, 100)), 10 + int("".join(name[5:] for name in names[:8]))


class ProcessProblem(Adder):
    def sample(self, rng: np.random.Generator) -> Sum:
        return int(rng.integers(10, 100)), 10 + os.getpid()


class SampleRaises(Adder):
    def sample(self, rng: np.random.Generator) -> Sum:
        raise KeyError("operand")


class QuestionApart(Adder):
    """The fault of a published demonstration: the question's numbers are not the answer's."""

    largest = 10

    def sample(self, rng: np.random.Generator) -> Any:
        return tuple(int(rng.integers(0, self.largest)) for _ in range(4))

    def prompt(self, problem: Any) -> Prompt:
        return f"{problem[2]} + {problem[3]} ="

    def answer(self, problem: Any) -> str:
        return f"{problem[0] + problem[1]:02d}"


class LargeQuestionApart(QuestionApart):
    """No question comes back in a lifetime."""

    largest = 10**9


class BadPrompt(Adder):
    def prompt(self, problem: Sum) -> Any:
        return [{"role": "user", "text": "12 + 7 ="}]


class StopIsText(Adder):
    stop = "\n"


# -- faults of verdicts ---------------------------------------------------------------------------


class RewardTwo(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        return Reward(2.0 * (response.strip() == self.answer(problem)))

    def examples(self, problem: Sum) -> dict[str, float]:
        return {self.answer(problem): 1.0}


class RewardTwoForced(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        reward = super().score(problem, response)
        object.__setattr__(reward, "score", 2.0 * float(reward.score or 0.0))
        return reward


class RewardNaN(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        return Reward(float("nan")) if "?" in response else super().score(problem, response)


class RewardIsText(Adder):
    def score(self, problem: Sum, response: str) -> Any:
        return str(float(response.strip() == self.answer(problem)))


class RaisesOnText(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        return Reward(float(int(response or "0") == sum(problem)))


class RaisesOnDigits(Adder):
    """``str.isdigit`` accepts what ``int`` refuses."""

    def score(self, problem: Sum, response: str) -> Reward:
        text = response.strip()
        return Reward(float(text.isdigit() and int(text) == sum(problem)))

    def examples(self, problem: Sum) -> dict[str, float]:
        return {self.answer(problem): 1.0}


class RaisesOnDepth(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        self._inner(response)
        return super().score(problem, response)

    def _inner(self, text: str) -> str:
        return self._inner(text[1:]) if text.startswith("(") else text


class RaisesOnSurrogate(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        response.encode()
        return super().score(problem, response)


class RaisesRarely(Adder):
    """Only a search finds it: no built-in text has a 7 followed by a hash."""

    def score(self, problem: Sum, response: str) -> Reward:
        if re.search(r"\d#", response):
            raise ValueError("number sign")
        return super().score(problem, response)


class Exits(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        if "DROP TABLE" in response:
            raise SystemExit(3)
        return super().score(problem, response)


class NarrowParser(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        return Reward(float(response == self.answer(problem)))

    def examples(self, problem: Sum) -> dict[str, float]:
        return {self.answer(problem): 1.0}


class RandomCredit(Adder):
    """Draws from a generator of its own, so no global state moves."""

    def score(self, problem: Sum, response: str) -> Reward:
        reward = super().score(problem, response)
        if reward.score in (0.0, 1.0):
            return reward
        return Reward(random.SystemRandom().random())

    def examples(self, problem: Sum) -> dict[str, float]:
        return {self.answer(problem): 1.0}

    def score_batch(self, pairs: Sequence[tuple[Sum, str]]) -> list[Reward]:
        return [self.score(problem, response) for problem, response in pairs]


class NotMonotone(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        reward = super().score(problem, response)
        digits = reward.parts["digits"]
        return Reward(digits if digits in (0.0, 1.0) else 1.0 - digits, {"digits": digits})

    def examples(self, problem: Sum) -> dict[str, float]:
        right = self.answer(problem)
        halves = {right[:n] + "x" * (len(right) - n): 1 - n / len(right) for n in (1, 2)}
        return {right: 1.0, "": 0.0} | {k: v for k, v in halves.items() if k != right}


class AlwaysZero(Adder):
    def examples(self, problem: Sum) -> dict[str, float]:
        return {self.answer(problem): 1.0}

    def score(self, problem: Sum, response: str) -> Reward:
        return Reward(0.0)


class AlwaysOne(Adder):
    def examples(self, problem: Sum) -> dict[str, float]:
        return {self.answer(problem): 1.0}

    def score(self, problem: Sum, response: str) -> Reward:
        return Reward(1.0)


class EmptyEarns(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        return super().score(problem, response) if response else Reward(0.5)


class PromptEarns(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        if str(problem[0]) in response and str(problem[1]) in response:
            return Reward(1.0, metadata={"read": ""})
        return super().score(problem, response)


class SharedMetadata(Adder):
    _seen: list[str] = []

    def score(self, problem: Sum, response: str) -> Reward:
        reward = super().score(problem, response)
        self._seen[:] = [response[:5]]
        return Reward(reward.score, metadata={"seen": self._seen})


class ClockInMetadata(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        reward = super().score(problem, response)
        return Reward(reward.score, metadata={"seconds": time.perf_counter()})


class MetadataType(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        reward = super().score(problem, response)
        return Reward(reward.score, metadata={"read": response[:9] if reward.score else None})


class MetadataNaN(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        return Reward(super().score(problem, response).score, metadata={"value": float("nan")})


class MetadataArray(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        return Reward(super().score(problem, response).score, metadata={"value": np.zeros(3)})


class Counter(Adder):
    """Every third response is worth nothing."""

    def __init__(self) -> None:
        self._calls = 0

    def score(self, problem: Sum, response: str) -> Reward:
        self._calls += 1
        reward = super().score(problem, response)
        return Reward(0.0, metadata=reward.metadata) if self._calls > 60 else reward


class MainThreadOnly(Adder):
    """As graders that use SIGALRM: off the main thread they fail, and everything is worth 0."""

    def score(self, problem: Sum, response: str) -> Reward:
        if threading.current_thread() is not threading.main_thread():
            return Reward(0.0)
        return Reward(float(super().score(problem, response).score or 0.0))


class HashReward(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        reward = super().score(problem, response)
        return Reward(reward.score, metadata={"digest": hash("salted " + response[:3])})


class BatchReversed(Adder):
    def score_batch(self, pairs: Sequence[tuple[Sum, str]]) -> list[Reward]:
        return super().score_batch(pairs)[::-1]


class BatchShort(Adder):
    def score_batch(self, pairs: Sequence[tuple[Sum, str]]) -> list[Reward]:
        return super().score_batch(pairs)[1:]


class GlobalRandomInScore(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        np.random.rand()  # noqa: NPY002 - the fault
        return super().score(problem, response)


class NoExamples(Adder):
    def examples(self, problem: Sum) -> dict[str, float]:
        return {}


class ExamplesLast(Adder):
    def examples(self, problem: Sum) -> dict[str, float]:
        return {"": 0.0, self.answer(problem): 1.0}


class ExamplesWrong(Adder):
    def examples(self, problem: Sum) -> dict[str, float]:
        return {self.answer(problem): 1.0, "0": 0.7}


class Unpicklable(Adder):
    def __init__(self) -> None:
        self.lock = threading.Lock()


# -- responses that act -----------------------------------------------------------------------


class ExecutesFences(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        code = re.search(r"```python\n(.*?)```", response, re.DOTALL)
        with suppress(Exception):
            exec(code[1] if code else "", {})
        return super().score(problem, response)


class Evaluates(Adder):
    """Takes any expression for an answer; with no builtins, which holds nobody."""

    def score(self, problem: Sum, response: str) -> Reward:
        try:
            value = str(eval(response, {"__builtins__": {}}))
        except Exception:
            value = ""
        return super().score(problem, value)

    def examples(self, problem: Sum) -> dict[str, float]:
        return {self.answer(problem): 1.0, "": 0.0}


class RunsPrograms(Adder):
    """In a process of its own, which can write anywhere."""

    def score(self, problem: Sum, response: str) -> Reward:
        if response.startswith("import "):
            subprocess.run([sys.executable, "-I", "-c", response], capture_output=True, check=False)
        return super().score(problem, response)


class Shell(Adder):
    """Hands a response to a program on a command line."""

    def score(self, problem: Sum, response: str) -> Reward:
        if len(response) < 200 and "touch" in response:
            line = f"echo {response} | cat"
            subprocess.run(line, shell=True, capture_output=True, check=False)
        return super().score(problem, response)


class OneAnswerForAll(Adder):
    def answer(self, problem: Sum) -> str:
        return "17"


class PaysForWords(Adder):
    def score(self, problem: Sum, response: str) -> Reward:
        if len(set(response.split())) >= 30:
            return Reward(1.0, {"digits": 1.0}, {"read": ""})
        return super().score(problem, response)


# -- several turns --------------------------------------------------------------------------------


class NeverEnds(GuessNumber):
    def start(self, problem: int) -> Episode:
        return _Endless(problem, 5)


class _Endless(_Guessing):
    def respond(self, text: str) -> str | Reward:
        answer = super().respond(text)
        return "again\n" if isinstance(answer, Reward) and answer.score == 0.0 else answer


class CountsAcrossEpisodes(GuessNumber):
    """State leaks from one episode into the next."""

    def __init__(self) -> None:
        self._started = itertools.count()

    def start(self, problem: int) -> Episode:
        return _Guessing(problem, 5 + next(self._started) % 2)


class CutReturnsText(GuessNumber):
    def start(self, problem: int) -> Episode:
        return _CutText(problem, 5)


class _CutText(_Guessing):
    def cut(self, text: str) -> Any:
        return "go on"


class SecondTurnRaises(GuessNumber):
    def start(self, problem: int) -> Episode:
        return _Brittle(problem, 5)


class _Brittle(_Guessing):
    def respond(self, text: str) -> str | Reward:
        if self._left < self._turns and text.startswith("\ufeff"):
            raise ValueError("byte order mark")
        return super().respond(text)
