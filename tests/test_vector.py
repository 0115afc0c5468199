"""The vector form, and Gymnasium's own vector environments over ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import toys
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

import mint_envs
from mint_envs import Reward, TokenEnv, TokenVectorEnv
from mint_envs.errors import SettingError
from mint_envs.testing import check_env

INFO = ("prompt", "response", "score", "scored", "parts", "metadata", "finish_reason", "problem_id")


def acts(env: Any, *texts: str) -> list[list[int]]:
    return [[*text.encode(), 258] for text in texts]


class Counted(toys.Adder):
    """Counts how it is asked for rewards."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def score_batch(self, pairs: Sequence[tuple[Any, str]]) -> list[Reward]:
        self.batches.append(len(pairs))
        return [toys.Adder.score(self, problem, text) for problem, text in pairs]

    def score(self, problem: Any, response: str) -> Reward:
        raise AssertionError("one by one")


def test_an_id_has_its_own_vector_form() -> None:
    env: Any = gym.make_vec("mint/Math-v0", num_envs=64)
    assert isinstance(env, TokenVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    observations, infos = env.reset(seed=0)
    assert len(observations) == 64
    assert observations in env.observation_space
    single = gym.make("mint/Math-v0")
    for i in (0, 5, 63):
        assert observations[i].tolist() == single.reset(seed=i)[0].tolist()
        assert infos["prompt"][i] == single.reset(seed=i)[1]["prompt"]
    assert gym.make_vec("mint/Math-v0", num_envs=2, digits=1).reset(seed=0)


def test_scoring_is_one_batch() -> None:
    task = Counted()
    env = TokenVectorEnv(task, 5)
    env.reset(seed=3)
    right = [task.answer(single.problem) for single in env.envs]
    _, rewards, terminated, truncated, infos = env.step(acts(env, *right[:4], "x"))
    assert task.batches == [5]
    assert rewards.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert rewards.dtype == np.float64
    assert terminated.tolist() == [True] * 5
    assert truncated.tolist() == [False] * 5
    assert infos["score"].dtype == np.float64
    assert infos["scored"].dtype == np.bool_
    assert infos["response"].tolist() == [*right[:4], "x"]
    assert set(infos) == {*INFO, *(f"_{key}" for key in INFO)}


def theirs(mode: str) -> Any:
    """Return Gymnasium's own vector environment over the same task."""
    return gym.vector.SyncVectorEnv([lambda: TokenEnv(toys.GuessNumber())] * 3, autoreset_mode=mode)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_ended_episodes_begin_anew_as_gymnasiums_own_do(mode: str) -> None:
    ours, other = TokenVectorEnv(toys.GuessNumber(), 3, autoreset_mode=mode), theirs(mode)
    assert ours.metadata["autoreset_mode"] is AutoresetMode(mode)
    ours.reset(seed=5)
    other.reset(seed=5)
    for turn in range(12):
        guesses = ["50", str(ours.envs[1].problem), "never"[: 2 + turn % 3]]
        one, two = ours.step(acts(ours, *guesses)), other.step(acts(other, *guesses))
        assert [a.tolist() for a in one[0]] == [b.tolist() for b in two[0]]
        for mine, its in zip(one[1:4], two[1:4], strict=True):
            assert mine.tolist() == its.tolist()
        assert ("final_info" in one[4]) == ("final_info" in two[4])
        if "final_info" in one[4]:
            for key in ("_final_obs", "_final_info"):
                assert one[4][key].tolist() == two[4][key].tolist()
            told, wanted = one[4]["final_info"], two[4]["final_info"]
            assert told["score"].tolist() == wanted["score"].tolist()
            assert told["_score"].tolist() == wanted["_score"].tolist()
        assert one[4]["prompt"].tolist() == two[4]["prompt"].tolist()


def test_the_mode_is_a_keyword_of_make_vec_and_disabled_by_default() -> None:
    env: Any = gym.make_vec("mint/Math-v0", num_envs=2, autoreset_mode=AutoresetMode.SAME_STEP)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert TokenVectorEnv.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    with pytest.raises(SettingError, match="autoreset_mode='often': valid are 'NextStep', "):
        gym.make_vec("mint/Math-v0", num_envs=2, autoreset_mode="often")


def test_a_group_is_one_seed_for_all() -> None:
    env = TokenVectorEnv(toys.Adder(), 4)
    _, infos = env.reset(seed=[7] * 4)
    assert len(set(infos["prompt"])) == 1
    _, infos = env.reset(options={"index": [1, 1, 2, 2]})
    assert len(set(infos["problem_id"])) == 2
    _, infos = env.reset(options={"index": 9})
    assert len(set(infos["problem_id"])) == 1


def test_no_step_is_wasted_on_resets() -> None:
    env = TokenVectorEnv(toys.GuessNumber(), 3)
    env.reset(seed=0)
    numbers = [single.problem for single in env.envs]
    others = [(n + 1) % 100 for n in numbers]
    texts = [str(numbers[0]), str(others[1]), str(others[2])]
    _, _, terminated, truncated, _ = env.step(acts(env, *texts))
    assert terminated.tolist() == [True, False, False]
    with pytest.raises(ResetNeeded, match="running in environment 0"):
        env.step(acts(env, "1", "1", "1"))
    observations, infos = env.reset(
        seed=[5, None, None], options={"reset_mask": terminated | truncated}
    )
    assert [len(tokens) > 0 for tokens in observations] == [True, False, False]
    assert infos["_score"].tolist() == [True, False, False]
    assert infos["score"].tolist() == [0.0, 0.0, 0.0]
    assert infos["score"].dtype == np.float64
    assert infos["prompt"][1] is None
    texts = ["1", str(numbers[1]), str(numbers[2])]
    _, rewards, *_ = env.step(acts(env, *texts))
    assert rewards.tolist()[1:] == [0.8, 0.8]


def test_a_reset_of_some_leaves_the_others_ended() -> None:
    env = TokenVectorEnv(toys.Adder(), 3)
    with pytest.raises(ResetNeeded, match="running in environment 0"):
        env.step(acts(env, "1", "1", "1"))
    env.reset(seed=0)
    env.step(acts(env, "1", "1", "1"))
    env.reset(options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(ResetNeeded, match="running in environment 1"):
        env.step(acts(env, "1", "1", "1"))


def test_a_refused_batch_moves_nothing() -> None:
    env = TokenVectorEnv(toys.Adder(), 2)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="token 999"):
        env.step([[1, 258], [999]])
    with pytest.raises(ValueError, match="got 1 actions for 2"):
        env.step([[1, 258]])
    env.step([[1, 258], [1, 258]])


@pytest.mark.parametrize(
    ("options", "seed", "message"),
    [
        ({"reset_mask": [1, 0]}, None, "boolean array of shape"),
        ({"reset_mask": np.ones(3, dtype=bool)}, None, "boolean array of shape"),
        ({"index": [1, 2, 3]}, None, "index has 3 values for 2"),
        ({"nonsense": 1}, None, "'nonsense' is unknown"),
        ({}, [1, 2, 3], "seed has 3 values for 2"),
        ({"index": 1.5}, None, "index"),
    ],
)
def test_wrong_arguments_are_named(options: Any, seed: Any, message: str) -> None:
    env = TokenVectorEnv(toys.Adder(), 2)
    with pytest.raises(SettingError, match=message):
        env.reset(seed=seed, options=options)


def test_there_is_at_least_one() -> None:
    with pytest.raises(SettingError, match="num_envs=0"):
        TokenVectorEnv(toys.Adder(), 0)


def test_render_gives_every_transcript() -> None:
    env = TokenVectorEnv(toys.Adder(), 2, render_mode="ansi")
    env.reset(seed=[1, 1])
    one, two = env.render()
    assert one == two
    assert one is not None


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_gymnasiums_own_vector_environments(mode: str) -> None:
    env: Any = gym.make_vec("mint/Math-v0", num_envs=2, vectorization_mode=mode)
    check_vector(env)


@pytest.mark.parametrize(
    "options", [{"context": "spawn"}, {"shared_memory": False}, {"copy": False}]
)
def test_asynchronous_options(options: dict[str, Any]) -> None:
    env: Any = gym.make_vec(
        "mint_envs:mint/Math-v0", num_envs=2, vectorization_mode="async", vector_kwargs=options
    )
    check_vector(env)


def check_vector(env: Any) -> None:
    """Two episodes by Gymnasium's NEXT_STEP rule: the step after an end only resets."""
    try:
        observations, _ = env.reset(seed=[4, 5])
        single = gym.make("mint/Math-v0")
        wanted = [single.reset(seed=s)[0].tolist() for s in (4, 5)]
        assert [tokens.tolist() for tokens in observations] == wanted
        right = [
            str(problem.answer) for problem in (env_problem(single, 4), env_problem(single, 5))
        ]
        _, rewards, terminated, truncated, infos = env.step(tuple(map(np.array, acts(env, *right))))
        assert rewards.tolist() == [1.0, 1.0]
        assert terminated.all()
        assert not truncated.any()
        assert list(infos["response"]) == right
        observations, *_ = env.step(tuple(map(np.array, acts(env, "", ""))))
        assert all(len(tokens) > 0 for tokens in observations)
    finally:
        env.close()


def env_problem(env: Any, seed: int) -> Any:
    env.reset(seed=seed)
    return env.unwrapped.problem


def test_an_observation_that_does_not_fit_the_shared_memory_says_what_to_do() -> None:
    from multiprocessing import get_context

    from gymnasium.vector.utils import create_shared_memory, write_to_shared_memory

    space = mint_envs.TokenSequence(10, max_length=4)
    memory = create_shared_memory(space, n=1, ctx=get_context("fork"))
    write_to_shared_memory(space, 0, np.arange(4), memory)
    with pytest.raises(ValueError, match="'shared_memory': False"):
        write_to_shared_memory(space, 0, np.arange(5), memory)


def test_vector_and_single_agree() -> None:
    for seed in range(5):
        single = TokenEnv(toys.Adder())
        vector = TokenVectorEnv(toys.Adder(), 1)
        assert single.reset(seed=seed)[0].tolist() == vector.reset(seed=seed)[0][0].tolist()
        one, many = single.step([49, 50, 258]), vector.step([[49, 50, 258]])
        assert one[1] == many[1][0]
        assert {key: many[4][key][0] for key in one[4]} == one[4]


def test_vector_wrappers_work() -> None:
    env = gym.wrappers.vector.RecordEpisodeStatistics(TokenVectorEnv(toys.Adder(), 2))
    env.reset(seed=0)
    *_, infos = env.step(acts(env, "1", "2"))
    assert infos["episode"]["l"].tolist() == [1, 1]


def test_the_vector_form_is_part_of_the_contract() -> None:
    assert check_env("mint/Math-v0", max_examples=10, other_process=False).cases["vector form"] == 1
