"""A warm start: RL after training on given responses, beside RL alone.

    python examples/warm_start.py --seed 0      # some minutes on two cores; needs [local]

The task is sums of three digits, of which SmolLM2-135M gets few right: RL has little to go on. 320
problems of the training side, with their answers, are the rows of ``mint-grpo sft``. RL trains from
there for 10 steps; alone it gets 20. Both are asked the same 100 held-out problems.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import mint_envs
from mint_envs.jsonl import whole_rows
from trainers.__main__ import main as grpo

ENV, DIGITS, ROWS = "mint/Math-v0", "3", 320


def write_rows(path: Path, seed: int) -> None:
    """Write problems of the training side with their answers, as the model should write them."""
    env = mint_envs.make(ENV, digits=int(DIGITS), split="train")
    with path.open("w") as file:
        for number in range(ROWS):
            _, info = env.reset(seed=seed * ROWS + number)
            answer = env.unwrapped.problem.answer  # type: ignore[attr-defined]
            file.write(json.dumps({"prompt": info["prompt"], "response": f" {answer}"}) + "\n")


def train(folder: Path, *options: str) -> None:
    if grpo([*options, "--run-dir", str(folder)]) != 0:
        raise SystemExit(f"the run {folder} did not end well")


def held_out(folder: Path) -> list[tuple[int, float]]:
    """Return (step, accuracy) of each evaluation."""
    return [(row["step"], row["eval/accuracy"]) for row in whole_rows(folder / "eval.jsonl")]


def seconds(folder: Path) -> float:
    return sum(row["seconds"] for row in whole_rows(folder / "metrics.jsonl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("runs"))
    options = parser.parse_args()
    seed = str(options.seed)
    root = options.folder / f"warm-start-{seed}"
    root.mkdir(parents=True)
    rows = root / "rows.jsonl"
    write_rows(rows, options.seed)
    train(root / "sft", "sft", str(rows), "--backend", "local", "--seed", seed, "--epochs", "2",
          "--lr", "5e-4", "--lr-schedule", "linear")  # fmt: skip
    rl = [ENV, "--backend", "local", "--digits", DIGITS, "--seed", seed, "--batch", "8",
          "--eval-problems", "100"]  # fmt: skip
    train(root / "after", *rl, "--steps", "10", "--init-from", str(root / "sft"))
    train(root / "alone", *rl, "--steps", "20")
    spent = {name: seconds(root / name) for name in ("sft", "after", "alone")}
    for name, before in (("alone", 0.0), ("after", spent["sft"])):
        found = ", ".join(f"{step}: {right:.1%}" for step, right in held_out(root / name))
        print(f"RL {name}: {before + spent[name]:.0f} s of steps; held out {found}")


if __name__ == "__main__":
    main()
