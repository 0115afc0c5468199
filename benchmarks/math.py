"""Graders of mathematics side by side: how often right, and how fast.

    python -m benchmarks.math                                  # the labelled pairs of our tests
    python -m benchmarks.math --cases my_cases.jsonl           # rows: gold, response, verdict
    python -m benchmarks.math --gsm8k gsm8k_test.jsonl --math500 math500.jsonl
    python -m benchmarks.math --gsm8k hub --math500 hub        # from the Hugging Face hub
    python -m benchmarks.math --public FOLDER                  # clones of public repositories
    python -m benchmarks.math --only ours,math-verify --rows 200

Peers are whichever of these are installed: Math-Verify, TRL's accuracy reward, and verl's gsm8k,
math_reward and math_dapo (``pip install math-verify trl verl``). PRM800K's grader is on no
registry. verl's prime_math is left out: it evaluates model text as code.

Ours is given the question where a row has it. GSM8K and MATH-500 make several sets each: the worked
solution as the response (gold), the answer written in another way, wrong numbers, signs and digits;
the solution without ``#### 18`` or its box, where the answer has to be found in a sentence; and
formulas of the question, as they stand and idly changed (copies). Every grader judges fifty rows
before the next fifty are taken, each time in another order; times are CPU time. A string comparison
gets all of gold right by construction: these sets check wiring, false positives and speed, they do
not rank graders. The cases do.

``--public`` takes a folder with clones of what is public and cannot ship: uw-nsl/TinyV
(HardVerify-Math), openai/grade-school-math, microsoft/rho and QwenLM/Qwen2.5-Math (13,352 labelled
responses of models), microsoft/ToRA (MATH). Labels that are wrong by reading are corrected, and the
title says how many. Copies, right answers in a box and in other LaTeX, and how many of them cannot
be read, come from there too.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import math
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from mint_envs.datasets import load_rows
from mint_envs.errors import DatasetError
from mint_envs.math import grade

from .math_public import public
from .math_rows import (
    Row,
    cases,
    copied,
    digit_changed,
    gsm8k,
    math500,
    rewritten,
    sign_flipped,
    unboxed,
)

__all__ = ["Row", "cases", "copied", "digit_changed", "rewritten", "sign_flipped", "unboxed"]

#: (gold, response): True, False, or None for "cannot tell"
Grader = Callable[[str, str], bool | None]


_BLOCK = 50  # rows that one grader judges before the next
_TIMES = ("p50 ms", "p99 ms", "worst ms")
TESTS = Path(__file__).parent.parent / "tests" / "data"


# -- graders ----------------------------------------------------------------------------------


def ours(gold: str, response: str, question: str = "") -> bool | None:
    reward = grade(gold, response, question, sympy=False)
    return None if reward.metadata["verdict"] == "unknown" else reward.score == 1


def ours_with_sympy() -> Grader:
    _need("latex2sympy2_extended")
    return lambda gold, response: grade(gold, response, sympy=True).score == 1


def math_verify() -> Grader:
    _need("math_verify")
    from math_verify import parse, verify

    def judge(gold: str, response: str) -> bool | None:
        wanted = parse(f"\\boxed{{{gold}}}")
        return bool(wanted) and bool(verify(wanted, parse(response)))

    return judge


def trl_accuracy() -> Grader:
    _need("trl", "math_verify")
    from trl.rewards import accuracy_reward

    def judge(gold: str, response: str) -> bool | None:
        messages = [[{"role": "assistant", "content": response}]]
        reward = accuracy_reward(messages, [f"$\\boxed{{{gold}}}$"])[0]
        return None if reward is None else reward == 1

    return judge


def verl_gsm8k() -> Grader:
    module = _verl("gsm8k")
    return lambda gold, response: module.compute_score(response, gold, method="flexible") == 1


def verl_math() -> Grader:
    module = _verl("math_reward")
    return lambda gold, response: module.compute_score(response, gold) == 1


def verl_dapo() -> Grader:
    module = _verl("math_dapo")
    return lambda gold, response: bool(module.compute_score(response, gold)["acc"])


def _verl(name: str) -> Any:
    """One file of verl, loaded by its path: the package itself wants torch and ray."""
    _need("verl")
    spec = importlib.util.find_spec("verl")
    assert spec is not None
    assert spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0]) / "utils" / "reward_score" / f"{name}.py"
    loaded = importlib.util.spec_from_file_location(f"verl_{name}", path)
    assert loaded is not None
    assert loaded.loader is not None
    module = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(module)
    return module


def _need(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise ImportError(f"{module} is not installed")


MAKERS: dict[str, Callable[[], Grader]] = {
    "ours": lambda: ours,
    "ours+sympy": ours_with_sympy,
    "math-verify": math_verify,
    "trl": trl_accuracy,
    "verl gsm8k": verl_gsm8k,
    "verl math": verl_math,
    "verl dapo": verl_dapo,
}


#: Graders that take the question too; no other has a place for it.
WITH_QUESTION: tuple[Callable[..., bool | None], ...] = (ours,)


def graders(only: Sequence[str], console: Console) -> dict[str, Grader]:
    """Return the graders that can be imported; say which cannot, and why."""
    found = {}
    for name, make in MAKERS.items():
        if only and name not in only:
            continue
        try:
            found[name] = make()
        except (ImportError, OSError) as error:
            console.print(f"[yellow]left out: {name}: {error}")
    return found


# -- judging ------------------------------------------------------------------------------------


@dataclass
class Tally:
    """The verdicts of one grader on one set."""

    false_positives: int = 0
    false_negatives: int = 0
    unknown: int = 0
    times: list[float] = field(default_factory=list)
    paid: set[str] = field(default_factory=set)  #: the questions on which a wrong answer was paid

    def add(self, row: Row, verdict: bool | None, seconds: float) -> None:
        self.times.append(seconds)
        self.unknown += verdict is None
        self.false_negatives += not verdict and row.right
        if verdict and not row.right:
            self.false_positives += 1
            self.paid.add(row.question)


def judge(rows: Sequence[Row], found: dict[str, Grader], title: str) -> dict[str, Tally]:
    """Every grader on every row, a block of rows at a time, each time in another order.

    Not row by row: a fast grader would pay for the caches that a slow one has emptied.
    """
    names = list(found)
    tallies = {name: Tally() for name in names}
    for name in names:  # what is loaded on first use is no part of a verdict
        found[name]("\\frac{1}{2}", "\\boxed{0.5}")
    blocks = [rows[at : at + _BLOCK] for at in range(0, len(rows), _BLOCK)]
    for number, block in enumerate(track(blocks, title, transient=True)):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            for row in block:
                tallies[name].add(row, *_verdict(found[name], row))
    return tallies


def _verdict(grader: Grader, row: Row) -> tuple[bool | None, float]:
    """The verdict of a grader, and the seconds that it took."""
    judged = (*row[:2], row.question) if grader in WITH_QUESTION else row[:2]
    start = time.process_time()
    try:
        verdict = grader(*judged)
    except Exception:  # a grader that raises has given no verdict
        verdict = None
    return verdict, time.process_time() - start


def shares(title: str, tallies: dict[str, Tally]) -> Iterator[str]:
    """Of a set of copies: on how many of all problems each grader pays one of them."""
    told = re.search(r"copies of (\d+) problems", title)
    problems = int(told.group(1)) if told else 0
    for name, tally in tallies.items() if problems else ():
        share = 100 * len(tally.paid) / problems
        yield f"{name}: paid on {len(tally.paid)} of {problems} problems, {share:.2f} %"


def report(title: str, rows: Sequence[Row], tallies: dict[str, Tally]) -> Table:
    wrong = sum(not row.right for row in rows)
    title = f"{title}: {len(rows)} rows, {wrong} of them wrong"
    table = Table(title=title, title_justify="left", box=box.SIMPLE, pad_edge=False)
    table.add_column("grader")
    for head in ("false + (95 %)", "false - (95 %)", "unknown", "per s", *_TIMES, "ours is"):
        table.add_column(head, justify="right", no_wrap=True)
    base = statistics.fmean(tallies["ours"].times) if "ours" in tallies else math.nan
    for name, tally in tallies.items():
        table.add_row(name, *_cells(tally, wrong, len(rows) - wrong), *_speed(tally, base))
    return table


def _cells(tally: Tally, wrong: int, right: int) -> Iterator[str]:
    yield _rate(tally.false_positives, wrong)
    yield _rate(tally.false_negatives, right)
    yield str(tally.unknown)


def _rate(count: int, total: int) -> str:
    """``3 (0.6-4.1 %)``: a count, and the 95 % interval of Wilson for its rate."""
    if not total:
        return "-"
    low, high = wilson(count, total)
    return f"{count} ({100 * low:.1f}-{100 * high:.1f} %)"


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval for a rate of ``count`` in ``total``."""
    z = 1.96
    rate, spread = count / total, z * z / total
    centre = rate + spread / 2
    half = z * math.sqrt(rate * (1 - rate) / total + spread / (4 * total))
    return max(0.0, (centre - half) / (1 + spread)), min(1.0, (centre + half) / (1 + spread))


