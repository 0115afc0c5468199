"""Toolkits in a first state, and calls of them that must succeed or be refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mint_envs.tooluse import TOOLKITS, Toolkit


def fresh(kind: type[Toolkit] | str, seed: int = 0) -> Any:
    kit = TOOLKITS[kind]() if isinstance(kind, str) else kind()
    kit.reset(np.random.default_rng(seed))
    return kit


def run(kit: Toolkit, name: str, /, **arguments: Any) -> Any:
    result = kit.run(name, arguments)
    assert result.ok, result.text
    try:
        return json.loads(result.text)
    except ValueError:
        return result.text


def refused(kit: Toolkit, name: str, /, **arguments: Any) -> str:
    before = kit.snapshot()
    result = kit.run(name, arguments)
    assert not result.ok, result.text
    assert not result.failure
    assert kit.state == before
    return result.text
