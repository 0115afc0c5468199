"""Evaluations: accuracy, greedy or drawn, and pass@k, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .backends import Backend, SamplingParams
from .config import TrainConfig
from .data import Evaluation
from .metrics import FULL_MARK
from .rollout import Episode, collect


def evaluate(
    config: TrainConfig, backend: Backend, evaluations: Sequence[Evaluation]
) -> list[tuple[str, dict[str, float]]]:
    """Return the metrics of each evaluation, with what is printed of it.

    ``eval/accuracy`` and ``eval/reward`` are of greedy responses, or of those that are drawn where
    a temperature was given; ``eval/pass_at_k`` is the fraction of problems with a full mark among
    k. Fractions of problems have 95 % intervals (Wilson): ``_low`` and ``_high``. All are over what
    was measured, and left out where nothing was. (An accuracy over k responses to each problem has
    no interval, since they are not independent.) The problems are the same at every evaluation,
    and in every run of whatever seed.
    """
    return [(_title(one), _evaluate(config, backend, one)) for one in evaluations]


def _title(one: Evaluation) -> str:
    heat = one.settings.temperature
    manner = f"temperature {heat:g}" if heat else "greedy"
    return f"{f'of {one.name} ' if one.name else ''}({one.title}, {manner})"


def _evaluate(config: TrainConfig, backend: Backend, one: Evaluation) -> dict[str, float]:
    heat, k = one.settings.temperature, one.settings.samples
    drawn = heat is not None and k > 1
    first = [] if drawn else _play(config, backend, one, heat or 0.0, 1)
    heat = config.temperature if heat is None else heat
    samples = _play(config, backend, one, heat, k) if k > 1 else []
    shown = [episode for draw in (samples if drawn else first) for episode in draw]
    rewards = np.array([episode.reward for episode in shown if episode.scored])
    found: dict[str, float | None] = {
        "problems": len(one.refs),
        "held_out": float(one.held_out),
        **_share("accuracy", rewards >= FULL_MARK, interval=not drawn),
        "reward": _mean(rewards),
        "unmeasured": 1.0 - len(rewards) / len(shown) or None,
        **(_pass_at(samples) if samples else {}),
    }
    prefix = f"eval/{one.name}/" if one.name else "eval/"
    return {f"{prefix}{name}": value for name, value in found.items() if value is not None}


def _play(
    config: TrainConfig, backend: Backend, one: Evaluation, temperature: float, draws: int
) -> list[list[Episode]]:
    """Return so many draws of one response to each problem."""
    params = [
        SamplingParams(
            one.settings.max_tokens or config.max_tokens,
            temperature,
            one.pool.stop,
            one.pool.stop_tokens,
            seed=draw + 1 if temperature else 0,
        )
        for draw in range(draws)
    ]
    groups = [collect(one.pool, backend, one.refs, 1, p, None, config.max_turns) for p in params]
    return [[episode for (episode,) in draw] for draw in groups]


def _pass_at(samples: Sequence[Sequence[Episode]]) -> dict[str, float | None]:
    """Return the fraction of problems with a full mark among their k responses.

    A problem without one, of which a response was not measured, is left out.
    """
    passed, blind = np.zeros((2, len(samples[0])), dtype=bool)
    for draw in samples:
        passed |= [episode.scored and episode.reward >= FULL_MARK for episode in draw]
        blind |= [not episode.scored for episode in draw]
    return _share(f"pass_at_{len(samples)}", passed[passed | ~blind])


def _share(
    name: str, right: npt.NDArray[np.bool_], interval: bool = True
) -> dict[str, float | None]:
    """Return a fraction of problems and its interval."""
    share = _mean(right)
    if share is None or not interval:
        return {name: share}
    low, high = wilson(share, len(right))
    return {name: share, f"{name}_low": low, f"{name}_high": high}


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of ``n``, after Wilson."""
    z = 1.959964
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _mean(values: npt.NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None
