"""The formulas of the offline benchmark, and its solver."""

from __future__ import annotations

import itertools
import random

import pytest

from mint_envs.bench import stats
from mint_envs.responses.solvers import solve

pytestmark = pytest.mark.quick

# -- the formulas --------------------------------------------------


def test_wilson() -> None:
    low, high = stats.wilson(9, 10)
    assert (low, high) == (pytest.approx(0.5958, abs=1e-4), pytest.approx(0.9821, abs=1e-4))
    assert stats.wilson(0, 0) == (0.0, 1.0)
    assert stats.wilson(0, 5)[0] == 0.0


def test_all_equal_counts_the_groups() -> None:
    rng = random.Random(0)
    for _ in range(20):
        scores = [rng.choice([0.0, 0.5, 1.0]) for _ in range(6)]
        groups = list(itertools.combinations(scores, 3))
        share = sum(len(set(group)) == 1 for group in groups) / len(groups)
        assert stats.all_equal(scores, 3) == pytest.approx(share)
    assert stats.all_equal([1.0], 2) is None


def test_kappa() -> None:
    one = [True] * 25 + [False] * 25
    two = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert stats.kappa(one, two) == pytest.approx(0.4)
    assert stats.kappa([True], [True]) is None


def test_growth() -> None:
    sizes = [1000.0 * 2**i for i in range(7)]
    assert stats.growth(sizes, [size**2 for size in sizes]) == pytest.approx(2)


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Q: What is 4 + 5?\nA: 9\n\nQ: What is 47 + 25?\nA:", "72"),
        ("What is 12 + 7 * 3 - 5?", "28"),
        ("Compute 6 / 4", None),
        ("Tom has 3 + 4 apples and eats one. How many are left?", None),
        ("Is 3 + 4 more than 2 + 6?", None),
        ("Say hello", None),
        ("What is " + "(" * 3000 + "1+1", None),
        ("What is 9**9**9**9?", None),
        ("Q: What is 4 + 5?\nA: 9\n\nQ: Jo has 16 eggs and sells 3. How many are left?\nA:", None),
        ("Q: What is 4 + 5?\nA: 9\n\nQ: How many legs has a cat?\nA:", None),
        ("What is 4 + 5? 9\nWhat is the capital of France?", None),
        ("Compute 3 + 4\nwhere the base is 5.", None),
        ("What is 3 + 4?\nEnd with the line 'Answer: ' and the number.", "7"),
        ("请计算 3 + 4 等于多少", "7"),
        ("小明有 3 + 4 个苹果 吃了一半 还剩几个", None),
    ],
)
def test_solved_from_the_prompt(prompt: str, answer: str | None) -> None:
    assert solve(prompt) == answer
