"""A script as MinT's documents have them, written anew; only the import is ours.

It is run as it stands, on this machine and on a service: ``python tests/document_scripts.py``.
"""

from __future__ import annotations

import os
import random
import re
from typing import Any

from trainers import RLAdapter, RLConfig, run_grpo


class Sums(RLAdapter):
    SHOT = "Q: What is 3 + 1?\nA: 4\n\n"

    def build_dataset(self) -> list[tuple[str, int]]:
        pairs = [(random.randint(0, 99), random.randint(0, 99)) for _ in range(50)]
        return [(f"Q: What is {a} + {b}?\nA:", a + b) for a, b in pairs]

    def make_prompt(self, sample: tuple[str, int], tokenizer: Any) -> list[int]:
        question, _ = sample
        ids: list[int] = tokenizer.encode(self.SHOT + question)
        return ids

    def compute_reward(self, response: str, sample: tuple[str, int]) -> float:
        found = re.search(r"-?\d{1,9}", response)
        return 1.0 if found and int(found.group()) == sample[1] else 0.1 * len(response) % 1.0

    def evaluate(self, step: int, rewards: list[float], num_datums: int) -> None:
        accuracy = sum(1 for r in rewards if r == 1) / len(rewards) if rewards else 0.0
        print(f"Step {step}: accuracy={accuracy:.1%}, datums={num_datums}")


if __name__ == "__main__":
    cfg = RLConfig.from_env()
    cfg.steps = int(os.environ.get("MINT_RL_STEPS", "2"))
    cfg.batch = int(os.environ.get("MINT_RL_BATCH", "3"))
    cfg.max_tokens = int(os.environ.get("MINT_RL_MAX_TOKENS", "4"))
    run_grpo(Sums(), cfg)
