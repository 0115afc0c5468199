"""Settings of a step, each shown by the number that it changes, and what a step reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import mint_envs
from mint_envs import Reward, Task
from mint_envs.jsonl import whole_rows
from mint_envs.problems import ProblemRef
from trainers.__main__ import main
from trainers.advantages import overlong_penalty
from trainers.config import TrainConfig
from trainers.metrics import step_metrics
from trainers.rollout import Episode
from trainers.teaching import minibatches

ARGV = ["--backend", "bandit", "--steps", "2", "--batch", "6", "--group", "4", "--max-tokens", "2"]


def episode(reward: float, length: int = 2, cut: bool = False, **metadata: Any) -> Episode:
    tokens, end = [1, 2, *[3] * length], 2 + length
    infos = [{"metadata": metadata}]
    acts = [(2, end)]
    return Episode(
        ProblemRef(seed=0), tokens, acts, [-0.5] * length, reward, cut=cut, infos=infos
    )  # fmt: skip


def config(**changes: Any) -> TrainConfig:
    values: dict[str, Any] = {"env": "mint/Math-v0", "backend": "bandit", "max_tokens": 10}
    return TrainConfig(**{**values, **changes})


def metrics(groups: list[list[Episode]], **more: Any) -> dict[str, float]:
    return step_metrics(config(**more), groups, [], 0, {})


# -- responses that were cut ----------------------------------------------------------------------


def advantages(overlong: str, *episodes: Episode) -> list[float]:
    parts, _ = minibatches(config(overlong=overlong), [list(episodes)])
    datums = parts[0] if parts else []
    return [float(datum.advantages[-1]) for datum in datums]


def test_overlong_responses_are_scored_masked_or_shaped() -> None:
    group = [episode(1.0, 5), episode(0.0, 10, cut=True), episode(1.0, 9), episode(0.0, 3)]
    assert advantages("score", *group) == [0.5, -0.5, 0.5, -0.5]
    assert advantages("mask", *group) == [0.5, 0.5, -0.5]  # it is still in the baseline
    shaped = np.array([1.0, -1.0, 0.5, 0.0])
    assert advantages("shape", *group) == pytest.approx(list(shaped - shaped.mean()))
    assert metrics([group])["reward"] == 0.5  # what is logged is the environment's


def test_the_shape_is_a_line_over_the_last_fifth() -> None:
    found = [overlong_penalty(length, 100) for length in (0, 80, 85, 90, 100)]
    assert found == pytest.approx([0, 0, -0.25, -0.5, -1])
    assert overlong_penalty(1, 1) == pytest.approx(-1)


def test_overlong_changes_what_is_learned(tmp_path: Path) -> None:
    """All are cut, and only "mask" learns nothing from that."""
    found = {}
    for overlong in ("score", "mask", "shape"):
        folder = tmp_path / overlong
        argv = ["mint/Math-v0", *ARGV, "--digits", "1", "--max-tokens", "1", "--seed", "5"]
        assert main([*argv, "--overlong", overlong, "--run-dir", str(folder)]) == 0
        found[overlong] = [row["datums"] for row in whole_rows(folder / "metrics.jsonl")]
    assert sum(found["mask"]) < sum(found["score"])


# -- temperature ----------------------------------------------------------------------------------


def test_an_entropy_at_another_temperature_is_called_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for heat, name in (("1", "entropy"), ("0.5", "cross_entropy")):
        folder = tmp_path / name
        argv = ["mint/Math-v0", *ARGV, "--temperature", heat, "--run-dir", str(folder)]
        assert main(argv) == 0
        said = capsys.readouterr().out.count("the gradient is of the model at 1")
        assert said == (heat != "1")
        for row in whole_rows(folder / "metrics.jsonl"):
            assert {"entropy", "cross_entropy"} & row.keys() == {name}


# -- rewards --------------------------------------------------------------------------------------


class Huge(gym.Env[Any, Any]):
    """Rewards of either sign, of any size."""

    observation_space = action_space = gym.spaces.Sequence(gym.spaces.Discrete(259))

    def __init__(self, size: float) -> None:
        self._size = size

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.array([65, int(self.np_random.integers(200))]), {}

    def step(self, action: Any) -> Any:
        sign = 1.0 if action[0] % 2 else -1.0
        return np.array([0]), sign * self._size, True, False, {}


gym.register(id="test/Huge-v0", entry_point=Huge, disable_env_checker=True)


@pytest.mark.parametrize("size", [1e300, 1.7e308])
def test_rewards_that_are_too_large_are_named_and_not_the_learning_rate(
    size: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["test/Huge-v0", *ARGV, "--env-settings", json.dumps({"size": size})]
    assert main([*argv, "--run-dir", str(tmp_path / "r")]) == 2
    error = capsys.readouterr().err
    assert f"rewards are as large as {size:g}" in error
    assert "--lr" not in error
    assert len(error.splitlines()) == 1


# -- what is reported -----------------------------------------------------------------------------


def test_groups_that_are_all_good_or_all_bad_and_turns() -> None:
    good, bad, mixed = [episode(1.0)] * 2, [episode(0.0)] * 2, [episode(1.0), episode(0.0)]
    half = [episode(0.5)] * 2
    found = metrics([good, bad, mixed, half, good])
    assert found["groups_all_good"] == pytest.approx(0.4)
    assert found["groups_all_bad"] == pytest.approx(0.2)
    assert found["turns"] == 1.0
    long = episode(1.0, 4)
    long.acts = [(2, 3), (4, 5), (5, 6)]
    assert metrics([[long, episode(1.0)]])["turns"] == 2.0


def test_each_member_of_a_mixture_has_its_own_accuracy() -> None:
    a, b = {"env": "mint/Math-v0"}, {"env": "mint/Chat-v0"}
    found = metrics([[episode(1.0, **a), episode(0.0, **a)], [episode(0.5, **b)] * 2])
    assert found["accuracy/mint/Math-v0"] == found["reward/mint/Math-v0"] == 0.5
    assert found["accuracy/mint/Chat-v0"] == 0.0
    assert found["reward/mint/Chat-v0"] == 0.5
    assert not any("/" in name and "mint" in name for name in metrics([[episode(1.0)] * 2]))


class One(Task[int]):
    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(500))

    def prompt(self, problem: int) -> str:
        return f"{problem}?"

    def score(self, problem: int, response: str) -> Reward:
        return Reward(1.0)


mint_envs.register("test/One-v0", One)


def test_a_mixture_reports_its_members(tmp_path: Path) -> None:
    settings = json.dumps({"envs": {"test/One-v0": 1.0, "mint/Math-v0": 1.0}})
    folder = tmp_path / "r"
    argv = ["mint/Mix-v0", *ARGV, "--env-settings", settings]
    assert main([*argv, "--run-dir", str(folder)]) == 0
    rows = whole_rows(folder / "metrics.jsonl")
    assert all(row["accuracy/test/One-v0"] == 1.0 for row in rows if "accuracy/test/One-v0" in row)
    assert any("accuracy/mint/Math-v0" in row for row in rows)
