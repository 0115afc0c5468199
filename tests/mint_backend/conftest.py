"""A service that misbehaves on demand, and backends on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fault_server import GOOD_KEYS, Service
from mint_steps import TOKENIZER, step, weights
from toy_model import MODEL, Model

from trainers.backends import (
    LoraParams,
)
from trainers.backends.mint import MintBackend


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.stop()


@pytest.fixture
def connect(service: Service) -> Iterator[Callable[..., MintBackend]]:
    """Return a function that makes a backend on ``service``; all are closed afterwards."""
    made: list[MintBackend] = []

    def connect(**settings: Any) -> MintBackend:
        defaults: dict[str, Any] = {
            "base_model": MODEL,
            "lora": LoraParams(rank=4, seed=7),
            "api_key": "tml-good-key",
            "base_url": service.url,
            "tokenizer": TOKENIZER,
            "timeout_s": 60.0,
            "retries": 4,
            "backoff_s": 0.02,
        }
        made.append(MintBackend(**{**defaults, **settings}))
        return made[-1]

    yield connect
    for backend in made:
        backend.close()


@pytest.fixture(scope="module")
def undisturbed() -> Model:
    """The model after four steps without a fault."""
    service = Service()
    backend = MintBackend(MODEL, LoraParams(4, seed=7), GOOD_KEYS[0], service.url, TOKENIZER)
    for seed in range(4):
        step(backend, seed)
    model = weights(service, backend)
    backend.close()
    service.stop()
    return model
