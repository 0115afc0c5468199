"""From settings to a running server."""

from __future__ import annotations

import resource
import socket
from collections.abc import Callable
from typing import Any

import click
import uvicorn

from ..errors import SettingError
from .app import make_app
from .protocol import limited
from .settings import Settings, check_host

_BACKLOG = 1024
_SPARE_FILES = 256


def serve(
    settings: Settings, host: str, port: int, *, drain_s: int = 30, certificate: str | None = None,
    key: str | None = None, log: str = "warning",
) -> None:  # fmt: skip
    """Serve until SIGTERM or SIGINT; requests in work are then finished.

    Raises:
        SettingError: a setting is wrong, or the address cannot be had.
    """
    check_host(host, settings.token)
    _allow_files(settings.max_connections + _SPARE_FILES)
    with listen(host, port) as listener:
        config = configure(make_app(settings), settings, drain_s, log, certificate, key)
        scheme = "https" if certificate else "http"
        shown = f"[{host}]" if ":" in host else host
        address = f"{scheme}://{shown}:{listener.getsockname()[1]}"
        said = f"Serving on {address}  ({address}/docs)"
        _ReadyServer(config, lambda: click.echo(said)).run([listener])


def configure(
    app: Any, settings: Settings, drain_s: int = 30, log: str = "warning",
    certificate: str | None = None, key: str | None = None,
) -> uvicorn.Config:  # fmt: skip
    """Return uvicorn's configuration for the application."""
    return uvicorn.Config(
        app,
        http=limited(settings),
        ws="none",
        lifespan="on",
        log_level=log,
        access_log=log == "info",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(max(5, settings.read_s)),
        timeout_graceful_shutdown=drain_s,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        SettingError: the address is taken, or not of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise SettingError(
            f"host={host!r}, port={port}: {error.strerror or error}. Choose another port, or 0."
        ) from error


class _ReadyServer(uvicorn.Server):  # type: ignore[misc]
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def _allow_files(wanted: int) -> None:
    """Raise the limit on open files as far as this process may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most < wanted:
        click.echo(
            f"mint-envs: this process may open {hard} files, and {wanted} may be needed: about "
            f"{max(0, hard - _SPARE_FILES)} connections fit. Raise it (ulimit -Hn, LimitNOFILE=)",
            err=True,
        )
