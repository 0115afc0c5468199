"""What newcomers mistype in commands and calls: ids, files in place of ids, options, actions.

Each mistake is answered by one line with the value and the next step; none is a traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from click.testing import CliRunner
from scratch import scratch

import mint_envs
from mint_envs import Reward, Task, TokenEnv
from mint_envs.cli import COMMANDS, main
from mint_envs.code import grade as grade_code
from mint_envs.interop import trl
from mint_envs.math import grade
from trainers.__main__ import main as grpo

TASK = """\
import mint_envs
from mint_envs import Reward, Task

class Words(Task[str]):
    def sample(self, rng): return "x"
    def prompt(self, problem): return "x"
    def score(self, problem, response): return Reward(1.0)

"""
ROWS = '{"prompt": "2 + 3?", "answer": "5"}\n'
FILES = {
    "odd_words.py": TASK + "mint_envs.register('my/OddWords-v0', Words)\n",
    "odd_no_version.py": TASK + "mint_envs.register('OddWords', Words)\n",
    "odd_no_prompt.py": TASK.replace("def prompt", "def promt")
    + "mint_envs.register('my/OddWords-v0', Words)\n",
    "odd_raises.py": "x = 1\nraise RuntimeError('my fault')\n",
    "odd_exits.py": "import sys\nsys.exit(3)\n",
    "odd_syntax.py": "class Words(\n",
    "odd_empty.py": "x = 1\n",
    "odd_rewards.py": "def exact(response, answer):\n    return 1.0\n",
    "rows.jsonl": ROWS,
    "other.jsonl": '{"frage": "2 + 3?", "antwort": "5"}\n',
    "no_problem.jsonl": '{"response": "5"}\n',
    "empty.jsonl": "",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with such files; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINT_API_KEY", "")
    (tmp_path / "folder").mkdir()
    with scratch(tmp_path, FILES):
        yield tmp_path


COMMAND: list[tuple[str, list[str]]] = [
    # words that are no command
    ("help", ["no command help", "mint-envs --help"]),
    ("train mint/Math-v0", ["no command train", "mint-grpo ENV"]),
    ("lst", ["no command lst", "Did you mean list?"]),
    ("--digits 3", ["no such option", "--digits", "mint-envs --help"]),
    ("grpo help", ["'help'", "mint-grpo --help"]),
    ("grpo train mint/Math-v0", ["'train'", "mint-grpo ENV"]),
    ("grpo eval mint/Math-v0", ["'eval'", "mint-envs eval"]),
    ("grpo resume folder", ["'resume'", "mint-grpo --resume RUN_DIR"]),
    # ids
    ("play Math-v0", ["no Math-v0", "mint/Math-v0?"]),
    ("play mint/math-v0", ["no mint/math-v0", "mint/Math-v0?"]),
    ("play mint/Math-v1", ["no mint/Math-v1", "mint/Math-v0?"]),
    ("list Math", ["no Math", "mint/Math-v0?"]),
    ("list mint/Maths-v0", ["no mint/Maths-v0", "mint/Math-v0?"]),
    ("check folder", ["no environment folder", "my_file.py:my/Name-v0"]),
    ("score mint/Maths-v0 rows.jsonl -o o.jsonl", ["no mint/Maths-v0", "mint/Math-v0?"]),
    ("audit mint/Math-v0", ["mint/Math-v0 is the id of an environment", "name a data set"]),
    ("serve mint/Maths-v0", ["no mint/Maths-v0", "mint/Math-v0?"]),
    # files in place of ids, and ids of files
    ("check odd_words.py", ["odd_words.py is a file", "odd_words.py:my/OddWords-v0"]),
    ("check odd_words", ["odd_words.py is a file", "odd_words.py:my/OddWords-v0"]),
    ("check my/OddWords-v0", ["registered in a file", "odd_words.py:my/OddWords-v0"]),
    ("grpo my/OddWords-v0", ["registered in a file", "odd_words.py:my/OddWords-v0"]),
    ("check odd_words:my/OddWord-v0", ["no my/OddWord-v0", "Did you mean my/OddWords-v0?"]),
    ("check odd_word.py", ["no file odd_word.py", "looked from", "Did you mean odd_words.py?"]),
    ("check odd_rewards.py", ["registers no environment", "odd_rewards.py:exact"]),
    ("check odd_empty.py", ["registers no environment", "mint_envs.register("]),
    ("check odd_empty:my/Name-v0", ["odd_empty registers no my/Name-v0", "mint/Math-v0"]),
    ("check odd_no_version:my/OddWords-v0", ["id='OddWords'", "'namespace/Name-v0'"]),
    ("check odd_no_prompt:my/OddWords-v0", ["class Words has no method prompt", "needs sample"]),
    ("check odd_raises:my/A-v0", ["odd_raises.py, line 2", "RuntimeError: my fault", "Mend it"]),
    ("check odd_exits:my/A-v0", ["odd_exits.py, line 2", "if __name__ == '__main__':"]),
    ("check odd_syntax:my/A-v0", ["odd_syntax.py, line 1", "never closed", "Mend it"]),
    ("grpo odd_raises:my/A-v0", ["odd_raises.py, line 2", "RuntimeError: my fault"]),
    # options and settings
    ("play", ["missing argument 'ID'", "mint-envs play [OPTIONS] ID"]),
    ("score mint/Math-v0 rows.jsonl", ["missing option '-o'", "mint-envs score --help"]),
    ("check mint/Math-v0 --digits 2", ["--digits", "--set digits=VALUE"]),
    ("check mint/Math-v0 digits=2", ["digits=2", "--set digits=2"]),
    ("check mint/Math-v0 --set digits = 2", ["'digits' is not NAME=VALUE", "without spaces"]),
    ("check mint/Math-v0 --set digits=two", ["digits='two' must be int"]),
    ("check mint/Math-v0 --set digit=2", ["no setting 'digit'", "Did you mean 'digits'"]),
    ("check mint/Math-v0 --set operators=[+]", ["operators='[+]'", "e.g. '+-'"]),
    ("check mint/Code-v0 --set level=hardest", ["level='hardest'", "one of easy, medium"]),
    ("check mint/Math-v0 --problem 3", ["--problem", "Did you mean --problems?"]),
    ("play mint/Math-v0 --seed -1", ["'--seed': -1", "x>=0", "mint-envs play --help"]),
    ("serve --port http", ["'--port': 'http'", "mint-envs serve --help"]),
    ("grpo mint/Math-v0 --digit 3", ["no option --digit.", "Did you mean --digits?"]),
    ("grpo mint/Math-v0 digits=3", ["no option digits=3", "Did you mean --digits 3?"]),
    ("grpo mint/Math-v0 --set digits=3", ["no option --set", "--digits 3"]),
    ("grpo mint/Math-v0 --learning_rate 1", ["--learning_rate", "Did you mean --learning-rate?"]),
    ("grpo mint/Math-v0 --api-key x", ["no option --api-key", "MINT_API_KEY"]),
    ("grpo mint/Math-v0 --steps", ["--steps", "needs a value"]),
    ("grpo mint/Math-v0 --steps many", ["--steps", "integer", "'many'"]),
    ("grpo export", ["RUN_DIR", "mint-grpo export RUN_DIR --merged FOLDER"]),
    ("grpo export folder", ["--merged", "required", "mint-grpo export RUN_DIR --merged FOLDER"]),
    # files
    ("bench odd_rewards.py:exact rows.jsonl", ["rows.jsonl", "Did you mean --data rows.jsonl?"]),
    ("score mint/Math-v0 no_problem.jsonl -o o.jsonl", ["names no problem", "index, seed"]),
    ("score mint/Math-v0 rows.jsonl -o folder", ["'folder' is a directory", "--help"]),
    ("play mint/Math-v0 --set dataset=other.jsonl", ["none of the fields", "it has frage"]),
    ("play mint/Math-v0 --set dataset=rows.jsonl --index 3", ["index=3", "problems"]),
    ("show folder", ["'folder' has no rollouts.jsonl", "give the folder of a run"]),
    ("show nowhere", ["'nowhere' does not exist", "give the folder of a run"]),
    ("replay empty.jsonl", ["empty.jsonl holds no whole row"]),
    ("replay folder", ["folder/rollouts.jsonl does not exist", "name the rollouts.jsonl"]),
    ("new 3d", ["'3d'", "word_count"]),
    ("new json", ["'json'", "installed already"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "told"), COMMAND, ids=[words for words, _ in COMMAND])
def test_a_mistyped_command_is_one_line(
    here: Path, words: str, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, _, rest = words.partition(" ")
    if name == "grpo":
        code, said = grpo(rest.split()), capsys.readouterr().err
    else:
        done = CliRunner().invoke(main, words.split())
        code, said = done.exit_code, done.stderr
    assert code == 2, said
    for part in told:
        assert part in said, said
    lines = [line for line in said.splitlines() if line.strip()]
    assert len(lines) == 1, said
    assert lines[0].startswith(("mint-envs: ", "mint-grpo: ")), said


def test_the_help_is_asked_for_and_no_mistake() -> None:
    assert all(name in CliRunner().invoke(main, ["--help"]).stdout for name in COMMANDS)
    assert all(name in CliRunner().invoke(main, []).output for name in COMMANDS)


class Odd(Task[str]):
    """A task whose prompt and verdict are what is given."""

    def __init__(self, prompt: Any = "x", verdict: Any = 1.0) -> None:
        self._prompt, self._verdict = prompt, verdict

    def sample(self, rng: np.random.Generator) -> str:
        return "x"

    def prompt(self, problem: str) -> Any:
        return self._prompt

    def score(self, problem: str, response: str) -> Any:
        return self._verdict


class WithoutPrompt(Task[str]):
    def sample(self, rng: np.random.Generator) -> str:
        return "x"

    def score(self, problem: str, response: str) -> Reward:
        return Reward(1.0)


def begun(env: Any = None, **options: Any) -> Any:
    env = env or gym.make("mint/Math-v0")
    env.reset(seed=0, **options)
    return env


def ended() -> Any:
    env = begun()
    env.step([1])
    return env


CALLS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "step before reset": (lambda: gym.make("mint/Math-v0").step([1]), ["reset"]),
    "step after the end": (lambda: ended().step([1]), ["call reset() first"]),
    "step with text": (lambda: begun().step("148"), ["a str", "token ids in [0, 259)", "'148'"]),
    "step with floats": (lambda: begun().step([1.0]), ["float64", "token ids", "[1.0]"]),
    "step with a number": (lambda: begun().step(5), ["token ids", "got 5"]),
    "step with None": (lambda: begun().step(None), ["token ids", "got None"]),
    "step with another's token": (lambda: begun().step([999]), ["token 999", "[0, 259)"]),
    "step with a batch": (lambda: begun().step([[1, 2]]), ["2 dimensions, not 1", "[[1, 2]]"]),
    "reset with a row": (lambda: begun(options={"idx": 5}), ["'idx'", "Did you mean 'index'"]),
    "reset with a number": (lambda: begun(options=5), ["options=5", "{'index': 5}"]),
    "a setting misspelt": (
        lambda: gym.make("mint/Math-v0", digit=2), ["'digit'", "Did you mean 'digits'"]),
    "a setting as text": (lambda: gym.make("mint/Math-v0", digits="2"), ["digits='2'", "int"]),
    "rendered as a picture": (
        lambda: gym.make("mint/Math-v0", render_mode="rgb_array"), ["'rgb_array'", "'human'"]),
    "a tokenizer that is none": (
        lambda: gym.make("mint/Math-v0", tokenizer=object()), ["lacks encode, decode"]),
    "no environments": (lambda: gym.make_vec("mint/Math-v0", num_envs=0), ["num_envs=0", "1"]),
    "a class without a method": (
        lambda: mint_envs.register("my/Odd-v0", WithoutPrompt),
        ["class WithoutPrompt has no method prompt", "a task needs"]),
    "an id without a version": (
        lambda: mint_envs.register("my/Odd", Odd), ["id='my/Odd'", "'namespace/Name-v0'"]),
    "a prompt that is a number": (
        lambda: begun(TokenEnv(Odd(prompt=5))), ["prompt() gave 5", '"role": "user"']),
    "a prompt that is None": (
        lambda: begun(TokenEnv(Odd(prompt=None))), ["prompt() gave None", "Return text"]),
    "a message without a role": (
        lambda: begun(TokenEnv(Odd(prompt=[{"content": "x"}]))), ["'content'", '"role": "user"']),
    "a verdict that is None": (
        lambda: begun(TokenEnv(Odd(verdict=None))).step([65]), ["gave None", "Reward(None)"]),
    "a verdict that is text": (
        lambda: begun(TokenEnv(Odd(verdict="yes"))).step([65]), ["gave 'yes'", "[0, 1]"]),
    "a verdict of 2": (
        lambda: begun(TokenEnv(Odd(verdict=2.0))).step([65]), ["score=2.0", "Scale it"]),
    "an answer that is a number": (lambda: grade(72, "72"), ["gold=72", "pass '72'"]),  # type: ignore[arg-type]
    "no response at all": (lambda: grade("72", None), ["response=None", "must be text"]),  # type: ignore[arg-type]
    "tests as one text": (
        lambda: grade_code("x", "assert 1"), ["tests='assert 1'", "(expression, expected)"]),
    "rows by a text": (lambda: trl.rows("mint/Math-v0", count="5"), ["count='5'", "number"]),  # type: ignore[arg-type]
    "rows without a column": (
        lambda: trl.reward_func("mint/Math-v0")(["x"], ["x"]), ["task_index", "trl.rows"]),
    "rows of no problem": (
        lambda: trl.reward_func("mint/Math-v0")(["x"], ["x"], task_index=[-1]), ["task_index=-1"]),
    "a class in place of an environment": (
        lambda: mint_envs.testing.check_env(Odd), ["Odd", "check_task"]),  # type: ignore[arg-type]
    "a length as text": (
        lambda: mint_envs.PadTokens(gym.make("mint/Math-v0"), "64"), ["n='64'", "number"]),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_says_the_value_and_the_next_step(name: str) -> None:
    call, told = CALLS[name]
    with pytest.raises(Exception, match=r".") as caught:
        call()
    said = str(caught.value)
    assert "\n" not in said
    for part in told:
        assert part in said, said


def test_nothing_said_of_a_reward_is_no_clean_bill(here: Path) -> None:
    """A reward that pays nothing that is known was not found good: the last line says so."""
    (here / "odd_rewards.py").write_text("def exact(response, answer):\n    return None\n")
    words = ["bench", "odd_rewards.py:exact", "--data", "rows.jsonl", "--only", "right"]
    done = CliRunner().invoke(main, words)
    assert "No fault was found, but no response is known that it pays" in done.stdout
    assert "--cases" in done.stdout
