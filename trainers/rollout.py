"""Rollouts: groups of episodes on any Gymnasium environment over tokens.

All an environment must have is token spaces, ``reset(seed=)`` and ``step``. A group is G
episodes reset with the same seed. Contexts only grow: prompt + act + observation + act ...
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import numpy as np

from mint_envs import TokenVectorEnv
from mint_envs.env import TokenEnv, step_many
from mint_envs.errors import MintEnvsError
from mint_envs.loading import locate
from mint_envs.registration import find_spec, task_of
from mint_envs.tokens import Codec

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
    cut: bool = False  # a response reached max_tokens without an end
    infos: list[Mapping[str, Any]] = field(default_factory=list)
    advantage: float | None = None  # in its group, before any weight; None: not measured

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
        ends: ids that end the model's turn, beside those that its tokenizer and template tell.

    Raises:
        TrainerError: the id is unknown, or a setting is refused. Later: the environment raised.
    """

    def __init__(
        self,
        env: str,
        size: int,
        tokenizer: Any,
        settings: Mapping[str, Any],
        ends: Iterable[int] = (),
    ) -> None:
        self._envs: list[gym.Env[Any, Any]]
        self._name = env
        known = frozenset() if tokenizer is None else Codec(tokenizer).stop_tokens
        self._ends = known.union(ends)
        try:
            env = locate(env)
            spec = find_spec(env)
            if spec.vector_entry_point == _OURS and not spec.additional_wrappers:
                task = task_of(env, **settings)
                self._envs = list(TokenVectorEnv(task, size, tokenizer).envs)  # they share it
            else:
                extra = {"tokenizer": tokenizer} if _takes_tokenizer(spec) else {}
                self._envs = [gym.make(env, **{**extra, **settings}) for _ in range(size)]
        except (gym.error.Error, MintEnvsError, TypeError) as error:
            raise TrainerError(f"the environment {env!r} cannot be made: {error}") from error
        except Exception as error:  # a third party's: whatever its code raises
            raise TrainerError(_raised(env, "when it was made", error)) from error
        self._together = all(type(env) is TokenEnv for env in self._envs)

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings that end a response, if the environment names any."""
        return tuple(getattr(self._envs[0].unwrapped, "stop", ()))

    @property
    def stop_tokens(self) -> tuple[int, ...]:
        """Token ids that end a response: the environment's, or all that end the model's turn."""
        codec = getattr(self._envs[0].unwrapped, "codec", None)
        return tuple(sorted(getattr(codec, "stop_tokens", self._ends)))

    def reset(self, index: int, seed: int) -> tuple[Any, Mapping[str, Any]]:
        """Reset environment ``index``; return (observation, info)."""
        with self._playing("in reset"):
            observation, info = self._envs[index].reset(seed=seed)
        return observation, info

    def step(self, indices: Sequence[int], actions: Sequence[Sequence[int]]) -> list[Any]:
        """Step these environments; return the five results of each."""
        envs = [self._envs[i] for i in indices]
        with self._playing("in step"):
            if self._together:
                return list(step_many([e for e in envs if isinstance(e, TokenEnv)], actions))
            arrays = [np.asarray(action, dtype=np.int64) for action in actions]
            return [_checked(env.step(array)) for env, array in zip(envs, arrays, strict=True)]

    def close(self) -> None:
        for env in self._envs:
            env.close()

    @contextmanager
    def _playing(self, where: str) -> Iterator[None]:
        try:
            yield
        except MintEnvsError as error:
            raise TrainerError(str(error)) from error
        except Exception as error:
            raise TrainerError(_raised(self._name, where, error)) from error


def _raised(env: str, where: str, error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"the environment {env!r} raised {type(error).__name__} {where}: {error} "
        f"({place.filename}:{place.lineno}). This is a fault in it, not in the response."
    )


def _checked(result: Any) -> tuple[Any, float, bool, bool, Mapping[str, Any]]:
    observation, reward, terminated, truncated, info = result
    return observation, float(reward), bool(terminated), bool(truncated), dict(info)


def collect(
    pool: EnvPool,
    backend: Backend,
    seeds: Sequence[int],
    group: int,
    params: SamplingParams,
    on_turn: Callable[[int], None] | None = None,
    max_turns: int = 100,
) -> list[list[Episode]]:
    """Play ``group`` episodes for each seed; return one list of episodes for each seed.

    Episodes with equal contexts (a whole group, on its first turn) are one request. ``on_turn``
    is told the number of episodes still running, for a progress bar.

    An episode that has had ``max_turns``, or has outgrown the model's context, ends there:
    truncated, and unmeasured, since the environment has given no verdict.

    Raises:
        TrainerError: the environment raised, or no prompt at all fits the model's context.
    """
    episodes = [Episode(seed) for seed in seeds for _ in range(group)]
    for index, episode in enumerate(episodes):
        observation, _ = pool.reset(index, episode.seed)
        episode.tokens += _ids(observation)
        if not episode.tokens:
            raise TrainerError("a first observation is empty: a model needs a token to go on from")
    room = getattr(backend, "max_context", 1 << 62) - params.max_tokens
    if all(len(episode.tokens) > room for episode in episodes):
        raise TrainerError(
            f"the prompts are too long: with max_tokens={params.max_tokens} the model has room for "
            f"{max(room, 0)} tokens, and the shortest has {min(len(e.tokens) for e in episodes)}. "
            "Lower --max-tokens, shorten the prompts, or take another --base-model."
        )
    running = list(range(len(episodes)))
    turn = 0
    while running := [i for i in running if not _bounded(episodes[i], max_turns, room)]:
        if on_turn is not None:
            on_turn(len(running))
        turn_params = _seeded(params, turn)
        acts = _sample(backend, [episodes[i] for i in running], turn_params)
        results = pool.step(running, acts)
        running = [
            index
            for index, act, result in zip(running, acts, results, strict=True)
            if not _observe(episodes[index], result, _is_full(act, params))
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
    return [tuple(e.tokens[e.acts[-1][0] :]) for e in episodes]


def _observe(
    episode: Episode, result: tuple[Any, float, bool, bool, Mapping[str, Any]], full: bool
) -> bool:
    """Take in what ``step`` returned; return whether the episode is over.

    ``full`` says that the response was as long as allowed, and did not end with a stop token.
    """
    observation, reward, terminated, truncated, info = result
    episode.reward += reward
    episode.infos.append(info)
    # The environment knows of stop strings too; others do not say.
    episode.cut |= info["finish_reason"] == "length" if "finish_reason" in info else full
    if not (terminated or truncated):
        ids = _ids(observation)
        if ids[: len(episode.tokens)] == episode.tokens:
            raise TrainerError(
                "an observation repeats the whole context so far; after the first, it is to be "
                "only the new tokens"
            )
        episode.tokens += ids
        return False
    episode.truncated = truncated
    episode.scored = bool(info.get("scored", True)) and bool(np.isfinite(episode.reward))
    return True


def _is_full(act: Sequence[int], params: SamplingParams) -> bool:
    return len(act) >= params.max_tokens and act[-1] not in params.stop_tokens


def _bounded(episode: Episode, max_turns: int, room: int) -> bool:
    """End an episode that may not go on; return whether it did."""
    if len(episode.acts) < max_turns and len(episode.tokens) <= room:
        return False
    episode.truncated, episode.scored = True, False
    return True


def _ids(observation: Any) -> list[int]:
    try:
        ids = np.asarray(observation)
    except ValueError:  # ragged
        ids = np.asarray(None)
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
