"""docs/own-environment.md, block by block, as a reader would type it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

DOC = Path(__file__).parents[1] / "docs" / "own-environment.md"
BLOCKS = re.findall(r"```(python|bash)\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the reader, beside one with the commands of this Python."""
    base = tmp_path_factory.mktemp("own")
    (base / "bin").mkdir()
    for name, module in (("mint-envs", "mint_envs"), ("mint-grpo", "trainers")):
        script = base / "bin" / name
        # -P: an installed command does not have the working folder on its path either.
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m {module} "$@"\n')
        script.chmod(0o755)
    (base / "work").mkdir()
    return base


Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def run(folder: Path) -> Callable[[int], Done]:
    """Run a block, after those before it: they build on each other, whichever test comes first."""
    done: list[Done] = []

    def run(number: int) -> Done:
        while len(done) <= number:
            done.append(typed(folder, *BLOCKS[len(done)]))
        return done[number]

    return run


def typed(folder: Path, kind: str, block: str) -> Done:
    """Run a block in the reader's folder. What would train a model trains the bandit."""
    work = folder / "work"
    named = re.match(r"# (\w+\.py)\n", block)
    path = work / (named[1] if named else "block.py")
    if kind == "python":
        path.write_text(block, encoding="utf-8")
    command = [sys.executable, path.name] if kind == "python" else ["bash", "-ec", block]
    settings = {"MINT_RL_BACKEND": "bandit", "MINT_RL_STEPS": "2", "MINT_API_KEY": ""}
    paths = {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    env = {**os.environ, **settings, **paths}
    return subprocess.run(command, cwd=work, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_runs(run: Callable[[int], Done], number: int) -> None:
    done, block = run(number), BLOCKS[number][1]
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = {
        "env.step(list(b": "Word: ",
        "print(reward)": "1.0\n",
        "compute_reward(sample.answer": "1.0\n",
        "check_env(": "keeps the contract",
        "mint-envs replay": "0 differ",
    }
    for mark, words in wanted.items():
        if mark in block:
            assert words in done.stdout


def test_there_are_blocks_and_the_table_of_examples_is_whole() -> None:
    assert len(BLOCKS) >= 9
    names = {path.name for path in (DOC.parents[1] / "examples").glob("*.py")}
    told = set(re.findall(r"^\| `(\w+\.py)`", DOC.read_text(encoding="utf-8"), re.M))
    assert names - {"warm_start.py"} == told  # which is no environment, and has a page of its own
