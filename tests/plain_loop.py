"""The loop written out as it was before there was a stream, to hold it against."""

from __future__ import annotations

from typing import Any

import numpy as np

from trainers.config import TrainConfig
from trainers.data import open_data
from trainers.grpo import adam_params
from trainers.rollout import collect
from trainers.stream import sampling
from trainers.teaching import teaches, to_datums, with_kl_penalty


def on_policy(settings: TrainConfig, backend: Any) -> list[tuple[float, int]]:
    """Train; return (reward, datums) by step."""
    told = []
    with open_data(settings, backend) as data:
        for step in range(1, settings.steps + 1):
            refs, params = data.problems(step), sampling(settings, data.pool, step)
            groups = collect(data.pool, backend, refs, settings.group, params)
            datums = to_datums(settings, [g for g in groups if teaches(settings, g)])
            if datums:
                datums, _ = with_kl_penalty(settings, backend, datums)
                adam = adam_params(settings, step)
                backend.update(datums, settings.loss_fn, settings.loss_fn_config, adam)
            told.append((float(np.mean([e.reward for g in groups for e in g])), len(datums)))
    return told
