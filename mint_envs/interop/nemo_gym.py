"""NeMo Gym: a resources server over HTTP. It needs ``pip install fastapi uvicorn``.

    uvicorn --factory mint_envs.interop.nemo_gym:app --port 9000

Rows are made of ``rows``; ``verify`` is the whole of the verdict. Unmeasured: ``mask_sample`` is
true, which NeMo Gym leaves out of every score, and ``failure_kind`` says why.
"""
# No ``from __future__ import annotations``: FastAPI must see the type of a request.

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..core import Task
from .shapes import TextTask, as_messages, completion_text, index_of


def rows(
    env: str | Task[Any], count: int | None = None, start: int = 0, **settings: Any
) -> list[dict[str, Any]]:
    """Return rows of NeMo Gym's JSONL: a request, and which problem it is.

    Args:
        env: an id, or a task.
        count: how many rows; None: all of a data set, which a task without end needs told.
        start: index of the first problem.
        settings: of the environment, JSON values.
    """
    return [
        {
            "responses_create_params": {"input": as_messages(row["prompt"])},
            "verifier_metadata": {
                "env": str(env),
                "task_index": row["task_index"],
                "settings": json.dumps(settings),
            },
        }
        for row in TextTask(env, **settings).rows(count, start)
    ]


def verify(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ``BaseVerifyResponse`` for a ``BaseVerifyRequest``, both as plain values.

    Args:
        body: the row, with the ``response`` of the model.

    Raises:
        KeyError: the request is none of a row of ``rows``.
        SettingError: the environment has several turns, or does not have such a setting.
    """
    problem = body["verifier_metadata"]
    task = TextTask(problem["env"], **json.loads(problem.get("settings") or "{}"))
    task = task.single_turn("another library")
    reward = task.score(index_of(problem), _last_message_text(body["response"]))
    found = {
        **body,
        "reward": 0.0 if reward.score is None else reward.score,
        "reward_components": dict(reward.parts),
        "mask_sample": not reward.measured,
    }
    if not reward.measured:
        found["failure_kind"] = "verifier_error"
        found["failure_reason"] = json.dumps(dict(reward.metadata), default=str)
    return found


def summary(responses: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return NeMo Gym's ``AggregateMetrics``: the mean reward, over what was measured.

    Args:
        responses: what ``verify`` returned.
    """
    kept = [found["reward"] for found in responses if not found.get("mask_sample")]
    means = {"mean/reward": sum(kept) / len(kept)} if kept else {}
    counts = {"measured": len(kept), "unmeasured": len(responses) - len(kept)}
    return {"agent_metrics": {**means, **counts}, "key_metrics": means, "group_level_metrics": []}


def app() -> Any:
    """Return the FastAPI application: the routes of a NeMo Gym resources server."""
    from fastapi import FastAPI, HTTPException

    server = FastAPI(title="mint-envs for NeMo Gym")

    @server.post("/seed_session")
    @server.post("/close_session")
    async def session(body: dict[str, Any]) -> dict[str, Any]:
        """Keep no state; return the identifier that an Environment Server gave, if any."""
        kept = body.get("resources_session_id")
        return {} if kept is None else {"resources_session_id": kept}

    @server.post("/verify")
    async def verify_route(body: dict[str, Any]) -> dict[str, Any]:
        try:
            return await asyncio.to_thread(verify, body)
        except (KeyError, ValueError) as error:
            raise HTTPException(422, f"{type(error).__name__}: {error}") from error

    @server.post("/aggregate_metrics")
    async def aggregate(body: dict[str, Any]) -> dict[str, Any]:
        return summary(body["verify_responses"])

    @server.get("/reverify_mode")
    async def reverify_mode() -> str:
        """The verdict hangs on the request alone, so it may be asked for again."""
        return "stateless"

    return server


def _last_message_text(response: Mapping[str, Any]) -> str:
    """Return the text of the last message of a response."""
    messages = [item for item in response["output"] if item.get("type", "message") == "message"]
    return completion_text(messages)
