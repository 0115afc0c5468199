"""A warm, hardened container (docker or podman) as the place where programs run.

One container is started for the life of the backend, with no network, no capability, a read-only
root and nothing of the host but this package. In it runs the same pool of zygotes as outside, so
a program costs what it costs here and not a ``docker exec``. ``runtime="runsc"`` puts gVisor's
kernel between them and this machine's.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import subprocess
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from ..errors import SandboxUnavailable
from .blame import settle
from .bridge import job_to, outcome_from, read_frame, write_frame
from .port import Job, Outcome, cpu_count

IMAGE = "python:3.11-slim"
_INSIDE = "/opt/mint/sandbox"
_BOOT = (
    "import sys, types; p = types.ModuleType('sandbox'); p.__path__ = [{folder!r}]; "
    "sys.modules['sandbox'] = p; from sandbox import bridge; bridge.main()"
)
_START_S = 120.0


class Container:
    """A backend in a container.

    Args:
        command: ``"docker"`` or ``"podman"``.
        workers: programs at the same time; 0 means one for each CPU.
        image: an image with Python 3.11 or later (and numpy, if programs need it).
        runtime: another runtime of the daemon, such as ``"runsc"``.
        memory: of the whole container, as docker writes it.

    Raises:
        SandboxUnavailable: there is no such command or daemon, or the image does not start.
    """

    def __init__(
        self,
        command: str = "docker",
        workers: int = 0,
        image: str = IMAGE,
        runtime: str = "",
        memory: str = "4g",
    ) -> None:
        self.tier = f"{command}:{runtime}" if runtime else command
        self._workers = workers or cpu_count()
        self._command = _command(command, self._workers, image, runtime, memory)
        self._alone = functools.partial(Container, command, 1, image, runtime, memory)
        self._begin()
        self._restart(None)
        _CONTAINERS.add(self)

    def _begin(self) -> None:
        self._lock, self._restarting = threading.Lock(), threading.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[Outcome]] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run the jobs; when the container is lost, start another and run them once more.

        When that is lost as well, one of the jobs may have brought both down: each is run in a
        container that no other job shares.
        """
        process = self._process or self._restart(None)
        try:
            return self._send(process, jobs)
        except OSError:
            process = self._restart(process)
        try:
            return self._send(process, jobs)
        except OSError:
            return self._run_apart(jobs)

    def _run_apart(self, jobs: Sequence[Job]) -> list[Outcome]:
        try:
            alone = self._alone()
        except SandboxUnavailable as error:
            return [Outcome(failure=f"the container has failed: {error}") for _ in jobs]
        with contextlib.closing(alone) as own:
            return [settle(own._try, own._try, job) for job in jobs]

    def _try(self, job: Job) -> Outcome:
        try:
            process = self._process or self._restart(None)
            return self._send(process, [job])[0]
        except (OSError, SandboxUnavailable) as error:
            self.close()
            return Outcome(failure=f"the container has failed: {error}")

    def _send(self, process: subprocess.Popen[bytes], jobs: Sequence[Job]) -> list[Outcome]:
        futures = []
        for job in jobs:
            future: Future[Outcome] = Future()
            with self._lock:
                number = next(self._numbers)
                self._waiting[number] = future
                assert process.stdin is not None
                write_frame(process.stdin, {"id": number, "job": job_to(job)})
            futures.append(future)
        return [future.result() for future in futures]

    def close(self) -> None:
        if (process := self._process) is None:
            return
        with self._lock:
            if process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()  # the bridge ends, and with it the container
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._reader.join()
        if process.stdout is not None:
            process.stdout.close()
        self._process = None

    def _restart(self, lost: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes]:
        with self._restarting:
            if self._process is lost:  # else another thread was here first
                self.close()
                self._process = self._start()
            assert self._process is not None
            return self._process

    def _after_fork(self) -> None:
        """In a forked child: leave the container to the parent, and start one when it is needed."""
        if (process := self._process) is not None:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (process.stdin, process.stdout):
                if stream is not None and not stream.closed:
                    os.dup2(null, stream.fileno(), inheritable=False)
            os.close(null)
            _LEFT.append(process)
        self._begin()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxUnavailable(f"{self._command[0]} cannot be started: {error}") from None
        self._check_ready(process)
        self._reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._reader.start()
        return process

    def _check_ready(self, process: subprocess.Popen[bytes]) -> None:
        timer = threading.Timer(_START_S, process.kill)
        timer.start()
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            first = read_frame(process.stdout)
        finally:
            timer.cancel()
        if isinstance(first, dict) and "ready" in first:
            threading.Thread(target=_drain, args=(process.stderr,), daemon=True).start()
            return
        process.kill()
        process.stdout.close()
        if process.stdin is not None:
            process.stdin.close()
        with process.stderr as stream:
            said = stream.read().decode(errors="replace").strip().splitlines()
        process.wait()
        reason = (first or {}).get("error") or (said[-1] if said else "it ended at once")
        raise SandboxUnavailable(
            f"sandbox={self.tier!r} does not start: {reason}. It needs a running daemon that you "
            f"may use and the image (`{self._command[0]} pull {IMAGE}`, or image=...)."
        )

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        while True:
            try:
                message: Any = read_frame(process.stdout)
                number, outcome = message["id"], outcome_from(message["outcome"])
            except (OSError, ValueError, TypeError, KeyError, RecursionError):
                break  # its end, or not what the bridge sends
            future = self._waiting.pop(number, None)
            if future is not None:
                future.set_result(outcome)
        for number in list(self._waiting):
            if (lost := self._waiting.pop(number, None)) is not None:
                lost.set_exception(ConnectionError("the container has ended"))


#: Every container of this process, and those that belong to its parent. The latter's streams may
#: have been in use when it forked: to close them could wait for ever.
_CONTAINERS: weakref.WeakSet[Container] = weakref.WeakSet()
_LEFT: list[subprocess.Popen[bytes]] = []


def _leave_all() -> None:
    for container in list(_CONTAINERS):
        container._after_fork()


os.register_at_fork(after_in_child=_leave_all)


def _command(name: str, workers: int, image: str, runtime: str, memory: str) -> list[str]:
    path = shutil.which(name)
    if path is None:
        raise SandboxUnavailable(
            f"sandbox={name!r} needs the command {name!r}: it is not installed"
        )
    options = [
        "--rm", "--interactive", "--init", "--network=none", "--read-only", "--cap-drop=ALL",
        "--security-opt=no-new-privileges", "--pids-limit=1024", f"--memory={memory}",
        "--user=65534:65534", "--tmpfs=/tmp:rw,nosuid,nodev,size=1g,mode=1777", "--workdir=/tmp",
        f"--volume={Path(__file__).parent}:{_INSIDE}:ro",
        *([f"--runtime={runtime}"] if runtime else []),
    ]  # fmt: skip
    boot = ["python3", "-B", "-c", _BOOT.format(folder=_INSIDE), str(workers)]
    return [path, "run", *options, image, *boot]


def _drain(stream: Any) -> None:
    """Read stderr to its end, so that nothing in the container waits for it."""
    with stream:
        while stream.read(4096):
            pass
