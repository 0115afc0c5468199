"""Two minutes of 200 clients against one server, ten thousand sessions open meanwhile.

    python tests/soak_serve.py                       # about four minutes on two cores
    python tests/soak_serve.py --seconds 10 --clients 50 --sessions 500

The server is a process of its own, ``mint-envs serve``. Sandbox workers are killed all the while
(kill -9), and hostile clients send wrong tokens, large bodies, slow bodies and half requests. Every
reward is compared with the one that is right; anything but 200 and 429 is an error. Ends with 1 if
a reward was wrong or lost, an error came, or memory grew.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import psutil

import mint_envs

TOKEN = "soak-token-of-enough-letters"
_SERVE = "import sys; from mint_envs.cli import main; sys.argv[0] = 'mint-envs'; main()"


@dataclass
class Tally:
    """What came of it."""

    latencies: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    rewards: int = 0
    kills: int = 0
    hostile: Counter[str] = field(default_factory=Counter)


class Run:
    """One soak."""

    def __init__(self, options: argparse.Namespace, url: str) -> None:
        self.options, self.url, self.tally = options, url, Tally()
        self.ends = 0.0
        # One pool of connections a client: a common one looks at each of them for each request.
        self.clients = [
            httpx.AsyncClient(
                base_url=url, headers={"authorization": f"Bearer {TOKEN}"}, timeout=120,
                limits=httpx.Limits(max_connections=None), trust_env=False, verify=False,
            )
            for _ in range(options.clients)
        ]  # fmt: skip
        self.turn = itertools.cycle(self.clients)

    async def ask(self, kind: str, path: str, body: Any) -> Any:
        """Ask until there is an answer; note how long the one that came took."""
        content = json.dumps(body).encode()
        while True:
            began = time.perf_counter()
            try:
                answer = await next(self.turn).post(
                    path, content=content, headers={"content-type": "application/json"}
                )
            except httpx.HTTPError as error:
                self.tally.errors.append(f"{kind}: {type(error).__name__} {error}")
                return None
            self.tally.statuses[str(answer.status_code)] += 1
            if answer.status_code == 429:
                await asyncio.sleep(float(answer.headers["retry-after"]) * random.uniform(0.5, 1))
                continue
            if answer.status_code not in (200, 201):
                self.tally.errors.append(f"{kind}: {answer.status_code} {answer.text[:200]}")
                return None
            self.tally.latencies.setdefault(kind, []).append(time.perf_counter() - began)
            return answer.json()

    def check(self, what: str, found: Any, wanted: list[float]) -> None:
        if found is None:
            return
        scores = [one["score"] for one in found["rewards"]]
        self.tally.rewards += len(scores)
        if scores != wanted:
            self.tally.wrong.append(f"{what}: {scores} instead of {wanted}")

    # -- what clients do ------------------------------------------------------------------------

    async def math(self, rng: random.Random, tasks: dict[str, Any]) -> None:
        task = tasks["mint/Math-v0"]
        items, wanted = [], []
        for _ in range(rng.randint(1, 16)):
            seed, right = rng.randrange(10**6), rng.random() < 0.5
            answer = task.sample(np.random.default_rng(seed)).answer
            items.append({"seed": seed, "response": answer if right else answer + "1"})
            wanted.append(float(right))
        found = await self.ask("score math", "/v1/score", {"env": "mint/Math-v0", "items": items})
        self.check("math", found, wanted)

    async def code(self, rng: random.Random, tasks: dict[str, Any]) -> None:
        items, wanted = [], []
        for _ in range(rng.randint(1, 4)):
            a, b, right = rng.randrange(10**6), rng.randrange(10**6), rng.random() < 0.5
            program = f"def f(x):\n    return x + {a}"
            items.append({"response": program, "tests": [[f"f({b})", a + b + (not right)]]})
            wanted.append(float(right))
        self.check("code", await self.ask("grade code", "/v1/grade/code", {"items": items}), wanted)

    async def episode(self, rng: random.Random, tasks: dict[str, Any]) -> None:
        task, seed = tasks["mint/ToolUse-v0"], rng.randrange(10**6)
        examples = task.examples(task.sample(np.random.default_rng(seed)))
        texts, wanted = rng.choice(list(examples.items()))
        opened = await self.ask("open", "/v1/sessions", {"env": "mint/ToolUse-v0", "seed": seed})
        if opened is None:
            return
        turns = (texts,) if isinstance(texts, str) else texts
        await self.finish(opened["session"], turns, wanted)

    async def finish(self, session: str, texts: tuple[str, ...], wanted: float) -> None:
        for text in texts:
            body = {"session": session, "response": text}
            answer = await self.ask("respond", "/v1/sessions/respond", body)
            if answer is None:
                return
            session = answer["session"]
        if answer is not None:
            reward = answer["reward"] or {"score": "none yet"}
            self.check("episode", {"rewards": [reward]}, [wanted])

    async def one_client(self, number: int, tasks: dict[str, Any]) -> None:
        rng = random.Random(number)
        kinds = [self.math, self.math, self.code, self.episode]
        while time.monotonic() < self.ends:
            await rng.choice(kinds)(rng, tasks)

    # -- what enemies do ------------------------------------------------------------------------

    async def enemy(self) -> None:
        rng = random.Random(0)
        while time.monotonic() < self.ends:
            await rng.choice([self.bad_token, self.large, self.slow, self.half_open])()
            await asyncio.sleep(0.05)

    async def bad_token(self) -> None:
        answer = await next(self.turn).post("/v1/score", headers={"authorization": "Bearer wrong"})
        self.tally.hostile[f"bad token: {answer.status_code}"] += 1

    async def large(self) -> None:
        try:
            answer = await next(self.turn).post("/v1/score", content=b"[" * (5 << 20))
            self.tally.hostile[f"large body: {answer.status_code}"] += 1
        except httpx.HTTPError as error:  # closed before it was all sent
            self.tally.hostile[f"large body: {type(error).__name__}"] += 1

    async def slow(self) -> None:
        head = f"POST /v1/score HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n"
        await self.held(head.encode() + b"content-length: 1000\r\n\r\n{", "slow body")

    async def half_open(self) -> None:
        await self.held(b"POST /v1/sco", "half head")

    async def held(self, start: bytes, kind: str) -> None:
        host, _, port = self.url.rpartition("//")[2].partition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(start)
        self.tally.hostile[kind] += 1
        asyncio.get_running_loop().call_later(30, writer.close)

    async def killer(self, server: psutil.Process) -> None:
        while time.monotonic() < self.ends:
            await asyncio.sleep(0.5)
            for worker in workers(server):
                zygotes = [z for z in worker.children(recursive=True) if z.is_running()]
                if zygotes:
                    try:
                        os.kill(random.choice(zygotes).pid, signal.SIGKILL)
                        self.tally.kills += 1
                    except ProcessLookupError:
                        pass

    # -- the whole ------------------------------------------------------------------------------

    async def open_sessions(self, task: Any) -> list[tuple[str, int]]:
        """Open sessions; their episodes are played when all else is over."""
        found: list[tuple[str, int]] = []
        seeds = iter(range(self.options.sessions))

        async def some() -> None:
            for seed in seeds:
                body = {"env": "mint/ToolUse-v0", "seed": seed}
                opened = await self.ask("open", "/v1/sessions", body)
                if opened is not None:
                    found.append((opened["session"], seed))

        await asyncio.gather(*(some() for _ in range(32)))
        return found

    async def end_sessions(self, sessions: list[tuple[str, int]], task: Any) -> None:
        waiting = iter(sessions)

        async def some() -> None:
            for session, seed in waiting:
                texts, wanted = next(
                    iter(task.examples(task.sample(np.random.default_rng(seed))).items())
                )
                await self.finish(session, texts, wanted)

        await asyncio.gather(*(some() for _ in range(32)))

    async def load(self, tasks: dict[str, Any], server: psutil.Process) -> list[float]:
        """The clients, enemies and kills; return the memory of the server, every second."""
        self.ends = time.monotonic() + self.options.seconds
        memory: list[float] = []

        async def watch() -> None:
            while time.monotonic() < self.ends:
                memory.append(used(server))
                await asyncio.sleep(1)

        trouble = [] if self.options.peace else [self.killer(server), self.enemy()]
        clients = [self.one_client(i, tasks) for i in range(self.options.clients)]
        await asyncio.gather(watch(), *trouble, *clients)
        return memory


def used(process: psutil.Process) -> float:
    """MiB of the server's own process."""
    return float(process.memory_info().rss / (1 << 20))


