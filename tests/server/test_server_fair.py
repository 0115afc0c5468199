"""A server that shares: who leaves takes nothing with him, and a large body gets its answer."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import httpx
import pytest
from odd_tasks import Odd
from server_requests import raw
from serving import serving

import mint_envs
from mint_envs.client import Client
from mint_envs.executors import Lost
from mint_envs.serve import Settings
from mint_envs.serve.fair import CLIENT
from mint_envs.serve.guard import Guard, Message, Receive, Scope, Send
from mint_envs.serve.work import Desk

mint_envs.register("tests/Odd-v0", Odd)
_NO_TOKEN = hashlib.sha256(b"").hexdigest()[:16]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server with workers of its own: two for slow work, and one more."""
    with serving(Settings(max_body=100_000, read_s=5.0, executor="processes:2")) as url:
        yield url


def score_form(response: str, count: int = 1) -> str:
    items = [{"seed": 1, "response": response}] * count
    return json.dumps({"env": "tests/Odd-v0", "items": items})


def test_clients_that_leave_take_no_worker_with_them(url: str) -> None:
    """Without this, each of their sleeps of ten minutes would have to end first."""
    with Client(url, timeout_s=120) as client:
        assert client.score("tests/Odd-v0", [(1, "no")])[0].score == 0.0  # workers are up
        for _ in range(4):
            with pytest.raises(httpx.TimeoutException):
                httpx.post(
                    f"{url}/v1/score", content=score_form("sleep 600", 8), timeout=0.5,
                    headers={"content-type": "application/json"},
                )  # fmt: skip
        began = time.monotonic()
        assert client.score("tests/Odd-v0", [(1, "sleep 0.1")])[0].measured
        assert time.monotonic() - began < 90
    numbers = httpx.get(f"{url}/metrics").text
    given_up = next(line for line in numbers.splitlines() if line.startswith("mint_given_up "))
    assert float(given_up.split()[1]) >= 4
    assert 'mint_requests_total{route="/v1/score",status="499"} 4.0' in numbers


def test_a_body_that_is_too_large_gets_its_answer(url: str) -> None:
    """An asyncio client writes all of its body before it reads."""

    async def post(size: int) -> str:
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /v1/score HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {size}\r\n\r\n".encode())
        for _ in range(size // 10_000):
            writer.write(b"x" * 10_000)
            await writer.drain()
            await asyncio.sleep(0.001)
        answer = await reader.read()
        writer.close()
        return answer.decode()

    async def many() -> list[str]:
        return await asyncio.gather(*(post(600_000) for _ in range(10)))

    for answer in asyncio.run(many()):
        assert answer.startswith("HTTP/1.1 413")
        assert "larger than 100000 bytes" in answer


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("[::1]", 200), ("[::1]:80", 200), ("127.0.0.1:9", 200),
     ("[::1].evil.com", 403), ("[::1]evil", 403), ("[::1", 403), ("localhost.evil.com", 403),
     ("localhost:80:90", 403), ("", 403)],
)  # fmt: skip
def test_hosts(url: str, host: str, status: int) -> None:
    assert httpx.get(f"{url}/v1/envs", headers={"host": host}).status_code == status


def test_several_responses_to_a_problem_that_takes_one(url: str) -> None:
    items = [{"seed": 1, "response": ["first", "second"]}]
    answer = raw(url, "/v1/score", json.dumps({"env": "tests/Odd-v0", "items": items}))
    assert answer.status_code == 422
    assert "takes one" in answer.json()["detail"]


# -- a request that waits is not read meanwhile ---------------------------------------------------


class Hand:
    """An executor whose work is over at once, after as many seconds as it says it took."""

    slots = 2

    def submit(self, function: Any, task: Any, item: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        if item[1] != [math.inf]:
            future.set_result((item[1], item[1][0]))
        return future

    def abandon(self, future: Future[Any]) -> None:
        future.set_exception(Lost("it was given up"))


def programs(_: None, items: list[float]) -> list[float]:
    return items


def sums(_: None, items: list[float]) -> list[float]:
    return items


class Asked:
    """One request through a guard, by its parts; it goes away when ``gone`` is set."""

    def __init__(self, client: str, path: str, body: str) -> None:
        self.client, self.path, self.body = client, path, body.encode()
        self.gone, self.status, self.sent = asyncio.Event(), 0, False

    async def to(self, guard: Guard) -> int:
        """Return the status of the answer, or 0."""
        scope = {"type": "http", "path": self.path, "client": (self.client, 1),
                 "headers": [(b"host", b"localhost")]}  # fmt: skip
        await guard(scope, self._receive, self._send)
        return self.status

    async def _receive(self) -> Message:
        if not self.sent:
            self.sent = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.status = message.get("status", self.status)


@pytest.mark.parametrize(
    ("path", "body", "about"),
    [
        ("/v1/grade/code", "[", "grade/code"),
        ("/v1/score", '{"env": "mint/Code-v0", [', "mint/Code-v0"),
        ("/v1/score", '{"items": [{"response": "\\"env\\": \\"x\\""}], "env":"c"', "c"),
    ],
)
def test_slow_work_of_a_client_that_left_waits_before_its_form_is_read(
    path: str, body: str, about: str
) -> None:
    """And what it asks besides, and what others ask who have stayed, does not."""
    read: list[str] = []

    async def form(scope: Scope, receive: Receive, send: Send) -> None:
        read.append(CLIENT.get().partition("@")[2])
        await send({"type": "http.response.start", "status": 200})

    async def play() -> None:
        desk = Desk(Hand(), 100, 2)  # type: ignore[arg-type]
        guard = Guard(form, Settings(), desk)

        async def work_of(client: str, seconds: float) -> None:
            await Asked(client, path, body).to(guard)  # so that the desk may know whose it is
            CLIENT.set(f"{_NO_TOKEN}@{client}")
            await desk.run(programs, None, [seconds], about=about)

        await desk.run(sums, None, [0.001], about="sums")
        await work_of("stayed", 1.0)
        leaver = asyncio.create_task(work_of("left", math.inf))
        await asyncio.sleep(0.01)
        leaver.cancel()
        await asyncio.wait([leaver])
        read.clear()

        held = [Asked("left", path, body) for _ in range(2)]
        waiting = [asyncio.create_task(one.to(guard)) for one in held]
        await asyncio.sleep(0.01)
        assert await Asked("left", "/v1/score", '{"env": "sums"').to(guard) == 200
        assert await Asked("stayed", path, body).to(guard) == 200
        assert read == ["left", "stayed"]
        assert desk.waiting == 2
        assert await Asked("left", path, body).to(guard) == 429  # it has two that wait
        held[0].gone.set()
        assert await waiting[0] == 0
        assert read == ["left", "stayed"]
        assert await waiting[1] == 200
        assert read == ["left", "stayed", "left"]
        assert desk.waiting == 0

    asyncio.run(play())


def test_a_request_waits_once() -> None:
    """What has waited as text does not wait again as work."""

    async def play() -> None:
        desk = Desk(Hand(), 100)  # type: ignore[arg-type]
        await desk.run(programs, None, [1.0], about="programs")
        desk._keep_wait("", 0.2)
        began = time.monotonic()
        await desk.before_reading("programs")
        assert time.monotonic() - began >= 0.2
        desk._keep_wait("", 3600.0)
        async with asyncio.timeout(60):
            assert await desk.run(programs, None, [1.0], about="programs") == [1.0]

    asyncio.run(play())
