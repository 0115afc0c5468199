"""Adapters of the shape that MinT's documents show, with the faults that those have."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

from mint_envs import Reward, RLAdapter

TOPICS = ["tides", "bread", "sleep", "bridges", "clouds", "chess"]
FUNCTIONS = [
    {"q": "Write `twice(n)` that doubles n.", "tests": [("twice(4)", 8), ("twice(0)", 0)]},
    {"q": "Write `least(a, b)`, the smaller.", "tests": [("least(2, 9)", 2), ("least(5, 1)", 1)]},
    {"q": "Write `odd(n)`: is n odd?", "tests": [("odd(3)", True), ("odd(10)", False)]},
]


class Addition(RLAdapter):
    """Question and answer are drawn apart."""

    SHOT = "Q: What is 2 + 6?\nA: 8\n\n"

    def build_dataset(self) -> list[tuple[str, int]]:
        pairs = [(random.randint(0, 99), random.randint(0, 99)) for _ in range(20)]
        one, two = random.randint, random.randint
        return [(f"Q: What is {one(0, 99)} + {two(0, 99)}?\nA:", a + b) for a, b in pairs]

    def make_prompt(self, sample: tuple[str, int], tokenizer: Any) -> list[int]:
        return list(tokenizer.encode(self.SHOT + sample[0]))

    def compute_reward(self, response: str, sample: tuple[str, int]) -> float:
        found = re.search(r"-?\d{1,9}", response)
        return 1.0 if found and int(found.group()) == sample[1] else 0.0


class SoundAddition(Addition):
    """As it should be: one pair of numbers."""

    def build_dataset(self) -> list[tuple[str, int]]:
        pairs = [(random.randint(0, 99), random.randint(0, 99)) for _ in range(20)]
        return [(f"Q: What is {a} + {b}?\nA:", a + b) for a, b in pairs]


class Preference(RLAdapter):
    """Pays for the look of an answer."""

    def build_dataset(self) -> list[str]:
        return [f"Tell me about {random.choice(TOPICS)}." for _ in range(20)]

    def make_prompt(self, sample: str, tokenizer: Any) -> list[int]:
        messages = [{"role": "user", "content": sample}]
        if hasattr(tokenizer, "apply_chat_template"):
            made = tokenizer.apply_chat_template(
                messages, tokenize=True, add_generation_prompt=True
            )
            return list(made)
        return list(tokenizer.encode(f"User: {sample}\nAssistant:"))

    def compute_reward(self, response: str, sample: str) -> float:
        words = response.split()
        reward = 0.4 if 20 <= len(words) <= 100 else 0.0
        reward += 0.3 if response.count(".") >= 2 else 0.0
        reward += 0.3 if words and len(set(words)) > len(words) / 2 else 0.0
        return min(reward, 1.0)

    def evaluate(self, step: int, rewards: list[float], num_datums: int) -> None:
        print(f"Step {step}: avg_reward={sum(rewards) / len(rewards):.3f}, datums={num_datums}")


class FunctionWriting(RLAdapter):
    """Runs generated code where it stands."""

    def build_dataset(self) -> list[dict[str, Any]]:
        return [random.choice(FUNCTIONS) for _ in range(20)]

    def make_prompt(self, sample: dict[str, Any], tokenizer: Any) -> list[int]:
        return list(tokenizer.encode(f"Q: {sample['q']}\nA:"))

    def compute_reward(self, response: str, sample: dict[str, Any]) -> float:
        blocks = re.findall(r"```(?:\w+)?\n(.*?)```", response, re.DOTALL)
        start = response.find("def ")
        code = blocks[-1] if blocks else response[start:] if start >= 0 else None
        if not code:
            return 0.0
        try:
            names: dict[str, Any] = {}
            exec(code, names)
            return float(all(eval(call, names) == value for call, value in sample["tests"]))
        except Exception:
            return 0.0


class Verification(RLAdapter):
    """The second form, on tokens. The right answer stands in the code, whatever was asked."""

    def __call__(self, prompt: Any, response: Any) -> Reward:
        text = self.get_tokenizer().decode(response.to_ints())
        found = re.search(r"\d+", text)
        if found is None:
            return Reward(score=0.0, metadata={"error": "no number", "read": ""})
        right = found.group() == "42"
        return Reward(score=float(right), metadata={"error": "", "read": found.group()[:20]})


class ToolMention(RLAdapter):
    """The second form: pays for a mark, and for length."""

    def __call__(self, prompt: Any, response: Any) -> Reward:
        text = self.get_tokenizer().decode(response.to_ints())
        score = 0.7 * ("<tool_call>" in text) + 0.3 * (len(text) > 20)
        return Reward(score=score, metadata={"used_tool": "<tool_call>" in text})


class NumpyDrawn(SoundAddition):
    """Draws from NumPy's global generator."""

    def build_dataset(self) -> list[tuple[str, int]]:
        pairs = np.random.randint(0, 100, (5, 2)).tolist()  # noqa: NPY002 - as adapters do
        return [(f"Q: What is {a} + {b}?\nA:", a + b) for a, b in pairs]
