"""Evaluation on held-out problems: greedy accuracy, and pass@k."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

import mint_envs  # noqa: F401  (registers the ids)
from mint_envs.errors import MintEnvsError
from mint_envs.registration import settings_of

from .backends import Backend, SamplingParams
from .config import TrainConfig
from .metrics import FULL_MARK
from .rollout import EnvPool, collect

#: Seeds of evaluations come from a stream of their own.
_STREAM = 0x65766131


def split_settings(config: TrainConfig, split: str) -> dict[str, object]:
    """Return the environment's settings for ``"train"`` or ``"test"``.

    An environment with a ``split`` setting gets it, unless the user chose one or there is no
    evaluation: then its data are not divided. Others are told apart by their seeds alone.
    """
    chosen = "split" in config.env_settings or not config.eval_every
    if chosen or not _has_split(config.env):
        return dict(config.env_settings)
    return {**config.env_settings, "split": split}


@contextmanager
def environments(config: TrainConfig, backend: Backend) -> Iterator[tuple[EnvPool, EnvPool | None]]:
    """Yield the environments of training and of evaluation (None if there will be none)."""
    with ExitStack() as stack:

        def pool(split: str, size: int) -> EnvPool:
            settings, ends = split_settings(config, split), getattr(backend, "stop_tokens", ())
            made = EnvPool(config.env, size, backend.tokenizer, settings, ends)
            return stack.enter_context(closing(made))

        training = pool("train", config.batch * config.group)
        yield training, pool("test", config.eval_problems) if config.eval_every else None


def evaluate(config: TrainConfig, backend: Backend, pool: EnvPool | None) -> dict[str, float]:
    """Return ``eval/accuracy`` and ``eval/reward`` of greedy responses, and ``eval/pass_at_k``.

    All are over what was measured, and left out where nothing was; ``eval/unmeasured`` is there
    if some responses were not. The problems are the same at every evaluation, and in every run
    of whatever seed.
    """
    assert pool is not None
    state = np.random.SeedSequence(_STREAM).generate_state(config.eval_problems)
    seeds = [int(seed) for seed in state]
    greedy = SamplingParams(config.max_tokens, 0.0, pool.stop, pool.stop_tokens)
    episodes = [
        group[0] for group in collect(pool, backend, seeds, 1, greedy, max_turns=config.max_turns)
    ]
    rewards = np.array([episode.reward for episode in episodes if episode.scored])
    found: dict[str, float | None] = {
        "eval/accuracy": _mean(rewards >= FULL_MARK),
        "eval/reward": _mean(rewards),
        "eval/unmeasured": 1.0 - len(rewards) / len(episodes) or None,
    }
    if config.eval_samples > 1:
        found[f"eval/pass_at_{config.eval_samples}"] = _pass_at(config, backend, pool, seeds)
    return {name: value for name, value in found.items() if value is not None}


def _pass_at(
    config: TrainConfig, backend: Backend, pool: EnvPool, seeds: list[int]
) -> float | None:
    """Sample k responses for each problem; return the fraction with a full mark among them.

    A problem without one, of which a response was not measured, is left out.
    """
    passed, blind = np.zeros((2, len(seeds)), dtype=bool)
    for draw in range(config.eval_samples):
        params = SamplingParams(
            config.max_tokens, config.temperature, pool.stop, pool.stop_tokens, seed=draw + 1
        )
        groups = collect(pool, backend, seeds, 1, params, max_turns=config.max_turns)
        passed |= [episode.scored and episode.reward >= FULL_MARK for (episode,) in groups]
        blind |= [not episode.scored for (episode,) in groups]
    return _mean(passed[passed | ~blind])


def _has_split(env: str) -> bool:
    try:
        return "split" in settings_of(env)
    except (MintEnvsError, KeyError):
        return False


def _mean(values: npt.NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None
