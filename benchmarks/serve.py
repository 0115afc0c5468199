"""What a server answers, and how fast: ``python -m benchmarks.serve``.

So many clients ask at once, each again as soon as it has its answer, for one reward of one sum
(``mint/Math-v0``); every reward is compared with the one that is right. Clients run in a process of
their own, by asyncio. Each makes its connection and asks once before the clock starts.

With ``--openenv PYTHON``, an interpreter that has OpenEnv and what this package needs, OpenEnv's
own server (``mint_envs.interop.openenv``) is asked for the same sums, by its own client: a reset
and a step over the WebSocket of an open session. With ``--nemo-gym PYTHON`` NeMo Gym's own
resources server, whose ``verify`` is ``mint_envs.interop.nemo_gym``'s, is asked by ``/verify``. It
and ours are asked by the same few lines of HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import numpy as np

import mint_envs

ENV = "mint/Math-v0"
_SERVE = "import sys; from mint_envs.cli import main; sys.argv[0] = 'mint-envs'; main()"
_OPENENV = (
    "import sys, uvicorn; from mint_envs.interop import openenv; "
    "app = openenv.app('mint/Math-v0', count=1000, sessions=400); "
    "uvicorn.run(app, host='127.0.0.1', port=int(sys.argv[1]), log_level='error')"
)
_NEMO_GYM = """
import sys, uvicorn
from unittest.mock import MagicMock
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig, BaseVerifyRequest, BaseVerifyResponse, SimpleResourcesServer)
from nemo_gym.server_utils import ServerClient
from mint_envs.interop import nemo_gym

class Request(BaseVerifyRequest):
    verifier_metadata: dict

class Sums(SimpleResourcesServer):
    config: BaseResourcesServerConfig
    async def verify(self, body: Request) -> BaseVerifyResponse:
        return BaseVerifyResponse(**nemo_gym.verify(body.model_dump()))

port = int(sys.argv[1])
config = BaseResourcesServerConfig(host="127.0.0.1", port=port, entrypoint="", name="sums")
server = Sums(config=config, server_client=MagicMock(spec=ServerClient))
uvicorn.run(server.setup_webserver(), host="127.0.0.1", port=port, log_level="error")
"""
_SUMS = 200
_UP_S = 120.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 50, 200])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--openenv", metavar="PYTHON", help="measure OpenEnv's server too")
    parser.add_argument("--nemo-gym", metavar="PYTHON", help="measure NeMo Gym's server too")
    parser.add_argument("--rounds", type=int, default=1, help="of all servers, in turns")
    parser.add_argument("--processes", type=int, help="as of mint-envs serve")
    parser.add_argument("--client", nargs=4, help=argparse.SUPPRESS)  # kind, port, clients, seconds
    options = parser.parse_args(arguments)
    if options.client:
        kind, port, clients, seconds = options.client
        print(json.dumps(asyncio.run(asked(kind, int(port), int(clients), float(seconds)))))
        return
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f} before; {options.seconds:g} s each")
    print(
        f"{'server':24} {'clients':>7} {'rewards/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'wrong':>6}"
    )
    for _ in range(options.rounds):
        measure_all(options)


def measure_all(options: argparse.Namespace) -> None:
    """Measure each server once."""
    more = [] if options.processes is None else ["--processes", str(options.processes)]
    here, theirs = sys.executable, options.openenv
    command = [here, "-c", _SERVE, "serve", "--offer", ENV, *more, "--port"]
    measure("mint-envs serve", "ours", command, here, options)
    if theirs:
        measure("OpenEnv", "openenv", [theirs, "-c", _OPENENV], theirs, options)
    if options.nemo_gym:
        measure("NeMo Gym", "nemo-gym", [options.nemo_gym, "-c", _NEMO_GYM], here, options)


def measure(
    name: str, kind: str, command: list[str], python: str, options: argparse.Namespace
) -> None:
    """Start a server, and print a line for each number of clients."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    server = subprocess.Popen([*command, str(port)], stdout=subprocess.DEVNULL)
    try:
        wait_for(port, server)
        client_asks(python, kind, port, 1, 1.0)  # its workers come up
        for clients in options.clients:
            found = client_asks(python, kind, port, clients, options.seconds)
            p50, p99 = np.percentile(found["seconds"], [50, 99]) * 1e3
            rate = len(found["seconds"]) / found["wall_s"]
            numbers = f"{clients:10}{rate:10.0f}{p50:10.1f}{p99:10.1f}{found['wrong']:10}"
            print(f"{name:24}{numbers}", flush=True)
    finally:
        server.terminate()
        server.wait(60)


