"""A warm start: RL after training on given responses, beside RL alone.

    python examples/warm_start.py --seed 0                # ten minutes on two cores; needs [local]
    python examples/warm_start.py --only after --seed 1   # without RL alone

The task is sums of two digits. The rows of ``mint-grpo sft`` are 6,400 problems of the training
side with their answers, each used once; RL goes on from there for 10 steps. RL alone is
``mint-grpo mint/Math-v0`` as it comes: 45 steps. Both are asked the same 200 held-out problems.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import mint_envs
from mint_envs.jsonl import whole_rows
from trainers.__main__ import main as grpo

ENV, ROWS = "mint/Math-v0", 6400


def write_rows(path: Path, seed: int) -> None:
    """Write problems of the training side with their answers, as the model should write them."""
    env = mint_envs.make(ENV, split="train")
    written: set[str] = set()
    env.reset(seed=seed)
    with path.open("w") as file:
        while len(written) < ROWS:
            _, info = env.reset()
            if info["problem_id"] not in written:
                written.add(info["problem_id"])
                answer = env.unwrapped.problem.answer  # type: ignore[attr-defined]
                row = {"prompt": info["prompt"], "response": f" {answer}"}
                file.write(json.dumps(row) + "\n")


def train(folder: Path, *options: str) -> None:
    if grpo([*options, "--backend", "local", "--run-dir", str(folder)]) != 0:
        raise SystemExit(f"the run {folder} did not end well")


def seconds(folder: Path) -> float:
    return sum(row["seconds"] for row in whole_rows(folder / "metrics.jsonl"))


def tell(name: str, folder: Path, before: float = 0.0) -> None:
    held_out = [(row["step"], row["eval/accuracy"]) for row in whole_rows(folder / "eval.jsonl")]
    found = ", ".join(f"{step}: {right:.1%}" for step, right in held_out)
    print(f"{name}: {before + seconds(folder):.0f} s of steps; held out, by step, {found}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("runs"))
    parser.add_argument("--only", choices=["after", "alone"])
    options = parser.parse_args()
    seed = ("--seed", str(options.seed))
    root = options.folder / f"warm-start-{options.seed}"
    root.mkdir(parents=True)
    if options.only != "alone":
        rows, warm = root / "rows.jsonl", root / "sft"
        write_rows(rows, options.seed)
        train(warm, "sft", str(rows), *seed, "--batch", "32", "--lr", "1e-3", "--warmup", "5",
              "--lr-schedule", "linear", "--eval-every", "0")  # fmt: skip
        train(root / "after", ENV, *seed, "--init-from", str(warm), "--steps", "10", "--lr", "2e-4")
        tell("RL after a warm start", root / "after", seconds(warm))
    if options.only != "after":
        train(root / "alone", ENV, *seed)
        tell("RL alone", root / "alone")


if __name__ == "__main__":
    main()
