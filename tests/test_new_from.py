"""``mint-envs new --from``: the file that a user would have written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REWARDS = """\
def exact(response, answer):
    return float(response.strip() == answer)


def brief(completions, **rest):
    return [-len(str(completion)) for completion in completions]
"""
WORDS = "question,answer\n" + "".join(
    f"How many letters are in '{word}'?,{len(word)}\n"
    for word in ("tree", "river", "queue", "sky", "banana", "ocean")
)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "rewards.py").write_text(REWARDS)
    (tmp_path / "words.csv").write_text(WORDS)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "more.py").write_text(REWARDS)
    return tmp_path


def typed(here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[1:])}
    command = [sys.executable, "-P", "-m", "mint_envs", *words]
    return subprocess.run(command, cwd=here, env=env, capture_output=True, text=True)


def test_the_file_of_one_function_passes_the_kit(here: Path) -> None:
    done = typed(here, "new", "letters", "--from", "rewards.py:exact", "--dataset", "words.csv")
    assert done.returncode == 0, done.stderr
    assert (here / "letters.py").read_text() == (
        '"""my/Letters-v0: exact on the rows of words.csv."""\n'
        "\n"
        "import mint_envs\n"
        "from rewards import exact\n"
        "\n"
        "TASK = mint_envs.from_reward_func(\n"
        "    exact,\n"
        '    dataset="words.csv",\n'
        '    prompt="question",\n'
        '    answer="answer",\n'
        ")\n"
        'mint_envs.register("my/Letters-v0", TASK)\n'
    )
    checked = typed(here, "check", "letters:my/Letters-v0")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "check_env" in (here / "test_letters.py").read_text()
    again = typed(here, "new", "letters", "--from", "rewards.py:exact", "--dataset", "words.csv")
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_several_functions_with_weights_and_ranges(here: Path) -> None:
    words = ["new", "--from", "rewards.py:exact", "--from", "other/more.py:brief", "--dataset",
             "words.csv", "--set", "weights=[1, 0.2]", "--set", "ranges=[[0, 1], [-1000, 0]]",
             "--set", "prompt={question} Answer in digits."]  # fmt: skip
    done = typed(here, *words)
    assert done.returncode == 0, done.stderr
    text = (here / "exact_env.py").read_text()
    assert '[exact, "other/more.py:brief"],' in text
    assert "weights=[1, 0.2]," in text
    assert 'prompt="{question} Answer in digits.",' in text
    played = typed(here, "play", "exact_env:my/ExactEnv-v0", "--show-answer", "--response", "4")
    assert played.returncode == 0, played.stdout + played.stderr
    assert "Answer in digits." in played.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "new needs a name: mint-envs new word_count"),
        (["x", "--dataset", "words.csv"], "--from FILE.py:FUNCTION"),
        (["x", "--from", "rewards.py:exact"], "--from needs --dataset"),
        (["x", "--from", "rewards.py:exat", "--dataset", "words.csv"], "Did you mean 'exact'"),
        (["x", "--from", "reward.py:exact", "--dataset", "words.csv"], "no file reward.py"),
        (["x", "--from", "rewards.py:exact", "--dataset", "word.csv"], "does not exist"),
        (["x", "--from", "rewards.py:brief", "--dataset", "words.csv"], "ranges="),
        (["x", "--from", "rewards.py:exact", "--dataset", "words.csv", "--set", "weight=1"],
         "Did you mean 'weights'"),
        (["x", "--from", "rewards.py:exact", "--dataset", "words.csv", "--set", "answer=gold"],
         "row 2 of 'words.csv': the field 'gold' is not there"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_nothing_is_written(
    here: Path, words: list[str], told: str
) -> None:
    done = typed(here, "new", *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(here.glob("x*"))
