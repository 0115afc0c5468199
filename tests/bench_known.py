"""Which of the known faults of published rewards the benchmark finds: some minutes.

    python -m tests.bench_known              # all, and the share that is found
    python -m tests.bench_known small_values

A fault counts as found if a finding names its kind, and as told if a rule does (a strict form,
say): the words that must stand there are in the data, as ``sign``. At least 80 % must be found.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import known_rewards  # noqa: E402 - found by the line above, as pytest finds them
from bench_sets import QUICK  # noqa: E402
from benching import written  # noqa: E402

from mint_envs.bench.bench import bench  # noqa: E402
from mint_envs.bench.run import Options  # noqa: E402
from mint_envs.reports.report import Report  # noqa: E402

LEAST = 0.8  # of the faults


def report_of(number: int, **more: Any) -> Report:
    """Return the report on one of them."""
    function, rows = known_rewards.KNOWN[number]
    with tempfile.TemporaryDirectory() as folder:
        data = written(Path(folder) / "problems.jsonl", rows)
        target = f"{HERE / 'known_rewards.py'}:{function.__name__}"
        return bench(target, Options(**{**QUICK, **more}, data=data))


def verdict_of(report: Report, sign: str) -> str:
    """Return "found", "told" or "missed"."""
    if any(re.search(sign, finding.fault) for finding in report.findings):
        return "found"
    return "told" if any(re.search(sign, one.fault) for one in report.policies) else "missed"


def main(names: list[str]) -> int:
    """Run them; return 1 if too few are found."""
    verdicts = []
    for number, fault in enumerate(known_rewards.faults()):
        function = known_rewards.KNOWN[number][0].__name__
        if names and function not in names:
            continue
        report = report_of(number)
        verdicts.append(verdict_of(report, fault["sign"]))
        print(f"{verdicts[-1]:7} {function:22} {fault['library']}: {fault['what']}", flush=True)
        if names or verdicts[-1] == "missed":
            for finding in [*report.worst_first, *report.policies]:
                print(f"    {finding.severity or 'rule'}: {finding.fault[:150]}")
    print(f"{verdicts.count('found')} found and {verdicts.count('told')} told of {len(verdicts)}")
    return int(verdicts.count("found") < LEAST * len(verdicts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
