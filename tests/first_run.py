"""docs/first-run.md, typed as a reader would: ``python -m tests.first_run [FOLDER]``.

As it stands it trains the small real model, and ends with 1 unless the last evaluation finds it
better. ``tests/test_first_run.py`` runs the same blocks with less of everything.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "first-run.md"
BLOCKS = re.findall(
    r"^```(?:python file=(\S+)|bash)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S
)
MOST_COMMANDS = 10


def commands() -> list[str]:
    """Return the lines of the page that are typed."""
    return [line for name, block in BLOCKS if not name for line in block.splitlines() if line]


def follow(folder: Path, changes: Mapping[str, str], variables: Mapping[str, str]) -> list[str]:
    """Do all that the page says in ``folder``; return what each command printed.

    Args:
        folder: empty.
        changes: words of commands that are replaced.
        variables: of the environment, besides its own.

    Raises:
        subprocess.CalledProcessError: a command failed; says what it printed.
    """
    bin = folder / "bin"
    bin.mkdir()
    # -P: an installed command has no working folder on its path either.
    words = {"mint-envs": "-P -m mint_envs", "mint-grpo": "-P -m trainers", "python": ""}
    for name, more in words.items():
        script = bin / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {more} "$@"\n')
        script.chmod(0o755)
    work = folder / "work"
    work.mkdir()
    path = f"{bin}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "MINT_API_KEY": "", "PATH": path, **variables}
    said = []
    for name, block in BLOCKS:
        if name:
            (work / name).write_text(block, encoding="utf-8")
            continue
        for line in filter(None, block.splitlines()):
            for words, others in changes.items():
                line = line.replace(words, others)
            done = subprocess.run(
                ["bash", "-ec", line], cwd=work, env=env, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
            said.append(done.stdout)
    return said


def rate_of(file: Path) -> float:
    """Return the mean reward of the responses that an evaluation wrote."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return sum(row["reward"] for row in rows) / len(rows)


def main(folder: str | None = None) -> None:
    place = Path(folder or tempfile.mkdtemp())
    place.mkdir(exist_ok=True)
    for line, said in zip(commands(), follow(place, {}, {}), strict=True):
        print(f"$ {line}\n{said}")
    files = sorted((place / "work" / "evals").iterdir(), key=lambda file: file.stat().st_mtime)
    before, after = map(rate_of, files)
    print(f"before {before:.1%}, after {after:.1%}")
    sys.exit(after <= before + 0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])
