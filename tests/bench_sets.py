"""The planted faults, their mended twins and the sound functions, all of them: some minutes.

    python -m tests.bench_sets               # all; ends with 1 if a bound is missed
    python -m tests.bench_sets by_hash       # these only, with what was found

Bounds: at least 95 % of the planted faults are found, no finding on any twin or sound function.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import planted_odd  # noqa: E402 - found by the line above, as pytest finds them
import planted_rewards  # noqa: E402
import planted_third  # noqa: E402
import sound_odd  # noqa: E402
import sound_rewards  # noqa: E402
import sound_third  # noqa: E402
from benching import written  # noqa: E402
from reward_problems import problems  # noqa: E402

from mint_envs.bench.bench import bench  # noqa: E402
from mint_envs.bench.run import Options  # noqa: E402
from mint_envs.reports.report import Report  # noqa: E402

QUICK: dict[str, Any] = {"texts": 40, "search": 100, "seconds": 0.1, "workers": 1}
RECALL = 0.95


def report_of(file: str, name: str, form: str, golds: str, **more: Any) -> Report:
    """Return the report on one function of a file of the tests, on problems that ask for a form."""
    with tempfile.TemporaryDirectory() as folder:
        data = written(Path(folder) / "problems.jsonl", problems(form, golds))
        options = Options(**{**QUICK, **more}, data=data)
        return bench(f"{HERE / file}:{name}", options)


def every() -> list[tuple[str, str, str, str, str]]:
    """Return (set, file, function, form, golds) of all functions."""
    found = []
    for module in (planted_rewards, planted_odd, planted_third):
        rows, file = module.PLANTED.items(), f"{module.__name__}.py"
        found += [("planted", file, n, f, g) for n, (f, g, _) in rows]
        found += [("twin", file, f"{n}_mended", f, g) for n, (f, g, _) in rows]
    for module in (sound_rewards, sound_odd, sound_third):
        found += [("sound", f"{module.__name__}.py", n, *rest) for n, rest in module.SOUND.items()]
    return found


def main(names: list[str]) -> int:
    """Run them; return 1 if a bound is missed."""
    found: dict[str, list[bool]] = {"planted": [], "twin": [], "sound": []}
    for kind, file, name, form, golds in every():
        if names and name not in names:
            continue
        start = time.monotonic()
        report = report_of(file, name, form, golds)
        found[kind].append(bool(report.findings))
        print(f"{kind:8} {name:28} {len(report.findings)} {time.monotonic() - start:5.1f} s")
        if names or bool(report.findings) != (kind == "planted"):
            print(f"  {report.lead}")
            for finding in report.worst_first:
                print(f"  {finding.severity} {finding.check}: {finding.fault}")
    for kind, hits in found.items():
        print(f"{kind}: findings on {sum(hits)} of {len(hits)}")
    planted = found["planted"]
    missed = bool(planted) and sum(planted) < RECALL * len(planted)
    return int(missed or any(found["twin"]) or any(found["sound"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
