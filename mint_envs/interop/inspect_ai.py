"""inspect_ai: an environment as a ``Task``, of one turn or several.

    @task  # in a file of yours: inspect eval sums.py --model openai-api/...
    def sums():
        return inspect_task("mint/Math-v0", count=64, style="chat", split="test")

Unmeasured: ``Score.unscored``, which its metrics leave out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..core import Message, Reward, Task
from .shapes import TextEpisode, TextTask, details


def inspect_task(
    env: str | Task[Any], count: int | None = None, start: int = 0, **settings: Any
) -> Any:
    """Return an ``inspect_ai.Task`` of ``count`` problems, from number ``start`` on.

    The model says each turn; the environment answers by messages of the user. Its verdict is the
    score, with the parts of the reward as metadata.

    Raises:
        SettingError: a setting that the environment does not have, or ``count`` is missing where
            problems have no end.
    """
    from inspect_ai import Task as InspectTask
    from inspect_ai.dataset import MemoryDataset, Sample

    task = TextTask(env, **settings)
    samples = [
        Sample(input=_chat(task.messages(index)), id=index, metadata={"task_index": index})
        for index in task.numbers(count, start)
    ]
    return InspectTask(
        dataset=MemoryDataset(samples, name=task.name),
        solver=_player(task),
        scorer=_verdict(),
        name=task.name.rpartition(":")[2].replace("/", "-"),
    )


def _player(task: TextTask) -> Any:
    """Return the solver that plays an episode, and keeps its reward in the sample's store."""
    from anyio.to_thread import run_sync
    from inspect_ai.solver import solver

    @solver
    def mint_player() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            episode = await run_sync(task.start, state.metadata["task_index"])
            try:
                while not episode.done and not state.completed:
                    state = await generate(state)
                    cut = state.output.stop_reason in ("max_tokens", "model_length")
                    said = await run_sync(partial(_take, episode, state.output.completion, cut))
                    state.messages += _chat(said)
            finally:
                await run_sync(episode.close)
            state.store.set("mint_reward", _plain(episode.finish()))
            return state

        return solve

    return mint_player()


def _take(episode: TextEpisode, text: str, cut: bool) -> list[Message]:
    """Give a response to the episode; return what it says to that."""
    if not cut:
        return episode.respond(text)
    episode.finish(text)
    return []


def _plain(reward: Reward) -> dict[str, Any]:
    return {"score": reward.score, "details": details(reward), "metadata": dict(reward.metadata)}


def _verdict() -> Any:
    from inspect_ai.scorer import Score, mean, scorer, stderr

    @scorer(metrics=[mean(), stderr()])
    def mint_verdict() -> Any:
        async def score(state: Any, target: Any) -> Any:
            reward = state.store.get("mint_reward")
            told = {**reward["details"], "metadata": reward["metadata"]}
            answer = state.output.completion
            if reward["score"] is None:
                return Score.unscored(reason="not measured", answer=answer, metadata=told)
            return Score(value=reward["score"], answer=answer, metadata=told)

        return score

    return mint_verdict()


def _chat(messages: Sequence[Message]) -> list[Any]:
    """Return messages as inspect_ai has them; results of tools are the user's, without calls."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "assistant": ChatMessageAssistant}
    return [kinds.get(m["role"], ChatMessageUser)(content=m["content"]) for m in messages]
