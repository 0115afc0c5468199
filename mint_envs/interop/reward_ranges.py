"""The ranges of reward functions: declared, or seen on some texts, and what to say of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from ..errors import RewardError, SettingError, require

_SLACK = 1e-9  # of rounding, at the ends of a range


def leaves_range(values: Sequence[float]) -> bool:
    """Tell whether one of them is not in [0, 1]."""
    return any(value < -_SLACK or value > 1 + _SLACK for value in values)  # NaN has no range


def checked_ranges(ranges: Any, names: Sequence[str]) -> list[tuple[float, float]]:
    if ranges is None:
        return [(0.0, 1.0)] * len(names)
    form = f"ranges={ranges}: [[lowest, highest], ...], one for each of {len(names)} functions"
    try:
        found = [(float(low), float(high)) for low, high in ranges]
    except (TypeError, ValueError):
        raise SettingError(form) from None
    require(len(found) == len(names), form)
    require(all(-1e300 < low < high < 1e300 for low, high in found), form)
    return found


def outside_range(name: str, values: Sequence[float], seen: Iterable[Sequence[float]]) -> str:
    """Say that a function leaves [0, 1], and the ranges to give, as far as they were seen.

    What one value shows is no range, and an end that was not seen is not made up: a penalty that
    is 0 at best is from -1 to 0, and would never earn the full mark from -1 to 1.
    """
    shown = ", ".join(map(_seen_range, seen))
    if len(set(values)) == 1:
        what = f"{name} gives {values[0]:g} on every one of {len(values)} texts, right answers too"
    else:
        what = (
            f"{name} gives rewards from {min(values):g} to {max(values):g} on {len(values)} texts"
        )
    return (
        f"{what}, and rewards are in [0, 1]. Say the lowest and the highest that each function can "
        f"give: ranges=[{shown}], or wider where these texts did not show it"
    )


def _seen_range(values: Sequence[float]) -> str:
    low, high = min(values, default=0.0), max(values, default=1.0)
    if not leaves_range(values):
        return "[0.0, 1.0]"
    seen = low < high and isfinite(high - low)
    if seen and high < 1.0:  # perhaps a right answer in another form earns more
        return f"[{json.dumps(low)}, highest]"
    return json.dumps([low, high]) if seen else "[lowest, highest]"


def paid_too_little(name: str, values: Sequence[float]) -> str:
    """Say what a function of [0, 1] pays at most; ``""`` if that is 1, or was not measured."""
    if not values or max(values) >= 1 - _SLACK:
        return ""
    low, high = min(values), max(values)
    if low == high:
        return (
            f"{name} gives {low:g} on every one of {len(values)} texts, right answers too: what "
            "pays all alike teaches nothing"
        )
    return (
        f"{name} gives {high:g} at most on {len(values)} texts, right answers too: if none earns "
        f"more, give its range, ranges=[[{low:g}, {high:g}]], or wider"
    )


def scaled_reward(number: float, bounds: tuple[float, float], name: str) -> float:
    """Return a reward scaled to [0, 1]; what rounding does at the ends is mended.

    Raises:
        RewardError: it is outside the range.
    """
    low, high = bounds
    share = (number - low) / (high - low)
    if not -_SLACK <= share <= 1 + _SLACK:  # NaN too
        raise RewardError(
            f"{name} gave {number:g}, outside its range [{low:g}, {high:g}]: give the right one, "
            "ranges=[[lowest, highest], ...]"
        )
    return min(1.0, max(0.0, share))
