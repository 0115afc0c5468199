"""Rollouts: groups of episodes on any Gymnasium environment over tokens.

All an environment must have is token spaces, ``reset(seed=)`` and ``step``. A group is G
episodes of one problem. Contexts only grow: prompt + act + observation + act ...
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mint_envs.problems import ProblemRef

from .backends import Backend, Datum, Floats, Sample, SampleRequest, SamplingParams
from .errors import TrainerError
from .pool import EnvPool

Ask = tuple[list[SampleRequest], SamplingParams]
Samples = list[list[Sample]]


@dataclass
class Episode:
    """One episode: its tokens with the acts marked, and its verdict."""

    ref: ProblemRef
    tokens: list[int] = field(default_factory=list)
    acts: list[tuple[int, int]] = field(default_factory=list)  # (start, end) of each act
    logprobs: list[float] = field(default_factory=list)  # one for each token of an act
    reward: float = 0.0  # summed over turns
    scored: bool = True  # False: not measured; in no group, mean or baseline
    truncated: bool = False
    cut: bool = False  # a response reached max_tokens without an end
    infos: list[Mapping[str, Any]] = field(default_factory=list)
    advantage: float | None = None  # in its group, before any weight; None: not measured
    weights: int = 0  # the steps that the weights had learned when it was begun

    @property
    def length(self) -> int:
        """Number of act tokens."""
        return len(self.logprobs)

    def datum(self, advantage: float | Floats) -> Datum:
        """Return the episode as a datum in which every act token has ``advantage``, or that of its
        act."""
        mask, advantages = np.zeros(len(self.tokens)), np.zeros(len(self.tokens))
        for (start, end), one in zip(
            self.acts, np.broadcast_to(advantage, len(self.acts)), strict=True
        ):
            mask[start:end], advantages[start:end] = 1.0, one
        logprobs = np.zeros(len(self.tokens))
        logprobs[mask > 0] = self.logprobs
        return Datum(tuple(self.tokens), mask, logprobs, advantages)


def collect(
    pool: EnvPool,
    backend: Backend,
    refs: Sequence[ProblemRef],
    group: int,
    params: SamplingParams,
    on_turn: Callable[[int], None] | None = None,
    max_turns: int = 100,
) -> list[list[Episode]]:
    """Play ``group`` episodes of each problem; return one list of episodes for each.

    Episodes with equal contexts (a whole group, on its first turn) are one request. ``on_turn``
    is told the number of episodes still running, for a progress bar.

    An episode that has had ``max_turns``, or has outgrown the model's context, ends there:
    truncated, and unmeasured, since the environment has given no verdict. So does one whose
    environment failed, again and again (see ``EnvPool``).

    Raises:
        TrainerError: the environment failed ten times in a row, or no prompt fits the model's
            context.
    """
    game = playing(pool, backend, refs, group, params, on_turn, max_turns)
    samples: Samples | None = None
    while True:
        try:
            ask = game.send(samples)  # type: ignore[arg-type]  # the first is None
        except StopIteration as end:
            groups: list[list[Episode]] = end.value
            break
        samples = backend.sample(*ask)
    check_room(backend, params, groups)
    return groups


def playing(
    pool: EnvPool,
    backend: Backend,
    refs: Sequence[ProblemRef],
    group: int,
    params: SamplingParams,
    on_turn: Callable[[int], None] | None,
    max_turns: int,
    seat: int = 0,
) -> Generator[Ask, Samples, list[list[Episode]]]:
    """Play as ``collect`` does, but let others sample: yield what to ask for, be sent the samples.

    ``seat`` is the first of the pool's copies that are used.
    """
    pool.grow(seat + len(refs) * group)
    episodes = [Episode(ref) for ref in refs for _ in range(group)]
    running = [i for i, episode in enumerate(episodes) if _begin(pool, seat + i, episode)]
    room, turn = room_in(backend, params), 0
    while running := [i for i in running if not _bounded(episodes[i], max_turns, room)]:
        if on_turn is not None:
            on_turn(len(running))
        acts = yield from _acts([episodes[i] for i in running], _seeded(params, turn))
        results = pool.step([seat + i for i in running], acts)
        running = [
            index
            for index, act, result in zip(running, acts, results, strict=True)
            if not _over(episodes[index], result, _is_full(act, params))
        ]
        turn += 1
    return [episodes[i : i + group] for i in range(0, len(episodes), group)]


def room_in(backend: Backend, params: SamplingParams) -> int:
    """Return the longest context to which the model can respond, in tokens."""
    return backend.max_context - params.max_tokens


def check_room(
    backend: Backend, params: SamplingParams, groups_P: Sequence[Sequence[Episode]]
) -> None:
    """Raise TrainerError if nothing was said, since no prompt fits the model's context."""
    episodes = [episode for group in groups_P for episode in group]
    room = room_in(backend, params)
    shortest = min((len(e.tokens) for e in episodes if e.tokens), default=0)
    if shortest > room and not any(episode.acts for episode in episodes):
        raise TrainerError(
            f"the prompts are too long: with max_tokens={params.max_tokens} the model has room for "
            f"{max(room, 0)} tokens, and the shortest has {shortest}. "
            "Lower --max-tokens, shorten the prompts, or take another --base-model."
        )


def _acts(
    episodes: Sequence[Episode], params: SamplingParams
) -> Generator[Ask, Samples, list[tuple[int, ...]]]:
    """Have the next act of each episode sampled, append it, and return the acts in order."""
    alike: dict[tuple[int, ...], list[Episode]] = {}
    for episode in episodes:
        alike.setdefault(tuple(episode.tokens), []).append(episode)
    requests = [SampleRequest(context, len(members)) for context, members in alike.items()]
    answers = yield requests, params
    for members, samples in zip(alike.values(), answers, strict=True):
        for episode, sample in zip(members, samples, strict=True):
            start = len(episode.tokens)
            episode.tokens += sample.tokens
            episode.acts.append((start, len(episode.tokens)))
            episode.logprobs += sample.logprobs
    return [tuple(e.tokens[e.acts[-1][0] :]) for e in episodes]


def _begin(pool: EnvPool, index: int, episode: Episode) -> bool:
    """Reset copy ``index`` for the episode; return whether there is one."""
    found = pool.reset(index, episode.ref)
    if found is None:
        return not _end_unmeasured(episode)
    episode.tokens += _ids(found[0])
    if not episode.tokens:
        raise TrainerError("a first observation is empty: a model needs a token to go on from")
    return True


def _over(episode: Episode, result: Any, full: bool) -> bool:
    """Take in what ``step`` returned; return whether the episode is over.

    ``full`` says that the response was as long as allowed, and did not end with a stop token.
    """
    if result is None:
        return _end_unmeasured(episode)
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
    return _end_unmeasured(episode)


def _end_unmeasured(episode: Episode) -> bool:
    """End an episode that has no verdict; return True."""
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
