"""What is run and from which seed: ``make quick`` does not shrink, and CI's examples come back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from selection import QUICK_TESTS, commit_seed

TESTS = Path(__file__).parent
ALONE = ("-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:xdist")


def collected(*words: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", *ALONE, *words],
        cwd=TESTS.parent, env={**os.environ, **variables}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_quick_has_its_three_thousand() -> None:
    said = collected("--quick", "-q")
    found = re.search(r"^(\d+)(/\d+)? tests collected", said, re.M)
    assert found is not None, said[-500:]
    assert int(found[1]) >= QUICK_TESTS


def test_too_few_are_said() -> None:
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", *ALONE, "--quick"]
    done = subprocess.run(
        [*words, "-o", "testpaths=tests/test_core.py"],
        cwd=TESTS.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
    assert "mark modules that take few seconds" in done.stderr


def test_in_ci_the_commit_is_the_seed_and_the_header_says_how_to_repeat_it() -> None:
    variables = {"CI": "true", "HYPOTHESIS_PROFILE": "ci", "GITHUB_SHA": "00c0ffee1234"}
    said = collected("tests/test_core.py", **variables)
    assert f"--hypothesis-seed={0x00C0FFEE}" in said


def test_a_commit_makes_a_seed_and_none_makes_zero() -> None:
    assert commit_seed("00c0ffee" + "1" * 32) == 0x00C0FFEE
    assert commit_seed("") == commit_seed("no commit") == 0
