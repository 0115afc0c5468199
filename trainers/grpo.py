"""GRPO on any registered environment: groups -> sample -> score -> advantages -> update -> log.

What is here: groups drawn by these weights or by those of a few steps ago, centred advantages, the
service's losses, the KL penalty folded into the advantages. What is left out, and why: a value
network (the group is the baseline), several epochs over one batch (fresh groups are better, and
``substeps`` use each once), and a reference model in memory (the base model is this model without
its LoRA weights).
"""

from __future__ import annotations

import math
import time
from contextlib import closing
from functools import partial

from .backends import AdamParams, Backend
from .config import RunConfig, TrainConfig
from .data import open_data
from .evaluation import evaluate
from .metrics import Learned, step_metrics
from .run import Run
from .stream import Stream
from .teaching import minibatches, with_kl_penalty


def train(config: TrainConfig, backend: Backend, run: Run) -> None:
    """Train ``backend`` on ``config.env`` from ``run.next_step`` to ``config.steps``.

    On-policy, the random numbers of a step come from ``config.seed`` and the step alone, so a
    resumed run goes on as the uninterrupted one would have.
    """
    with (
        open_data(config, backend) as data,
        closing(Stream(config, backend, data, run)) as stream,
    ):
        watched = run.watch(config, data.pool.task)
        data.difficulty.restore(run.kept.get("difficulty"))
        if run.next_step == 1:
            run.log_eval(0, evaluate(config, backend, data.evaluations))
        for step in run.steps(config.steps):
            clock = Clock()
            batch = stream.take(step)
            clock.lap("sample_and_score")
            data.difficulty.note(batch.groups_P)
            parts, equal_groups = minibatches(config, batch.groups_P)
            learned = []
            for part in parts:
                datums, kl_base = with_kl_penalty(config, backend, part)
                clock.lap("kl")
                with run.undisturbed():
                    update = stream.meanwhile(
                        partial(
                            backend.update, datums, config.loss_fn, config.loss_fn_config,
                            adam_params(config, step),
                        )
                    )  # fmt: skip
                clock.lap("update")
                learned.append(Learned(datums, update, kl_base))
            metrics = step_metrics(
                config, batch.groups_P, learned, equal_groups, clock.laps,
                {**batch.counts, **watched(step, batch.groups_P)},
                data.pool.take_faults(), data.difficulty.counts(),
            )  # fmt: skip
            run.log_step(step, metrics, batch.groups_P, data.pool, backend.tokenizer.decode)
            if config.eval_every and (step % config.eval_every == 0 or step == config.steps):
                run.log_eval(step, evaluate(config, backend, data.evaluations))
            if run.wants_checkpoint(step):
                run.save_checkpoint(
                    step, backend, {"place": stream.place, "difficulty": data.difficulty.state}
                )
                run.write("pass_rates.jsonl", data.difficulty.text())


def adam_params(config: RunConfig, step: int) -> AdamParams:
    """Return the optimizer's parameters at ``step`` (from 1 to ``config.steps``)."""
    done = (step - 1) / config.steps
    shapes = {"constant": 1.0, "linear": 1.0 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}
    warm = min(1.0, step / max(config.warmup, 1))
    return AdamParams(
        config.lr * shapes[config.lr_schedule] * warm,
        config.betas,
        config.eps,
        config.weight_decay,
        config.grad_clip,
    )


class Clock:
    """Seconds by phase, summed where a phase comes again."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now
