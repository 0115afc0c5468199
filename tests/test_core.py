"""``Reward`` and ``Task`` on their own."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import toys

from mint_envs import Reward, Task
from mint_envs.errors import MintEnvsError, RewardError, did_you_mean

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("score", [0, 1, 0.5, True, np.float32(0.25), None])
def test_scores_in_range(score: Any) -> None:
    reward = Reward(score)
    assert reward.score is None if score is None else type(reward.score) is float
    assert reward.measured == (score is not None)
    assert pickle.loads(pickle.dumps(reward)) == reward


@pytest.mark.parametrize(
    "score", [2.0, -0.1, float("nan"), float("inf"), "1", b"1", [1], {}, 10**400, 1j]
)
def test_scores_out_of_range_are_named(score: Any) -> None:
    with pytest.raises(RewardError, match=r"score=.* is not a number in \[0, 1\]"):
        Reward(score)
    with pytest.raises(RewardError, match="tests="):
        Reward(0.5, parts={"tests": score})


def test_a_reward_keeps_copies() -> None:
    parts, metadata = {"a": 1}, {"b": 2}
    reward = Reward(1.0, parts, metadata)
    parts["a"], metadata["b"] = 0, 0
    assert (reward.parts, reward.metadata) == ({"a": 1.0}, {"b": 2})
    assert str(Reward(-0.0).score) == "0.0"


def test_a_problem_is_a_function_of_its_index() -> None:
    task = toys.Adder()
    assert task.problem(3) == task.sample(np.random.default_rng(3))
    assert task.problem_id((1, 2)) == task.problem_id((1, 2)) != task.problem_id((2, 1))
    assert task.size is None


def test_single_turn_is_what_start_does() -> None:
    assert toys.Adder().single_turn
    assert not toys.GuessNumber().single_turn
    episode = toys.Adder().start((10, 10))
    assert episode.respond("20") == episode.cut("20") == toys.Adder().score((10, 10), "20")


def test_a_task_without_a_verdict_says_so() -> None:
    class Empty(Task[int]):
        def sample(self, rng: Any) -> int:
            return 0

        def prompt(self, problem: int) -> str:
            return ""

    with pytest.raises(NotImplementedError, match=r"Empty defines neither score\(\) nor start\(\)"):
        Empty().score(0, "")


def test_suggestions() -> None:
    assert (
        did_you_mean("digit", ["digits", "terms"]) == "Did you mean 'digits'? Valid: digits, terms."
    )
    assert did_you_mean("x", []) == "Valid: (none)."
    assert issubclass(RewardError, MintEnvsError)
