"""mint/Mix-v0: shares, rows that say which they are of, and every member as it is alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import toys

import mint_envs
from mint_envs.compose.mix import MixTask
from mint_envs.errors import SettingError
from mint_envs.testing import check_env
from mint_envs.wrappers import task_of

EASY = {"mint/Math-v0": 3, "mint/Chat-v0": {"weight": 1, "level": "easy"}}


def draws(task: MixTask, count: int) -> Counter[str]:
    ids = [task.problem_id(task.problem(seed)).partition("#")[0] for seed in range(count)]
    return Counter(ids)


def test_shares_are_those_of_the_weights() -> None:
    found = draws(MixTask(EASY), 400)
    assert set(found) == set(EASY)
    assert 0.68 < found["mint/Math-v0"] / 400 < 0.82


def test_a_row_says_which_it_is_of_and_pays_as_its_environment_does() -> None:
    task = MixTask(EASY)
    alone = {
        "mint/Math-v0": task_of("mint/Math-v0"),
        "mint/Chat-v0": task_of("mint/Chat-v0", level="easy"),
    }
    pairs = []
    for seed in range(12):
        problem = task.problem(seed)
        pairs += [(problem, text) for text in [*task.examples(problem), "1", "Hello there."]]
    rewards = task.score_batch(pairs)
    seen = set()
    for (problem, text), reward in zip(pairs, rewards, strict=True):
        id = task.problem_id(problem).partition("#")[0]
        own = alone[id].score(problem.problem, text)
        assert reward == task.score(problem, text)
        assert (reward.score, reward.parts) == (own.score, own.parts)
        assert reward.metadata == {"env": id, "details": own.metadata}
        seen.add(id)
    assert seen == set(EASY)


def test_one_id_twice_with_other_settings() -> None:
    rows = [
        {"id": "mint/Math-v0", "digits": 1},
        {"id": "mint/Math-v0", "weight": 2, "digits": 3, "operators": "*"},
    ]
    task = MixTask(rows)
    questions = [task.problem(seed).problem.question for seed in range(60)]
    assert 25 < sum("*" in question for question in questions) < 55
    assert "id" in rows[0]  # what was given is left alone


@pytest.mark.parametrize(
    "envs",
    [
        EASY,
        [{"id": "mint/Math-v0", "digits": 1}, {"id": "mint/Math-v0", "digits": 3}],
        {"mint/Math-v0": 1, "mint/ToolUse-v0": 1},
        {"mint/Code-v0": 0.5, "mint/Chat-v0": 0.5},
    ],
)
def test_the_kit_passes(envs: Any) -> None:
    check_env("mint/Mix-v0", envs=envs, problems=3, max_examples=10)


def test_stop_strings_are_those_of_all() -> None:
    assert MixTask({"mint/Math-v0": 1}).stop == ("\n",)
    assert MixTask(EASY).stop == ()  # "\n" would cut an answer in a chat


def test_the_split_goes_to_those_that_have_it() -> None:
    one, two = MixTask({"mint/Math-v0": 1, "mint/ToolUse-v0": 1}, "train"), MixTask(split="test")
    assert draws(one, 30)["mint/ToolUse-v0"] > 0
    train = {one.problem_id(one.problem(seed)) for seed in range(200)}
    assert not train & {two.problem_id(two.problem(seed)) for seed in range(200)}


def test_its_vector_form_and_its_turns() -> None:
    env = gym.make_vec("mint/Mix-v0", num_envs=4, envs={"mint/Math-v0": 1, "mint/ToolUse-v0": 1})
    env.reset(seed=list(range(4)))
    results = env.step([np.array([49, 258])] * 4)
    assert set(results[4]["metadata"][results[2]][0]) == {"env", "details"}


@pytest.mark.parametrize(
    ("envs", "words"),
    [
        ({}, "envs="),
        ([1], "envs="),
        ([{"weight": 1}], "envs="),
        ({"mint/Math-v0": 0}, "above 0"),
        ({"mint/Math-v0": "1"}, "above 0"),
        ({"mint/Math-v0": {"weight": float("nan")}}, "above 0"),
        ({"mint/Maths-v0": 1}, "Did you mean mint/Math-v0"),
        ({"CartPole-v1": 1}, "has no task"),
        ({"mint/Math-v0": {"digit": 1}}, "Did you mean 'digits'"),
        ({"no_such_module:my/X-v0": 1}, "no module no_such_module"),
    ],
)
def test_mistakes_are_named(envs: Any, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        mint_envs.make("mint/Mix-v0", envs=envs)


class Marked(toys.GuessNumber):
    stop = ("!",)


def test_turns_that_end_by_a_string_of_their_own_cannot_be_mixed() -> None:
    mint_envs.register("test/Marked-v0", Marked)
    with pytest.raises(SettingError, match="several turns"):
        MixTask({"test/Marked-v0": 1, "mint/Math-v0": 1})
