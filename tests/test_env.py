"""``TokenEnv``: one episode after another, over tokens."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import toys
from gymnasium.error import ResetNeeded
from hypothesis import given
from hypothesis import strategies as st

import mint_envs
from mint_envs import Reward, TokenEnv
from mint_envs.errors import IndexOutOfRange, SettingError

pytestmark = pytest.mark.quick

ANY_TEXT = st.text(st.characters(exclude_categories=()))
TOKENS = st.lists(st.integers(0, 258) | st.sampled_from([0, 10, 32, 255, 256, 258]), max_size=200)

MATH = mint_envs.make("mint/Math-v0")
GUESS = TokenEnv(toys.GuessNumberChat())


def fresh() -> Any:
    """An environment of one's own: Gymnasium's checker is lost when its first reset raises."""
    return mint_envs.make("mint/Math-v0")


def step_text(env: Any, text: str) -> Any:
    codec = env.unwrapped.codec
    return env.step([*codec.encode_response(text), codec.eos_token_id])


@given(TOKENS, st.integers(0, 2**31 - 1))
def test_any_tokens_get_a_finite_reward(tokens: list[int], seed: int) -> None:
    for env in (MATH, GUESS):
        env.reset(seed=seed)
        obs, reward, terminated, truncated, info = env.step(tokens)
        assert obs in env.observation_space
        assert math.isfinite(reward)
        assert 0.0 <= reward <= 1.0
        assert {key: type(value) for key, value in info.items()} == {
            "prompt": str, "problem_id": str, "response": str, "score": float, "scored": bool,
            "parts": dict, "metadata": dict, "finish_reason": str,
        }  # fmt: skip
        assert (terminated, truncated) == (True, False) or env is GUESS


@given(ANY_TEXT, st.integers(0, 2**31 - 1))
def test_any_text_gets_a_reward(text: str, seed: int) -> None:
    task = MATH.unwrapped.task  # type: ignore[attr-defined]
    reward = task.score(task.problem(seed), text)
    assert isinstance(reward, Reward)
    MATH.reset(seed=seed)
    assert step_text(MATH, text)[2:4] == (True, False)


@given(st.integers(0, 2**31 - 1))
def test_equal_seeds_are_a_group(seed: int) -> None:
    one, info_one = MATH.reset(seed=seed)
    MATH.reset()
    two, info_two = MATH.reset(seed=seed)
    assert one.tolist() == two.tolist()
    assert info_one == info_two


def test_the_stream_goes_on_without_a_seed() -> None:
    MATH.reset(seed=1)
    one = [MATH.reset()[1]["prompt"] for _ in range(5)]
    MATH.reset(seed=1)
    assert one == [MATH.reset()[1]["prompt"] for _ in range(5)]
    assert len(set(one)) == 5


def test_an_index_addresses_a_problem() -> None:
    env = TokenEnv(toys.GoodRows())
    assert env.reset(options={"index": 3})[1]["prompt"] == "10 + 13 ="
    assert env.reset(options={"index": np.int64(3)})[1]["prompt"] == "10 + 13 ="
    with pytest.raises(IndexOutOfRange, match="index=5"):
        env.reset(options={"index": 5})
    with pytest.raises(ResetNeeded):  # a reset that failed leaves no episode behind
        env.step([1])


@pytest.mark.parametrize("index", [-1, 1.5, "3", True])
def test_a_wrong_index_is_named(index: Any) -> None:
    with pytest.raises(SettingError, match=f"index={index!r} must be a whole number"):
        fresh().reset(options={"index": index})


def test_a_wrong_option_is_named() -> None:
    with pytest.raises(SettingError, match=r"'indx' is unknown\. Did you mean 'index'"):
        fresh().reset(options={"indx": 1})


def test_steps_out_of_turn() -> None:
    env = TokenEnv(toys.Adder())
    with pytest.raises(ResetNeeded):
        env.step([1])
    env.reset(seed=0)
    step_text(env, "1")
    with pytest.raises(ResetNeeded, match="call reset"):
        step_text(env, "1")


@pytest.mark.parametrize("action", [[-1], [259], [0.5], "text", None, 3, [[1]], [None], [2**70]])
def test_an_action_outside_the_space_raises_with_the_value(action: Any) -> None:
    env = TokenEnv(toys.Adder())
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"Give a sequence of token ids in \[0, 259\)") as caught:
        env.step(action)
    assert repr(action) in str(caught.value)
    step_text(env, "1")  # the episode still runs


def test_a_long_wrong_action_is_shortened() -> None:
    env = TokenEnv(toys.Adder())
    env.reset(seed=0)
    with pytest.raises(ValueError, match="token 300, outside") as caught:
        env.step([1] * 10_000 + [300])
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "kind", [list, tuple, np.array, lambda ids: np.array(ids, dtype=np.uint16)]
)
def test_actions_are_any_integer_sequence(kind: Any) -> None:
    env = TokenEnv(toys.Adder())
    env.reset(seed=0)
    right = env.task.answer(env.problem)  # type: ignore[attr-defined]
    assert env.step(kind([*right.encode(), 258]))[1] == 1.0


def test_broken_utf8_decodes_with_replacement() -> None:
    env = TokenEnv(toys.Adder())
    env.reset(seed=0)
    *_, info = env.step([0xFF, 0xC3, 258])
    assert info["response"] == "\ufffd\ufffd"


def test_a_single_turn_is_scored_even_when_cut() -> None:
    env = TokenEnv(toys.Adder())
    env.reset(seed=0)
    right = env.task.answer(env.problem)  # type: ignore[attr-defined]
    _, reward, terminated, truncated, info = env.step(list(right.encode()))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["finish_reason"] == "length"


def test_a_cut_turn_of_many_runs_nothing_and_truncates() -> None:
    env = TokenEnv(toys.GuessNumber())
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(list(str(env.problem).encode()))
    assert (reward, terminated, truncated, info["finish_reason"]) == (0.0, False, True, "length")
    assert info["scored"]


def test_an_unmeasured_reward_is_not_zero() -> None:
    env = TokenEnv(toys.Down())
    env.reset(seed=0)
    _, reward, terminated, _, info = step_text(env, "1")
    assert (reward, info["scored"], info["score"], terminated) == (0.0, False, 0.0, True)
    assert info["metadata"] == {"error": "sandbox is down"}


def test_several_turns() -> None:
    env = TokenEnv(toys.GuessNumber(), render_mode="ansi")
    _, info = env.reset(seed=0)
    wrong = env.problem + (1 if env.problem < 99 else -1)
    obs, reward, terminated, truncated, info = step_text(env, str(wrong))
    assert (reward, terminated, truncated, info["scored"]) == (0.0, False, False, False)
    assert env.codec.decode(obs.tolist()) in ("lower\n", "higher\n")
    _, reward, terminated, truncated, info = step_text(env, str(env.problem))
    assert (reward, terminated, truncated, info["scored"]) == (0.8, True, False, True)
    transcript = env.render()
    assert transcript is not None
    assert transcript.startswith("Guess my number")
    assert transcript.endswith(str(env.problem))


def test_render_modes() -> None:
    assert TokenEnv(toys.Adder()).render() is None
    with pytest.raises(SettingError, match="'rgb_array': valid are None, 'ansi' and 'human'"):
        TokenEnv(toys.Adder(), render_mode="rgb_array")


def test_human_mode_prints_the_episode_as_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    env = TokenEnv(toys.GuessNumber(), render_mode="human")
    env.reset(seed=0)
    assert capsys.readouterr().out.startswith("Guess my number")
    step_text(
        env, "\x1b[2J" + str(env.problem)
    )  # no response clears the screen, nor is it a number
    assert capsys.readouterr().out == f"\\x1b[2J{env.problem}\n[reward 0]\n"
    assert env.render() is None


def test_human_mode_says_what_was_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    env = TokenEnv(toys.Down(), render_mode="human")
    env.reset(seed=0)
    step_text(env, "1")
    assert capsys.readouterr().out.endswith("1\n[not measured]\n")


def test_gymnasiums_wrappers_work() -> None:
    env = gym.wrappers.RecordEpisodeStatistics(mint_envs.make("mint/Math-v0"))
    env.reset(seed=0)
    *_, info = step_text(env, "1")
    assert info["episode"]["l"] == 1
