"""Clients that are hostile, slow or only half there do no harm to others."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from odd_tasks import Large, Odd
from serving import serving

import mint_envs
from mint_envs.client import Client
from mint_envs.executors import Local
from mint_envs.serve import Settings

mint_envs.register("tests/Odd-v0", Odd)
mint_envs.register("tests/Large-v0", Large)

MATH = {"env": "mint/Math-v0", "items": [{"seed": 1, "response": "1"}]}
HEAD = b"POST /v1/score HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    settings = Settings(
        offers=("mint/Math-v0", "tests/Odd-v0", "tests/Large-v0"),
        max_body=100_000, max_bodies=1_000_000, read_s=1.0, write_s=1.0, max_connections=100,
    )  # fmt: skip
    with serving(settings, Local()) as url:
        yield url


@pytest.fixture(autouse=True)
def _others_are_served(url: str) -> Iterator[None]:
    """Whatever a test does, another client is served after it as before."""
    yield
    with Client(url, timeout_s=20, patience_s=20) as client:
        assert client.score("mint/Math-v0", [(1, "no")])[0].score == 0.0


@contextlib.contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        yield connection


def closed(connection: socket.socket) -> bytes:
    """Read until the server closes; return what it said."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while chunk := connection.recv(65536):
            said += chunk
    return said


def test_an_oversized_body_by_its_length(url: str) -> None:
    with connected(url) as connection:
        connection.sendall(HEAD + b"content-length: 9999999999\r\n\r\n")
        assert closed(connection).startswith(b"HTTP/1.1 413")


def test_an_oversized_body_in_chunks(url: str) -> None:
    """It is refused after the limit, not after its end: this one has none."""
    with connected(url) as connection:
        connection.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n")
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 50_000_000:
                connection.sendall(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")
                sent += 0x1000
        assert sent < 40_000_000
    answer = httpx.post(f"{url}/v1/score", content=iter([b"x" * 200_000]))
    assert answer.status_code == 413


@pytest.mark.parametrize("length", [b"-1", b"1, 2", b"1e3", b"9" * 400, b"0x10"])
def test_lengths_that_are_none(url: str, length: bytes) -> None:
    with connected(url) as connection:
        connection.sendall(HEAD + b"content-length: " + length + b"\r\n\r\n{}")
        assert closed(connection).split(b" ")[1][:1] == b"4"


def test_two_lengths_are_refused(url: str) -> None:
    """Else a proxy and this server may disagree about where a request ends."""
    with connected(url) as connection:
        connection.sendall(HEAD + b"content-length: 2\r\ncontent-length: 30\r\n\r\n{}")
        assert closed(connection).startswith(b"HTTP/1.1 400")
    with connected(url) as connection:
        connection.sendall(
            HEAD + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1"
        )
        assert b"HTTP/1.1 200" not in closed(connection)


def test_a_slow_body(url: str) -> None:
    with connected(url) as connection:
        connection.sendall(HEAD + b"content-length: 50\r\n\r\n")
        began = time.monotonic()
        said = b""
        with contextlib.suppress(ConnectionError):
            for _ in range(40):  # a byte now and then does not buy more time
                connection.sendall(b" ")
                time.sleep(0.1)
        said = closed(connection)
        assert said.startswith(b"HTTP/1.1 408") or not said
        assert time.monotonic() - began < 15


@pytest.mark.parametrize("head", [b"", b"G", b"GET /healthz HTTP/1.1\r\nhost: a\r\nx: "])
def test_half_open_connections_are_closed(url: str, head: bytes) -> None:
    with connected(url) as connection:
        began = time.monotonic()
        connection.sendall(head)
        assert closed(connection) == b""
        assert time.monotonic() - began < 15


def test_the_next_head_on_a_connection_may_not_be_slow_either(url: str) -> None:
    with connected(url) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b"200" in connection.recv(4096)
        connection.sendall(b"GET /hea")
        began = time.monotonic()
        closed(connection)
        assert time.monotonic() - began < 15


def test_pipelined_requests_are_answered_in_order(url: str) -> None:
    with connected(url) as connection:
        one = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
        connection.sendall(one + one + one[:10])
        assert closed(connection).count(b"HTTP/1.1 200") == 2


def test_a_client_that_does_not_read(url: str) -> None:
    """Its answers, larger than the buffers on the way, are given up after ``write_s``."""
    body = b'{"env":"tests/Large-v0","problems":[%s]}' % b",".join([b'{"seed":1}'] * 250)
    one = HEAD.replace(b"/v1/score", b"/v1/prompts") + b"content-length: %d\r\n\r\n" % len(body)
    with connected(url) as connection:
        connection.sendall((one + body) * 6)
        time.sleep(4)
        assert len(closed(connection)) < 6 * 250 * 20_000  # it ends before its time


def test_a_client_that_goes_away_in_the_middle(url: str) -> None:
    for part in (HEAD, HEAD + b"content-length: 100\r\n\r\n{"):
        for _ in range(20):
            with connected(url) as connection:
                connection.sendall(part)
    body = json.dumps({"env": "tests/Odd-v0", "items": [{"seed": 1, "response": "no"}]}).encode()
    for _ in range(20):
        with connected(url) as connection:
            connection.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)


def test_idle_connections_make_room(url: str) -> None:
    """The one that has been idle for the longest is closed, without a word."""
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(connected(url)) for _ in range(120)]
        assert httpx.get(f"{url}/healthz", timeout=60).status_code == 200
        assert [closed(connection) for connection in many] == [b""] * 120


def test_too_many_connections_are_told_so() -> None:
    """Where none is idle: each of these has a request of which the body is still to come."""
    settings = Settings(offers=("mint/Math-v0",), read_s=30.0, max_connections=2)
    with serving(settings, Local()) as url, contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(connected(url)).sendall(HEAD + b"content-length: 50\r\n\r\n")
        time.sleep(1.0)
        assert closed(stack.enter_context(connected(url))).startswith(b"HTTP/1.1 429")


def test_large_bodies_share_a_store(url: str) -> None:
    """A hundred clients that each hold back the end of a large body use no more than allowed."""
    with contextlib.ExitStack() as stack:
        refused = 0
        for _ in range(20):
            connection = stack.enter_context(connected(url))
            connection.sendall(HEAD + b"content-length: 99000\r\n\r\n" + b" " * 98_000)
            connection.settimeout(0.05)
            with contextlib.suppress(TimeoutError):
                refused += connection.recv(100).startswith(b"HTTP/1.1 429")
        assert refused >= 5


@pytest.mark.parametrize(
    "line",
    [b"GET http://evil.example/ HTTP/1.1", b"GET /../../etc/passwd HTTP/1.1",
     b"CONNECT evil.example:80 HTTP/1.1", b"GET /%00 HTTP/1.1", b"PRI * HTTP/2.0",
     b"TRACE / HTTP/1.1", b"GET /" + b"a" * 200_000 + b" HTTP/1.1", b"\x16\x03\x01\x02\x00"],
    ids=range(8),
)  # fmt: skip
def test_odd_requests(url: str, line: bytes) -> None:
    with connected(url) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(line + b"\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        said = closed(connection)
        assert not said or said.split(b" ")[1][:1] == b"4"


def test_an_upgrade_is_not_taken(url: str) -> None:
    answer = httpx.get(f"{url}/healthz", headers={"connection": "upgrade", "upgrade": "websocket"})
    assert answer.status_code == 200
