"""A run on the service with faults; as a program it is a client that a test can kill.

python tests/mint_letters.py URL FOLDER AHEAD     begins a run, or goes on with it
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from mint_steps import TOKENIZER
from toy_model import MODEL

import mint_envs
from mint_envs import Reward, Task
from mint_envs.jsonl import whole_rows
from trainers.backends import LoraParams
from trainers.backends.mint import MintBackend
from trainers.config import TrainConfig
from trainers.grpo import train
from trainers.log import Log
from trainers.run import Run
from trainers.stored import read_state

STEPS, BATCH, GROUP = 6, 3, 3


class Letters(Task[int]):
    """Rewards letters, of sixty rows."""

    size = 60

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(60))

    def problem(self, index: int) -> int:
        if index >= self.size:
            raise IndexError(index)
        return index

    def prompt(self, problem: int) -> str:
        return f"{problem}?"

    def problem_id(self, problem: int) -> str:
        return str(problem // 2)  # fewer than fifty: not divided

    def score(self, problem: int, response: str) -> Reward:
        return Reward(sum(map(str.isalpha, response)) / max(1, len(response)))


mint_envs.register("test/Letters-v0", Letters)


def run(folder: Path, backend: Any, resume: bool = False, **changes: Any) -> None:
    values: dict[str, Any] = {
        "env": "test/Letters-v0", "backend": "mint", "steps": STEPS, "batch": BATCH,
        "group": GROUP, "max_tokens": 4, "temperature": 1.0, "lr": 0.05, "save_every": 2,
    }  # fmt: skip
    settings = TrainConfig(**{**values, **changes})
    with Path("/dev/null").open("w") as out:
        train(settings, backend, Run(folder, settings, Log(out=out), resume))


def learned_from(folder: Path) -> list[int]:
    """Return the rows that were learned from, in order."""
    return [row["index"] for row in whole_rows(folder / "rollouts.jsonl")][::GROUP]


def main(url: str, folder: Path, ahead: int) -> None:
    begun = (folder / "config.json").exists()
    saved = read_state(folder)["training"] if begun else None
    backend = MintBackend(
        MODEL, LoraParams(rank=4, seed=7), "tml-good-key", url, TOKENIZER, resume_from=saved
    )
    run(folder, backend, begun, max_steps_off_policy=ahead)
    backend.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
