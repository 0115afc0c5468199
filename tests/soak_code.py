"""Many evaluations in a row: nothing may grow, nothing may stay behind, no verdict may change.

python tests/soak_code.py 20000          # and again with its zygotes killed at random
python tests/soak_code.py 20000 --kill
python tests/soak_code.py 500 --load     # the same verdicts idle and beside 8 busy processes
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mint_envs.code.grade import GradeSettings, grade_many
from mint_envs.code.plan import Plan, make_plan
from mint_envs.core import Reward
from mint_envs.sandbox import Sandbox

_PROGRAMS = (
    ("def f(n):\n    return n * n + {i}\n", [("f(3)", 9), ("f(0)", 0)], "first"),
    ("def f(n):\n    return [n] * {i}\n", [("f('a')", ["a"])], "one"),
    ("import tempfile as t\ndef f(n):\n    open(t.gettempdir() + '/x{i}', 'w').write('x')\n"
     "    return n\n",
     [("f(1)", 1)], "all"),
    ("def f(n): raise ValueError({i})\n", [("f(1)", 1)], "none"),
    ("import os\nos._exit({i} % 100)\n", [("f(1)", 1)], "none"),
    ("def f(n) return {i}\n", [("f(1)", 1)], "none"),
)  # fmt: skip


def items(count: int) -> list[tuple[str, Plan]]:
    """Programs that all differ, so that no cache answers for the sandbox."""
    plans = [make_plan(tests) for _, tests, _ in _PROGRAMS]
    made = []
    for i in range(count):
        program = _PROGRAMS[i % len(_PROGRAMS)][0].replace("{i}", str(i))
        made.append((f"```python\n{program}```", plans[i % len(_PROGRAMS)]))
    return made


def expected(count: int) -> list[float]:
    right = {"first": lambda i: i == 0, "one": lambda i: i == 1, "all": lambda i: True}
    rules = [right.get(kind, lambda i: False) for _, _, kind in _PROGRAMS]
    return [float(rules[i % len(_PROGRAMS)](i)) for i in range(count)]


def mixed(count: int, limit_s: float) -> list[tuple[str, Plan]]:
    """Programs that use from a hundredth to three times the limit of CPU time, and sleepers."""
    rng = random.Random(0)
    plan = make_plan([("f(1)", 1)])
    made = []
    for i in range(count):
        share = rng.choice([0.01, 0.1, 0.3, 0.6, 1.5, 3.0])
        body = (
            f"t = time.process_time()\n    while time.process_time() - t < {share * limit_s}: pass"
        )
        if i % 25 == 0:
            body = f"time.sleep({rng.choice([0.1, 60])} * {limit_s})"
        program = f"import time\ndef f(n):\n    {body}\n    return {i % 5 and 1}\n"
        made.append((f"```python\n{program}```", plan))
    return made


@contextmanager
def killer(others: set[int], kills: list[int]) -> Iterator[None]:
    """Kill a random process of the sandbox every few hundredths of a second; ``others`` are not."""
    stop = threading.Event()

    def run() -> None:
        rng = random.Random(1)
        while not stop.wait(rng.uniform(0.02, 0.3)):
            if victims := [pid for pid in descendants(os.getpid()) if pid not in others]:
                victim = rng.choice(victims)
                try:
                    os.kill(victim, signal.SIGKILL)
                    kills.append(victim)
                except ProcessLookupError:
                    pass

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep ``count`` processes busy beside us."""
    loop = "while True: pass"
    processes = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def descendants(pid: int) -> list[int]:
    """Return the processes below ``pid``; one that ends meanwhile may be among them."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *descendants(child)]
    except OSError:
        pass
    return found


def footprint(pids: list[int]) -> dict[str, int]:
    """Descriptors here, processes, and memory (KiB) of the zygotes."""
    memory = 0
    for pid in pids:
        status = Path(f"/proc/{pid}/status").read_text()
        memory += next((int(ln.split()[1]) for ln in status.splitlines() if "VmRSS" in ln), 0)
    return {"descriptors": len(os.listdir("/proc/self/fd")), "processes": len(pids), "KiB": memory}


def own_memory() -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line)


def soak(count: int, tier: str = "auto", kill: bool = False) -> tuple[list[str], dict[str, object]]:
    """Evaluate ``count`` programs; return what went wrong, and numbers."""
    work, want = items(count), expected(count)
    wrong: list[str] = []
    kills: list[int] = []
    begun = time.monotonic()
    others = set(descendants(os.getpid()))  # of other tests: multiprocessing's, for one
    with Sandbox(tier) as sandbox:
        grade_many(work[:100], GradeSettings(), sandbox)
        before, memory = footprint(descendants(os.getpid())), own_memory()
        rewards: list[Reward] = []
        with killer(others, kills) if kill else _nothing():
            for start in range(0, count, 200):
                rewards += grade_many(work[start : start + 200], GradeSettings(), sandbox)
        after, grown = footprint(descendants(os.getpid())), own_memory() - memory
    for i, (reward, score) in enumerate(zip(rewards, want, strict=True)):
        if reward.score != score:
            wrong.append(f"program {i}: {reward.score}, not {score}: {reward.metadata}")
    if not kill and (after["descriptors"], after["processes"]) != (
        before["descriptors"],
        before["processes"],
    ):
        wrong.append(f"before {before}, after {after}")
    if not kill and after["KiB"] > before["KiB"] * 1.1 + 1024:
        wrong.append(f"the zygotes grew: before {before}, after {after}")
    numbers = {"before": before, "after": after, "caller_grew_KiB": grown, "kills": len(kills),
               "seconds": round(time.monotonic() - begun, 1)}  # fmt: skip
    return wrong, numbers


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def under_load(count: int, limit_s: float = 0.2, others: int = 8) -> list[str]:
    """Return the programs whose verdict differs between an idle and a busy machine."""
    work, settings = mixed(count, limit_s), GradeSettings(sandbox_timeout_s=limit_s)
    with Sandbox() as sandbox:
        idle = grade_many(work, settings, sandbox)
    with busy(others), Sandbox() as sandbox:
        loaded = grade_many(work, settings, sandbox)
    return [
        f"{work[i][0]}: {a.score} {a.metadata} idle, {b.score} {b.metadata} loaded"
        for i, (a, b) in enumerate(zip(idle, loaded, strict=True))
        if (a.score, a.metadata["limit"]) != (b.score, b.metadata["limit"])
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--tier", default="auto")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--load", action="store_true")
    options = parser.parse_args()
    if options.load:
        wrong = under_load(options.count)
        print(*wrong, f"{len(wrong)} of {options.count} verdicts differ under load", sep="\n")
    else:
        wrong, numbers = soak(options.count, options.tier, options.kill)
        print(*wrong[:20], numbers, f"{len(wrong)} wrong", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
