"""Two-digit sums with a curriculum by measured pass rate, and without: ``python -m
benchmarks.curriculum``.

The pass rate of some training sums is measured with the model that is trained; then each seed
trains once on the sums of the file by lot, and once with ``--curriculum`` and a range. Both have
the same problems, steps and evaluations; what is printed is held-out accuracy by step.

With ``--folder`` it goes on where it was ended, a run from its newest checkpoint.

    python -m benchmarks.curriculum --folder runs/curriculum   # three seeds, half an hour and more
    python -m benchmarks.curriculum --backend bandit --steps 2 --problems 40  # does it run?
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

_MANNERS = {
    "by lot": [],
    "curriculum": ["--curriculum", "--min-pass-rate", "0.01", "--max-pass-rate", "0.9"],
}


def main(argv: list[str] | None = None) -> None:
    asked = _parser().parse_args(argv)
    folder = Path(asked.folder or tempfile.mkdtemp(prefix="curriculum-"))
    folder.mkdir(exist_ok=True)
    rates = folder / "rates.jsonl"
    if not rates.exists():
        _measure(asked, folder, rates)
    rows = []
    for seed in range(asked.seeds):
        for manner, options in _MANNERS.items():
            run = folder / f"{manner.replace(' ', '-')}-{seed}"
            if asked.steps not in _accuracy(run):
                _train(asked, run, seed, ["--pass-rates", str(rates), *options])
            rows.append({"manner": manner, "seed": seed, "accuracy": _accuracy(run)})
            print(json.dumps(rows[-1]), flush=True)
    for manner in _MANNERS:
        last = [list(row["accuracy"].values())[-1] for row in rows if row["manner"] == manner]
        print(f"{manner}: {sum(last) / len(last):.1%} at the end, of {len(last)} seeds: {last}")


def _measure(asked: argparse.Namespace, folder: Path, rates: Path) -> None:
    """Write the pass rates of training sums, as the model that is trained has them."""
    policy = "local"
    if asked.backend == "bandit":  # it has no model to measure: a run of it has
        _train(asked, folder / "first", 0, [])
        policy = f"run:{folder / 'first'}"
    out = folder / "responses.jsonl"
    _call("mint_envs", "eval", "mint/Math-v0", "--policy", policy, "--train", "-n",
          str(asked.problems), "-k", "8", "--max-tokens", "16", "--out", str(out),
          "--write-pass-rates", str(rates))  # fmt: skip


def _train(asked: argparse.Namespace, run: Path, seed: int, options: list[str]) -> None:
    if (run / "config.json").exists():
        _call("trainers", "--resume", str(run))
        return
    _call("trainers", "mint/Math-v0", "--backend", asked.backend, "--preset", "local", "--steps",
          str(asked.steps), "--seed", str(seed), "--eval-every", str(asked.eval_every),
          "--save-every", str(asked.eval_every), "--run-dir", str(run), *options)  # fmt: skip


def _call(module: str, *words: str) -> None:
    subprocess.run([sys.executable, "-m", module, *words], check=True, stdout=subprocess.DEVNULL)


def _accuracy(run: Path) -> dict[int, float]:
    """Return held-out accuracy by step; of a run that has not begun, nothing."""
    if not (run / "eval.jsonl").exists():
        return {}
    lines = (run / "eval.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["step"]: row["eval/accuracy"] for row in map(json.loads, lines)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--problems", type=int, default=1000, help="training sums to measure")
    parser.add_argument("--eval-every", type=int, default=10)
    parser.add_argument("--backend", default="local", choices=["local", "bandit"])
    parser.add_argument("--folder", help="of all files; what is there is not made again")
    return parser


if __name__ == "__main__":
    main()
