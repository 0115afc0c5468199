"""What a sample of problems says of all: pass@k, means and differences, with their intervals.

The unit is the problem: the responses to one problem are alike, and count together. Intervals are
of 95 %; ``tests/test_evaluate_estimates.py`` holds their coverage against known truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_Z = 1.959964  # 95 %


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over problems, and its 95 % interval; ``problems`` is how many it rests on."""

    value: float
    low: float
    high: float
    problems: int

    def __str__(self) -> str:
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"


def pass_at(k: int, passed: int, total: int) -> float | None:
    """Return the chance that one of ``k`` of these ``total`` responses passes; None of too few.

    The unbiased estimate of the Codex paper (arXiv 2107.03374): 1 - C(n - c, k) / C(n, k).
    """
    if total < k:
        return None
    return 1.0 - math.comb(total - passed, k) / math.comb(total, k)


def share(values: Sequence[float], responses: int = 1) -> Estimate | None:
    """Return the mean of one value in [0, 1] a problem, of ``responses`` responses each.

    The interval is Wilson's, for as many independent responses as the spread between problems
    says that these are worth: at least one a problem, at most all of them.
    """
    n = len(values)
    if not n:
        return None
    mean = sum(values) / n
    if n == 1:
        return Estimate(mean, 0.0, 1.0, 1)
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    worth = _worth(mean, variance, n, responses)
    low, high = _wilson_of(mean, worth, _student(n - 1))
    return Estimate(mean, low, high, n)


def _worth(mean: float, variance: float, n: int, responses: int) -> float:
    """Return how many independent yes-or-no draws have the spread of this mean."""
    most = n * max(1, responses)
    if variance * most <= mean * (1 - mean) * n:
        return float(most)
    return max(n - 1.0, mean * (1 - mean) * n / variance)


def _wilson_of(rate: float, total: float, z: float) -> tuple[float, float]:
    square = z * z / total
    middle = (rate + square / 2) / (1 + square)
    half = math.sqrt(rate * (1 - rate) * square + square * square / 4) / (1 + square)
    return max(0.0, min(rate, middle - half)), min(1.0, max(rate, middle + half))


def difference(one: Sequence[float], two: Sequence[float]) -> Estimate | None:
    """Return the mean of ``one - two``, values of the same problems in the same order.

    The interval is Student's after one problem more where each is better (Bonett and Price, 2012),
    so that it is not empty where both are always alike.
    """
    apart = [a - b for a, b in zip(one, two, strict=True)]
    n = len(apart)
    if not n:
        return None
    mean = sum(apart) / n
    more = [*apart, 1.0, -1.0]
    middle = sum(more) / len(more)
    variance = sum((value - middle) ** 2 for value in more) / (len(more) - 1)
    half = _student(len(more) - 1) * math.sqrt(variance / len(more))
    return Estimate(
        mean, max(-1.0, min(mean, middle - half)), min(1.0, max(mean, middle + half)), n
    )


def _student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's distribution (Cornish and Fisher's series)."""
    z, v = _Z, float(freedom)
    first = (z**3 + z) / (4 * v)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v * v)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
    return z + first + second + third
