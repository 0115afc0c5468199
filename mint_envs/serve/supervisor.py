"""Several server processes behind one listening socket, and one that keeps them there.

The socket is made here and shared: connections that wait for a process outlive each of them. One
that ends is replaced. SIGHUP replaces all, one after the other, each by a new one that is up before
the old one is told to stop; new ones read the code that is on the disk then. SIGTERM and SIGINT end
all, each after the requests that it has in work.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import count as counting
from pathlib import Path
from typing import Any

import click

from ..children import Child
from ..errors import SettingError
from ..sandbox.port import cpu_count
from .numbers import fold
from .run import Running, listen, serving_line
from .settings import Settings, check_host

_TICK_S = 0.05
_GRACE_S = 10.0  # beyond the time in which requests may end
_READY_S = 120.0
_PAUSE_S = (0.0, 1.0, 2.0, 4.0, 8.0)  # before one is started that ended before it was ready


class _ServerProcess(Child):
    """A server process; ``ready`` once its workers are up. ``numbers`` is its file of them."""

    def __init__(self, listener: socket.socket, order: bytes, numbers: Path) -> None:
        self._numbers = numbers
        self._pipe, theirs = os.pipe()
        source, self._to = os.pipe()
        fds = listener.fileno(), theirs
        command = [sys.executable, "-m", "mint_envs.serve.member", *map(str, fds), str(numbers)]
        try:
            super().__init__(command, pass_fds=fds, stdin=source, stdout=None, stderr=None)
        finally:
            os.close(theirs)
            os.close(source)
        with os.fdopen(self._to, "wb") as file:
            file.write(order)
        self.ready, self.since, self.stop_by = False, time.monotonic(), 0.0

    def look(self) -> None:
        """See whether it has become ready."""
        if not self.ready and select.select([self._pipe], [], [], 0)[0]:
            self.ready = os.read(self._pipe, 1) == b"1"

    def tell(self, drain_s: float) -> None:
        """Tell it to stop, within so many seconds."""
        self.stop_by = time.monotonic() + drain_s
        if not self.ended():
            os.kill(self.pid, signal.SIGTERM)

    @property
    def late(self) -> bool:
        return not self.ready and time.monotonic() - self.since > _READY_S

    def end(self, grace_s: float = 0.0) -> int:
        first = not self.over
        if first:
            os.close(self._pipe)
        status = super().end(grace_s)
        if first:
            fold(self._numbers)
        return status


def supervise(
    settings: Settings, host: str, port: int, how: Running, count: int, modules: Sequence[str] = ()
) -> None:
    """Serve from ``count`` processes until SIGTERM or SIGINT.

    Args:
        settings: what each serves. Without a key for sessions all get one that is made here;
            without a number of workers they share the cores.
        modules: that register environments, and are imported in each.

    Raises:
        SettingError: a setting is wrong, or the first processes do not come up.
    """
    check_host(host, settings.token)
    said = ""
    if not settings.session_key:
        settings = replace(settings, session_key=os.urandom(32).hex())
        said = (
            "\nSessions outlive these processes, but not this server: --session-key-file, or "
            "MINT_SERVE_SESSION_KEY, lets others go on with them"
        )
    if settings.executor == "processes":
        settings = replace(settings, executor=f"processes:{max(1, cpu_count() // count)}")
    order = {"settings": asdict(settings), "how": asdict(how), "modules": list(modules)}
    with listen(host, port) as listener, tempfile.TemporaryDirectory() as numbers:
        members = _ServerProcesses(
            listener, json.dumps(order).encode(), count, how.drain_s + how.unready_s, Path(numbers)
        )
        members.run(serving_line(listener, host, how) + said)


class _ServerProcesses:
    """The processes that serve, those that come, and those that go."""

    def __init__(
        self, listener: socket.socket, order: bytes, count: int, drain_s: float, numbers: Path
    ) -> None:
        self._listener, self._order, self._count = listener, order, count
        self._files = (numbers / str(number) for number in counting(1))
        self._drain_s = drain_s + _GRACE_S
        self._there: list[_ServerProcess] = []
        self._going: list[_ServerProcess] = []
        self._old: list[_ServerProcess] = []  # those that a rolling restart has still to replace
        self._coming: _ServerProcess | None = None
        self._stop = self._hup = False
        self._failures, self._start_at = 0, 0.0

    def run(self, said: str) -> None:
        """Start them, say that they are there, and keep them there until a signal ends all."""
        before = {
            one: signal.signal(one, self._signalled)
            for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        }
        try:
            self._there = [self._start() for _ in range(self._count)]
            self._wait_for_first()
            if not self._stop:
                click.echo(f"{said}\n{self._count} processes; SIGHUP replaces them one by one")
            while not self._stop:
                self._tick()
                time.sleep(_TICK_S)
            self._end_all()
        finally:
            for member in [*self._there, *self._going, *filter(None, [self._coming])]:
                member.end()
            for one, handler in before.items():
                signal.signal(one, handler)

    def _signalled(self, number: int, frame: Any) -> None:
        if number == signal.SIGHUP:
            self._hup = True
        else:
            self._stop = True

    def _start(self) -> _ServerProcess:
        return _ServerProcess(self._listener, self._order, next(self._files))

    def _wait_for_first(self) -> None:
        """Wait until all are ready.

        Raises:
            SettingError: one ends before, or takes too long.
        """
        while not self._stop and not all(member.ready for member in self._there):
            for member in self._there:
                member.look()
                if member.ended() or member.late:
                    raise SettingError("a server process does not come up: what it said is above")
            time.sleep(_TICK_S)

    def _tick(self) -> None:
        for member in self._there:
            member.look()
        self._replace_ended()
        if self._hup:
            self._hup, self._old = False, list(self._there)
        self._roll()
        for member in [one for one in self._going if one.ended() or time.monotonic() > one.stop_by]:
            self._going.remove(member)
            member.end()

    def _replace_ended(self) -> None:
        for member in [one for one in self._there if one.ended() or one.late]:
            status = member.end()
            self._failures = 0 if member.ready else self._failures + 1
            pause = _PAUSE_S[min(self._failures, len(_PAUSE_S) - 1)]
            _tell_operator(f"process {member.pid} has ended ({status}): another is started")
            self._there.remove(member)
            self._start_at = time.monotonic() + pause
        if len(self._there) < self._count and time.monotonic() >= self._start_at:
            self._there.append(self._start())

    def _roll(self) -> None:
        """Take a step of a rolling restart: one comes, then one goes."""
        self._old = [member for member in self._old if member in self._there]
        if self._coming is None:
            if self._old:
                self._coming = self._start()
            return
        self._coming.look()
        if self._coming.ready:
            self._there.append(self._coming)
            if self._old:
                self._dismiss(self._old.pop(0))
            elif len(self._there) > self._count:
                self._dismiss(self._there[0])
            self._coming = None
        elif self._coming.ended() or self._coming.late:
            _tell_operator("a new process does not come up: the others go on as they are")
            self._coming.end()
            self._coming, self._old = None, []

    def _dismiss(self, member: _ServerProcess) -> None:
        self._there.remove(member)
        self._going.append(member)
        member.tell(self._drain_s)

    def _end_all(self) -> None:
        """Tell all to stop, and give them the time that they may take."""
        everyone = [*self._there, *self._going, *filter(None, [self._coming])]
        for member in everyone:
            member.tell(self._drain_s)
        late = time.monotonic() + self._drain_s
        while time.monotonic() < late and not all(member.ended() for member in everyone):
            time.sleep(_TICK_S)


def _tell_operator(text: str) -> None:
    click.echo(f"mint-envs: {text}", err=True)
