"""A small training loop over the mint backend, for its tests."""

from __future__ import annotations

import numpy as np
from fault_server import Service
from toy_model import Model

from mint_envs.tokenizers import ByteTokenizer
from trainers.backends import (
    AdamParams,
    Datum,
    Sample,
    SampleRequest,
    SamplingParams,
    UpdateResult,
)
from trainers.backends.mint import MintBackend

PROMPT = (72, 105, 33)
TOKENIZER = ByteTokenizer()


def datum(sample: Sample, advantage: float) -> Datum:
    tokens = PROMPT + sample.tokens
    mask = np.array([0.0] * len(PROMPT) + [1.0] * len(sample.tokens))
    logprobs = np.array([0.0] * len(PROMPT) + list(sample.logprobs))
    return Datum(tokens, mask, logprobs, advantage * mask)


def step(
    backend: MintBackend, seed: int, loss_fn: str = "importance_sampling", lr: float = 0.05
) -> UpdateResult:
    """Sample, reward the letters, update: one step of a small training loop."""
    requests = [SampleRequest(PROMPT, 4)] * 3
    groups = backend.sample(requests, SamplingParams(5, seed=seed))
    datums = []
    for group in groups:
        rewards = [sum(65 <= t < 123 for t in sample.tokens) / 5 for sample in group]
        mean = sum(rewards) / len(rewards)
        datums += [datum(s, r - mean) for s, r in zip(group, rewards, strict=True)]
    return backend.update(datums, loss_fn, {}, AdamParams(lr, (0.9, 0.95), 1e-9))


def weights(service: Service, backend: MintBackend) -> Model:
    """Return what the service saves for ``backend``."""
    return service.disk[backend.save("look")[1]]


def same(model: Model, other: Model) -> bool:
    return model.steps == other.steps and bool(np.array_equal(model.bias, other.bias))
