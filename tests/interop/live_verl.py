"""verl's own base classes run our agent loop and reward function: ``nox -s interop_verl``.

The inference server is a script; Ray is not started, and nothing is trained: that needs a GPU.
"""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import hydra
import numpy as np
import pytest
import stubs
import torch
from flaky import GUESS, SUM, answer
from omegaconf import OmegaConf
from tiny import tokenizer

from mint_envs.errors import Unmeasured
from mint_envs.interop import verl as adapter

with warnings.catch_warnings():  # of what it imports
    warnings.simplefilter("ignore")
    from verl import DataProto
    from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
    from verl.utils.import_utils import load_extern_object

pytestmark = pytest.mark.filterwarnings("default")  # theirs
TOKENIZER = tokenizer()


class Server(stubs.Server):
    """The stub's, over the tokens of a Hugging Face tokenizer."""

    async def generate(self, request_id: Any, *, prompt_ids: list[int], **_: Any) -> Any:  # type: ignore[override]
        text = self._policy(TOKENIZER.decode(prompt_ids), 0)
        ids = [*TOKENIZER.encode(text), TOKENIZER.eos_token_id]
        return stubs.types.SimpleNamespace(token_ids=ids, log_probs=[-0.5] * len(ids))


def play(env: str, seed: int, policy: stubs.Policy) -> AgentLoopOutput:
    """Make the loop as verl's worker does, from its name, and run it on a row."""
    room = {"prompt_length": 1024, "response_length": 2048}
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": room}})
    loop = hydra.utils.instantiate(
        config={"_target_": "mint_envs.interop.verl.MintAgentLoop"},
        trainer_config=DictConfigWrap(config=config), server_manager=Server(policy),
        tokenizer=TOKENIZER, processor=None, hf_model_type=None, dataset_cls=None,
        data_config=DictConfigWrap(OmegaConf.create({})),
    )  # fmt: skip
    (row,) = adapter.rows(env, 1, start=seed)
    return asyncio.run(loop.run({"temperature": 1.0}, raw_prompt=row["prompt"], index=0, **row))


def test_the_agent_loop_over_several_turns() -> None:
    for seed in range(4):
        output = play(GUESS, seed, lambda context, _: str(context.count("higher")))
        number = int(answer(GUESS, seed))
        assert isinstance(output, AgentLoopOutput)
        assert output.reward_score == pytest.approx(max(0, 3 - number) / 3)
        tensors = output.as_dict()
        assert tensors["rm_scores"][-1].item() == pytest.approx(output.reward_score)
        assert len(tensors["responses"]) == len(tensors["response_mask"])
        given = [
            t for t, on in zip(output.response_ids, output.response_mask, strict=True) if not on
        ]
        assert TOKENIZER.decode(given).count("higher") == min(number, 2)


def test_the_agent_loop_raises_what_was_not_measured() -> None:
    with pytest.raises(Unmeasured):
        play(SUM, 1, lambda *_: "down")


@pytest.mark.parametrize(("said", "score"), [(answer(SUM, 3), 1.0), ("x", 0.0)])
def test_the_reward_manager_calls_compute_score(said: str, score: float) -> None:
    function = load_extern_object("pkg://mint_envs.interop.verl", "compute_score")
    (row,) = adapter.rows(SUM, 1, start=3)
    ids = torch.tensor([TOKENIZER.encode(said)])
    others = {k: row[k] for k in ("data_source", "reward_model", "extra_info")}
    data = DataProto.from_dict(
        tensors={"responses": ids, "attention_mask": torch.ones_like(ids)},
        non_tensors={k: np.array([v], dtype=object) for k, v in others.items()},
    )

    async def run() -> Any:
        return await NaiveRewardManager(None, TOKENIZER, function).run_single(data)

    found = asyncio.run(run())
    assert found == {"reward_score": score, "reward_extra_info": {"score": score, "acc": score}}
