"""openreward's own server and client on loopback: ``nox -s interop_openreward``."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from flaky import GUESS, SUM, answer
from openreward import _update_check
from openreward.api.environments.client import EnvironmentsAPI
from page import examples
from sse_starlette.sse import AppStatus

import mint_envs
from mint_envs.interop import openreward as adapter

pytestmark = pytest.mark.filterwarnings("default")  # theirs
_update_check._checked = True  # no call home from a test


@contextmanager
def running(app: Any) -> Iterator[str]:
    """Serve an application; give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    AppStatus.should_exit_event = None  # it keeps to the loop of the first server of a process
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def serving(env: str, count: int, **settings: Any) -> Iterator[Any]:
    """Serve an environment; give openreward's client of it."""
    with running(adapter.server(env, count, **settings).app) as url:
        client = EnvironmentsAPI(base_url=url, api_key="none")
        try:
            yield client.get(env.rpartition("/")[2].lower())
        finally:
            client.close()


def text(blocks: Any) -> str:
    return "".join(block.text for block in blocks)


def test_one_turn() -> None:
    with serving(SUM, 4) as env:
        assert list(env.list_splits()) == ["train"]
        tasks = env.list_tasks("train")
        assert len(tasks) == 4
        for seed, task in enumerate(tasks):
            with env.session(task=task) as session:
                assert text(session.get_prompt()).endswith("= ?")
                (tool,) = session.list_tools()
                assert (tool.name, list(tool.input_schema["properties"])) == (
                    "submit",
                    ["response"],
                )
                right = answer(SUM, seed) if seed else "down"
                out = session.call_tool("submit", {"response": right})
                assert (out.reward, out.finished) == ((1.0 if seed else None), True)


@pytest.mark.parametrize("count", [6, 200])
def test_several_turns_at_once(count: int) -> None:
    """All sessions are open before any of them has its first response."""
    all_open = threading.Barrier(count)

    def play(seed: int) -> float:
        with env.session(task=tasks[seed]) as session:
            all_open.wait(300)
            for guess in range(3):
                out = session.call_tool("submit", {"response": str(guess)})
                if out.finished:
                    break
            return float(out.reward)

    with serving(GUESS, count) as env, ThreadPoolExecutor(count) as pool:
        tasks = env.list_tasks("train")
        rewards = list(pool.map(play, range(count)))
    assert rewards == pytest.approx([max(0, 3 - int(answer(GUESS, s))) / 3 for s in range(count)])


def test_the_tools_are_the_real_ones() -> None:
    task = mint_envs.make("mint/ToolUse-v0", toolkit="keyvalue", plain=True).unwrapped.task  # type: ignore[attr-defined]
    with serving("mint/ToolUse-v0", 6, toolkit="keyvalue", plain=True) as env:
        tasks = env.list_tasks("train")
        for seed in range(6):
            request = task.problem(seed).request
            with env.session(task=tasks[seed]) as session:
                assert text(session.get_prompt()) == request.text
                names = {tool.name for tool in session.list_tools()}
                assert names == {"get_value", "set_value", "delete_key", "list_keys", "finish"}
                for name, arguments in (step for turn in request.turns for step in turn):
                    assert "Error" not in text(session.call_tool(name, arguments).blocks)
                out = session.call_tool("finish", {"answer": request.answer or ""})
                assert (out.reward, out.finished) == (1.0, True)


def test_code_is_run() -> None:
    task = mint_envs.make("mint/Code-v0", style="chat").unwrapped.task  # type: ignore[attr-defined]
    with serving("mint/Code-v0", 2, style="chat") as env:
        for seed, spec in enumerate(env.list_tasks("train")):
            with env.session(task=spec) as session:
                gold = next(iter(task.examples(task.problem(seed))))
                assert session.call_tool("submit", {"response": gold}).reward == 1.0


def test_the_example_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    server, client = examples("Open Reward Standard")
    scope: dict[str, Any] = {"__name__": "docs"}
    exec(server, scope)
    with running(scope["server"].app) as url:
        exec(client.replace("http://localhost:8080", url), {})
    said = capsys.readouterr().out.splitlines()  # the server's log too
    assert any(line.startswith("[") and "'finish'" in line for line in said)
    assert {"0.0", "1.0"} & set(said)
