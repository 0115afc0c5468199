"""Ten thousand open sessions; server processes are killed or replaced: none is lost.

    python -m tests.soak_sessions                       # mint-envs serve --processes 4
    python -m tests.soak_sessions --behind haproxy      # four servers, of one key, behind it
    python -m tests.soak_sessions --restart rolling     # replaced one by one, instead of killed
    python -m tests.soak_sessions --sessions 500 --seconds 20 --every 3

Clients are ``mint_envs.client.Client``, in threads. They open sessions, give a response here and
one there, leave in the middle of requests and come back, and at the end play every session out.
Each reward is compared with the one that is right. Ends with 1 if a session was lost, a reward was
wrong, or memory grew. haproxy or nginx must be installed for ``--behind``.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from mint_envs import Reward
from mint_envs.client import Client, ServiceError, Session

ENV = "tests/Count-v0"
KEY = "soak-key-of-enough-letters"
_SERVE = "import sys; from mint_envs.cli import main; sys.argv[0] = 'mint-envs'; main()"
_OPTIONS = ("--import", "tests.soak_envs", "--offer", ENV)
_LEAVES = 0.05  # of all responses: sent first by a client that does not wait for the answer
_UP_S = 300.0

HAPROXY = """
global
  maxconn 8000
defaults
  mode http
  timeout connect 5s
  timeout check 10s
  timeout client 60s
  timeout server 60s
  retries 2
  option redispatch
frontend all
  bind 127.0.0.1:{port}
  default_backend servers
backend servers
  balance roundrobin
  option httpchk
  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host localhost
  default-server check inter 1s fall 2 rise 1
{servers}
"""
NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_max_body_size 8m;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream servers {{ {servers} }}
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://servers;
    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host localhost;
    proxy_connect_timeout 2s; }} }}
}}
"""


# -- servers --------------------------------------------------------------------------------------


