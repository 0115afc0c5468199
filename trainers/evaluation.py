"""Evaluations: accuracy, greedy or drawn, and pass@k, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mint_envs.evaluate.estimates import Estimate, share

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
    k. Both have 95 % intervals, by problem (``mint_envs.evaluate``): ``_low`` and ``_high``. All
    are over what was measured, and left out where nothing was. The problems are the same at every
    evaluation, and in every run of whatever seed.
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
    shown = samples if drawn else first
    right = _of_problems(shown, lambda marks: sum(marks) / len(marks))
    rewards = np.array([e.reward for draw in shown for e in draw if e.scored])
    found: dict[str, float | None] = {
        "problems": len(one.refs),
        "held_out": float(one.held_out),
        **_with_interval("accuracy", share(right, len(shown))),
        "reward": float(rewards.mean()) if len(rewards) else None,
        "unmeasured": 1.0 - len(rewards) / (len(one.refs) * len(shown)) or None,
        # A problem without a full mark, of which a response was not measured, is left out.
        **_with_interval(f"pass_at_{k}", share(_of_problems(samples, any, whole=True))),
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


def _of_problems(
    draws: Sequence[Sequence[Episode]], value: Callable[[list[bool]], float], whole: bool = False
) -> list[float]:
    """Return ``value`` of the full marks of each problem, of what was measured.

    ``whole``: a problem of which something was not measured counts only if it has a full mark.
    """
    values = []
    for episodes in zip(*draws, strict=True):
        marks = [episode.reward >= FULL_MARK for episode in episodes if episode.scored]
        if marks and (not whole or any(marks) or len(marks) == len(episodes)):
            values.append(float(value(marks)))
    return values


def _with_interval(name: str, found: Estimate | None) -> dict[str, float | None]:
    if found is None:
        return {}
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
