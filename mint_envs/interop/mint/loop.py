"""From an environment to an adapter, for a loop like ``run_grpo``: ``to_adapter``."""

from __future__ import annotations

from typing import Any

from ...env import TokenEnv
from ...errors import SettingError, require
from ...registration import make
from .adapter import RLAdapter
from .task_adapter import EnvAdapter


def to_adapter(
    env: Any,
    *,
    size: int = 64,
    seed: int = 0,
    unmeasured: float | None = None,
    **settings: Any,
) -> RLAdapter:
    """Return an adapter of an environment, for a loop like ``run_grpo(adapter)``.

    Args:
        env: an environment of this package (wrapped or not), or its id.
        size: samples of one ``build_dataset()``; the next call goes on with new ones.
        seed: of the first.
        unmeasured: reward of a response that could not be measured. Such a loop knows no absent
            reward, so without a value it raises ``RewardError``: better than a false 0.
        settings: of the id.

    Raises:
        SettingError: the environment is not one of this package, or takes several turns.
    """
    if isinstance(env, str):
        env = make(env, **settings)
    elif settings:
        raise SettingError(f"settings {list(settings)} are for an id, not for an environment")
    core: Any = getattr(env, "unwrapped", env)
    require(isinstance(core, TokenEnv), f"{env!r} is not an environment of mint_envs (a TokenEnv)")
    name = type(core.task).__name__
    require(
        core.task.single_turn,
        f"{name} takes several turns, and a loop over adapters has one response to a prompt: "
        "train on it with mint-grpo",
    )
    return EnvAdapter(core.task, size, seed, unmeasured)
