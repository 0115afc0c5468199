"""Estimates against known truth: unbiased, and intervals that hold it in 95 of 100 cases."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from mint_envs.evaluate.estimates import difference, pass_at, share

pytestmark = pytest.mark.quick

Draw = Callable[[np.random.Generator, int], np.ndarray]
DRAWS = 2000

#: How likely the problems of a set are to be solved, from even to extreme.
SETS: dict[str, Draw] = {
    "of all kinds": lambda rng, n: rng.beta(0.3, 0.5, n),
    "middling": lambda rng, n: rng.beta(2, 2, n),
    "all alike": lambda rng, n: np.full(n, 0.4),
    "solved or not": lambda rng, n: (rng.random(n) < 0.3).astype(float),
    "hard": lambda rng, n: rng.beta(0.2, 2, n),
}


def test_pass_at_by_counting_every_subset() -> None:
    for total in range(1, 8):
        for passed in range(total + 1):
            for k in range(1, total + 1):
                miss = math.comb(total - passed, k) / math.comb(total, k)
                assert pass_at(k, passed, total) == pytest.approx(1 - miss)
    assert pass_at(4, 1, 3) is None


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("problems", "samples"), [(64, 1), (64, 4), (200, 8)])
def test_intervals_hold_the_truth(name: str, problems: int, samples: int) -> None:
    rng = np.random.default_rng(7)
    draw = SETS[name]
    truth = float(np.mean(draw(rng, 400_000)))
    held, means = 0, []
    for _ in range(DRAWS):
        passed = rng.binomial(samples, draw(rng, problems))
        found = share([count / samples for count in passed.tolist()], samples)
        assert found is not None
        held += found.low <= truth <= found.high
        means.append(found.value)
    assert 0.93 <= held / DRAWS <= 0.97
    assert np.mean(means) == pytest.approx(truth, abs=0.005)


@pytest.mark.parametrize("name", ["of all kinds", "middling", "solved or not"])
def test_intervals_of_pass_at_4(name: str) -> None:
    rng = np.random.default_rng(8)
    draw = SETS[name]
    truth = float(np.mean(1 - (1 - draw(rng, 400_000)) ** 4))
    held = 0
    for _ in range(DRAWS):
        passed = rng.binomial(8, draw(rng, 100)).tolist()
        found = share([pass_at(4, count, 8) or 0.0 for count in passed], 5)
        assert found is not None
        held += found.low <= truth <= found.high
    assert 0.93 <= held / DRAWS <= 0.97


@pytest.mark.parametrize(("better", "problems"), [(0.0, 64), (0.1, 64), (0.2, 200)])
def test_intervals_of_a_difference(better: float, problems: int) -> None:
    rng = np.random.default_rng(9)
    easy = rng.beta(1, 1.5, 400_000)
    truth = float(np.mean(np.minimum(easy + better, 1) - easy))
    held = 0
    for _ in range(DRAWS):
        easy = rng.beta(1, 1.5, problems)
        one = rng.binomial(4, np.minimum(easy + better, 1)) / 4
        two = rng.binomial(4, easy) / 4
        found = difference(one.tolist(), two.tolist())
        assert found is not None
        held += found.low <= truth <= found.high
    assert 0.93 <= held / DRAWS <= 0.985  # a little wide with few problems


def test_nothing_and_one_and_all_alike() -> None:
    assert share([]) is None
    assert difference([], []) is None
    one = share([1.0], 4)
    assert one is not None
    assert (one.low, one.high) == (0.0, 1.0)
    perfect = share([1.0] * 20, 4)
    assert perfect is not None
    assert perfect.value == perfect.high == 1.0
    assert 0.9 < perfect.low < 1
    half = share([0.5] * 20, 2)
    assert half is not None
    assert half.low < 0.5 < half.high
