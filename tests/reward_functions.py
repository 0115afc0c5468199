"""Reward functions with the faults that published ones have, and some without.

The first three follow MinT's documents (the sum verifier, the chat score, code by ``exec``),
written anew: how they judge is kept, not how they are put.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import os
import random
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class ApartSums:
    """Sums whose question and answer are drawn apart; pays the first whole number."""

    def build_dataset(self) -> list[tuple[str, int]]:
        def number() -> int:
            return random.randint(0, 99)

        return [
            (f"Q: What is {number()} + {number()}?\nA:", number() + number()) for _ in range(50)
        ]

    def make_prompt(self, sample: tuple[str, int], tokenizer: Any) -> list[int]:
        return tokenizer.encode("Q: What is 4 + 5?\nA: 9\n\n" + sample[0])

    def compute_reward(self, response: str, sample: tuple[str, int]) -> float:
        return first_integer(response, str(sample[1]))

    def evaluate(self, step: int, rewards: list[float], num_datums: int) -> None:
        print(step, rewards, num_datums)


class Sums(ApartSums):
    """The same verifier on questions that go with their answers."""

    def build_dataset(self) -> list[tuple[str, int]]:
        rng = random.Random(0)
        pairs = [(rng.randint(0, 99), rng.randint(0, 99)) for _ in range(50)]
        return [(f"Q: What is {a} + {b}?\nA:", a + b) for a, b in pairs]


def first_integer(response: str, answer: str) -> float:
    found = re.search(r"-?\d+", response)
    return float(found is not None and int(found.group()) == int(answer))


def chat_score(prompt: str, response: str) -> float:
    """Length, two full stops, different words: nothing of what was asked."""
    words = response.lower().split()
    score = 0.4 if 20 <= len(words) <= 100 else 0.2 if 10 <= len(words) <= 150 else 0.0
    score += 0.3 if response.count(".") > 1 else 0.0
    return min(1.0, score + (0.3 if words and len(set(words)) > len(words) / 2 else 0.0))


class ExecCode:
    """Programs, run by ``exec`` where the reward is computed."""

    def build_dataset(self) -> list[dict[str, Any]]:
        return [
            {"q": "Write `add(a, b)` that returns a + b.",
             "tests": [("add(1, 2)", 3), ("add(-1, 1)", 0)]},
            {"q": "Write `last(items)` that returns the last item.",
             "tests": [("last([1, 2])", 2), ("last('abc')", "c")]},
            {"q": "Write `double(x)` that returns x * 2.",
             "tests": [("double(2)", 4), ("double('a')", "aa")]},
        ]  # fmt: skip

    def make_prompt(self, sample: dict[str, Any], tokenizer: Any) -> list[int]:
        return tokenizer.encode(f"Q: {sample['q']}\nA:")

    def compute_reward(self, response: str, sample: dict[str, Any]) -> float:
        blocks = re.findall(r"```(?:\w+)?\n(.*?)```", response, re.DOTALL)
        if not blocks:
            return 0.0
        names: dict[str, Any] = {}
        try:
            exec(blocks[-1], names)
            return float(all(eval(text, names) == wanted for text, wanted in sample["tests"]))
        except Exception:
            return 0.0


class TokenAdapter:
    """Called with the tokens of a prompt and of a response."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, prompt: Any, response: Any) -> Any:
        asked = self.tokenizer.decode(prompt.to_ints())
        text = self.tokenizer.decode(response.to_ints())
        a, b = map(int, re.findall(r"\d+", asked)[-2:])
        return {"score": float(text.strip() == str(a + b))}


# -- the forms of other libraries --------------------------------------------------


def exact(response: str, answer: str) -> float:
    """Without a fault, if answers are plain."""
    return float(response.strip() == answer)


def trl_style(prompts: list[str], completions: list[str], answer: list[str], **kwargs: Any) -> Any:
    return [exact(text, gold) for text, gold in zip(completions, answer, strict=True)]


async def trl_chat(
    completions: list[Any], answer: list[str], log_metric: Any, **kwargs: Any
) -> Any:
    log_metric("seen", 1.0)
    texts = [completion[0]["content"] for completion in completions]
    return [exact(text, gold) for text, gold in zip(texts, answer, strict=True)]


def verl_style(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None
) -> dict[str, float]:
    return {"score": exact(solution_str, ground_truth), "seen": 1.0}


def openrlhf_style(queries: list[str], prompts: list[str], labels: list[str]) -> dict[str, Any]:
    text = queries[0][len(prompts[0]) :]
    return {"rewards": [exact(text, labels[0])], "scores": [0.0]}


def by_sample(sample: dict[str, Any], completion: str) -> float:
    return exact(completion, sample["answer"])


# -- faults --------------------------------------------------


def nan(response: str) -> float:
    return float("nan") if "1" in response else 0.0


def raises(response: str, answer: str) -> float:
    return float(int(response) == int(answer))