class Together:
    """``mint-envs serve --processes N``: it replaces what is killed by itself."""

    def __init__(self, count: int, folder: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._one = start_server(self.port, folder, *_OPTIONS, "--processes", str(count))
        try:
            wait_until_ready(self.url)
        except BaseException:
            self.close()
            raise

    def processes(self) -> list[psutil.Process]:
        return psutil.Process(self._one.pid).children()

    def kill(self) -> None:
        random.choice(self.processes()).kill()

    def roll(self) -> None:
        before = {one.pid for one in self.processes()}
        self._one.send_signal(signal.SIGHUP)
        while before & {one.pid for one in self.processes()}:
            time.sleep(0.1)

    def close(self) -> None:
        self._one.terminate()
        self._one.wait(60)


class Apart:
    """Servers of their own behind a balancer; what is killed is started again here."""

    def __init__(self, count: int, folder: Path, balancer: str) -> None:
        self._folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._servers: dict[int, subprocess.Popen[bytes]] = {}
        self._others: list[subprocess.Popen[bytes]] = []
        try:
            for port in (free_port() for _ in range(count)):
                self._servers[port] = self._start(port)
            for port in self._servers:
                wait_until_ready(f"http://127.0.0.1:{port}")
            self._others = [run_balancer(balancer, folder, self.port, list(self._servers))]
            wait_until_ready(self.url)
        except BaseException:
            self.close()
            raise

    def _start(self, port: int) -> subprocess.Popen[bytes]:
        options = (*_OPTIONS, "--executor", "processes:1", "--unready-seconds", "2")
        return start_server(port, self._folder, *options)

    def processes(self) -> list[psutil.Process]:
        return [psutil.Process(one.pid) for one in list(self._servers.values())]

    def kill(self) -> None:
        port = random.choice(list(self._servers))
        self._servers[port].kill()
        self._again(port)

    def roll(self) -> None:
        for port in list(self._servers):
            self._servers[port].terminate()
            self._again(port)
            wait_until_ready(f"http://127.0.0.1:{port}")

    def _again(self, port: int) -> None:
        self._servers[port].wait(60)
        self._servers[port] = self._start(port)

    def close(self) -> None:
        for one in [*self._others, *self._servers.values()]:
            one.terminate()
            one.wait(60)


def start_server(port: int, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    with (folder / "said").open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-c", _SERVE, "serve", "--port", str(port), *options],
            env={**os.environ, "MINT_SERVE_SESSION_KEY": KEY}, stdout=said, stderr=said,
        )  # fmt: skip


def run_balancer(name: str, folder: Path, port: int, servers: list[int]) -> subprocess.Popen[bytes]:
    program = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        sys.exit(f"{name} is not installed: apt install {name}")
    config = folder / "balancer.conf"
    if name == "haproxy":
        lines = [f"  server s{one} 127.0.0.1:{one}" for one in servers]
        config.write_text(HAPROXY.format(port=port, servers="\n".join(lines)))
        return subprocess.Popen([program, "-f", config])
    lines = [f"server 127.0.0.1:{one} max_fails=1 fail_timeout=1s;" for one in servers]
    config.write_text(NGINX.format(port=port, servers=" ".join(lines), folder=folder))
    return subprocess.Popen([program, "-c", config])


def wait_until_ready(url: str) -> None:
    late = time.monotonic() + _UP_S
    while time.monotonic() < late:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{url}/readyz", headers={"host": "localhost"}).status_code == 200:
                return
        time.sleep(0.2)
    sys.exit(f"{url} does not come up")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


# -- clients --------------------------------------------------------------------------------------


class Game:
    """A session, and what is still to be said in it; some of them say something wrong."""

    def __init__(self, session: Session, rng: random.Random) -> None:
        self.session, self.lock = session, threading.Lock()
        most = int(str(session.prompt).split()[-1].rstrip("."))
        self.left = [str(n) if rng.random() < 0.8 else "wrong" for n in range(1, most + 1)]
        right = sum(text == str(n) for n, text in enumerate(self.left, 1))
        self.wanted = right / most


class Players:
    """Threads with a client each, and the sessions that they have open."""

    def __init__(self, url: str, options: argparse.Namespace) -> None:
        self.url, self.options = url, options
        self.games: list[Game] = []
        self.count: Counter[str] = Counter()
        self.trouble: list[str] = []
        self.seconds: list[float] = []
        self._seeds = itertools.count()
        self._clients = [Client(url, patience_s=300) for _ in range(options.clients)]

    def each(self, play: Callable[[Client, random.Random], None]) -> None:
        """Let every thread play until it returns."""
        with ThreadPoolExecutor(len(self._clients)) as threads:
            seeds = range(len(self._clients))
            list(threads.map(play, self._clients, [random.Random(seed) for seed in seeds]))

    def open_many(self, client: Client, rng: random.Random) -> None:
        while len(self.games) < self.options.sessions:
            self.open(client, rng)

    def open(self, client: Client, rng: random.Random) -> None:
        session = client.session(ENV, seed=next(self._seeds))
        self.games.append(Game(session, rng))
        self.count["opened"] += 1

    def play_on(self, client: Client, rng: random.Random, ends: float) -> None:
        """Give a response here and one there; open another session for each that ends."""
        while time.monotonic() < ends:
            game = self.games[rng.randrange(self.options.sessions // 2)]  # others take some away
            if not game.lock.acquire(blocking=False):
                continue
            with contextlib.ExitStack() as held:
                held.callback(game.lock.release)
                if game.left and not self.respond(client, rng, game):
                    self.games.remove(game)
                    self.open(client, rng)

    def play_out(self, client: Client, rng: random.Random) -> None:
        """Play to the end whatever is left."""
        with contextlib.suppress(IndexError):
            while True:
                game = self.games.pop()
                while self.respond(client, rng, game):
                    pass

    def respond(self, client: Client, rng: random.Random, game: Game) -> bool:
        """Give the next response; return whether the episode goes on."""
        text = game.left.pop(0)
        game.session._client = client
        if rng.random() < _LEAVES:
            self.leave(game.session, text)
        began = time.monotonic()
        try:
            answer = game.session.respond(text)
        except ServiceError as error:
            self.trouble.append(f"lost: {error}")
            game.left.clear()
            return False
        self.seconds.append(time.monotonic() - began)
        self.count["turns"] += 1
        if isinstance(answer, Reward):
            self.count["rewards"] += 1
            if answer.score != game.wanted or game.left:
                self.trouble.append(f"wrong: {answer.score} instead of {game.wanted}")
            return False
        return True

    def leave(self, session: Session, text: str) -> None:
        """Send a response, and go away before its answer can be there."""
        self.count["clients that left"] += 1
        with contextlib.suppress(httpx.HTTPError):
            body = {"session": session._session, "response": text}
            httpx.post(f"{self.url}/v1/sessions/respond", json=body, timeout=0.002)

    def close(self) -> None:
        for client in self._clients:
            client.close()


# -- the whole ------------------------------------------------------------------------------------


def disturb(servers: Any, how: str, every_s: float, ends: float, count: Counter[str]) -> None:
    """Kill a server process now and then, or replace all of them over and over."""
    while time.monotonic() < ends:
        began = time.monotonic()
        if how == "rolling":
            servers.roll()
        else:
            servers.kill()
        count[how] += 1
        time.sleep(max(0.0, every_s - (time.monotonic() - began)))


def watch(servers: Any, ends: float, memory: list[float]) -> None:
    """Note the memory of all server processes and their workers, in MiB, once a second."""
    while time.monotonic() < ends:
        total = 0
        for one in servers.processes():
            with contextlib.suppress(psutil.Error):
                for process in [one, *one.children(recursive=True)]:
                    with contextlib.suppress(psutil.Error):
                        total += process.memory_full_info().uss
        memory.append(total / (1 << 20))
        time.sleep(1)


def soak(servers: Any, options: argparse.Namespace) -> bool:
    players = Players(servers.url, options)
    memory: list[float] = []
    began = time.monotonic()
    players.each(players.open_many)
    print(f"{len(players.games)} sessions opened in {time.monotonic() - began:.1f} s", flush=True)
    ends = time.monotonic() + options.seconds
    others = [
        threading.Thread(target=watch, args=(servers, ends, memory)),
        threading.Thread(
            target=disturb,
            args=(servers, options.restart, options.every, ends, players.count),
        ),
    ]
    for thread in others:
        thread.start()
    players.each(lambda client, rng: players.play_on(client, rng, ends))
    still = len(players.games)
    for thread in others:
        thread.join()
    print(f"{options.seconds:g} s later {still} are open; they are played out", flush=True)
    players.each(players.play_out)
    players.close()
    return report(players, memory, time.monotonic() - began)


def report(players: Players, memory: list[float], seconds: float) -> bool:
    count, lost = dict(players.count), sum(one.startswith("lost") for one in players.trouble)
    wrong = len(players.trouble) - lost
    p50, p99 = np.percentile(players.seconds, [50, 99])
    print(f"{count} in {seconds:.0f} s; lost {lost}, wrong {wrong}")
    print(
        f"a turn: p50 {p50 * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms, most {max(players.seconds):.1f} s"
    )
    third = len(memory) // 3
    early, late = np.median(memory[third : 2 * third]), np.median(memory[2 * third :])
    flat = bool(late <= early * 1.1 + 16)
    print(
        f"memory of all processes: {early:.0f} MiB in the middle, {late:.0f} MiB at the end "
        f"({'flat' if flat else 'GROWING'}); load of the machine {os.getloadavg()[0]:.1f} on "
        f"{os.cpu_count()} cores"
    )
    for line in players.trouble[:5]:
        print(line)
    whole = players.count["opened"] == players.count["rewards"]
    return flat and whole and not players.trouble


@contextlib.contextmanager
def servers_of(options: argparse.Namespace) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.behind == "none":
            servers: Any = Together(options.processes, folder)
        else:
            servers = Apart(options.processes, folder, options.behind)
        try:
            yield servers
        finally:
            servers.close()
            said = (folder / "said").read_text()
            if "Traceback" in said:
                print(said[-3000:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--every", type=float, default=5, help="seconds between kills")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--behind", choices=["none", "haproxy", "nginx"], default="none")
    parser.add_argument("--restart", choices=["kill", "rolling"], default="kill")
    options = parser.parse_args()
    with servers_of(options) as servers:
        return 0 if soak(servers, options) else 1


if __name__ == "__main__":
    sys.exit(main())
