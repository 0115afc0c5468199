"""What is trained on and what is evaluated: apart, each row once, no problem twice."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import mint_envs
from mint_envs import Reward, Task
from mint_envs.jsonl import whole_rows
from trainers.__main__ import main
from trainers.backends.bandit import BanditBackend
from trainers.config import TrainConfig
from trainers.data import Data, distinct, is_small
from trainers.errors import TrainerError
from trainers.pool import EnvPool

SUMS = Path("sums.jsonl")
ARGV = ["--backend", "bandit", "--steps", "2", "--batch", "4", "--group", "2", "--max-tokens", "1"]


class Words(Task[str]):
    """A user's list of words, as many as are asked for, with nothing said of splits."""

    def __init__(self, many: int = 200) -> None:
        self._words = [f"word{number}" for number in range(many)]

    def sample(self, rng: np.random.Generator) -> str:
        return self._words[int(rng.integers(len(self._words)))]

    def prompt(self, problem: str) -> str:
        return f"Spell {problem}:"

    def score(self, problem: str, response: str) -> Reward:
        return Reward(float(response == problem[-1]))


class Rows(Words):
    """The same as a data set: it has a size."""

    @property
    def size(self) -> int:
        return len(self._words)

    def problem(self, index: int) -> str:
        return self._words[index]


class Foreign(gym.Env[Any, Any]):
    """Not ours, and without a problem_id: its first tokens say which problem it is."""

    observation_space = action_space = gym.spaces.Sequence(gym.spaces.Discrete(259))

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._wanted = int(self.np_random.integers(100))
        return np.array([65 + self._wanted, 63]), {}

    def step(self, action: Any) -> Any:
        return np.array([0]), float(len(action) > 0), True, False, {}


mint_envs.register("test/Words-v0", Words)
mint_envs.register("test/Rows-v0", Rows)
gym.register(id="test/HeldOutForeign-v0", entry_point=Foreign, disable_env_checker=True)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Every question stands there twice, and the rows differ: a digest of the row would part them.
    rows = [{"question": f"{n} + 1", "answer": str(n + 1), "row": n} for n in [*range(80)] * 2]
    SUMS.write_text("".join(json.dumps(row) + "\n" for row in rows))


def config(env: str, **changes: Any) -> TrainConfig:
    values: dict[str, Any] = {"backend": "bandit", "batch": 8, "group": 2, "eval_every": 1}
    return TrainConfig(**{"env": env, **values, **changes})


def names(pool: EnvPool, refs: Any) -> list[str]:
    found = [pool.name_of(ref) for ref in refs]
    assert None not in found
    return [name for name in found if name is not None]


SETTINGS: list[tuple[str, dict[str, Any]]] = [
    *((env, {}) for env in mint_envs.env_ids() if env.startswith("mint/")),
    ("mint/Math-v0", {"dataset": "sums.jsonl"}),
    ("mint/Math-v0", {"split": "all", "digits": 1}),
    ("mint/Mix-v0", {"envs": {"mint/ToolUse-v0": 1.0, "mint/Math-v0": 1.0}}),
    ("test/Words-v0", {}),
    ("test/Rows-v0", {}),
    ("test/HeldOutForeign-v0", {}),
]


@pytest.mark.parametrize(("env", "settings"), SETTINGS)
def test_what_is_evaluated_is_never_trained_on(env: str, settings: dict[str, Any]) -> None:
    data = Data(config(env, env_settings=settings, eval_problems=40), BanditBackend().tokenizer)
    [evaluation] = data.evaluations
    asked = names(evaluation.pool, evaluation.refs)
    trained = {name for step in range(1, 40) for name in names(data.pool, data.problems(step))}
    assert evaluation.title == "held out"
    assert len(set(asked)) == len(asked) >= 4
    assert len(trained) > 40
    assert not trained & set(asked)
    data.close()


