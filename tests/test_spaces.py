"""The space of token sequences."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from hypothesis import given
from hypothesis import strategies as st

from mint_envs import TokenSequence

pytestmark = pytest.mark.quick

SPACE = TokenSequence(100, max_length=5)


@pytest.mark.parametrize(
    "value",
    [[], (), [0], (99,), np.array([1, 2]), np.array([], dtype=np.int64), np.array([3], np.uint8),
     [np.int32(4)], range(3)],
)  # fmt: skip
def test_members(value: Any) -> None:
    assert value in SPACE


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([100], "token 100, outside"),
        ([-1, 5], "token -1, outside"),
        ([1] * 6, "more than max_length=5"),
        ([0.5], "dtype float64"),
        (np.array([1.0]), "dtype float64"),
        ([True], "dtype bool"),
        ([[1], [2]], "2 dimensions"),
        ([[1], [2, 3]], "not a flat sequence"),
        (np.zeros((2, 2), dtype=int), "2 dimensions"),
        ("text", "is a str"),
        (b"12", "is a bytes"),
        (None, "is a NoneType"),
        (3, "is a int"),
        (["a"], "dtype"),
        ([None], "dtype object"),
        ([10**30], "dtype object"),
        ([2**63], "token 9223372036854775808, outside"),
        ({1: 2}, ""),
        ({1, 2}, ""),
    ],
)
def test_strangers_are_told_apart(value: Any, why: str) -> None:
    assert value not in SPACE
    assert why in SPACE.problem_with(value)


@given(st.integers(1, 1000), st.integers(1, 50), st.booleans(), st.integers(0, 2**32))
def test_samples_are_members(size: int, longest: int, stops: bool, seed: int) -> None:
    space = TokenSequence(size, longest, stop_token=size - 1 if stops else None, seed=seed)
    for _ in range(5):
        sample = space.sample()
        assert sample in space
        assert sample.dtype == np.int64
        if stops:
            assert sample[-1] == size - 1
            assert np.count_nonzero(sample == size - 1) == 1


def test_samples_are_seeded() -> None:
    one, two = TokenSequence(1000, seed=3), TokenSequence(1000, seed=3)
    assert [one.sample().tolist() for _ in range(5)] == [two.sample().tolist() for _ in range(5)]
    with pytest.raises(ValueError, match="neither mask nor probability"):
        one.sample(mask=np.ones(3))


def test_json_and_pickle() -> None:
    space = TokenSequence(50, 9, stop_token=2)
    samples = [space.sample() for _ in range(3)]
    back = space.from_jsonable(space.to_jsonable(samples))
    assert all(np.array_equal(a, b) for a, b in zip(samples, back, strict=True))
    assert pickle.loads(pickle.dumps(space)) == space
    assert space != TokenSequence(51, 9, stop_token=2)
    assert space != gym.spaces.Discrete(50)
    assert repr(space) == "TokenSequence(vocab_size=50, max_length=9)"
    assert not space.is_np_flattenable


@pytest.mark.parametrize("arguments", [(0,), (5, 0)])
def test_sizes_start_at_one(arguments: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        TokenSequence(*arguments)


def test_gymnasiums_batching_works() -> None:
    batch = batch_space(SPACE, 3)
    samples = [np.array([i, i]) for i in range(3)]
    out = concatenate(SPACE, samples, create_empty_array(SPACE, 3))
    assert out in batch
    assert [tokens.tolist() for tokens in iterate(batch, out)] == [[0, 0], [1, 1], [2, 2]]
    both = gym.spaces.Dict(tokens=SPACE, number=gym.spaces.Discrete(3))
    assert both.sample() in both
