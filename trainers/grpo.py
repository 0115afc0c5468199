"""GRPO on any registered environment: groups -> sample -> score -> advantages -> update -> log.

What is here: on-policy groups, centred advantages, the service's losses, the KL penalty folded
into the advantages. What is left out, and why: a value network (the group is the baseline),
several epochs over one batch (``ppo`` and ``cispo`` are there for staleness, not for reuse), and
a reference model in memory (the base model is this model without its LoRA weights).
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from .advantages import (
    group_advantages,
    kl_penalties,
    length_weights,
    no_signal,
    overlong_penalty,
)
from .backends import AdamParams, Backend, Datum, SamplingParams
from .config import TrainConfig
from .data import open_data
from .evaluation import evaluate
from .metrics import step_metrics
from .pool import EnvPool
from .rollout import Episode, collect
from .run import Run


def train(config: TrainConfig, backend: Backend, run: Run) -> None:
    """Train ``backend`` on ``config.env`` from ``run.next_step`` to ``config.steps``.

    The random numbers of a step come from ``config.seed`` and the step alone, so a resumed run
    goes on as the uninterrupted one would have.
    """
    with open_data(config, backend) as data:
        data.difficulty.recall(run.folder / "rollouts.jsonl")
        if run.next_step == 1:
            run.log_eval(0, evaluate(config, backend, data.evaluations))
        for step in run.steps(config.steps):
            clock = Clock()
            groups_P = collect(
                data.pool, backend, data.problems(step), config.group,
                sampling(config, data.pool, step), run.show_rollout, config.max_turns,
            )  # fmt: skip
            clock.lap("sample_and_score")
            data.difficulty.note(groups_P)
            datums, equal_groups = to_datums(config, groups_P)
            if datums:
                datums, kl_base = with_kl_penalty(config, backend, datums)
                clock.lap("kl")
                with run.undisturbed():
                    update = backend.update(
                        datums, config.loss_fn, config.loss_fn_config, adam_params(config, step)
                    )
                clock.lap("update")
            else:
                update, kl_base = None, 0.0
            run.log_step(
                step,
                step_metrics(
                    groups_P, datums, equal_groups, update, kl_base, clock.laps,
                    config.temperature, data.pool.take_faults(), data.difficulty.counts(),
                ),
                groups_P,
                data.pool,
                backend.tokenizer.decode,
            )  # fmt: skip
            if config.eval_every and (step % config.eval_every == 0 or step == config.steps):
                run.log_eval(step, evaluate(config, backend, data.evaluations))
            if run.wants_checkpoint(step, config.steps):
                run.save_checkpoint(step, backend)
                run.write("pass_rates.jsonl", data.difficulty.text())


def sampling(config: TrainConfig, pool: EnvPool, step: int) -> SamplingParams:
    """Return how the responses of a step are sampled."""
    return SamplingParams(
        config.max_tokens,
        config.temperature,
        pool.stop,
        pool.stop_tokens,
        seed=config.seed * 1_000_003 + step,
    )


def adam_params(config: TrainConfig, step: int) -> AdamParams:
    """Return the optimizer's parameters at ``step`` (from 1 to ``config.steps``)."""
    left = 1.0 - (step - 1) / config.steps if config.lr_schedule == "linear" else 1.0
    return AdamParams(
        config.lr * left, config.betas, config.eps, config.weight_decay, config.grad_clip
    )


def to_datums(
    config: TrainConfig, groups_P: Sequence[Sequence[Episode]]
) -> tuple[list[Datum], int]:
    """Return what there is to learn from, and how many groups had equal rewards.

    Unmeasured episodes are in no baseline; a group of fewer than two measured ones teaches
    nothing, and is counted with the equal ones. With ``overlong="mask"`` a response that was cut
    counts in the baseline, and is not learned from.
    """
    chosen: list[tuple[Episode, float]] = []
    equal = 0
    for group in groups_P:
        measured = [episode for episode in group if episode.scored]
        rewards = [trained_reward(config, episode) for episode in measured]
        if len(measured) < 2 or no_signal(rewards):
            equal += 1
            _note(measured, [0.0] * len(measured))
            continue
        advantages_G = group_advantages(rewards, config.advantage)
        _note(measured, advantages_G.tolist())
        chosen += [
            (e, float(a))
            for e, a in zip(measured, advantages_G, strict=True)
            if e.length and not (e.cut and config.overlong == "mask")
        ]
    if not chosen:
        return [], equal
    weights = length_weights(
        [episode.length for episode, _ in chosen], config.effective_length_norm, config.max_tokens
    )
    datums = [e.datum(a * float(w)) for (e, a), w in zip(chosen, weights, strict=True)]
    return datums, equal


def trained_reward(config: TrainConfig, episode: Episode) -> float:
    """Return the reward that advantages are made of: the environment's, less what is overlong."""
    if config.overlong != "shape":
        return episode.reward
    longest = max((end - start for start, end in episode.acts), default=0)
    return episode.reward + overlong_penalty(longest, config.max_tokens)


def _note(episodes: Sequence[Episode], advantages: Sequence[float]) -> None:
    """Keep the advantages with the episodes, for whoever reads the transcripts."""
    for episode, advantage in zip(episodes, advantages, strict=True):
        episode.advantage = advantage


def with_kl_penalty(
    config: TrainConfig, backend: Backend, datums: Sequence[Datum]
) -> tuple[list[Datum], float]:
    """Fold the KL penalty into the advantages; return the datums and the KL to the base model."""
    if config.kl_penalty_coef == 0.0:
        return list(datums), 0.0
    penalties, kl = kl_penalties(
        [datum.logprobs for datum in datums],
        backend.base_logprobs(datums),
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


class Clock:
    """Seconds by phase."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name], self._last = now - self._last, now
