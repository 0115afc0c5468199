"""All fuzzers in turn, for so long: ``python -m tests.fuzz --minutes 30``, or ``make fuzz``.

A third of the time each: the grader of mathematics (tests/fuzz_math.py), tool use
(tests/fuzz_tooluse.py), and the property tests with up to 10,000 examples each. The seed is said,
and brings the same inputs back; without ``--seed`` it is another one each time. Ends with 1 if
anything was wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parent
#: Where a property is, but no model and no other process.
PROPERTIES = ("test_math_properties.py", "test_calls.py", "test_grade_calls.py", "test_tokens.py",
              "test_chat_instructions.py", "test_env.py", "test_code_values.py",
              "test_tool_schemas.py", "test_judge.py")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    given = parser.parse_args()
    print(
        f"again: python -m tests.fuzz --minutes {given.minutes:g} --seed {given.seed}", flush=True
    )
    each = given.minutes / 3
    failed = [name for name in ("fuzz_math", "fuzz_tooluse") if fuzzer(name, each, given.seed)]
    failed += ["the property tests"] if properties(each, given.seed) else []
    print(f"at fault: {', '.join(failed)}" if failed else "no fault found")
    sys.exit(bool(failed))


def fuzzer(name: str, minutes: float, seed: int) -> int:
    """Run a fuzzer of its own; return its exit status."""
    print(f"{name}: {minutes:.1f} minutes", flush=True)
    words = [sys.executable, f"{name}.py", "--minutes", str(minutes), "--seed", str(seed)]
    path = os.pathsep.join(filter(None, [str(TESTS.parent), os.environ.get("PYTHONPATH")]))
    return subprocess.run(words, cwd=TESTS, env={**os.environ, "PYTHONPATH": path}).returncode


def properties(minutes: float, seed: int) -> int:
    """Run the property tests until the time is up; return 1 if one failed."""
    print(f"property tests: {minutes:.1f} minutes", flush=True)
    end, done = time.monotonic() + 60 * minutes, 0
    while (left := end - time.monotonic()) > 1:
        status = _property_run(seed + done, left)
        if status:
            return status
        done += 1
    return 0


def _property_run(seed: int, seconds: float) -> int:
    """Run each once, in an order of the seed; that the time is up is no fault."""
    files = [name for name in PROPERTIES if (TESTS / name).is_file()]
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "hypothesis", *files,
             f"--hypothesis-seed={seed}"]  # fmt: skip
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "long"}
    child = subprocess.Popen(words, cwd=TESTS, env=environment)
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.terminate()
        child.wait()
        return 0


if __name__ == "__main__":
    main()