def workers(server: psutil.Process) -> list[psutil.Process]:
    """The scoring workers: the server's child forks them."""
    return [worker for child in server.children() for worker in child.children()]


def whole(server: psutil.Process) -> float:
    """MiB that the server and its workers have to themselves, without the sandboxes."""
    return sum(p.memory_full_info().uss for p in [server, *workers(server)]) / (1 << 20)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def report(run: Run, memory: list[float], seconds: float) -> bool:
    tally = run.tally
    for kind, values in sorted(tally.latencies.items()):
        print(
            f"{kind:12} {len(values):7} answers  p50 {percentile(values, 0.5) * 1e3:7.1f} ms  "
            f"p99 {percentile(values, 0.99) * 1e3:7.1f} ms  worst {max(values) * 1e3:7.1f} ms"
        )
    print(
        f"rewards {tally.rewards} ({tally.rewards / seconds:.0f} a second in all), "
        f"wrong {len(tally.wrong)}, errors {len(tally.errors)}, statuses {dict(tally.statuses)}"
    )
    print(f"sandbox workers killed {tally.kills}; hostile clients {dict(tally.hostile)}")
    third = len(memory) // 3
    early, late = np.median(memory[third : 2 * third]), np.median(memory[2 * third :])
    flat = bool(late <= early * 1.1 + 8)
    print(
        f"memory of the server: {early:.0f} MiB in the middle, {late:.0f} MiB at the end"
        f" ({'flat' if flat else 'GROWING'})"
    )
    for line in [*tally.wrong[:5], *tally.errors[:5]]:
        print(line)
    return flat and not tally.wrong and not tally.errors


