"""What the tests of evaluations share: an environment, a model, and how it is measured."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from model_server import counted, said

import mint_envs
from mint_envs import Reward, Task
from mint_envs.evaluate import EvalPlan, Evaluation, evaluate
from mint_envs.policies import ScriptedPolicy
from mint_envs.problems import as_text


class Parity(Task[int]):
    """Odd or even? 200 problems, without a split."""

    def __init__(self, size: int = 200) -> None:
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(self._size))

    def problem(self, index: int) -> int:
        return index

    def prompt(self, problem: int) -> str:
        return f"Is {problem} odd or even? Answer:"

    def score(self, problem: int, response: str) -> Reward:
        if "unclear" in response:
            return Reward(None, metadata={"error": "not measured"})
        right = response.strip() == ("odd" if problem % 2 else "even")
        return Reward(float(right), {"right": float(right)})


mint_envs.register("tests/Parity-v0", Parity)


def wise(prompt: Any, number: int) -> str:
    """Right on problems whose number does not end in 3, and of those, in every other response."""
    asked = int(as_text(prompt).split()[1])
    right = "odd" if asked % 2 else "even"
    return right if asked % 10 != 3 or number % 2 else "no idea"


def plan(env: str = "tests/Parity-v0", **settings: Any) -> EvalPlan:
    return EvalPlan(env=env, **{"problems": 12, "samples": 2, "max_tokens": 8, **settings})


def run(
    asked: EvalPlan, rule: Callable[[Any, int], str | None], out: Path, **limits: Any
) -> Evaluation:
    return evaluate(asked, ScriptedPolicy(rule), "scripted", out, **limits)


def outcomes_of(found: Evaluation) -> list[tuple[Any, ...]]:
    """All but the seconds, which no two runs have alike."""
    return [(one.problem, one.sample, one.score, one.cut, one.tokens) for one in found.outcomes]


def faulty(request: dict[str, Any], turn: int) -> tuple[int, Any]:
    """Answer as the seed says, after the faults that the seed says."""
    seed = int(hashlib.blake2b(str(request["seed"]).encode()).hexdigest(), 16)
    if turn < seed % 3:
        time.sleep(0.002 * (seed % 7))
        return [(500, {}), (429, {}), (0, {"choices": "cut in the middle"}), (200, [])][seed % 4]
    if seed % 11 == 0:
        return said("")
    if seed % 11 == 1:
        return said(None, refusal="I cannot help with that.")
    prompt = request["messages"][-1]["content"]
    return counted(wise(prompt, seed % 2), 9, 3, cut=seed % 11 == 2)
