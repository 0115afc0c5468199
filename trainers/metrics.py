"""What one step reports: a flat dict of numbers, the same keys every step with a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .backends import Datum, Floats, UpdateResult
from .config import TrainConfig
from .losses import out_of_bounds
from .rollout import Episode

#: A reward from here on is the full mark; sums of turns are not exact.
FULL_MARK = 1.0 - 1e-9

_SENTENCE = 10  # tokens of a run that counts as a sentence


@dataclass(frozen=True)
class Learned:
    """One update: what it was made of, what the backend tells, and the KL to the base model."""

    datums: Sequence[Datum]
    update: UpdateResult
    kl_base: float = 0.0


def step_metrics(
    config: TrainConfig,
    groups_P: Sequence[Sequence[Episode]],
    learned: Sequence[Learned],
    equal_groups: int,
    seconds: Mapping[str, float],
    counts: Mapping[str, float] | None = None,
    faults: Mapping[str, float] | None = None,
    problems: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return the metrics of a step.

    Rewards, accuracy and pass@group are over measured episodes only, and are left out of a step
    that has none; ``accuracy`` is the fraction with full marks, ``pass_at_group`` that of groups
    with one, ``groups_all_good`` that of groups
    in which all have one, ``groups_all_bad`` that of groups in which none earned anything. A
    mixture's ``accuracy/ID`` and ``reward/ID`` are those of one member.

    ``entropy`` is the sampler's, estimated from the log-probabilities of what it drew. Those are at
    temperature 1, so of what is drawn at another it is the ``cross_entropy`` between the two, and
    is called so. ``kl_sample_train`` is the mean of sampler minus trainer log-probability before
    each update (0 if they agree), ``kl_sample_train_k3`` the estimate that is never negative;
    ``ratio_max`` is the largest ratio of the two probabilities of a token, and ``clip_fraction``
    says how many tokens have one beyond a bound of the loss. ``counts`` are the stream's. Seconds
    are by phase, tokens per second by theirs.
    """
    episodes = [episode for group in groups_P for episode in group]
    measured = [episode for episode in episodes if episode.scored]
    lengths = np.array([episode.length for episode in episodes])
    logprobs = np.concatenate([np.array(e.logprobs) for e in episodes] or [np.zeros(0)])
    sampled = int(lengths.sum())
    datums = [datum for one in learned for datum in one.datums]
    trained = sum(len(datum.tokens) for datum in datums)
    return {
        **(_verdicts(groups_P) if measured else {}),
        "datums": len(datums),
        "equal_groups": equal_groups / len(groups_P),
        "unmeasured": 1.0 - len(measured) / len(episodes),
        "truncated": _mean(np.array([e.truncated or e.cut for e in episodes])),
        "response_tokens": _mean(lengths),
        "repeated_sentences": _repeated(groups_P),
        "turns": _mean(np.array([len(episode.acts) for episode in episodes])),
        "entropy" if config.temperature == 1 else "cross_entropy": -_mean(logprobs),
        **_ratios(config, learned),
        "kl_base": _mean(np.array([one.kl_base for one in learned])),
        "updates": len(learned),
        **(counts or {}),
        **{f"problems/{name}": float(count) for name, count in (problems or {}).items()},
        **{f"env/{name}": float(count) for name, count in (faults or {}).items()},
        **_told(learned),
        "sample_tokens_per_s": sampled / max(seconds.get("sample_and_score", 0.0), 1e-9),
        "train_tokens_per_s": trained / seconds["update"] if "update" in seconds else 0.0,
        **{f"seconds/{phase}": value for phase, value in seconds.items()},
        "seconds": sum(seconds.values()),
    }


def _repeated(groups_P: Sequence[Sequence[Episode]]) -> float:
    """Return the share of episodes with a run of tokens that an episode of another group has.

    A run is as long as a sentence. What a policy says whatever it is asked shows here, though its
    rewards are high; a form that every answer has to have shows as well.
    """
    groups: dict[bytes, set[int]] = {}
    found = [[_runs(episode) for episode in group] for group in groups_P]
    for number, group in enumerate(found):
        for run in set().union(*group):
            groups.setdefault(run, set()).add(number)
    again = [any(len(groups[run]) > 1 for run in runs) for group in found for runs in group]
    return _mean(np.array(again, dtype=float))


def _runs(episode: Episode) -> set[bytes]:
    acts = [np.array(episode.tokens[start:end], dtype=np.int64) for start, end in episode.acts]
    return {
        act[i : i + _SENTENCE].tobytes() for act in acts for i in range(len(act) - _SENTENCE + 1)
    }


def _verdicts(groups_P: Sequence[Sequence[Episode]]) -> dict[str, float]:
    """Return what the measured episodes earned; there is at least one."""
    groups = [np.array([e.reward for e in group if e.scored]) for group in groups_P]
    rewards = np.concatenate(groups)
    groups = [group for group in groups if len(group)]
    with np.errstate(over="ignore", invalid="ignore"):  # ``Run`` says what is not finite
        spread = float(rewards.std())
    return {
        "reward": _mean(rewards),
        "reward_std": spread,
        "accuracy": _mean(rewards >= FULL_MARK),
        "pass_at_group": _mean(np.array([group.max() >= FULL_MARK for group in groups])),
        "groups_all_good": _mean(np.array([group.min() >= FULL_MARK for group in groups])),
        "groups_all_bad": _mean(np.array([group.max() <= 0 for group in groups])),
        **_by_member([e for group in groups_P for e in group if e.scored]),
    }


def _by_member(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the accuracy and reward of each member of a mixture, which names them in metadata."""
    rewards: dict[str, list[float]] = {}
    for episode in episodes:
        metadata = episode.infos[-1].get("metadata") if episode.infos else None
        member = metadata.get("env") if isinstance(metadata, Mapping) else None
        if isinstance(member, str):
            rewards.setdefault(member, []).append(episode.reward)
    return {
        f"{name}/{member}": float(np.mean(values))
        for member, earned in sorted(rewards.items())
        for name, values in (
            ("accuracy", np.array(earned) >= FULL_MARK), ("reward", np.array(earned))
        )
    }  # fmt: skip


def _told(learned: Sequence[Learned]) -> dict[str, float]:
    """Return what the backend tells of its updates, as means over those of the step."""
    found: dict[str, list[float]] = {}
    for one in learned:
        for name, value in sorted(one.update.metrics.items()):
            found.setdefault(f"update/{name}", []).append(value)
    return {name: sum(values) / len(values) for name, values in found.items()}


def _ratios(config: TrainConfig, learned: Sequence[Learned]) -> dict[str, float]:
    """Return how far trainer and sampler were apart, where the backend tells."""
    gaps: list[Floats] = [np.zeros(0)]  # sampler minus trainer, of act tokens
    beyond = [np.zeros(0, dtype=bool)]
    for one in learned:
        for datum, lp in zip(one.datums, one.update.logprobs, strict=bool(one.update.logprobs)):
            acts = datum.mask > 0
            given = (lp[acts], datum.logprobs[acts])
            gaps.append(given[1] - given[0])
            beyond.append(out_of_bounds(config.loss_fn, *given, config.loss_fn_config))
    gap = np.concatenate(gaps)
    with np.errstate(over="ignore"):  # ``Run`` says what is not finite
        ratio = np.exp(-gap)
    return {
        "kl_sample_train": _mean(gap),
        "kl_sample_train_k3": _mean(ratio - 1 + gap),
        "ratio_max": float(ratio.max()) if len(ratio) else 1.0,
        "clip_fraction": _mean(np.concatenate(beyond)),
    }


def _mean(values: npt.NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else 0.0
