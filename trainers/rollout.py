"""Rollouts: groups of episodes on any Gymnasium environment over tokens.

All an environment must have is token spaces, ``reset(seed=)`` and ``step``. A group is G
episodes reset with the same seed. Contexts only grow: prompt + act + observation + act ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import numpy as np

from mint_envs import TokenVectorEnv
from mint_envs.env import TokenEnv, step_many
from mint_envs.errors import MintEnvsError

from .backends import Backend, Datum, SampleRequest, SamplingParams
from .errors import TrainerError

_OURS = "mint_envs.registration:make_vector_env"


@dataclass
class Episode:
    """One episode: its tokens with the acts marked, and its verdict."""

    seed: int
    tokens: list[int] = field(default_factory=list)
    acts: list[tuple[int, int]] = field(default_factory=list)  # (start, end) of each act
    logprobs: list[float] = field(default_factory=list)  # one for each token of an act
    reward: float = 0.0  # summed over turns
    scored: bool = True  # False: not measured; in no group, mean or baseline
    truncated: bool = False
    cut: bool = False  # a response reached max_tokens
    infos: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Number of act tokens."""
        return len(self.logprobs)

    def datum(self, advantage: float) -> Datum:
        """Return the episode as a datum in which every act token has ``advantage``."""
        mask = np.zeros(len(self.tokens))
        for start, end in self.acts:
            mask[start:end] = 1.0
        logprobs = np.zeros(len(self.tokens))
        logprobs[mask > 0] = self.logprobs
        return Datum(tuple(self.tokens), mask, logprobs, mask * advantage)


class EnvPool:
    """``size`` copies of an environment, stepped together where they can be.

    Args:
        env: a registered id, or ``"module:id"``.
        size: how many.
        tokenizer: the model's; given to the environments of this package, and to any other whose
            entry point takes a ``tokenizer``.
        settings: keyword arguments of the environment.

    Raises:
        TrainerError: the id is unknown, or a setting is refused.
    """

    def __init__(self, env: str, size: int, tokenizer: Any, settings: Mapping[str, Any]) -> None:
        self._envs: list[gym.Env[Any, Any]]
        try:
            spec = gym.spec(env)
            if spec.vector_entry_point == _OURS and not spec.additional_wrappers:
                vector = gym.make_vec(env, num_envs=size, tokenizer=tokenizer, **settings)
                assert isinstance(vector.unwrapped, TokenVectorEnv)
                self._envs = list(vector.unwrapped.envs)  # they share one task and its data
            else:
                extra = {"tokenizer": tokenizer} if _takes_tokenizer(spec) else {}
                self._envs = [gym.make(env, **{**extra, **settings}) for _ in range(size)]
        except (gym.error.Error, MintEnvsError, TypeError) as error:
            raise TrainerError(f"the environment {env!r} cannot be made: {error}") from error
        self._together = all(type(env) is TokenEnv for env in self._envs)

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings that end a response, if the environment names any."""
        return tuple(getattr(self._envs[0].unwrapped, "stop", ()))

    @property
    def stop_tokens(self) -> tuple[int, ...]:
        """Token ids that end a response, if the environment names any."""
        codec = getattr(self._envs[0].unwrapped, "codec", None)
        return tuple(sorted(getattr(codec, "stop_tokens", ())))

    def reset(self, index: int, seed: int) -> tuple[Any, Mapping[str, Any]]:
        """Reset environment ``index``; return (observation, info)."""
        return self._envs[index].reset(seed=seed)

    def step(self, indices: Sequence[int], actions: Sequence[Sequence[int]]) -> list[Any]:
        """Step these environments; return the five results of each."""
        envs = [self._envs[i] for i in indices]
        if self._together:
            return list(step_many([e for e in envs if isinstance(e, TokenEnv)], actions))
        arrays = [np.asarray(action, dtype=np.int64) for action in actions]
        return [env.step(array) for env, array in zip(envs, arrays, strict=True)]

    def close(self) -> None:
        for env in self._envs:
            env.close()


def collect(
    pool: EnvPool,
    backend: Backend,
    seeds: Sequence[int],
    group: int,
    params: SamplingParams,
    on_turn: Callable[[int], None] | None = None,
) -> list[list[Episode]]:
    """Play ``group`` episodes for each seed; return one list of episodes for each seed.

    Episodes with equal contexts (a whole group, on its first turn) are one request. ``on_turn``
    is told the number of episodes still running, for a progress bar.
    """
    episodes = [Episode(seed) for seed in seeds for _ in range(group)]
    for index, episode in enumerate(episodes):
        observation, _ = pool.reset(index, episode.seed)
        episode.tokens += _ids(observation)
    running = list(range(len(episodes)))
    turn = 0
    while running:
        if on_turn is not None:
            on_turn(len(running))
        turn_params = _seeded(params, turn)
        acts = _sample(backend, [episodes[i] for i in running], turn_params)
        results = pool.step(running, acts)
        running = [
            index
            for index, result in zip(running, results, strict=True)
            if not _observe(episodes[index], result)
        ]
        turn += 1
    return [episodes[i : i + group] for i in range(0, len(episodes), group)]


def _sample(
    backend: Backend, episodes: Sequence[Episode], params: SamplingParams
) -> list[tuple[int, ...]]:
    """Sample the next act of each episode, append it, and return the acts in order."""
    alike: dict[tuple[int, ...], list[Episode]] = {}
    for episode in episodes:
        alike.setdefault(tuple(episode.tokens), []).append(episode)
    requests = [SampleRequest(context, len(members)) for context, members in alike.items()]
    for members, samples in zip(alike.values(), backend.sample(requests, params), strict=True):
        for episode, sample in zip(members, samples, strict=True):
            start = len(episode.tokens)
            episode.tokens += sample.tokens
            episode.acts.append((start, len(episode.tokens)))
            episode.logprobs += sample.logprobs
            episode.cut |= len(sample.tokens) >= params.max_tokens
    return [tuple(e.tokens[e.acts[-1][0] :]) for e in episodes]


def _observe(episode: Episode, result: tuple[Any, Any, bool, bool, Mapping[str, Any]]) -> bool:
    """Take in what ``step`` returned; return whether the episode is over."""
    observation, reward, terminated, truncated, info = result
    episode.reward += float(reward)
    episode.infos.append(info)
    if not (terminated or truncated):
        episode.tokens += _ids(observation)
        return False
    episode.truncated = bool(truncated)
    episode.scored = bool(info.get("scored", True)) and bool(np.isfinite(episode.reward))
    return True


def _ids(observation: Any) -> list[int]:
    ids = np.asarray(observation)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise TrainerError(
            f"an observation of shape {ids.shape} and dtype {ids.dtype} is not a sequence of "
            "token ids; the trainer works on environments over tokens"
        )
    return [int(i) for i in ids]


def _seeded(params: SamplingParams, turn: int) -> SamplingParams:
    return replace(params, seed=(params.seed * 1_000_003 + turn) % 2**63)


def _takes_tokenizer(spec: Any) -> bool:
    entry = spec.entry_point
    creator = gym.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    return "tokenizer" in inspect.signature(creator).parameters
