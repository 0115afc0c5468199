"""A server that shares: who leaves takes nothing with him, and a large body gets its answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator

import httpx
import pytest
from odd_tasks import Odd
from server_requests import raw
from serving import serving

import mint_envs
from mint_envs.client import Client
from mint_envs.serve import Settings

mint_envs.register("tests/Odd-v0", Odd)


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
