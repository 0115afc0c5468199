"""The few formulas of the benchmark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

_Z = 1.959964  # 95 %


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a rate by Wilson's score; (0, 1) of nothing."""
    if not total:
        return 0.0, 1.0
    rate, square = hits / total, _Z * _Z
    middle = (rate + square / (2 * total)) / (1 + square / total)
    half = (
        _Z
        * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total))
        / (1 + square / total)
    )
    return max(0.0, middle - half), min(1.0, middle + half)


def rate_text(hits: int, total: int) -> str:
    """Return ``"90.0 % (45 of 50; 78.6 to 95.7 %)"``."""
    if not total:
        return "none"
    low, high = wilson(hits, total)
    return f"{hits / total:.1%} ({hits} of {total}; {low:.1%} to {high:.1%})"


def rate_texts(rates: Iterable[tuple[int, int]]) -> list[str]:
    """Return ``rate_text`` of each (hits, total)."""
    return [rate_text(hits, total) for hits, total in rates]


def kappa(one: Sequence[bool], two: Sequence[bool]) -> float | None:
    """Return Cohen's kappa of two yes-or-no judges; None where both always say the same."""
    total = len(one)
    if not total:
        return None
    agree = sum(a == b for a, b in zip(one, two, strict=True)) / total
    p, q = sum(one) / total, sum(two) / total
    chance = p * q + (1 - p) * (1 - q)
    return None if chance == 1 else (agree - chance) / (1 - chance)


def all_equal(scores: Sequence[float], size: int) -> float | None:
    """Return the probability that ``size`` of these, drawn without replacement, are all equal.

    None if there are fewer than ``size``.
    """
    total = len(scores)
    if total < size:
        return None
    ways = sum(math.comb(count, size) for count in Counter(scores).values())
    return ways / math.comb(total, size)


def equal_shares(groups: Iterable[Sequence[float]], size: int) -> list[float]:
    """Return ``all_equal`` of each group that is large enough."""
    shares = [all_equal(group, size) for group in groups]
    return [share for share in shares if share is not None]


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of them lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


def growth(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the exponent of the growth of time with size, by the last and largest doublings."""
    half = len(sizes) // 2
    x = [math.log(size) for size in sizes[half:]]
    y = [math.log(max(second, 1e-9)) for second in seconds[half:]]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