def client_asks(python: str, kind: str, port: int, clients: int, seconds: float) -> dict[str, Any]:
    """Let a process of its own ask; return what it found."""
    words = map(str, (kind, port, clients, seconds))
    line = [python, "-m", "benchmarks.serve", "--client", *words]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Wait until a server takes connections."""
    late = time.monotonic() + _UP_S
    while time.monotonic() < late and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    sys.exit("the server does not come up")


Ask = Callable[[int, str], Awaitable[float | None]]  # takes a seed and a response


async def asked(kind: str, port: int, clients: int, seconds: float) -> dict[str, Any]:
    """Ask with so many clients for so long; return the seconds of each, and how many were wrong."""
    task = mint_envs.make(ENV).unwrapped.task  # type: ignore[attr-defined]
    sums = [(seed, task.sample(np.random.default_rng(seed)).answer) for seed in range(_SUMS)]
    took: list[float] = []
    wrong = 0

    async def turn(ask: Ask, at: int) -> None:
        nonlocal wrong
        seed, right = sums[at % _SUMS]
        began = time.perf_counter()
        score = await ask(seed, right if at % 2 else right + "1")
        took.append(time.perf_counter() - began)
        wrong += score != float(at % 2)

    async def go_on(ask: Ask, at: int, ends: float) -> None:
        while time.monotonic() < ends:
            at += 1
            await turn(ask, at)

    async with AsyncExitStack() as stack:
        connect = _CONNECT[kind]
        asks = [await stack.enter_async_context(connect(port)) for _ in range(clients)]
        for number, ask in enumerate(asks):
            await turn(ask, number)
        took.clear()
        began = time.monotonic()
        ends = began + seconds
        await asyncio.gather(*(go_on(ask, number, ends) for number, ask in enumerate(asks)))
        return {"seconds": took, "wrong": wrong, "wall_s": time.monotonic() - began}


Post = Callable[[str, Any], Awaitable[Any]]  # takes a path and a body; both ways are JSON


@asynccontextmanager
async def _http(port: int) -> AsyncIterator[Post]:
    """Yield what posts over one connection: a client that costs next to nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def post(path: str, body: Any) -> Any:
        sent = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(sent)}\r\n\r\n".encode() + sent)
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines if line)
        answer = await reader.readexactly(int(fields["content-length"]))
        if first.split()[1] != "200":
            raise RuntimeError(f"{first}: {answer[:300]!r}")
        return json.loads(answer)

    try:
        yield post
    finally:
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def _ours(port: int) -> AsyncIterator[Ask]:
    async with _http(port) as post:

        async def ask(seed: int, text: str) -> float | None:
            body = {"env": ENV, "items": [{"seed": seed, "response": text}]}
            score: float | None = (await post("/v1/score", body))["rewards"][0]["score"]
            return score

        yield ask


@asynccontextmanager
async def _nemo_gym(port: int) -> AsyncIterator[Ask]:
    async with _http(port) as post:

        async def ask(seed: int, text: str) -> float | None:
            said = {"type": "output_text", "text": text, "annotations": []}
            message = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
            response = {
                "id": "r", "object": "response", "created_at": 0, "model": "m", "tools": [],
                "tool_choice": "auto", "parallel_tool_calls": False,
                "output": [{**message, "content": [said]}],
            }  # fmt: skip
            body = {
                "responses_create_params": {"input": "a sum"},
                "verifier_metadata": {"env": ENV, "task_index": seed},
                "response": response,
            }
            reward: float | None = (await post("/verify", body))["reward"]
            return reward

        yield ask


@asynccontextmanager
async def _openenv(port: int) -> AsyncIterator[Ask]:
    from openenv.core.generic_client import GenericEnvClient

    url = f"http://127.0.0.1:{port}"
    async with GenericEnvClient(base_url=url, message_timeout_s=120) as client:

        async def ask(seed: int, text: str) -> float | None:
            await client.reset(seed=seed)
            reward: float | None = (await client.step({"message": text})).reward
            return reward

        yield ask


_CONNECT = {"ours": _ours, "openenv": _openenv, "nemo-gym": _nemo_gym}


if __name__ == "__main__":
    main()