@pytest.mark.parametrize("env", ["test/Words-v0", "test/Rows-v0", "test/HeldOutForeign-v0"])
def test_one_problem_in_ten_is_kept_out_whether_or_not_it_is_evaluated(env: str) -> None:
    few, none = (config(env, eval_every=every, eval_problems=1) for every in (1, 0))
    for settings in (few, none):
        data = Data(settings, BanditBackend().tokenizer)
        pool = data.pool
        every = distinct(pool, 1000, lambda name: True)[1]
        trained = {n for step in range(1, 300) for n in names(pool, data.problems(step))}
        assert 0.8 * len(every) < len(trained) < 0.97 * len(every)
        data.close()


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("test/Words-v0", {"many": 20}),
        ("test/Rows-v0", {"many": 49}),
        ("mint/Math-v0", {"dataset": "few.jsonl"}),
    ],
)
def test_what_is_too_small_to_divide_says_so(
    env: str, settings: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("few.jsonl").write_text("".join(SUMS.read_text().splitlines(keepends=True)[:30]))
    pool = EnvPool(env, 1, None, settings)
    assert is_small(pool)
    argv = [env, *ARGV, "--eval-every", "1", "--env-settings", json.dumps(settings)]
    assert main([*argv, "--run-dir", "r"]) == 0
    assert "Eval after step 0 (not held out, greedy)" in capsys.readouterr().out
    assert {row["eval/held_out"] for row in whole_rows(Path("r/eval.jsonl"))} == {0.0}
    data = Data(config(env, env_settings=settings, batch=50), None)
    every = distinct(pool, 1000, lambda name: True)[1]
    assert {n for step in range(1, 40) for n in names(pool, data.problems(step))} == every
    assert not is_small(EnvPool("test/Rows-v0", 1, None, {"many": 50}))


# -- epochs ---------------------------------------------------------------------------------------


def test_a_data_set_is_gone_through_by_epochs() -> None:
    data = Data(config("test/Rows-v0", batch=7, env_settings={"many": 100}), None)
    steps = [data.problems(step) for step in range(1, 100)]
    drawn = [ref.index for step in steps for ref in step]
    many = len(set(drawn))
    epochs = [drawn[i : i + many] for i in range(0, len(drawn) - many, many)]
    assert 80 < many < 100
    assert len(epochs) > 5
    assert all(sorted(epoch) == sorted(epochs[0]) for epoch in epochs)
    assert all(one != two for one, two in pairwise(epochs))
    again = Data(config("test/Rows-v0", batch=7, env_settings={"many": 100}), None)
    assert [again.problems(step) for step in (57, 3)] == [steps[56], steps[2]]
    other = Data(config("test/Rows-v0", batch=7, env_settings={"many": 100}, seed=1), None)
    assert other.problems(1) != steps[0]


def test_a_resumed_run_goes_on_in_the_middle_of_an_epoch() -> None:
    argv = ["test/Rows-v0", *ARGV, "--save-every", "3", "--batch", "7", "--seed", "3"]
    assert main([*argv, "--steps", "9", "--run-dir", "whole"]) == 0
    assert main([*argv, "--steps", "3", "--run-dir", "parts"]) == 0
    assert main(["--resume", "parts", "--steps", "9"]) == 0
    runs = [whole_rows(Path(name, "rollouts.jsonl")) for name in ("whole", "parts")]
    one, two = ([(row["step"], row["index"], row["reward"]) for row in rows] for rows in runs)
    assert one == two
    assert len({index for _, index, _ in one}) == 9 * 7  # none twice


# -- evaluations ----------------------------------------------------------------------------------


def evals(argv: list[str], folder: str) -> list[dict[str, Any]]:
    assert main([*argv, *ARGV, "--steps", "1", "--eval-every", "1", "--run-dir", folder]) == 0
    return whole_rows(Path(folder, "eval.jsonl"))


def test_an_evaluation_on_other_settings_data_or_environments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = evals(["test/Words-v0", "--eval-problems", "7"], "a")[0]
    assert base["eval/problems"] == 7
    ours = '{"dataset": "sums.jsonl"}'
    rows = evals(["mint/Math-v0", "--eval-settings", ours, "--eval-problems", "500"], "b")
    assert rows[0]["eval/problems"] == 80  # each question once, though it stands there twice
    assert "(held out, greedy)" in capsys.readouterr().out
    other = ["--eval-env", "test/HeldOutForeign-v0", "--eval-problems", "9"]
    rows = evals(["test/Words-v0", *other], "c")
    assert rows[0]["eval/accuracy"] == 1.0
    assert "(of test/HeldOutForeign-v0, greedy)" in capsys.readouterr().out


def test_an_evaluation_on_ones_own_rows_keeps_them_out_of_training() -> None:
    whole = {"dataset": "sums.jsonl", "split": "all"}
    Path("ten.jsonl").write_text("".join(SUMS.read_text().splitlines(keepends=True)[:10]))
    data = Data(
        config("mint/Math-v0", env_settings=whole, eval_settings={"dataset": "ten.jsonl"}), None
    )
    [evaluation] = data.evaluations
    asked = set(names(evaluation.pool, evaluation.refs))
    trained = {n for step in range(1, 40) for n in names(data.pool, data.problems(step))}
    assert len(asked) == 10
    assert not asked & trained
    assert len(trained) < 70  # of 70 others; one in ten of them is held out too
    every = config("mint/Math-v0", env_settings=whole, eval_settings={"dataset": "sums.jsonl"})
    with pytest.raises(TrainerError, match="no problem is left to train on"):
        Data(every, None)


def test_named_evaluations_have_settings_of_their_own() -> None:
    named = {
        "long": {"max_tokens": 3, "problems": 5, "temperature": 0.5},
        "hot": {"temperature": 2.0, "samples": 6},
        "small": {"settings": {"many": 10}, "samples": 4},
    }
    asked: list[tuple[int, float, int]] = []

    class Recording(BanditBackend):
        def sample(self, requests: Any, params: Any) -> Any:
            asked.append((params.max_tokens, params.temperature, len(requests)))
            return super().sample(requests, params)

    from trainers.evaluation import evaluate

    settings = config("test/Words-v0", evals=named, eval_problems=8, eval_max_tokens=2)
    data = Data(settings, BanditBackend().tokenizer)
    found = evaluate(settings, Recording(), data.evaluations)
    assert [title for title, _ in found] == [
        "(held out, greedy)", "of long (held out, temperature 0.5)",
        "of hot (held out, temperature 2)", "of small (held out, greedy)",
    ]  # fmt: skip
    merged = {name: value for _, metrics in found for name, value in metrics.items()}
    assert merged["eval/problems"] == merged["eval/hot/problems"] == 8
    assert merged["eval/long/problems"] == 5
    assert {"eval/hot/pass_at_6", "eval/small/pass_at_4"} <= merged.keys()
    small = merged["eval/small/problems"]
    assert asked == [
        (2, 0.0, 8), (3, 0.5, 5), *[(2, 2.0, 8)] * 6, (2, 0.0, small), *[(2, 0.8, small)] * 4,
    ]  # fmt: skip


def test_pass_at_k_has_its_interval() -> None:
    row = evals(["test/Words-v0", "--eval-problems", "20", "--eval-samples", "5"], "a")[-1]
    assert row["eval/pass_at_5_low"] <= row["eval/pass_at_5"] <= row["eval/pass_at_5_high"]
    assert row["eval/pass_at_5"] >= row["eval/accuracy"]
    assert row["eval/accuracy_low"] < row["eval/accuracy_high"]


def test_an_evaluation_at_a_temperature_is_over_all_that_is_drawn() -> None:
    cold = evals(["test/Words-v0", "--eval-problems", "20"], "a")[0]
    hot = evals(
        ["test/Words-v0", "--eval-problems", "20", "--eval-temperature", "1",
         "--eval-samples", "4"], "b"
    )[0]  # fmt: skip
    assert hot["eval/accuracy"] != cold["eval/accuracy"]
    assert hot["eval/accuracy_low"] <= hot["eval/accuracy"] <= hot["eval/accuracy_high"]
