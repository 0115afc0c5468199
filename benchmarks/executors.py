"""What more processes bring: ``python -m benchmarks.executors`` (Ray: ``--ray 4``).

A batch of programs, each of its own and of about as much work, scored by one process with one
sandbox worker (the base), by one process as it is by default, by worker processes, and by a Ray
cluster of so many CPUs. One cluster for a run: rows on a common one wait for each other's leases.
Rows are measured in turn, round after round; the table gives medians. All must give the rewards
that are right.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from mint_envs import Reward
from mint_envs.code.tasks import CodeTask
from mint_envs.executors import Executor, score_batch
from mint_envs.executors.processes import Processes
from mint_envs.sandbox import Sandbox

_PROGRAM = """
def f(x):
    total = {}
    for i in range({}):
        total = (total * 31 + i) % 1000003
    return {} if total < 1000003 else x
"""

_WARM = 3  # rounds that only warm up: Ray starts its workers one after the other, when it is busy

Row = Callable[[Sequence[tuple[Any, str]]], list[Reward]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.executors", description=__doc__)
    parser.add_argument("--programs", type=int, default=96)
    parser.add_argument("--steps", type=int, default=400_000, help="of a program's loop")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ray", type=int, default=0, help="CPUs of a Ray cluster on this machine")
    options = parser.parse_args(arguments)
    executors = _executors(options.ray)
    rows = _rows(executors)
    print(
        f"{len(os.sched_getaffinity(0))} cores; {options.programs} programs of "
        f"{options.steps} steps"
    )
    times: dict[str, list[float]] = {name: [] for name in rows}
    for number in range(_WARM + options.rounds):
        found = []
        for at, (name, row) in enumerate(rows.items()):
            pairs = _pairs(options, seed=number * len(rows) + at)
            began = time.perf_counter()
            found.append([reward.score for reward in row(pairs)])
            times[name].append(time.perf_counter() - began)
        assert all(scores == [1.0, 0.0] * (options.programs // 2) for scores in found)
    base = statistics.median(times["one process, one sandbox worker"][_WARM:])
    for name, seconds in times.items():
        median = statistics.median(seconds[_WARM:])
        print(f"{name:34} {options.programs / median:8.1f} programs/s   {base / median:5.2f} x")
    for executor in executors.values():
        executor.close()


def _executors(ray_cpus: int) -> dict[str, Executor]:
    found: dict[str, Executor] = {f"processes:{n}": Processes(n) for n in (1, 2, 4)}
    if ray_cpus:
        import ray

        from mint_envs.executors.ray import RayExecutor

        # Ray's own name. By default its workers are at nice 15: whatever else runs goes first.
        os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
        quiet = {"log_to_driver": False, "logging_level": "error", "include_dashboard": False}
        ray.init("local", num_cpus=ray_cpus, **quiet)
        found[f"ray:{ray_cpus}"] = RayExecutor()
    return found


def _rows(executors: dict[str, Executor]) -> dict[str, Row]:
    single, plain = CodeTask(sandbox=Sandbox(workers=1)), CodeTask()
    rows: dict[str, Row] = {
        "one process, one sandbox worker": single.score_batch,
        "one process, as it is": plain.score_batch,
    }
    for name, executor in executors.items():
        rows[name] = _row(plain, executor)
    return rows


def _row(task: CodeTask, executor: Executor) -> Row:
    return lambda pairs: score_batch(task, pairs, executor)


def _pairs(options: argparse.Namespace, seed: int) -> list[tuple[Any, str]]:
    """Programs that no cache has seen."""
    from mint_envs.code.rows import read_code_row

    found = []
    for number in range(seed * options.programs, (seed + 1) * options.programs):
        right = number - number % 2  # every other program is
        problem = read_code_row({"question": "f", "tests": [["f(0)", right]]})
        program = _PROGRAM.format(number, options.steps, number)
        found.append((problem, f"```python{program}```"))
    return found


if __name__ == "__main__":
    main()
