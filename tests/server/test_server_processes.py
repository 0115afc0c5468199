"""Several server processes: one that is killed, or replaced, takes no session with it."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from server_requests import KEY
from serving import serving

import mint_envs
from mint_envs.client import Client
from mint_envs.problems import ProblemRef, examples_of
from mint_envs.serve import Settings
from mint_envs.serve.run import listen

_SERVE = "import sys; from mint_envs.cli import main; sys.argv[0] = 'mint-envs'; main()"
_WAIT_S = 180.0  # for what takes a second where nothing else runs


@contextlib.contextmanager
def command(
    folder: Path, *options: str, before: Callable[[], None] | None = None
) -> Iterator[tuple[str, subprocess.Popen[str], Path]]:
    """Run ``mint-envs serve`` on a free port; yield its address, itself, and what it says."""
    said = folder / "said"
    with said.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, "serve", "--port", "0", *options],
            stdout=out, stderr=subprocess.STDOUT, text=True, preexec_fn=before,
            env={**os.environ, "MINT_SERVE_SESSION_KEY": KEY},
        )  # fmt: skip
    try:
        until(lambda: "Serving on" in said.read_text() or process.poll() is not None)
        found = re.search(r"Serving on (\S+)", said.read_text())
        assert found, said.read_text()
        yield found[1], process, said
    finally:
        process.terminate()
        assert process.wait(_WAIT_S) in (0, -signal.SIGTERM)


def until(done: Callable[[], Any]) -> None:
    late = time.monotonic() + _WAIT_S
    while not done():
        assert time.monotonic() < late
        time.sleep(0.05)


def members(process: subprocess.Popen[str]) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(process.pid).children()
    return []


def played(client: Client, task: Any, seed: int, between: Callable[[], None]) -> bool:
    """Play an episode as it should be; return whether it got the full mark."""
    texts, _ = next(iter(examples_of(task, ProblemRef(seed=seed).of(task)).items()))
    session = client.session("mint/ToolUse-v0", seed=seed)
    for text in texts:
        between()
        session.respond(text)
    return session.reward is not None and session.reward.score == 1.0


@pytest.mark.slow
def test_no_session_is_lost_by_kills_and_restarts(tmp_path: Path) -> None:
    task = mint_envs.make("mint/ToolUse-v0").unwrapped.task
    options = ("--processes", "2", "--offer", "mint/ToolUse-v0")
    with command(tmp_path, *options) as (url, process, said), ThreadPoolExecutor(4) as threads:
        first = {member.pid for member in members(process)}
        assert len(first) == 2
        client = Client(url)  # from which all threads ask
        going_on = [True]

        def play(number: int) -> list[bool]:
            found = []
            for seed in range(number, 10_000, 4):
                if not going_on[0]:
                    break
                found.append(played(client, task, seed, lambda: time.sleep(0.02)))
            return found

        work = [threads.submit(play, number) for number in range(4)]
        try:
            os.kill(min(first), signal.SIGKILL)
            until(lambda: "another is started" in said.read_text())
            until(lambda: len(members(process)) == 2)
            second = {member.pid for member in members(process)}
            process.send_signal(signal.SIGHUP)
            until(lambda: not second & {member.pid for member in members(process)})
        finally:
            going_on[0] = False
        results = [one for each in work for one in each.result()]
        assert results
        assert all(results)
        client.close()
        third = members(process)
    assert not [member for member in third if member.is_running()]
    assert "Traceback" not in said.read_text()


@pytest.mark.slow
def test_a_low_limit_of_files(tmp_path: Path) -> None:
    """It is told; with as many idle connections as there may be, others are still served."""

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))

    with command(tmp_path, "--offer", "mint/Math-v0", before=few) as (url, process, said):
        assert "may open 160 files" in said.read_text()
        host, port = url.removeprefix("http://").split(":")
        with contextlib.ExitStack() as stack:
            for _ in range(250):
                stack.enter_context(socket.create_connection((host, int(port)), timeout=60))
            assert httpx.get(f"{url}/healthz", timeout=60).status_code == 200
            process.terminate()
            process.wait(_WAIT_S)
    assert "Traceback" not in said.read_text()


def test_next_to_no_files() -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)); "
    done = subprocess.run(
        [sys.executable, "-c", limit + _SERVE, "serve", "--port", "0", "--offer", "mint/Math-v0"],
        capture_output=True, text=True, timeout=_WAIT_S,
    )  # fmt: skip
    assert (done.returncode, "needs 128" in done.stderr) == (2, True)


def test_processes_that_do_not_come_up() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SERVE, "serve", "--port", "0", "--processes", "2", "--offer", "no"],
        capture_output=True, text=True, timeout=_WAIT_S,
    )  # fmt: skip
    assert done.returncode == 2
    assert "there is no environment no." in done.stderr
    assert "does not come up" in done.stderr


def test_answers_do_not_wait_for_each_other() -> None:
    """Without this each answer is 40 ms late, since it is written in two parts."""
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        taken, _ = listener.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_readiness() -> None:
    with serving(Settings(offers=("mint/Math-v0",), executor="processes:1")) as url:
        until(lambda: httpx.get(f"{url}/readyz").status_code == 200)


@pytest.mark.slow
def test_a_balancer_is_told_before_the_end(tmp_path: Path) -> None:
    options = ("--offer", "mint/Math-v0", "--unready-seconds", "2")
    with command(tmp_path, *options) as (url, process, _):
        until(lambda: httpx.get(f"{url}/readyz").status_code == 200)
        process.terminate()
        until(lambda: httpx.get(f"{url}/readyz").status_code == 503)
        with Client(url) as client:  # it serves on for a while
            assert client.score("mint/Math-v0", [(0, "no")])[0].score == 0.0
        process.wait(_WAIT_S)
