"""OpenRLHF: a reward function for ``--reward.remote_url``, an agent for several turns.

A file ``reward.py`` for one turn, or ``agent.py`` for several:

    from mint_envs.interop import openrlhf
    reward_func = openrlhf.reward_func("mint/Code-v0", style="chat")
    AgentExecutor = openrlhf.agent_executor("mint/ToolUse-v0", tokenizer="Qwen/Qwen3-0.6B")

The data set is made of ``rows``: the label is the problem's number. Unmeasured: OpenRLHF has no way
to leave a sample out, so both raise ``Unmeasured``, and a run without a reward model stops.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core import Reward, Task
from ..errors import require
from .shapes import TextTask, TokenEpisode, codec, details, measured

#: Special tokens at the end of a decoded response: OpenRLHF decodes them too.
_ENDS = re.compile(r"(?:<\|[^|<>\s]{1,40}\|>|</s>|<eos>|<end_of_turn>|\s)+\Z")


def rows(
    env: str | Task[Any], count: int | None = None, start: int = 0, **settings: Any
) -> list[dict[str, Any]]:
    """Return rows with ``input`` (text or messages) and ``label``, the problem's index.

    Args:
        env: an id, or a task.
        count: how many rows; None: all of a data set, which a task without end needs told.
        start: index of the first problem.
        settings: of the environment.
    """
    found = TextTask(env, **settings).rows(count, start)
    return [{"input": row["prompt"], "label": str(row["task_index"])} for row in found]


def reward_func(env: str | Task[Any], **settings: Any) -> Callable[..., dict[str, Any]]:
    """Return ``reward_func(queries, prompts, labels)``; a query is a prompt and its response.

    Args:
        env: an id, or a task.
        settings: of the environment.

    Raises:
        SettingError: the environment has several turns. Later: a query does not begin with its
            prompt, so that the response cannot be told.
        Unmeasured: (later) a reward could not be measured.
    """
    task = TextTask(env, **settings).single_turn("openrlhf.agent_executor")

    def reward(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]
    ) -> dict[str, Any]:
        import torch

        texts = [_response(q, p) for q, p in zip(queries, prompts, strict=True)]
        rewards = task.score_batch(zip(map(int, labels), texts, strict=True))
        scores = torch.tensor([measured(reward) for reward in rewards])
        return {"rewards": scores, "scores": scores, "extra_logs": _logs(rewards)}

    return reward


def agent_instance(env: str | Task[Any], tokenizer: Any = None, **settings: Any) -> type:
    """Return a class of ``AgentInstanceBase``: one episode, whose label is the problem's number.

    ``tokenizer`` frames the turns: give the model's, for it to see its own chat template.

    Args:
        env: an id, or a task.
        settings: of the environment.
    """
    from openrlhf.utils.agent import AgentInstanceBase

    task = TextTask(env, **settings)

    class MintAgent(AgentInstanceBase):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._episode = TokenEpisode(task, codec(tokenizer))

        async def reset(self, states: Mapping[str, Any], **kwargs: Any) -> dict[str, Any]:
            ids = await asyncio.to_thread(self._episode.begin, int(states["label"]))
            return {"observation": self._episode.decode(ids)}

        async def step(self, state_dict: Mapping[str, Any], **kwargs: Any) -> dict[str, Any]:
            import torch

            said = await asyncio.to_thread(self._episode.respond, state_dict["action_text"])
            score = measured(self._episode.reward) if self._episode.done else 0.0
            return {
                "rewards": torch.tensor(score),
                "scores": torch.tensor(score),
                "environment_feedback": said,
                "done": self._episode.done,
                "sampling_params": state_dict.get("sampling_params"),
                "extra_logs": {},
            }

    return MintAgent


def agent_executor(env: str | Task[Any], tokenizer: Any = None, **settings: Any) -> type:
    """Return the class that ``--train.agent_func_path`` looks for, under ``AgentExecutor``.

    Args:
        env: an id, or a task.
        tokenizer: the model's, as for ``TokenEnv``; None: bytes.
        settings: of the environment.
    """
    from openrlhf.utils.agent import MultiTurnAgentExecutor

    instance = agent_instance(env, tokenizer, **settings)

    class AgentExecutor(MultiTurnAgentExecutor):
        def __init__(self) -> None:
            super().__init__(instance)

    return AgentExecutor


def _response(query: str, prompt: str) -> str:
    """Return what follows the prompt in a query; a BOS token may stand before the prompt."""
    before, found, after = query.partition(prompt)
    require(
        bool(found) and len(before) <= 40,
        f"the query {query[:80]!r} does not begin with its prompt {prompt[:80]!r}: the tokenizer "
        "changes the text. Use openrlhf.agent_executor, which sees the response alone.",
    )
    return _ENDS.sub("", after)


def _logs(rewards: Sequence[Reward]) -> dict[str, Any]:
    """Return the parts as tensors; OpenRLHF asks for one response at a time."""
    import torch

    names = sorted({name for reward in rewards for name in details(reward)})
    return {n: torch.tensor([details(reward).get(n, 0.0) for reward in rewards]) for n in names}
