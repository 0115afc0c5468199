"""verifiers' own loader, scorer and evaluation: ``nox -s interop_verifiers``.

The evaluation is the command ``vf-eval``: its chat program talks to a model on loopback. It fetches
the program's own requirements once, with uv.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import openai_server
import pytest
import verifiers.v1 as vf
from flaky import GUESS, SUM, answer
from verifiers.v1.trace import AgentInfo
from verifiers.v1.utils.loaders import load_taskset, taskset_config_type

import mint_envs
from mint_envs.errors import SettingError

pytestmark = pytest.mark.filterwarnings("default")  # theirs
ID = "mint_envs_verifiers"


def tasks(**settings: Any) -> list[Any]:
    config = taskset_config_type(ID)(id=ID, **settings)
    return list(load_taskset(config))


def scored(task: Any, reply: str) -> Any:
    """Return verifiers' trace of a reply, scored by its own ``Task.score``."""
    trace = vf.Trace(
        task=vf.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash),
        agent=AgentInfo(config=vf.AgentConfig()),
    )
    trace.root_reply = reply
    asyncio.run(task.score(trace))
    return trace


def test_offline_score() -> None:
    made = tasks(env=SUM, count=3)
    assert [task.data.task_index for task in made] == [0, 1, 2]
    assert len({task.key for task in made}) == 3
    assert scored(made[1], answer(SUM, 1)).reward == 1.0
    trace = scored(made[1], "nothing")
    assert trace.reward == 0.0
    assert trace.metrics["right"] == 0.0


def test_unmeasured_is_an_error() -> None:
    with pytest.raises(Exception, match="sandbox is down"):
        scored(tasks(env=SUM, count=1)[0], "down")


def test_code_is_run() -> None:
    env = mint_envs.make("mint/Code-v0", style="chat")
    task = env.unwrapped.task  # type: ignore[attr-defined]
    made = tasks(env="mint/Code-v0", count=2, settings={"style": "chat"})
    gold = next(iter(task.examples(task.problem(1))))
    assert [scored(made[1], gold).reward, scored(made[0], "pass").reward] == [1.0, 0.0]


def test_several_turns_are_refused() -> None:
    with pytest.raises(SettingError, match="several"):
        tasks(env=GUESS, count=1)


def test_vf_eval(tmp_path: Path) -> None:
    """The command plays four problems; one of them cannot be measured."""

    def policy(messages: list[dict[str, Any]]) -> str:
        question = messages[-1]["content"]
        return "down" if question == first else str(sum(map(int, question[:-4].split("+"))))

    first = tasks(env=SUM, count=1)[0].data.prompt[0].content
    with openai_server.serve(policy) as url:
        path = os.pathsep.join(
            [str(Path(__file__).parent), *filter(None, [os.getenv("PYTHONPATH")])]
        )
        bin = str(Path(sys.executable).parent)
        environment = {
            **os.environ, "PYTHONPATH": path, "NO_KEY": "none",
            "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}",
        }  # fmt: skip
        done = subprocess.run(
            [
                f"{bin}/vf-eval", ID, "--env.taskset.env", SUM, "--env.taskset.count", "4",
                "--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess",
                "--model", "any", "--client.base-url", url, "--client.api-key-var", "NO_KEY",
                "--output-dir", str(tmp_path), "--no-push",
            ],
            env=environment, capture_output=True, text=True, timeout=500,
        )  # fmt: skip
    (file,) = tmp_path.rglob("traces.jsonl")
    episodes = [json.loads(line) for line in file.read_text().splitlines()]
    traces = {e["task"]["data"]["task_index"]: e["traces"][0] for e in episodes}
    assert sorted(traces) == [0, 1, 2, 3], done.stdout + done.stderr
    for seed, trace in traces.items():
        told = [error["message"] for error in trace["errors"]]
        if trace["task"]["data"]["prompt"][0]["content"] == first:
            assert any("sandbox is down" in message for message in told)
            assert trace["rewards"]["verdict"] is None
        else:
            assert told == []
            assert trace["rewards"]["verdict"]["score"] == 1.0, seed
