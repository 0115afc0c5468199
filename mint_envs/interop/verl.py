"""verl: ``compute_score`` for one turn, an agent loop on token ids for any number.

    reward.custom_reward_function.path=pkg://mint_envs.interop.verl
    reward.custom_reward_function.name=compute_score

    # agent.yaml, for actor_rollout_ref.rollout.agent.agent_loop_config_path
    - {name: mint, _target_: mint_envs.interop.verl.MintAgentLoop}

The Parquet file is made of ``rows``. Unmeasured: both raise ``Unmeasured``. verl's v1 trainer takes
an agent loop that raises as a failed sample and leaves it out; elsewhere the run stops.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from mint_envs.core import Task
from mint_envs.interop.shapes import TextTask, TokenEpisode, as_messages, codec, lazily, measured


def rows(
    env: str | Task[Any], count: int | None = None, start: int = 0, **settings: Any
) -> list[dict[str, Any]]:
    """Return rows for verl's Parquet file; settings go as JSON, which has one type in any row.

    The ground truth is the index of the problem, as is ``extra_info["index"]``.

    Args:
        env: an id, or a task.
        count: how many rows; None: all of a data set, which a task without end needs told.
        start: index of the first problem.
        settings: of the environment, JSON values.
    """
    return [
        {
            "data_source": str(env),
            "agent_name": "mint",
            "prompt": as_messages(row["prompt"]),
            "reward_model": {"style": "rule", "ground_truth": str(row["task_index"])},
            "extra_info": {"index": row["task_index"], "settings": json.dumps(settings)},
        }
        for row in TextTask(env, **settings).rows(count, start)
    ]


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, float]:
    """Return ``{"score", "acc"}``: the same keys for every row, as verl wants.

    Args:
        data_source: of the row: the environment's id.
        solution_str: the response.
        ground_truth: of the row: the index of the problem.
        extra_info: of the row: ``{"settings": JSON}``.

    Raises:
        SettingError: the environment has several turns: use the agent loop.
        Unmeasured: the reward could not be measured.
    """
    task = _task(data_source, extra_info).single_turn("MintAgentLoop")
    score = measured(task.score(int(ground_truth), solution_str))
    return {"score": score, "acc": score}


def _task(data_source: str, extra_info: Mapping[str, Any] | None) -> TextTask:
    return TextTask(data_source, **json.loads((extra_info or {}).get("settings") or "{}"))


def _agent_loop_class() -> list[type]:
    from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput

    class MintAgentLoop(AgentLoopBase):
        """Episodes over tokens: what the model sampled is never decoded and encoded again."""

        async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> Any:
            """Play one episode; return an ``AgentLoopOutput``."""
            task = _task(kwargs["data_source"], kwargs.get("extra_info"))
            episode = TokenEpisode(task, codec(self.tokenizer))
            index, room = int(kwargs["reward_model"]["ground_truth"]), self.rollout_config
            found = await play_episode(
                episode, index, self.server_manager, sampling_params, room.response_length
            )
            return AgentLoopOutput(**found)

    return [MintAgentLoop]


async def play_episode(
    episode: TokenEpisode, index: int, server: Any, sampling_params: Mapping[str, Any], room: int
) -> dict[str, Any]:
    """Play an episode with at most ``room`` tokens after the prompt; return the output's fields.

    An episode that has used up the room is cut: its reward is the one for being cut.

    Args:
        episode: a fresh one.
        index: of the problem.
        server: verl's, with ``generate``.
        sampling_params: what the server is told beside the stop strings.
        room: tokens.

    Raises:
        Unmeasured: the reward could not be measured.
    """
    prompt = await asyncio.to_thread(episode.begin, index)
    params = {**sampling_params, "stop": episode.stop} if episode.stop else dict(sampling_params)
    logprobs: list[float] = []
    request = uuid4().hex  # one for all turns: the server keeps the context
    while not episode.done and (left := room - len(episode.tokens) + len(prompt)) > 0:
        sampled = await server.generate(
            request_id=request, prompt_ids=list(episode.tokens), sampling_params=params
        )
        act = list(sampled.token_ids)[:left]
        said = await asyncio.to_thread(episode.step, act)
        logprobs += [*(sampled.log_probs or [])[: len(act)], *[0.0] * len(said)]
    turns = episode.turns
    if not episode.done:  # what the environment said took the rest of the room
        await asyncio.to_thread(episode.step, [])
    response = episode.tokens[len(prompt) :]
    return {
        "prompt_ids": prompt,
        "response_ids": response[:room],
        "response_mask": episode.mask[len(prompt) :][:room],
        "response_logprobs": logprobs[:room] if len(logprobs) == len(response) else None,
        "reward_score": measured(episode.reward),
        "num_turns": 2 * turns,
        "metrics": {},
        "extra_fields": {"turn_scores": [], "tool_rewards": []},
    }


_find = lazily(globals(), _agent_loop_class, "MintAgentLoop")


def __getattr__(name: str) -> Any:
    return _find(name)
