"""Reinforcement-learning environments for language models, as Gymnasium environments over tokens.

    import gymnasium as gym, mint_envs
    env = gym.make("mint/Math-v0")
    prompt_tokens, info = env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(response_tokens)

``grade`` functions work without Gymnasium (``mint_envs.math.grade``), ``mint_envs.testing`` is
the conformance kit, and ``trainers`` (the command ``mint-grpo``) trains on any of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .core import Episode, Message, Reward, Task
from .env import TokenEnv
from .errors import MintEnvsError
from .executors import score_batch
from .family import BUILT_IN
from .interop.mint import RLAdapter, from_adapter
from .interop.mint.loop import to_adapter
from .registration import env_ids, make, register, register_built_in, register_envs
from .spaces import TokenSequence
from .tokenizers import ByteTokenizer, Tokenizer
from .vector import TokenVectorEnv

if TYPE_CHECKING:
    from . import chat, code, math, testing, tooluse, wrappers
    from .compose.pad import PadTokens
    from .interop.reward_functions import from_reward_func

__version__ = "0.1.0"

__all__ = [
    "ByteTokenizer",
    "Episode",
    "Message",
    "MintEnvsError",
    "PadTokens",
    "RLAdapter",
    "Reward",
    "Task",
    "TokenEnv",
    "TokenSequence",
    "TokenVectorEnv",
    "Tokenizer",
    "chat",
    "code",
    "env_ids",
    "from_adapter",
    "from_reward_func",
    "make",
    "math",
    "register",
    "register_envs",
    "score_batch",
    "testing",
    "to_adapter",
    "tooluse",
    "wrappers",
]

_ROOMS = {"testing", "wrappers", *(task.split(".")[1] for task in BUILT_IN.values())}

#: What brings a room with it, and is loaded when it is first used.
_LATER = {"from_reward_func": ".interop.reward_functions", "PadTokens": ".compose.pad"}


def __getattr__(name: str) -> Any:
    """Load a room (``mint_envs.math``) when it is first used, so that the import stays light."""
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name], __name__), name)
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register_built_in()
