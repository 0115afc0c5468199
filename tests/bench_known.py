"""Which of the known faults of published rewards the benchmark finds: some minutes.

    python -m tests.bench_known              # all, and the share that is found
    python -m tests.bench_known small_values

A fault counts as found if a finding names its kind, and as told if a rule does (a strict form,
say): the words that must stand there are in ``SIGNS``.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import known_rewards  # noqa: E402 - found by the line above, as pytest finds them
from bench_sets import QUICK  # noqa: E402
from benching import written  # noqa: E402

from mint_envs.bench.bench import bench  # noqa: E402
from mint_envs.bench.run import Options  # noqa: E402
from mint_envs.reports.report import Report  # noqa: E402

LEAST = 0.8  # of the faults

#: What a finding or a rule must say of the fault, in the order of the file.
SIGNS = (
    "refused for the text after", "refused on 1 of", "another number", "another number",
    "a part of the answer", "another number", "one of two signs", "another number",
    "another sign in the formula", "another number", "a root after it", "a part of the answer",
    "as text in LaTeX", "in bold", "as a relation", "as plain names", "that cannot be read",
    "fraction|full mark", "several lines", "several times", "open its thoughts itself",
    "full mark, right or wrong", "the value for the expression", "without spaces after commas",
    "several answers, the right one last", "thoughts that never end", "every choice",
    "in no form that was tried", "between dollar signs", "which the prompts do not ask for",
    "in display mathematics", "a batch of", "which the prompts do not ask for", "several lines",
    "every text that was tried is paid", "in a box",
)  # fmt: skip


def report_of(number: int) -> Report:
    """Return the report on one of them."""
    function, rows = known_rewards.KNOWN[number]
    with tempfile.TemporaryDirectory() as folder:
        data = written(Path(folder) / "problems.jsonl", rows)
        target = f"{HERE / 'known_rewards.py'}:{function.__name__}"
        return bench(target, Options(**QUICK, data=data))


def verdict_of(report: Report, sign: str) -> str:
    """Return "found", "told" or "missed"."""
    if any(re.search(sign, finding.fault) for finding in report.findings):
        return "found"
    return "told" if any(re.search(sign, one.fault) for one in report.policies) else "missed"


def main(names: list[str]) -> int:
    """Run them; return 1 if too few are found or told."""
    verdicts = []
    for number, fault in enumerate(known_rewards.faults()):
        function = known_rewards.KNOWN[number][0].__name__
        if names and function not in names:
            continue
        report = report_of(number)
        verdicts.append(verdict_of(report, SIGNS[number]))
        print(f"{verdicts[-1]:7} {function:22} {fault['library']}: {fault['what']}", flush=True)
        if names or verdicts[-1] == "missed":
            for finding in [*report.worst_first, *report.policies]:
                print(f"    {finding.severity or 'rule'}: {finding.fault[:150]}")
    caught = len(verdicts) - verdicts.count("missed")
    print(f"{verdicts.count('found')} found and {verdicts.count('told')} told of {len(verdicts)}")
    return int(caught < LEAST * len(verdicts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
