"""What an environment costs beside its reward: ``python -m benchmarks.env``.

One episode is ``reset`` and ``step`` through ``gym.make``. Its cost here is what is left when what
the task does is taken away: drawing a problem (``sample`` and ``prompt``), and the bare ``score``
of the same text for it. Left are spaces, tokens, info, Gymnasium's wrappers.
Rows are measured in turn, round after round, so that a busy moment hits them all; the table gives
medians, and the cost is the median of the differences within a round.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

import mint_envs

ID = "mint/Math-v0"
LENGTHS = (16, 64, 256, 1024, 4096, 16384)
SPACE_LENGTHS = LENGTHS[:-1]  # the stock space takes 40 ms at the longest
NUM_ENVS = 64
BUDGET_US = 20.0

Case = Callable[[], Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.env", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="times that each row is measured")
    rounds = parser.parse_args(arguments).rounds
    print(f"{ID}, gymnasium {gym.__version__}, Python {platform.python_version()}\n")
    cost, growth = _episodes(rounds)
    print()
    _vectors(rounds)
    print()
    _spaces(rounds)
    print()
    _imports()
    print(f"\ncost at 256 tokens: {cost:.1f} microseconds (at most {BUDGET_US:.0f} wanted)")
    print(f"cost of a token, 4096 to 16384 over 1024 to 4096: {growth:.2f} (1 is linear growth)")


class FreeTask(mint_envs.Task[int]):
    """Scores nothing, so that an episode costs what the environment costs."""

    def sample(self, rng: np.random.Generator) -> int:
        return 0

    def prompt(self, problem: int) -> str:
        return "Q:"

    def score(self, problem: int, response: str) -> mint_envs.Reward:
        return mint_envs.Reward(0.0)


def _episodes(rounds: int) -> tuple[float, float]:
    """Print the cost of an episode by length of the response.

    Returns:
        (cost at 256 tokens in microseconds, how its slope grows with length: 1 if linear).
    """
    mint_envs.register("benchmarks/Free-v0", FreeTask)
    env, free = gym.make(ID), gym.make("benchmarks/Free-v0")
    task: Any = env.unwrapped.task  # type: ignore[attr-defined]
    rng, cases = np.random.default_rng(0), dict[str, Case]()
    cases["draw"] = lambda: _draw(task, rng)
    for length in LENGTHS:
        action = _response(length)
        text = bytes(action[:-1].tolist()).decode()
        cases[f"episode {length}"] = _episode(env, action)
        cases[f"bare {length}"] = partial(_bare, task, rng, text)
        cases[f"free {length}"] = _episode(free, action)
    times = measure(cases, rounds)
    us = medians(times)
    print("one episode (reset + step) through gym.make, microseconds")
    print(f"{'tokens':>8} {ID:>14} {'drawn':>8} {'scored':>8} {'cost':>8} {'an empty task':>15}")
    costs = {}
    for n in LENGTHS:
        pairs = zip(times[f"episode {n}"], times[f"bare {n}"], strict=True)
        costs[n] = statistics.median(episode - bare for episode, bare in pairs)
        episode, bare, nothing = (us[f"{kind} {n}"] for kind in ("episode", "bare", "free"))
        parts = f"{us['draw']:>8.1f} {bare - us['draw']:>8.1f} {costs[n]:>8.1f}"
        print(f"{n:>8} {episode:>14.1f} {parts} {nothing:>15.1f}")
    a, b, c = (us[f"free {n}"] for n in LENGTHS[-3:])
    return costs[256], (c - b) / (b - a) / 4


def _draw(task: Any, rng: np.random.Generator) -> Any:
    problem = task.sample(rng)
    task.prompt(problem)
    return problem


def _bare(task: Any, rng: np.random.Generator, text: str) -> None:
    """Do what the task does in an episode. The problem is a new one: its answer is read anew."""
    task.score(_draw(task, rng), text)


def _vectors(rounds: int) -> None:
    """Print what one episode costs in each vector form."""
    action = _response(256)
    single = gym.make(ID)
    ours = gym.make_vec(ID, num_envs=NUM_ENVS)
    stock = gym.make_vec(ID, num_envs=NUM_ENVS, vectorization_mode="sync")
    batch = (action,) * NUM_ENVS
    # The stock form resets by itself: of two steps one is an episode, the other only a reset.
    stock.reset(seed=0)
    times = measure(
        {
            "gym.make, one after another": _repeated(_episode(single, action), NUM_ENVS),
            "make_vec (ours)": _episode(ours, batch),
            "make_vec, sync (Gymnasium's)": lambda: (stock.step(batch), stock.step(batch)),
        },
        rounds,
    )
    print(f"{NUM_ENVS} episodes of 256 tokens, microseconds an episode (score included)")
    for name, value in medians(times).items():
        print(f"{name:<30} {value / NUM_ENVS:>8.1f}")


def _spaces(rounds: int) -> None:
    """Print what it costs to check that an action is in the space."""
    ours: Any = mint_envs.TokenSequence(50_000)
    stock: Any = gym.spaces.Sequence(gym.spaces.Discrete(50_000))
    names = "TokenSequence, array", "TokenSequence, list", "Sequence(Discrete), tuple"
    cases: dict[str, Case] = {}
    for length in SPACE_LENGTHS:
        array = np.arange(length) % 50_000
        values = array, array.tolist(), tuple(array.tolist())
        for name, space, value in zip(names, (ours, ours, stock), values, strict=True):
            assert value in space
            cases[f"{name} {length}"] = partial(space.contains, value)
    us = medians(measure(cases, rounds))
    print("is an action in the space? microseconds")
    print(f"{'tokens':<26}" + "".join(f"{length:>10}" for length in SPACE_LENGTHS))
    for name in names:
        print(
            f"{name:<26}" + "".join(f"{us[f'{name} {length}']:>10.1f}" for length in SPACE_LENGTHS)
        )


def _imports() -> None:
    """Print what the import costs beyond Gymnasium's, in new processes."""
    script = (
        "import time; a = time.perf_counter(); import gymnasium; b = time.perf_counter()\n"
        "import mint_envs; print(b - a, time.perf_counter() - b)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for _ in range(5)
    ]
    first, then = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    print(f"import gymnasium: {statistics.median(first) * 1e3:.0f} milliseconds; ", end="")
    print(f"import mint_envs after it: {statistics.median(then) * 1e3:.0f} (at most 150 wanted)")


def measure(cases: dict[str, Case], rounds: int) -> dict[str, list[float]]:
    """Return the microseconds of CPU of each case in each round; they take turns."""
    repeats = {name: _repeats(case) for name, case in cases.items()}
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            start = time.process_time()
            for _ in range(repeats[name]):
                case()
            times[name].append((time.process_time() - start) / repeats[name] * 1e6)
    return times


def medians(times: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in times.items()}


def _repeats(case: Case) -> int:
    """Return how often to run a case so that it takes about five milliseconds."""
    case()
    start = time.perf_counter()
    case()
    return max(1, min(500, int(0.005 / (time.perf_counter() - start))))


def _episode(env: Any, action: Any) -> Case:
    def run() -> None:
        env.reset()
        env.step(action)

    return run


def _repeated(case: Case, times: int) -> Case:
    def run() -> None:
        for _ in range(times):
            case()

    return run


def _response(length: int) -> Any:
    """Return a response of so many tokens: prose, and the end-of-turn token."""
    text = "the sum of the two numbers is what was asked for " * (length // 40 + 1)
    return np.array([*text.encode()[: length - 1], 258], dtype=np.int64)


if __name__ == "__main__":
    main()
