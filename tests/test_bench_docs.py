"""The blocks of docs/offline.md, run in order in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOC = Path(__file__).parents[1] / "docs" / "offline.md"
BLOCK = re.compile(r"^```(python file=(\S+)|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(folder: Path) -> Path:
    """Return a folder with the commands of a reader's shell, for this Python and this code."""
    scripts = folder / "bin"
    scripts.mkdir()
    for name, more in [
        ("python", ""),
        ("mint-envs", '-c "from mint_envs.cli import main; main()"'),
    ]:
        (scripts / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {more} "$@"\n')
        (scripts / name).chmod(0o755)
    return scripts


@pytest.mark.slow
def test_the_blocks_run(tmp_path: Path) -> None:
    blocks = BLOCK.findall(DOC.read_text(encoding="utf-8"))
    assert len(blocks) >= 9
    scripts = f"{commands(tmp_path)}{os.pathsep}{os.environ['PATH']}"
    for kind, name, text in blocks:
        if kind != "bash":
            (tmp_path / name).write_text(text, encoding="utf-8")
            continue
        done = subprocess.run(
            ["bash", "-ec", text],
            cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PATH": scripts},
        )  # fmt: skip
        assert done.returncode == 0, f"{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    drop = (tmp_path / "drop.jsonl").read_text(encoding="utf-8")
    assert drop.count("weak tests") == 1
    assert len((tmp_path / "rewards.jsonl").read_text(encoding="utf-8").splitlines()) == 4
