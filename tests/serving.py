"""A server on loopback for tests."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import uvicorn

from mint_envs.executors import Executor
from mint_envs.serve import Settings, make_app
from mint_envs.serve.run import Running, configure, listen


@contextlib.contextmanager
def serving(settings: Settings, executor: Executor | None = None, port: int = 0) -> Iterator[str]:
    """Serve on a free port, or on one, until the block ends; yield the address."""
    with running(settings, executor, port) as (url, _):
        yield url


@contextlib.contextmanager
def running(
    settings: Settings, executor: Executor | None = None, port: int = 0
) -> Iterator[tuple[str, uvicorn.Server]]:
    listener = listen("127.0.0.1", port)
    server = uvicorn.Server(configure(make_app(settings, executor), settings, Running(log="error")))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", server
    finally:
        server.should_exit = True
        thread.join(60)
        listener.close()
        assert not thread.is_alive()
