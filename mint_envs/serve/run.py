"""From settings to a running server."""

from __future__ import annotations

import resource
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import uvicorn

from ..errors import SettingError, require
from .app import make_app
from .protocol import limited
from .server import Readiness
from .settings import Settings, check_host

BACKLOG = 1024
_AT_ONCE = 8  # connections that one process takes from those that wait: others want some too
_SPARE_FILES = 256
_FEWEST_FILES = 128
OWN_KEY = (
    "Sessions are signed with a key of this server's own, and end with it: --session-key-file, or "
    "MINT_SERVE_SESSION_KEY, lets others go on with them"
)


@dataclass(frozen=True, slots=True)
class Running:
    """How a server runs, beside its settings.

    Args:
        drain_s: seconds in which requests in work may end when it is told to stop.
        unready_s: seconds before that in which it serves on, but /readyz says that it will stop.
        certificate, key: of TLS, as paths.
        log: ``"info"`` logs each request.
    """

    drain_s: int = 30
    unready_s: float = 0.0
    certificate: str | None = None
    key: str | None = None
    log: str = "warning"


def serve(settings: Settings, host: str, port: int, how: Running | None = None) -> None:
    """Serve until SIGTERM or SIGINT; requests in work are then finished.

    Raises:
        SettingError: a setting is wrong, or the address cannot be had.
    """
    how = how or Running()
    check_host(host, settings.token)
    with listen(host, port) as listener:
        said = serving_line(listener, host, how)
        if not settings.session_key:
            said += f"\n{OWN_KEY}"
        serve_on(listener, settings, how, at_start=lambda: click.echo(said))


def serving_line(listener: socket.socket, host: str, how: Running) -> str:
    """Return what is printed once a server can be reached."""
    scheme = "https" if how.certificate else "http"
    shown = f"[{host}]" if ":" in host else host
    address = f"{scheme}://{shown}:{listener.getsockname()[1]}"
    return f"Serving on {address}  ({address}/docs)"


def serve_on(
    listener: socket.socket, settings: Settings, how: Running, *,
    at_start: Callable[[], Any] = lambda: None, when_ready: Callable[[], Any] = lambda: None,
    numbers: Path | None = None,
) -> None:  # fmt: skip
    """Serve on a socket, which other processes may share; then ``numbers`` is a file for these."""
    settings = within_files(settings)
    readiness = Readiness()
    app = make_app(settings, readiness=readiness, numbers=numbers)
    config = configure(app, settings, how)
    _TellingServer(config, readiness, how.unready_s, at_start, when_ready).run([listener])


def configure(app: Any, settings: Settings, how: Running | None = None) -> uvicorn.Config:
    """Return uvicorn's configuration for the application."""
    how = how or Running()
    return uvicorn.Config(
        app,
        http=limited(settings),
        ws="none",
        lifespan="on",
        log_level=how.log,
        access_log=how.log == "info",
        server_header=False,
        proxy_headers=False,
        backlog=_AT_ONCE,
        timeout_keep_alive=int(max(5, settings.read_s)),
        timeout_graceful_shutdown=how.drain_s,
        ssl_certfile=how.certificate,
        ssl_keyfile=how.key,
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        SettingError: the address is taken, or not of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SettingError(
            f"host={host!r}, port={port}: {error.strerror or error}. Choose another port, or 0."
        ) from error
    # Its connections inherit this; asyncio sets it only where a socket says that it is of TCP. Else
    # an answer, which is written in two parts, waits 40 ms for its second.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class _TellingServer(uvicorn.Server):  # type: ignore[misc]
    """A server that tells when it is there, when it is ready, and, for a while, that it will stop.

    Args:
        unready_s: seconds after SIGTERM for which it serves on, so that balancers can look away.
    """

    def __init__(
        self, config: uvicorn.Config, readiness: Readiness, unready_s: float,
        at_start: Callable[[], Any], when_ready: Callable[[], Any],
    ) -> None:  # fmt: skip
        super().__init__(config)
        self._readiness, self._unready_s = readiness, unready_s
        self._at_start, self._when_ready = at_start, when_ready
        self._told = False
        self._stop_at: float | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or []:
            one.listen(BACKLOG)  # as many may wait as before: uvicorn has set it to ``_AT_ONCE``
        self._at_start()

    async def on_tick(self, counter: int) -> bool:
        if self._readiness.ready and not self._told:
            self._told = True
            self._when_ready()
        if self._stop_at is not None and time.monotonic() >= self._stop_at:
            self.should_exit = True
        return bool(await super().on_tick(counter))

    def handle_exit(self, sig: int, frame: Any) -> None:
        self._readiness.stopping = True
        if self._unready_s and self._stop_at is None and sig == signal.SIGTERM:
            self._stop_at = time.monotonic() + self._unready_s
            self._captured_signals.append(sig)
        else:
            super().handle_exit(sig, frame)


def within_files(settings: Settings) -> Settings:
    """Raise the limit on open files as far as this process may; have no more connections than fit.

    Raises:
        SettingError: next to nothing fits.
    """
    wanted = settings.max_connections + _SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most >= wanted:
        return settings
    require(
        most >= _FEWEST_FILES,
        f"this process may open {hard} files, and needs {_FEWEST_FILES} at the least: raise it "
        "(ulimit -Hn, LimitNOFILE=)",
    )
    connections = max(most - _SPARE_FILES, most // 4)
    click.echo(
        f"mint-envs: this process may open {hard} files, and {wanted} may be needed: it takes "
        f"{connections} connections at once. Raise it (ulimit -Hn, LimitNOFILE=)",
        err=True,
    )
    return settings.with_connections(connections)
