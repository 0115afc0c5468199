"""What the pages show is run: every block of Python, and every option of every command."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from mint_envs.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
#: Pages whose blocks need more: tests/interop runs those of other libraries, tests/server
#: those that talk to a server, tests/test_own_docs.py and tests/test_first_run.py those that
#: build on each other.
ELSEWHERE = ("interop", "serve", "own-environment", "first-run")


def blocks() -> Iterator[Any]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for number, match in enumerate(re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)):
            if page.stem not in ELSEWHERE:
                name = page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")
                yield pytest.param(match[1], id=f"{name}-{number}")


def commands() -> Iterator[Any]:
    """Every line of a shell block, or of an indented one, that calls ``mint-envs``."""
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
            if re.match(r"(    )?(\$ )?mint-envs ", line):
                yield pytest.param(
                    line.strip().removeprefix("$ "), id=f"{page.stem}: {line.strip()[:50]}"
                )


@pytest.mark.parametrize("block", list(blocks()))
def test_python_runs_as_it_stands(block: str, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    said = re.search(r"print\(.*\)  # (1\.0\b)", block)  # what a comment says is printed is
    assert said is None or said[1] in done.stdout, done.stdout


@pytest.mark.parametrize("line", list(commands()))
def test_commands_and_options_exist(line: str) -> None:
    words = shlex.split(line, comments=True)
    assert isinstance(main, click.Group)
    context = click.Context(main)
    if words[1] in ("--help", "--version"):
        return
    command = main.get_command(context, words[1])
    assert command is not None, f"no command {words[1]!r}"
    known = {option for one in command.get_params(context) for option in one.opts}
    options = {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
    assert options <= {*known, "--help"}, line


def test_there_are_some() -> None:
    assert len(list(blocks())) > 10
    assert len(list(commands())) >= 3
