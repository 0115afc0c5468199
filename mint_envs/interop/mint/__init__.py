"""``RLAdapter`` as MinT documents it, and the way from it to our environments and back.

    env = mint_envs.from_adapter(MyAdapter())        # a Gymnasium environment of an adapter
    run_grpo(mint_envs.to_adapter("mint/Math-v0"))   # our tasks in a loop made for adapters
    mint_envs.register("my/Sums-v0", MyAdapter)      # an id of it, for gym.make and mint-grpo

An adapter has one of two forms. It builds a data set, makes a prompt of a sample and computes the
reward of a response to it; or it is called with (prompt, response) as tokens and returns a
``Reward``.
"""

from __future__ import annotations

from .adapter import ModelInfo, ModelInput, RLAdapter
from .environment import AdapterTask, from_adapter

__all__ = ["AdapterTask", "ModelInfo", "ModelInput", "RLAdapter", "from_adapter"]
