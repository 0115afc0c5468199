"""What the tests of ``mint-envs bench`` share: small runs, and what they told."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from mint_envs.bench.bench import bench
from mint_envs.bench.run import Options
from mint_envs.reports.report import Report

REWARDS = str(Path(__file__).with_name("reward_functions.py"))
QUICK: dict[str, Any] = {
    "problems": 8, "texts": 25, "search": 96, "seconds": 0.1, "workers": 1, "timeout_s": 2.0,
    "within": 600.0,
}  # fmt: skip
SUMS = [{"prompt": f"Q: What is {a} + {b}?\nA:", "answer": str(a + b)}
        for a, b in [(12, 7), (30, 51), (8, 2), (44, 45), (61, 3), (5, 70)]]  # fmt: skip


@functools.cache
def run(name: str, **more: Any) -> Report:
    target = name if "/" in name else f"{REWARDS}:{name}"
    return bench(target, Options(**{**QUICK, **more}))


def checks(report: Report) -> set[str]:
    return {fault.check for fault in report.findings}


def told(report: Report, check: str) -> str:
    return " | ".join(fault.fault for fault in report.findings if fault.check == check)


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)
