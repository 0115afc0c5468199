"""What off-policy training costs and brings: time on a slow service, and learning curves.

    python -m benchmarks.offpolicy service          # two minutes
    python -m benchmarks.offpolicy curves           # the table for tests, three seeds: minutes
    python -m benchmarks.offpolicy curves --backend local --env mint/Math-v0 --steps 40   # hours

``service``: the tests' own service, whose samples take 1 to 10 s with a long tail and whose updates
take 2 s, ten times faster; the loop in step beside one that samples ahead, with as many samples a
step. ``curves``: four set-ups in as many samples: on-policy; four updates a step with each loss;
two steps of staleness without and with a cap.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import mint_envs
from mint_envs import Reward, Task
from mint_envs.jsonl import whole_rows
from trainers.backends import LoraParams
from trainers.backends.bandit import BanditBackend
from trainers.config import TrainConfig, defaults_for
from trainers.grpo import train
from trainers.log import Log
from trainers.run import Run

SCALE = 10  # times faster than the seconds below
SAMPLE_S, UPDATE_S = (1.0, 10.0), 2.0
LOSSES = ("importance_sampling", "ppo", "cispo", "dro", "gspo")
SET_UPS: dict[str, dict[str, Any]] = {
    "on-policy": {},
    **{f"4 substeps, {loss}": {"substeps": 4, "loss_fn": loss} for loss in LOSSES},
    "2 steps stale": {"max_steps_off_policy": 2},
    "2 steps stale, cap 2": {"max_steps_off_policy": 2, "ratio_cap": 2.0},
}


class Echo(Task[int]):
    """Say the two digits that are asked for."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(60))

    def prompt(self, problem: int) -> str:
        return f"{problem:02d}?"

    def score(self, problem: int, response: str) -> Reward:
        return Reward(sum(map(str.__eq__, response.ljust(2), f"{problem:02d}")) / 2)


mint_envs.register("bench/Echo-v0", Echo)


def trained(folder: Path, backend: Any, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Train; return the metrics of each step."""
    config = TrainConfig(**settings)
    train(config, backend, Run(folder, config, Log(out=io.StringIO())))
    return whole_rows(folder / "metrics.jsonl")


# -- time on a slow service -----------------------------------------------------------------------


def service(steps: int) -> None:
    """Print steps an hour of the loop in step, and of those that sample ahead."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from fault_server import GOOD_KEYS, MODEL, Service

    from trainers.backends.mint import MintBackend

    print(f"{'ahead':>6}{'s/step':>9}{'steps/h':>9}{'ratio':>7}{'samples/step':>14}{'stale':>7}")
    first = 0.0
    for ahead in (0, 1, 2):
        there = Service()
        there.delays = _delays(np.random.default_rng(0))
        backend = MintBackend(
            MODEL, LoraParams(4), GOOD_KEYS[0], there.url, mint_envs.ByteTokenizer()
        )
        settings = {
            "env": "bench/Echo-v0", "backend": "mint", "steps": steps, "batch": 8, "group": 4,
            "temperature": 1.0, "max_tokens": 4, "max_steps_off_policy": ahead, "save_every": 0,
        }  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            rows = trained(Path(folder), backend, settings)
            seconds = (time.perf_counter() - start) / steps * SCALE
            episodes = len(whole_rows(Path(folder) / "rollouts.jsonl"))
        backend.close()
        there.stop()
        first = first or seconds
        stale = float(np.mean([row["staleness"] for row in rows]))
        print(f"{ahead:6}{seconds:9.1f}{3600 / seconds:9.0f}{first / seconds:7.2f}"
              f"{episodes / steps:14.1f}{stale:7.2f}", flush=True)  # fmt: skip


def _delays(rng: np.random.Generator) -> Any:
    low, high = SAMPLE_S

    def delays(path: str) -> float:
        if path == "asample":
            return (low + (high - low) * float(rng.random()) ** 4) / SCALE
        return UPDATE_S / SCALE if path == "forward_backward" else 0.0

    return delays


# -- learning curves ------------------------------------------------------------------------------


def curves(options: argparse.Namespace) -> None:
    """Print accuracy by step of each set-up, as means over seeds, with the seeds' last ones."""
    quarters = [round(options.steps * part) for part in (0.25, 0.5, 0.75, 1.0)]
    print(f"{'set-up':32}" + "".join(f"{f'step {q}':>10}" for q in quarters) + "  last, by seed")
    for name, changes in SET_UPS.items():
        runs = [_curve(options, seed, changes) for seed in options.seeds]
        means = [np.mean([_around(run, q) for run in runs]) for q in quarters]
        last = " ".join(f"{_around(run, options.steps):.0%}" for run in runs)
        print(f"{name:32}" + "".join(f"{mean:10.1%}" for mean in means) + f"  {last}", flush=True)


def _curve(options: argparse.Namespace, seed: int, changes: dict[str, Any]) -> list[float]:
    env, kind = options.env, options.backend
    small = {"steps": options.steps, "batch": 16, "group": 8, "lr": options.lr, "max_tokens": 2,
             "temperature": 1.0, "save_every": 0}  # fmt: skip
    base = small if kind == "bandit" else {**defaults_for(env, "local"), "steps": options.steps}
    base |= {"env": env, "backend": kind, "seed": seed, "eval_every": 0, **changes}
    if kind == "bandit":
        backend: Any = BanditBackend()
    else:
        from trainers.backends.local import LocalBackend

        lora = LoraParams(seed=seed)
        more = {"base_model": options.base_model} if options.base_model else {}
        backend = LocalBackend(lora=lora, **more)
    with tempfile.TemporaryDirectory() as folder:
        return [row["reward"] for row in trained(Path(folder), backend, base)]


def _around(run: list[float], step: int) -> float:
    """Return the mean of the five steps up to this one."""
    return float(np.mean(run[max(0, step - 5) : step]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("service", "curves"))
    parser.add_argument("--steps", type=int, help="default: 20 on the service, 60 of a curve")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--backend", choices=("bandit", "local"), default="bandit")
    parser.add_argument("--env", default="bench/Echo-v0")
    parser.add_argument("--base-model")
    parser.add_argument("--lr", type=float, default=0.3, help="of the table")
    options = parser.parse_args()
    if options.what == "service":
        service(options.steps or 20)
    else:
        options.steps = options.steps or 60
        curves(options)


if __name__ == "__main__":
    main()
