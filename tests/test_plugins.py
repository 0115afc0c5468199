"""Environments of other packages: found when they are asked for, and harmless if broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

TASK = """
import mint_envs

class Echo(mint_envs.Task):
    def __init__(self, word: str = "aye"):
        self.word = word
    def sample(self, rng):
        return f"{self.word} {int(rng.integers(10**6))}"
    def prompt(self, problem):
        return f"Say {problem}:"
    def score(self, problem, response):
        return mint_envs.Reward(float(response.strip() == problem))
    def examples(self, problem):
        return {problem: 1.0, "": 0.0}

def register_all():
    mint_envs.register("theirs/Echo-v0", Echo)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages, with one that is sound."""
    (tmp_path / "their_package.py").write_text(TASK)
    install(tmp_path, "their-package", "theirs = their_package:register_all")
    return tmp_path


def install(site: Path, name: str, *points: str) -> None:
    about = site / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("\n".join(["[mint_envs.environments]", *points]) + "\n")


def run(site: Path, *command: str, fails: bool = False) -> str:
    """Run a program that finds the packages of ``site``; return all that it prints."""
    path = os.pathsep.join([str(site), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-W", "always", *command], capture_output=True, text=True, cwd=site,
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "200"},
    )  # fmt: skip
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def python(site: Path, code: str) -> str:
    return run(site, "-c", f"import gymnasium as gym, mint_envs, sys\n{code}")


@pytest.mark.parametrize(
    "code",
    [
        "env = gym.make('theirs/Echo-v0', word='no')",
        "env = mint_envs.make('theirs/Echo-v0', word='no')",
        "env = gym.make_vec('theirs/Echo-v0', num_envs=1, word='no')",
        "env = mint_envs.testing.envs.gym.make('theirs/Echo-v0', word='no')",
        "from mint_envs.interop.trl import rows\nprint(rows('theirs/Echo-v0', 1, word='no'))",
        "mint_envs.register_envs()\nprint(gym.spec('theirs/Echo-v0'), 'no')",
        "from mint_envs.wrappers import task_of\nprint(task_of('theirs/Echo-v0', word='no').word)",
        "print(mint_envs.env_ids(), 'no')",
        "from mint_envs.compose.mix import MixTask\n"
        "print(MixTask({'theirs/Echo-v0': 1}).problem_id, 'no')",
    ],
)
def test_an_id_of_another_package_is_found(site: Path, code: str) -> None:
    shown = "\nif 'env' in dir(): print(env.reset(seed=1)[1]['prompt'])"
    said = python(site, f"assert 'their_package' not in sys.modules\n{code}{shown}")
    assert "no" in said
    assert "Warning" not in said


def test_the_import_and_our_own_ids_load_nothing(site: Path) -> None:
    code = "gym.make('mint/Math-v0'); mint_envs.make('mint/Chat-v0'); gym.make('CartPole-v1')"
    python(site, f"{code}\nassert 'their_package' not in sys.modules")


def test_a_name_that_is_an_id_registers_its_task(site: Path) -> None:
    install(site, "other", "other/Echo-v1 = their_package:Echo")
    said = python(
        site,
        "print(gym.make('other/Echo-v1', word='hm').reset(seed=1)[1]['prompt'])",
    )
    assert "Say hm" in said


def test_commands_find_them(site: Path) -> None:
    assert "theirs/Echo-v0" in run(site, "-m", "mint_envs", "list")
    assert "word" in run(site, "-m", "mint_envs", "list", "theirs/Echo-v0")
    run(site, "-m", "mint_envs", "check", "theirs/Echo-v0", "--problems", "2")
    training = ["--backend", "bandit", "--steps", "1", "--group", "2", "--batch", "1",
                "--eval-every", "0", "--word", "no", "--run-dir", "run"]  # fmt: skip
    run(site, "-m", "trainers", "theirs/Echo-v0", *training)
    run(site, "-m", "mint_envs", "replay", "run")


def test_a_broken_one_is_a_warning_that_names_it(site: Path) -> None:
    (site / "sick.py").write_text("raise OSError('no luck')")
    install(site, "sick-package", "sick = sick", "gone = gone:register", "Bad-v0 = no colon")
    said = python(site, "print(gym.make('theirs/Echo-v0').reset(seed=1)[1]['prompt'])")
    assert "Say aye" in said
    assert "plug-in 'sick' (sick) of the package sick-package cannot be loaded" in said
    assert "OSError: no luck" in said
    assert "plug-in 'gone' (gone:register)" in said
    assert "plug-in 'Bad-v0'" in said
    assert said.count("UserWarning") == 3
    assert "theirs/Echo-v0" in run(site, "-m", "mint_envs", "list")
    assert "UserWarning" not in python(site, "gym.make('mint/Math-v0')")


def test_our_ids_are_not_replaced(site: Path) -> None:
    (site / "greedy.py").write_text(
        "import mint_envs\nfrom their_package import Echo\n"
        "mint_envs.register('mint/Math-v0', Echo)\nmint_envs.register('theirs/Echo-v0', Echo)\n"
        "mint_envs.register('greedy/Echo-v0', Echo)\n"
    )
    install(site, "zz-greedy", "zz = greedy")
    said = python(
        site,
        "mint_envs.register_envs()\nprint(type(gym.make('mint/Math-v0').unwrapped.task).__name__)\n"
        "print(gym.make('greedy/Echo-v0').unwrapped.task.word)",
    )
    assert "MathTask" in said
    assert "aye" in said
    assert "registers mint/Math-v0, which is taken" in said
    assert "registers theirs/Echo-v0, which is taken" in said


def test_an_unknown_id_is_still_an_error(site: Path) -> None:
    code = "import gymnasium as gym, mint_envs; gym.make('theirs/Ecko-v0')"
    assert "Did you mean: `Echo`" in run(site, "-c", code, fails=True)
    assert "theirs/Echo-v0" in run(site, "-m", "mint_envs", "list", "no/Such-v0", fails=True)


def test_a_plug_in_may_look_for_ids_itself(site: Path) -> None:
    (site / "curious.py").write_text(
        "import mint_envs\nprint(len(mint_envs.env_ids()))\nmint_envs.register_envs()\n"
        "from their_package import Echo\nmint_envs.register('curious/Echo-v0', Echo)\n"
    )
    install(site, "curious", "curious = curious")
    python(site, "gym.make('curious/Echo-v0')")
