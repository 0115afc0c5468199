"""Advantages: baselines, length normalisation and the KL penalty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainers.advantages import group_advantages, kl_penalties, length_weights, no_signal

pytestmark = pytest.mark.quick

rewards = st.lists(st.floats(0, 1), min_size=2, max_size=16)


@given(rewards)
def test_centred_advantages_sum_to_zero(values: list[float]) -> None:
    for kind in ("mean", "rloo", "dr_grpo", "std"):
        assert abs(group_advantages(values, kind).sum()) < 1e-6 * len(values)


def test_baselines_by_hand() -> None:
    np.testing.assert_allclose(group_advantages([1, 0, 0, 0]), [0.75, -0.25, -0.25, -0.25])
    # rloo: 1 minus the mean of the others (0); 0 minus the mean of the others (1/3)
    np.testing.assert_allclose(group_advantages([1, 0, 0, 0], "rloo"), [1, -1 / 3, -1 / 3, -1 / 3])
    np.testing.assert_allclose(group_advantages([1, 0], "std"), [1.0, -1.0], rtol=1e-5)


@given(st.floats(0, 1), st.integers(2, 16))
def test_equal_rewards_have_no_signal(value: float, count: int) -> None:
    assert no_signal([value] * count)


def test_a_tenth_three_times_has_no_signal() -> None:
    assert np.mean([0.1, 0.1, 0.1]) != 0.1  # why centred floats are not looked at
    assert no_signal([0.1, 0.1, 0.1])


def test_length_weights_by_hand() -> None:
    lengths = [1, 3]
    assert length_weights(lengths, "none", 8).tolist() == [1, 1]
    assert length_weights(lengths, "token", 8).tolist() == [0.25, 0.25]
    assert length_weights(lengths, "sequence", 8).tolist() == pytest.approx([1 / 2, 1 / 6])
    assert length_weights(lengths, "constant", 8).tolist() == [1 / 16, 1 / 16]


def test_kl_penalty_by_hand() -> None:
    mask = np.array([0.0, 1.0, 1.0])
    sampled, base = np.array([0.0, -1.0, -2.0]), np.array([0.0, -1.5, -1.5])
    added, kl = kl_penalties([sampled], [base], [mask], coef=0.1)
    # gaps 0.5 and -0.5, mean 0: the token that drifted up is held back, the other pulled
    assert kl == pytest.approx(0.0)
    np.testing.assert_allclose(added[0], [0.0, -0.05, 0.05])
