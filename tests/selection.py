"""How much ``--quick`` must hold, and the seed that a commit gives; tests/conftest.py uses them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

TESTS = Path(__file__).parent

#: With fewer tests than this, --quick has lost some, and fails.
QUICK_TESTS = 3000
QUICK_CPU_S = 60


def commit_seed(commit: str) -> int:
    """Return a seed of 32 bits from a commit's name; 0 for what is none."""
    try:
        return int(commit[:8], 16)
    except ValueError:
        return 0


def this_commit() -> str:
    """Return the commit that is tested, or ``""`` outside of git."""
    if named := os.environ.get("GITHUB_SHA"):
        return named
    command = ["git", "-C", str(TESTS), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
