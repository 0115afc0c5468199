"""What groups teach: from episodes and their rewards to the datums of an update."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .advantages import (
    group_advantages,
    kl_penalties,
    length_weights,
    no_signal,
    overlong_penalty,
)
from .backends import Backend, Datum, Floats
from .config import TrainConfig
from .errors import TrainerError
from .rollout import Episode


def teaches(config: TrainConfig, group: Sequence[Episode]) -> bool:
    """Return whether there is a difference between the measured rewards of a group."""
    rewards = [trained_reward(config, episode) for episode in group if episode.scored]
    return len(rewards) >= 2 and not no_signal(rewards)


def minibatches(
    config: TrainConfig, groups_P: Sequence[Sequence[Episode]]
) -> tuple[list[list[Datum]], int]:
    """Return the datums of each update, of as many groups each as can be, and how many are equal.

    There are ``config.substeps`` of them, or fewer if fewer groups teach. A group of fewer than two
    measured episodes teaches nothing, and is counted with those of equal rewards.
    """
    teaching: list[Sequence[Episode]] = []
    for group in groups_P:
        if teaches(config, group):
            teaching.append(group)
            continue
        for episode in group:
            episode.advantage = 0.0 if episode.scored else None
    many = min(config.substeps, len(teaching))
    cuts = [i * len(teaching) // max(many, 1) for i in range(many + 1)]
    parts = [to_datums(config, teaching[a:b]) for a, b in pairwise(cuts)]
    return [part for part in parts if part], len(groups_P) - len(teaching)


def to_datums(config: TrainConfig, groups_P: Sequence[Sequence[Episode]]) -> list[Datum]:
    """Return what there is to learn from groups that teach.

    Unmeasured episodes are in no baseline. With ``overlong="mask"`` a response that was cut counts
    in the baseline, and is not learned from.
    """
    chosen: list[tuple[Episode, Floats]] = []
    for group in groups_P:
        measured = [episode for episode in group if episode.scored]
        rewards = [trained_reward(config, episode) for episode in measured]
        advantages_G = group_advantages(rewards, config.advantage)
        for episode, advantage in zip(measured, advantages_G.tolist(), strict=True):
            episode.advantage = advantage  # for whoever reads the transcripts
        acts = advantages_G[:, None]
        if config.credit == "turn":
            acts = turn_advantages(config, measured, rewards)
        chosen += [
            (e, a[: len(e.acts)])
            for e, a in zip(measured, acts, strict=True)
            if e.length and not (e.cut and config.overlong == "mask")
        ]
    if not chosen:
        return []
    weights = length_weights(
        [episode.length for episode, _ in chosen], config.effective_length_norm, config.max_tokens
    )
    return [e.datum(a * float(w)) for (e, a), w in zip(chosen, weights, strict=True)]


def turn_advantages(
    config: TrainConfig, episodes: Sequence[Episode], rewards: Sequence[float]
) -> Floats:
    """Return the advantage of each turn of each episode, shape (episodes, longest episode).

    A turn is paid for what it added to the value of the episode, as the environment tells it after
    each turn in ``metadata["values"]``; the group's turns at the same place are the baseline. The
    last value is the reward itself, whatever is told: what the turns are paid adds up to it.

    Raises:
        TrainerError: there are no values, or not one number for each turn.
    """
    longest = max(len(episode.acts) for episode in episodes)
    added = np.zeros((len(episodes), longest))
    for row, episode, reward in zip(added, episodes, rewards, strict=True):
        values = [0.0, *_values(episode)[:-1], reward]
        row[: len(values) - 1] = np.diff(values)
    turns = [group_advantages(turn, config.advantage) for turn in added.T.tolist()]
    return np.stack(turns, axis=1)


def _values(episode: Episode) -> list[float]:
    metadata = episode.infos[-1].get("metadata") or {}
    values, many = metadata.get("values"), len(episode.acts)
    if values is None and (many == 1 or episode.cut):
        return [0.0] * many  # the reward tells all; or the turn that was cut takes it
    try:
        numbers = [float(value) for value in values or ()]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != many or not np.isfinite(numbers).all():
        raise TrainerError(
            f"--credit turn: metadata['values'] of an episode of {many} turns is {values!r}: it "
            "must be a list with one number a turn, the episode's value after it"
        )
    return numbers


def trained_reward(config: TrainConfig, episode: Episode) -> float:
    """Return the reward that advantages are made of: the environment's, less what is overlong."""
    if config.overlong != "shape":
        return episode.reward
    longest = max((end - start for start, end in episode.acts), default=0)
    return episode.reward + overlong_penalty(longest, config.max_tokens)


def with_kl_penalty(
    config: TrainConfig, backend: Backend, datums: Sequence[Datum]
) -> tuple[list[Datum], float]:
    """Fold the KL penalty into the advantages; return the datums and the KL to the base model."""
    if config.kl_penalty_coef == 0.0:
        return list(datums), 0.0
    penalties, kl = kl_penalties(
        [datum.logprobs for datum in datums],
        backend.logprobs(datums, base=True),
        [datum.mask for datum in datums],
        config.kl_penalty_coef,
    )
    scales = length_weights(
        [int(datum.mask.sum()) for datum in datums], config.effective_length_norm, config.max_tokens
    )
    return [
        Datum(d.tokens, d.mask, d.logprobs, d.advantages + penalty * scale)
        for d, penalty, scale in zip(datums, penalties, scales, strict=True)
    ], kl
