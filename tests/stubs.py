"""Stand-ins with the signatures of verl 0.9.1 and OpenRLHF 0.11.2, for test_interop_stubs.py.

``MultiTurnAgentExecutor.execute`` keeps the order of calls and the keys of the original, in a few
lines of our own; ``tests/interop/live_signatures.py`` runs the original.
"""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mint_envs import ByteTokenizer

BYTES = ByteTokenizer()
Policy = Callable[[str, int], str]


# -- verl -----------------------------------------------------------------------------------------


@dataclass
class AgentLoopOutput:
    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]
    metrics: Any
    response_logprobs: list[float] | None = None
    routed_experts: Any | None = None
    multi_modal_data: dict[str, Any] | None = None
    reward_score: float | None = None
    num_turns: int = 0
    extra_fields: dict[str, Any] = field(default_factory=dict)
    mm_processor_kwargs: dict[str, Any] | None = None
    mm_processor_output: list[dict[str, Any]] | None = None


class AgentLoopBase(ABC):
    def __init__(
        self,
        trainer_config: Any,
        server_manager: Any,
        tokenizer: Any,
        processor: Any,
        dataset_cls: Any,
        data_config: Any,
        hf_model_type: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.config = trainer_config.config
        self.rollout_config = self.config.actor_rollout_ref.rollout
        self.server_manager, self.tokenizer = server_manager, tokenizer

    @abstractmethod
    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput: ...


def agent_loop(cls: Any, server: Any, room: int) -> Any:
    """Make an agent loop as verl's worker does."""
    rollout = types.SimpleNamespace(prompt_length=1024, response_length=room)
    config = types.SimpleNamespace(actor_rollout_ref=types.SimpleNamespace(rollout=rollout))
    return cls(
        trainer_config=types.SimpleNamespace(config=config), server_manager=server,
        tokenizer=BYTES, processor=None, hf_model_type=None, dataset_cls=None,
        data_config=types.SimpleNamespace(config={}), tools=None,
    )  # fmt: skip


class Server:
    """``LLMServerClient.generate``; the k-th call gets the k-th answer."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self._calls = policy, 0

    async def generate(
        self,
        request_id: Any,
        *,
        prompt_ids: list[int],
        sampling_params: dict[str, Any],
        image_data: Any = None,
        video_data: Any = None,
        audio_data: Any = None,
        mm_processor_kwargs: Any = None,
        **kwargs: Any,
    ) -> Any:
        text = self._policy(BYTES.decode(prompt_ids), self._calls)
        self._calls += 1
        ids = [*BYTES.encode(text), BYTES.eos_token_id]
        return types.SimpleNamespace(token_ids=ids, log_probs=[-0.5] * len(ids))


# -- OpenRLHF -------------------------------------------------------------------------------------


class AgentInstanceBase(ABC):
    @abstractmethod
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    async def reset(self, states: dict[str, Any], **kwargs: Any) -> Any:
        return states

    @abstractmethod
    async def step(self, state_dict: dict[str, Any], **kwargs: Any) -> Any: ...


class Tokenizer:
    """What the executor asks of a Hugging Face tokenizer, over bytes."""

    def __call__(self, text: str, add_special_tokens: bool, return_tensors: str) -> dict[str, Any]:
        import torch

        assert (add_special_tokens, return_tensors) == (False, "pt")
        return {"input_ids": torch.tensor([BYTES.encode(text)], dtype=torch.long)}

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        return BYTES.decode(ids)


class Engine:
    """vLLM as the executor sees it: the text of a response is without its end token."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self._calls = policy, 0

    async def generate(self, ids: list[int], params: Any, multi_modal_data: Any = None) -> Any:
        text = self._policy(BYTES.decode(ids), self._calls)
        self._calls += 1
        tokens = [*BYTES.encode(text), BYTES.eos_token_id]
        output = types.SimpleNamespace(
            token_ids=tokens, text=text, finish_reason="stop", logprobs=None
        )
        return types.SimpleNamespace(outputs=[output])


class MultiTurnAgentExecutor:
    def __init__(self, agent_instance_cls: type) -> None:
        assert issubclass(agent_instance_cls, AgentInstanceBase)
        self.agent_instance_cls = agent_instance_cls

    async def execute(
        self,
        prompt: Any,
        label: Any,
        sampling_params: Any,
        max_length: int,
        hf_tokenizer: Any,
        llm_engine: Any,
        images: Any = None,
    ) -> dict[str, Any]:
        agent: Any = self.agent_instance_cls()
        text = (await agent.reset({"observation": prompt, "label": label}))["observation"]
        tokens, ranges, total, done = _ids(hf_tokenizer, text), [], 0.0, False
        while not done:
            output = (await llm_engine.generate(tokens, sampling_params)).outputs[0]
            ranges.append((len(tokens), len(tokens) + len(output.token_ids)))
            state = {
                "observation_text": text, "action_text": output.text, "label": label,
                "sampling_params": sampling_params,
            }  # fmt: skip
            result = await agent.step(state)
            total += result["rewards"].item()
            said, done = result["environment_feedback"], result["done"]
            text += output.text + said
            tokens = tokens + output.token_ids + _ids(hf_tokenizer, said)
        return {"reward": total, "observation_tokens": tokens, "action_ranges": ranges}


def _ids(tokenizer: Any, text: str) -> list[int]:
    encoded = tokenizer(text=text, add_special_tokens=False, return_tensors="pt")
    ids: list[int] = encoded["input_ids"][0].tolist()
    return ids
