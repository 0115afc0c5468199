"""Fifty clients send endless programs and leave; what do others notice of it?

    python -m tests.soak_share
    python -m tests.soak_share --seconds 5 --rounds 1

Eight clients ask for one sum after the other, each as soon as it has the last: alone and beside the
fifty, in turns. Those send eight endless programs each, go away after a moment, and come again.
Every client has an address of its own, since that is what a client is. Ends with 1 if the slowest
sums (p99) beside them take a second or more, if fewer sums are answered than 90 % of what it is
alone, or if one is answered wrongly.

What a sum costs the server's own process in CPU time is told too: that process is the bottleneck,
and other work on the machine moves it less than it moves sums a second. On Linux, where all of
127.0.0.0/8 is this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

import mint_envs
from tests.soak_sessions import free_port, start_server, wait_until_ready

ENV = "mint/Math-v0"
_ENDLESS = "```python\ndef f():\n    while True:\n        pass\n```"
_LEAVES_S = (0.01, 0.1)  # after so long an enemy goes away
_MOST_S, _LEAST = 1.0, 0.9


@dataclass
class Found:
    """What eight honest clients had in one period."""

    seconds: list[float] = field(default_factory=list)
    wrong: int = 0
    left: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0  # of the server's own process

    @property
    def cpu_of_one(self) -> float:
        return self.cpu_s / len(self.seconds)

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.wall_s

    @property
    def p99(self) -> float:
        return float(np.percentile(self.seconds, 99))

    def __str__(self) -> str:
        return (
            f"{self.rate:7.0f} sums/s, p50 {np.median(self.seconds) * 1e3:6.1f} ms, p99 "
            f"{self.p99 * 1e3:6.1f} ms, most {max(self.seconds) * 1e3:6.1f} ms, {self.wrong} wrong"
            f", {self.left} requests left, {self.cpu_of_one * 1e3:.2f} ms of the server's CPU a sum"
        )


async def request(
    path: str, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bytes:
    """Post, and return the body of the answer."""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    told = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    return await reader.readexactly(int(told.split("content-length: ")[1].split("\r\n")[0]))


async def honest(port: int, number: int, ends: float, found: Found) -> None:
    """Ask for one sum after the other; every second answer is right."""
    task = mint_envs.make(ENV).unwrapped.task  # type: ignore[attr-defined]
    sums = [task.sample(np.random.default_rng(seed)).answer for seed in range(50)]
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, local_addr=(f"127.0.2.{number + 1}", 0)
    )
    at = number
    while time.monotonic() < ends:
        seed, right = at % len(sums), at % 2
        item = {"seed": seed, "response": sums[seed] + ("" if right else "1")}
        began = time.perf_counter()
        body = json.dumps({"env": ENV, "items": [item]}).encode()
        answer = json.loads(await request("/v1/score", body, reader, writer))
        found.seconds.append(time.perf_counter() - began)
        found.wrong += answer["rewards"][0]["score"] != float(right)
        at += 1
    writer.close()


async def enemy(port: int, number: int, ends: float, found: Found) -> None:
    """Send eight endless programs, leave, and come again."""
    rng = random.Random(number)
    items = [{"response": _ENDLESS, "tests": [["f()", 1]], "sandbox_timeout_s": 10}] * 8
    body = json.dumps({"items": items}).encode()
    while time.monotonic() < ends:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, local_addr=(f"127.0.1.{number + 1}", 0)
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(rng.uniform(*_LEAVES_S)):
                await request("/v1/grade/code", body, reader, writer)
        writer.close()
        found.left += 1
        await asyncio.sleep(rng.uniform(0.2, 0.8))


async def period(port: int, server: psutil.Process, seconds: float, enemies: int) -> Found:
    found, began = Found(), time.monotonic()
    before = sum(server.cpu_times()[:2])
    ends = began + seconds
    others = [asyncio.create_task(enemy(port, n, ends, found)) for n in range(enemies)]
    await asyncio.gather(*(honest(port, number, ends, found) for number in range(8)))
    found.wall_s = time.monotonic() - began
    found.cpu_s = sum(server.cpu_times()[:2]) - before
    await asyncio.gather(*others)
    return found


async def soak(port: int, server: psutil.Process, options: argparse.Namespace) -> bool:
    await period(port, server, 1.0, 0)  # what is measured is known by then to be quick
    alone, beside = [], []
    for _ in range(options.rounds):
        for enemies, kept in ((0, alone), (options.enemies, beside)):
            kept.append(await period(port, server, options.seconds, enemies))
            print(f"{'beside ' + str(enemies) if enemies else 'alone':10} {kept[-1]}", flush=True)
            await asyncio.sleep(1)
    share = float(np.median([b.rate / a.rate for a, b in zip(alone, beside, strict=True)]))
    costs = float(
        np.median([a.cpu_of_one / b.cpu_of_one for a, b in zip(alone, beside, strict=True)])
    )
    slowest = max(one.p99 for one in beside)
    print(
        f"throughput beside them {share:.0%} of what it is alone (median of {options.rounds}), "
        f"by the server's CPU a sum {costs:.0%}; "
        f"p99 of a sum {slowest * 1e3:.0f} ms at most; load of the machine "
        f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    wrong = sum(one.wrong for one in [*alone, *beside])
    return share >= _LEAST and slowest < _MOST_S and not wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="of each period")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--enemies", type=int, default=50)
    options = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        server = start_server(port, Path(folder), "--offer", ENV)
        try:
            wait_until_ready(f"http://127.0.0.1:{port}")
            sound = asyncio.run(soak(port, psutil.Process(server.pid), options))
        finally:
            server.terminate()
            server.wait(60)
            said = (Path(folder) / "said").read_text()
        if "Traceback" in said:
            print(said[-3000:])
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
