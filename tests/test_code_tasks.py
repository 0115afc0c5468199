"""mint/Code-v0."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from click.testing import CliRunner
from gymnasium.utils.env_checker import check_env

import mint_envs
from mint_envs.cli import main
from mint_envs.code.kinds import KINDS
from mint_envs.code.problems import draw_problem, passes
from mint_envs.code.rows import read_code_row
from mint_envs.code.tasks import CodeTask
from mint_envs.datasets import held_out
from mint_envs.errors import DatasetError, IndexOutOfRange, SettingError

DATA = Path(__file__).parent / "data"


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_the_prompt_is_that_of_the_documents() -> None:
    task = CodeTask(level="easy")
    problem = task.sample(np.random.default_rng(0))
    first = "Q: Write a function `double(x)` that returns x * 2.\nA: ```python\ndef double(x):\n"
    prompt = task.prompt(problem)
    assert isinstance(prompt, str)
    assert prompt.startswith(first)
    assert prompt.endswith(f"Q: {problem.question}\nA:")
    assert task.stop == ("\nQ:",)
    chat = CodeTask(style="chat")
    assert problem.question in chat.prompt(problem)[0]["content"]  # type: ignore[index]
    assert chat.stop == ()


def test_there_are_kinds_enough_of_every_level() -> None:
    assert len({kind.name for kind in KINDS}) >= 40
    for level in ("easy", "medium", "hard"):
        assert sum(kind.level == level for kind in KINDS) >= 10


def test_every_kind_has_a_right_answer_and_wrong_ones() -> None:
    """The references and near misses of all kinds, in the sandbox: rewards as announced."""
    for partial in (False, True):
        task = CodeTask(partial_credit=partial)
        pairs, wanted = [], []
        for kind in KINDS:
            for seed in range(2):
                problem = draw_problem(kind, np.random.default_rng(seed))
                examples = task.examples(problem)
                assert next(iter(examples.values())) == 1.0
                assert min(examples.values()) == examples[""] == 0.0
                assert len(examples) >= 3, kind.name
                assert list(examples.values()).count(1.0) == 1, kind.name
                pairs += [(problem, response) for response in examples]
                wanted += examples.values()
        found = [reward.score for reward in task.score_batch(pairs)]
        assert found == pytest.approx(wanted)


def test_a_problem_is_a_function_of_its_seed() -> None:
    task = CodeTask()
    for seed in range(20):
        one, other = (task.sample(np.random.default_rng(seed)) for _ in range(2))
        assert one == other
        assert len(one.plan.tests) <= 12
    assert len({task.sample(np.random.default_rng(s)).question for s in range(200)}) > 60


def test_held_out_problems_are_never_in_training() -> None:
    train, test = CodeTask(split="train"), CodeTask(split="test")
    for seed in range(50):
        assert not held_out(train.sample(np.random.default_rng(seed)).question)
        assert held_out(test.sample(np.random.default_rng(seed)).question)


def test_the_reward_does_not_carry_a_clock() -> None:
    task = CodeTask(level="easy")
    problem = task.sample(np.random.default_rng(1))
    response = next(iter(task.examples(problem)))
    reward = task.score(problem, response)
    assert "cpu_s" not in reward.metadata
    assert reward == CodeTask(level="easy").score(problem, response)


def test_a_next_question_of_the_models_own_does_not_count() -> None:
    task = CodeTask(level="easy")
    problem = task.sample(np.random.default_rng(1))
    rambling = next(iter(task.examples(problem))) + "\nQ: more\nA: ```python\nx = (\n```"
    assert task.score(problem, rambling).score == 1.0


def test_gymnasium_is_content() -> None:
    for settings in ({}, {"style": "chat", "level": "easy"}):
        check_env(gym.make("mint/Code-v0", **settings).unwrapped, skip_render_check=True)


def test_the_vector_form_scores_a_batch() -> None:
    envs = gym.make_vec("mint/Code-v0", num_envs=6, level="easy")
    envs.reset(seed=[3] * 6)
    inner: Any = envs.unwrapped
    task, problem = inner.envs[0].task, inner.envs[0].problem
    right = next(iter(task.examples(problem)))
    codec = inner.envs[0].codec
    tokens = [codec.tokenizer.encode(text) for text in (right, "no", right, "", right, "x")]
    _, rewards, ended, cut, infos = envs.step(tokens)
    assert list(rewards) == [1, 0, 1, 0, 1, 0]
    assert (ended | cut).all()
    assert infos["scored"].all()
    envs.close()


@pytest.mark.parametrize(
    "settings",
    [{"level": "silly"}, {"style": "x"}, {"shots": 9}, {"split": "x"}, {"sandbox": 5},
     {"language": "cpp"}, {"max_tests_per_problem": -1}, {"sandbox_timeout_s": -1},
     {"levle": "easy"}],
)  # fmt: skip
def test_wrong_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        gym.make("mint/Code-v0", **settings)


@pytest.mark.parametrize(
    ("row", "response", "score"),
    [
        ({"q": "Write `add(a, b)` that returns a + b.",
          "tests": [["add(1,2)", 3], ["add(-1,1)", 0]]}, "def add(a, b): return a + b", 1.0),
        ({"question": "Double it.", "tests": [{"stdin": "2", "stdout": "4"}]},
         "print(int(input()) * 2)", 1.0),
        ({"question": "f", "tests": {"code": "assert f(1) == 2", "entry_point": "f"}},
         "def f(x): return x + 1", 1.0),
        ({"question": "sum", "input_output": json.dumps({"inputs": ["1 2\n"], "outputs": ["3\n"]})},
         "print(sum(map(int, input().split())))", 1.0),
        ({"question": "two", "input_output":
          {"fn_name": "add", "inputs": [[1, 2], [2, 2]], "outputs": [3, [4]]}},
         "class Solution:\n    def add(self, a, b): return a + b", 1.0),
        ({"question": "two", "input_output": {"fn_name": "add", "inputs": [[1, 2]],
                                              "outputs": [3]}},
         "def add(a, b): return a - b", 0.0),
        ({"description": "d", "public_tests": {"input": ["1\n"], "output": ["1\n"]},
          "private_tests": {"input": ["2\n"], "output": ["2\n"]},
          "solutions": {"language": [3], "solution": ["print(input())"]}}, "print(input())", 1.0),
        ({"question_content": "d",
          "public_test_cases": '[{"input": "1", "output": "1", "testtype": "stdin"}]'},
         "print(input())", 1.0),
        ({"content": "d", "test": [{"input": {"stdin": "5"}, "output": {"stdout": "5"}}]},
         "print(input())", 1.0),
    ],
)  # fmt: skip
def test_rows_of_all_known_forms(row: dict[str, Any], response: str, score: float) -> None:
    problem = read_code_row(row)
    assert CodeTask(style="chat").score(problem, f"```python\n{response}\n```").score == score


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"a": 1}, "no known form"),
        ({"q": "x", "tests": [["f(", 1]]}, "row 1.*no Python expression"),
        ({"q": "x", "tests": [["box.x > 1", True]]}, "its own verdict"),
        ({"q": "x", "tests": []}, "at least one test"),
        ({"question": "x", "input_output": "{}"}, "row 1"),
        ({"tests": [["f(1)", 1]]}, "none of the fields"),
    ],
)
def test_broken_rows_are_named(tmp_path: Path, row: dict[str, Any], words: str) -> None:
    with pytest.raises(DatasetError, match=words):
        CodeTask(dataset=write(tmp_path / "x.jsonl", [row]))


def test_human_eval_and_mbpp_load(tmp_path: Path) -> None:
    with gzip.open(DATA / "HumanEval.jsonl.gz", "rt") as file:
        some = [json.loads(line) for line in file][30:42]  # among them 32 and 38, with helpers
    for dataset in (write(tmp_path / "h.jsonl", some), str(DATA / "mbpp_sample.jsonl")):
        task = CodeTask(dataset=dataset, max_tests_per_problem=100)
        assert task.size is not None
        problems = [task.problem(i) for i in range(task.size)]
        pairs = [(p, r) for p in problems for r in task.examples(p)]
        wanted = [s for p in problems for s in task.examples(p).values()]
        assert [reward.score for reward in task.score_batch(pairs)] == wanted
        with pytest.raises(IndexOutOfRange):
            task.problem(task.size)


def test_near_misses_are_misses_whatever_is_left_out() -> None:
    for kind in KINDS:
        problem = draw_problem(kind, np.random.default_rng(5))
        assert passes(problem, problem.reference, 100) == 1.0
        assert passes(problem, problem.wrong[0], 10) < 1.0, kind.name


def test_the_id_is_registered_and_its_settings_are_described() -> None:
    from mint_envs.registration import settings_of

    assert "mint/Code-v0" in mint_envs.env_ids()
    assert all(setting.help for setting in settings_of("mint/Code-v0").values())


def test_doctor_proves_the_sandbox() -> None:
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 0, result.output
    assert "every attack was held off" in result.output
    assert "runs for ever" in result.output


def test_how_many_tests_run_is_said_at_load(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tests = [[f"f({i})", i] for i in range(12)]
    dataset = write(
        tmp_path / "x.jsonl", [{"q": "x", "tests": tests}, {"q": "y", "tests": tests[:3]}]
    )
    with caplog.at_level("WARNING", "mint_envs.code"):
        CodeTask(dataset=dataset)
    assert "of 15 tests 13 run" in caplog.text
    caplog.clear()
    with caplog.at_level("WARNING", "mint_envs.code"):
        task = CodeTask(dataset=dataset, max_tests_per_problem=0)
    assert not caplog.text
    reward = task.score(task.problem(0), " ```python\ndef f(x):\n    return x\n```")
    assert (reward.score, reward.metadata["total"]) == (1.0, 12)
