"""OpenEnv's own server and clients, HTTP and WebSocket: ``nox -s interop_openenv``."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import uvicorn
from fastapi.testclient import TestClient
from flaky import GUESS, SUM, answer
from openenv.core.generic_client import GenericEnvClient
from page import examples

import mint_envs
from mint_envs.interop import openenv as adapter

pytestmark = pytest.mark.filterwarnings("default")  # theirs


class Served:
    def __init__(self, app: Any) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")
        self.server, self.url = uvicorn.Server(config), f"http://127.0.0.1:{port}"
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self) -> str:
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive()
        return self.url

    def __exit__(self, *_: Any) -> None:
        self.server.should_exit = True
        self.thread.join()


@pytest.fixture(scope="module")
def guess_url() -> Iterator[str]:
    with Served(adapter.app(GUESS, count=20, sessions=8)) as url:
        yield url


async def guess(url: str, seed: int) -> tuple[list[str], Any]:
    """Play problem ``seed`` over a WebSocket: up from 0."""
    said = []
    async with GenericEnvClient(base_url=url) as client:
        result = await client.reset(seed=seed)
        assert [m["role"] for m in result.observation["messages"]] == ["system", "user"]
        assert (result.reward, result.done) == (None, False)
        while not result.done:
            result = await client.step({"message": str(len(said))})
            said.append(" ".join(m["content"] for m in result.observation["messages"]))
        state = await client.state()
        assert state["step_count"] == len(said)
    return said, result


def test_several_turns_over_a_websocket(guess_url: str) -> None:
    for seed in range(4):
        number = int(answer(GUESS, seed))
        said, result = asyncio.run(guess(guess_url, seed))
        assert result.reward == pytest.approx(max(0, 3 - number) / 3)
        assert said == ["higher"] * min(number, 2) + [""]


def test_sessions_do_not_mix(guess_url: str) -> None:
    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*[guess(guess_url, seed) for seed in range(8)])

    rewards = [result.reward for _, result in asyncio.run(all_at_once())]
    assert rewards == pytest.approx([max(0, 3 - int(answer(GUESS, s))) / 3 for s in range(8)])


def test_two_hundred_episodes_at_once() -> None:
    async def all_at_once(url: str) -> list[Any]:
        return await asyncio.gather(*[guess(url, seed) for seed in range(200)])

    with Served(adapter.app(GUESS, count=200, sessions=200)) as url:
        rewards = [result.reward for _, result in asyncio.run(all_at_once(url))]
    wanted = [max(0, 3 - int(answer(GUESS, seed))) / 3 for seed in range(200)]
    assert rewards == pytest.approx(wanted)


def test_unmeasured_is_none(guess_url: str) -> None:
    async def down() -> Any:
        async with GenericEnvClient(base_url=guess_url) as client:
            await client.reset(index=3)
            return await client.step({"message": "down"})

    result = asyncio.run(down())
    assert (result.reward, result.done) == (None, True)


def test_tasks_and_plain_http() -> None:
    with TestClient(adapter.app(SUM, count=5)) as client:
        assert client.get("/mint/splits").json()[0]["name"] == "train"
        assert client.post("/mint/num_tasks", json={"split": "train"}).json() == {"num_tasks": 5}
        task = client.post("/mint/task", json={"split": "train", "index": 2}).json()
        assert "#2" in str(task)
        reset = client.post("/reset", json={"seed": 2}).json()
        assert reset["observation"]["messages"][0]["content"].endswith("= ?")


def test_code_is_run_from_many_threads() -> None:
    task = mint_envs.make("mint/Code-v0", style="chat").unwrapped.task  # type: ignore[attr-defined]

    async def solve(url: str, seed: int) -> Any:
        async with GenericEnvClient(base_url=url, message_timeout_s=120) as client:
            await client.reset(seed=seed)
            gold = next(iter(task.examples(task.problem(seed))))
            return (await client.step({"message": gold if seed % 2 else "pass"})).reward

    with (
        Served(adapter.app("mint/Code-v0", count=5, sessions=8, style="chat")) as url,
        ThreadPoolExecutor(4) as pool,
    ):
        rewards = list(pool.map(lambda seed: asyncio.run(solve(url, seed)), range(6)))
    assert rewards == [0, 1, 0, 1, 0, 1]


def test_the_example_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    server, client = examples("OpenEnv")
    scope: dict[str, Any] = {"__name__": "docs"}
    exec(server, scope)
    with Served(scope["app"]) as url:
        exec(client.replace("http://localhost:8000", url), {})
    assert capsys.readouterr().out.strip().endswith(("0.0", "1.0"))
