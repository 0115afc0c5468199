"""``RLConfig`` and ``run_grpo`` by MinT's documents: their scripts run with the import changed.

    from trainers import RLAdapter, RLConfig, run_grpo

    cfg = RLConfig.from_env()
    cfg.steps = 5
    run_grpo(MyAdapter(), cfg)

Without a MINT_API_KEY it trains on this machine. What differs from the documents' loop: a data set
that is the same each time goes by epochs, one problem in ten is held out, a reward may be None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import mint_envs
from mint_envs import RLAdapter, Task, from_adapter

from .__main__ import start
from .command import NAMES, Command, fault_of, from_variables, run_folder, variables
from .config import SERVICE, TrainConfig
from .errors import TrainerError

__all__ = ["RLAdapter", "RLConfig", "run_grpo"]


@dataclass(slots=True)
class RLConfig:
    """The documents' settings. Another name than these is an error (AttributeError).

    ``model=None`` is Qwen/Qwen3-0.6B on a service, and SmolLM2-135M-Instruct here.
    """

    model: str | None = None
    rank: int = 16
    steps: int = 5
    batch: int = 8
    group: int = 4
    lr: float = 1e-4
    max_tokens: int = 16
    temperature: float = 1.0

    @classmethod
    def from_env(cls) -> RLConfig:
        """Return the settings of MINT_BASE_MODEL, MINT_LORA_RANK, MINT_RL_STEPS and so on.

        Raises:
            TrainerError: a value is no number.
        """
        given, found = variables(), cls()
        for field in fields(cls):
            config_name = "base_model" if field.name == "model" else field.name
            name = NAMES.get(config_name, f"MINT_RL_{field.name.upper()}")
            kind = type(getattr(found, field.name) or "")
            try:
                if given.get(name):
                    setattr(found, field.name, kind(given[name]))
            except ValueError as error:
                raise TrainerError(f"{name}={given[name]!r} is no {kind.__name__}") from error
        return found


def run_grpo(
    adapter: Any,
    cfg: RLConfig | None = None,
    *,
    reward_range: tuple[float, float] = (0.0, 1.0),
    resume: str | Path | None = None,
    **settings: Any,
) -> str | None:
    """Train on an adapter; return the path of the last checkpoint, as ``Saved:`` prints it.

    Args:
        adapter: of either form of the documents; see ``mint_envs.RLAdapter``. Its ``evaluate`` is
            told (step, rewards, datums) after each step, and prints the line.
        cfg: default: ``RLConfig.from_env()``.
        reward_range: (lowest, highest) reward of the adapter.
        resume: the folder of a run of this adapter to go on with.
        settings: any other of ``TrainConfig``: ``eval_every=5``, ``run_dir="runs/mine"``. What is
            not given is taken from MINT_RL_EVAL_EVERY and the like, where that is set.

    Raises:
        TrainerError: a wrong setting, or what ends a run of ``mint-grpo`` with exit code 2.
    """
    chosen = asdict(RLConfig.from_env() if cfg is None else cfg)
    chosen["base_model"] = chosen.pop("model")
    given, id = variables(), f"adapter/{type(adapter).__name__}-v0"

    def task() -> Task[Any]:
        return from_adapter(adapter, reward_range=reward_range).task

    mint_envs.register(id, task)
    key = given.get("MINT_API_KEY") or None
    chosen = {**from_variables(given), **chosen, **settings, "env": id}
    if chosen.get("backend", "auto") == "auto":
        chosen["backend"] = "mint" if key else "local"
    try:
        config = TrainConfig(**{**(SERVICE if chosen["backend"] == "mint" else {}), **chosen})
    except ValidationError as error:
        raise TrainerError(fault_of(error)) from error
    folder = run_folder(config) if resume is None else Path(resume)
    url = given.get("MINT_BASE_URL") or None
    command = Command(config, folder, resume is not None, key, url)
    tell = getattr(adapter, "evaluate", None) or RLAdapter().evaluate
    low, high = reward_range

    def begun(backend: Any) -> None:
        if getattr(adapter, "_tokenizer", True) is None:
            adapter._tokenizer = backend.tokenizer

    def told(step: int, rewards: Sequence[float], datums: int) -> None:
        tell(step, [low + reward * (high - low) for reward in rewards], datums)

    return start(command, begun, told).saved_path