async def soak(options: argparse.Namespace, url: str, server: psutil.Process) -> bool:
    run = Run(options, url)
    ids = ("mint/Math-v0", "mint/ToolUse-v0")
    tasks = {id: mint_envs.make(id).unwrapped.task for id in ids}  # type: ignore[attr-defined]
    began = time.monotonic()
    before = whole(server)
    sessions = await run.open_sessions(tasks["mint/ToolUse-v0"])
    print(
        f"{len(sessions)} sessions opened in {time.monotonic() - began:.1f} s; server and workers "
        f"{before:.0f} -> {whole(server):.0f} MiB"
    )
    memory = await run.load(tasks, server)
    await run.end_sessions(sessions, tasks["mint/ToolUse-v0"])
    print(f"all {len(sessions)} sessions played to their end; {whole(server):.0f} MiB")
    sound = report(run, memory, time.monotonic() - began)
    await asyncio.gather(*(client.aclose() for client in run.clients))
    return sound and len(sessions) == options.sessions


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--peace", action="store_true", help="kill nothing, no hostile clients")
    options = parser.parse_args()
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, "serve", "--port", str(port), "--session-seconds", "3600"],
        env={**os.environ, "MINT_SERVE_TOKEN": TOKEN}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        print(process.stdout.readline().strip())
        sound = asyncio.run(soak(options, f"http://127.0.0.1:{port}", psutil.Process(process.pid)))
    finally:
        process.terminate()
        process.wait(60)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
