"""Arrays of one size, for loops that know no others."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import mint_envs
from mint_envs.errors import SettingError

pytestmark = pytest.mark.quick


def padded(id: str = "mint/Math-v0", n: int = 64, **settings: Any) -> Any:
    response = settings.pop("response", 8)
    return mint_envs.PadTokens(gym.make(id, **settings), n, response)


@pytest.mark.parametrize("id", ["mint/Math-v0", "mint/Chat-v0"])
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_gymnasium_finds_nothing(id: str) -> None:
    check_env(padded(id), skip_render_check=True)


def test_the_context_is_whole_and_its_end_is_kept() -> None:
    env = padded(n=400, response=12)
    plain = gym.make("mint/Math-v0")
    prompt = plain.reset(seed=3)[0].tolist()
    observation, _ = env.reset(seed=3)
    assert observation["tokens"][: len(prompt)].tolist() == prompt
    assert observation["mask"].sum() == len(prompt)
    codec = plain.unwrapped.codec  # type: ignore[attr-defined]
    right = next(iter(plain.unwrapped.task.examples(plain.unwrapped.problem)))  # type: ignore[attr-defined]
    response = [*codec.encode_response(right), codec.eos_token_id]
    action = np.zeros(12, dtype=np.int64)
    action[: len(response)] = response  # what comes after the end does not count
    observation, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["response"] == right
    assert observation["tokens"][: observation["mask"].sum()].tolist() == prompt + response
    short = padded(n=5).reset(seed=3)[0]
    assert short["tokens"].tolist() == prompt[-5:]
    assert short["mask"].tolist() == [1] * 5


def test_an_action_without_an_end_is_cut_off() -> None:
    env = padded(response=4)
    env.reset(seed=0)
    *_, info = env.step(np.full(4, ord("7")))
    assert (info["response"], info["finish_reason"]) == ("7777", "length")


def test_several_turns() -> None:
    env = padded("mint/ToolUse-v0", n=4000, response=40, toolkit="keyvalue")
    before = env.reset(seed=1)[0]
    env.step(np.append(np.frombuffer(b"x", np.uint8), [0] * 39).astype(np.int64))
    env.reset(seed=1)
    assert env.reset(seed=1)[0]["tokens"].tolist() == before["tokens"].tolist()


def test_the_same_through_a_vector() -> None:
    envs = gym.vector.SyncVectorEnv([lambda: padded(n=50) for _ in range(3)])
    observations, _ = envs.reset(seed=[1, 1, 2])
    assert observations["tokens"].shape == (3, 50)
    assert (observations["tokens"][0] == observations["tokens"][1]).all()
    assert not (observations["tokens"][0] == observations["tokens"][2]).all()


def test_mistakes() -> None:
    with pytest.raises(SettingError, match="n=0"):
        padded(n=0)
    with pytest.raises(SettingError, match="response=0"):
        padded(response=0)
    env = padded()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="not of MultiDiscrete"):
        env.step([1, 2])