def _speed(tally: Tally, base: float) -> Iterator[str]:
    ordered = sorted(tally.times)
    mean = statistics.fmean(ordered)
    yield f"{1 / mean:,.0f}" if mean else "-"
    for value in (ordered[len(ordered) // 2], ordered[int(0.99 * (len(ordered) - 1))], ordered[-1]):
        yield f"{1000 * value:.3f}"
    yield f"{mean / base:.1f}x faster" if base > 0 else "-"


# -- the command --------------------------------------------------------------------------------


def sets(options: argparse.Namespace, console: Console) -> dict[str, list[Row]]:
    """The sets that are asked for; the pairs of our tests if none is."""
    found: dict[str, list[Row]] = {}
    for path in options.cases:
        found[path.name] = cases(path)
    for name, source, make in (
        ("gsm8k", options.gsm8k, gsm8k),
        ("math500", options.math500, math500),
    ):
        if source:
            hub = {"gsm8k": "openai/gsm8k:main", "math500": "HuggingFaceH4/MATH-500"}[name]
            rows = load_rows(hub, "test") if source == "hub" else load_rows(source)
            found |= make(rows)
    if options.public:
        found |= public(options.public, console.print)
    if not found:
        found = {path.name: cases(path) for path in sorted(TESTS.glob("math_*.jsonl"))}
    if not found:
        console.print("no rows: give --cases, --gsm8k or --math500 (see --help)")
    return found


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.math",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cases", type=Path, action="append", default=[], help="a JSONL file")
    parser.add_argument("--gsm8k", help="GSM8K's test set: a JSONL file, or 'hub'")
    parser.add_argument("--math500", help="MATH-500: a JSONL file, or 'hub'")
    parser.add_argument("--public", type=Path, help="a folder with clones of public repositories")
    parser.add_argument("--rows", type=int, default=0, help="only the first N rows of each set")
    parser.add_argument("--only", default="", help=f"some of: {', '.join(MAKERS)}")
    options = parser.parse_args(words)
    options.only = [name.strip() for name in options.only.split(",") if name.strip()]
    unknown = set(options.only) - set(MAKERS)
    if unknown or options.rows < 0:
        parser.error(f"--only {', '.join(sorted(unknown))}: choose from {', '.join(MAKERS)}")
    return options


def main(words: Sequence[str] | None = None) -> int:
    options = arguments(words)
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, 120)  # a table in a file needs no wrapping
    try:
        chosen = sets(options, console)
    except (DatasetError, OSError, KeyError, ValueError) as error:
        console.print(f"[red]{error}")
        return 2
    logging.disable(logging.CRITICAL)  # Math-Verify prints the text of every row it gives up on
    found = graders(options.only, console)
    for title, rows in chosen.items():
        kept = rows[: options.rows or None]
        if kept and found:
            tallies = judge(kept, found, title)
            console.print(report(title, kept, tallies), *shares(title, tallies), sep="\n")
    return 0 if chosen and found else 2


if __name__ == "__main__":
    sys.exit(main())