def silent_on_long(response: str, answer: str) -> float | None:
    return None if len(response) > 10 else exact(response, answer)


def never_measured(response: str) -> None:
    return None


def by_chance(response: str, answer: str) -> float:
    return random.random() if response else 0.0


_calls = itertools.count(1)


def by_count(response: str, answer: str) -> float:
    return exact(response, answer) if next(_calls) % 50 else 0.0


def by_hash(response: str, answer: str) -> float:
    return exact(response, answer) or (hash(response) % 7) / 20


def hangs_on_digits(response: str, answer: str) -> float:
    if "2" in response:
        time.sleep(3600)
    return exact(response, answer)


def exits_on_digits(response: str, answer: str) -> float:
    if "2" in response:
        os._exit(3)
    return exact(response, answer)


def backtracks(response: str, answer: str) -> float:
    """Quadratic in the length of the response."""
    longest = max((response[i:].count("e") for i in range(len(response))), default=0)
    return exact(response, answer) if longest < 0 else exact(response.split("\n")[-1], answer)


def no_response(a: str, b: str) -> float:
    return 0.0


def needs_column(response: str, difficulty: float) -> float:
    return difficulty


def share_of_tests(response: str, tests: list[Any]) -> float | None:
    """Without a fault: a program that returns True passes half of the tests of ``is_even``."""
    from mint_envs.code import grade

    return grade(response, [tuple(test) for test in tests], partial_credit=True).score


# -- ways to be called --------------------------------------------------


def middle_default(response: str, tolerance: float = 0.1, answer: str = "") -> float:
    return exact(response, answer) if tolerance == 0.1 else 0.25


def by_keyword(*, answer: str, completion: str) -> float:
    return exact(completion, answer)


def by_place(response: str, scale: float = 1.0, answer: str = "", /) -> float:
    return scale * exact(response, answer)


def more_fields(response: str, **fields: Any) -> float:
    return exact(response, fields["answer"])


def _with_tolerance(response: str, tolerance: float, answer: str) -> float:
    return exact(response, answer) if tolerance else 0.25


partial = functools.partial(_with_tolerance, tolerance=0.5)


class Scorer:
    def __call__(self, response: str, answer: str) -> float:
        return exact(response, answer)

    def score(self, response: str, answer: str) -> float:
        return exact(response, answer)


bound = Scorer().score


def verl_batch(
    data_sources: list[str], solution_strs: list[str], ground_truths: list[str],
    extra_infos: list[Any], **settings: Any,
) -> list[float]:  # fmt: skip
    return [exact(text, gold) for text, gold in zip(solution_strs, ground_truths, strict=True)]


class NoCall:
    def compute(self, response: str) -> float:
        return 0.0


# -- what stays behind in the process --------------------------------------------------

_POOL = ThreadPoolExecutor(1)


def by_thread(response: str, answer: str) -> float:
    return _POOL.submit(exact, response, answer).result()


_first_loop: list[Any] = []


async def keeps_to_its_loop(response: str, answer: str) -> float:
    _first_loop.append(asyncio.get_running_loop())
    assert _first_loop[0] is _first_loop[-1], "attached to a different loop"
    if "exit" in response:
        sys.exit(3)
    return exact(response, answer)


def leaves_a_child(response: str, answer: str) -> float:
    if not os.fork():
        time.sleep(30)
        os._exit(0)
    return exact(response, answer)


def replaces_json(response: str, answer: str) -> float:
    json.dumps = lambda *_, **__: b"{}"  # type: ignore[assignment]
    json.loads = lambda *_, **__: {}
    return exact(response, answer)


def interrupts(response: str) -> float:
    raise KeyboardInterrupt


def allocates(response: str) -> float:
    held = []
    while True:
        held.append(bytearray(1 << 24))


def beyond_floats(response: str) -> int:
    return 10**5000


def raises_escapes(response: str) -> float:
    raise ValueError(f"\x1b[31m\ud800{response}")


def seeds(response: str, answer: str) -> float:
    random.seed(0)
    return exact(response, answer)


class _Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raises_speechless(response: str) -> float:
    raise _Speechless


class Ending(Sums):
    """Looking for the answer of a sample ends the process."""

    def compute_reward(self, response: str, sample: tuple[str, int]) -> float:
        os._exit(3)


class NoSamples(Sums):
    def build_dataset(self) -> list[tuple[str, int]]:
        return []


class NoPrompt(Sums):
    make_prompt = None


class BadPrompt(Sums):
    def make_prompt(self, sample: tuple[str, int], tokenizer: Any) -> list[int]:
        return [1 // 0]


class Hanging(Sums):
    def compute_reward(self, response: str, sample: tuple[str, int]) -> float:
        while True:
            pass


def solves(prompt: str) -> str | None:
    return None if "12" in prompt else str(sum(map(int, re.findall(r"\d+", prompt))))


def solves_nothing(prompt: str) -> str:
    raise ValueError("no idea")
