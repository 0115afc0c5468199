"""What a server answers, and how fast: ``python -m benchmarks.serve``.

So many clients ask at once, each again as soon as it has its answer, for one reward of one sum
(``mint/Math-v0``); every reward is compared with the one that is right. With ``--openenv PYTHON``,
an interpreter that has OpenEnv and this package, OpenEnv's own server
(``mint_envs.interop.openenv``) is asked for the same sums: a reset and a step over the WebSocket of
an open session. Clients run in a process of their own, by asyncio.
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
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import httpx
import numpy as np

import mint_envs

ENV = "mint/Math-v0"
_SERVE = "import sys; from mint_envs.cli import main; sys.argv[0] = 'mint-envs'; main()"
_OPENENV = (
    "import sys, uvicorn; from mint_envs.interop import openenv; "
    "app = openenv.app('mint/Math-v0', count=1000, sessions=400); "
    "uvicorn.run(app, host='127.0.0.1', port=int(sys.argv[1]), log_level='error')"
)
_SUMS = 200
_UP_S = 120.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 50, 200])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--openenv", metavar="PYTHON", help="measure OpenEnv's server too")
    parser.add_argument("--processes", type=int, help="as of mint-envs serve")
    parser.add_argument("--client", nargs=4, help=argparse.SUPPRESS)  # kind, url, clients, seconds
    options = parser.parse_args(arguments)
    if options.client:
        kind, url, clients, seconds = options.client
        print(json.dumps(asyncio.run(asked(kind, url, int(clients), float(seconds)))))
        return
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f} before; {options.seconds:g} s each")
    print(
        f"{'server':24} {'clients':>7} {'rewards/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'wrong':>6}"
    )
    more = [] if options.processes is None else ["--processes", str(options.processes)]
    command = [sys.executable, "-c", _SERVE, "serve", "--offer", ENV, *more, "--port"]
    measure("mint-envs serve", "ours", command, sys.executable, options)
    if options.openenv:
        measure("OpenEnv", "openenv", [options.openenv, "-c", _OPENENV], options.openenv, options)


def measure(name: str, kind: str, command: list[str], python: str, options: Any) -> None:
    """Start a server, and print a line for each number of clients."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([*command, str(port)], stdout=subprocess.DEVNULL)
    try:
        wait_for(port, server)
        client_asks(python, kind, url, 1, 1.0)  # its workers come up
        for clients in options.clients:
            found = client_asks(python, kind, url, clients, options.seconds)
            p50, p99 = np.percentile(found["seconds"], [50, 99]) * 1e3
            rate = len(found["seconds"]) / found["wall_s"]
            numbers = f"{clients:10}{rate:10.0f}{p50:10.1f}{p99:10.1f}{found['wrong']:10}"
            print(f"{name:24}{numbers}", flush=True)
    finally:
        server.terminate()
        server.wait(60)


def client_asks(python: str, kind: str, url: str, clients: int, seconds: float) -> dict[str, Any]:
    """Let a process of its own ask; return what it found."""
    line = [python, "-m", "benchmarks.serve", "--client", kind, url, str(clients), str(seconds)]
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


async def asked(kind: str, url: str, clients: int, seconds: float) -> dict[str, Any]:
    """Ask with so many clients for so long; return the seconds of each, and how many were wrong."""
    task = mint_envs.make(ENV).unwrapped.task  # type: ignore[attr-defined]
    sums = [(seed, task.sample(np.random.default_rng(seed)).answer) for seed in range(_SUMS)]
    took: list[float] = []
    wrong = 0
    ends = [0.0]

    async def one(number: int, ask: Callable[[int, str], Awaitable[float | None]]) -> None:
        nonlocal wrong
        at = number
        while number == at or time.monotonic() < ends[0]:  # each asks once at the least
            seed, right = sums[at % _SUMS]
            began = time.perf_counter()
            score = await ask(seed, right if at % 2 else right + "1")
            took.append(time.perf_counter() - began)
            wrong += score != float(at % 2)
            at += 1

    run = _ours if kind == "ours" else _openenv
    began = time.monotonic()
    ends[0] = began + seconds
    await asyncio.gather(*(run(url, lambda ask, n=n: one(n, ask)) for n in range(clients)))
    return {"seconds": took, "wrong": wrong, "wall_s": time.monotonic() - began}


async def _ours(url: str, play: Any) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=120, trust_env=False, verify=False) as http:

        async def ask(seed: int, text: str) -> float | None:
            body = {"env": ENV, "items": [{"seed": seed, "response": text}]}
            answer = await http.post("/v1/score", json=body)
            answer.raise_for_status()
            score: float | None = answer.json()["rewards"][0]["score"]
            return score

        await play(ask)


async def _openenv(url: str, play: Any) -> None:
    from openenv.core.generic_client import GenericEnvClient

    async with GenericEnvClient(base_url=url, message_timeout_s=120) as client:

        async def ask(seed: int, text: str) -> float | None:
            await client.reset(seed=seed)
            reward: float | None = (await client.step({"message": text})).reward
            return reward

        await play(ask)


if __name__ == "__main__":
    main()
