"""What the routes of one server share."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from ..core import Task
from ..errors import require
from ..executors import Executor, Lost, make_executor
from ..executors.processes import Processes
from ..sandbox.port import cpu_count
from . import wire
from .catalog import Catalog, grader_items
from .metrics import Metrics
from .played import PlayedTurns
from .references import Signer
from .sessions import Sessions
from .settings import Settings
from .work import Desk, warm

_SWEEP_S = 5.0
_PROGRAMS_NICE = 10  # endless programs of some must not take the CPU from all
_SHARE_S = 1.0  # after which other processes know what was counted here
_log = logging.getLogger("mint_envs.serve")


class StrictRoute(APIRoute):  # type: ignore[misc]
    """A route whose requests hold strict JSON."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(wire.StrictRequest(request.scope, request.receive))

        return strict


@dataclass
class Readiness:
    """Whether a balancer should send requests: workers are up, and it is not about to stop."""

    workers_up: bool = False
    stopping: bool = False

    @property
    def ready(self) -> bool:
        return self.workers_up and not self.stopping


class Server:
    """What the routes share."""

    def __init__(
        self, settings: Settings, executor: Executor | None, readiness: Readiness,
        numbers: Path | None = None,
    ) -> None:  # fmt: skip
        self.settings, self.readiness = settings, readiness
        self.catalog, self.graders = Catalog(settings), grader_items()
        self._own = executor is None
        self.executor = _executor(settings) if executor is None else executor
        self.desk = Desk(self.executor, settings.max_waiting, settings.max_client_waiting)
        self.signer = Signer(
            settings.session_key.encode() or secrets.token_bytes(32), settings.session_s
        )
        self.name = secrets.token_hex(8)  # of the holder of episodes that cannot be moved
        self.sessions = Sessions(settings.max_sessions, settings.session_s, settings.max_history)
        self.played = PlayedTurns(settings.max_played)
        self.metrics = Metrics(self.desk, self.sessions, self.played, self.executor, numbers)

    async def task(self, env: str, wanted: dict[str, Any]) -> Task[Any]:
        """Return a task; one that is not there yet is made off the event loop."""
        if env not in self.catalog.offers:
            raise HTTPException(404, f"env={env[:80]!r} is not served: see GET /v1/envs")
        if not wanted:
            return self.catalog.task(env, {})
        return await asyncio.to_thread(self.catalog.task, env, wanted)

    def check_batch(self, items: Sequence[Any]) -> None:
        if len(items) > self.settings.max_batch:
            raise HTTPException(
                413, f"{len(items)} items: at most {self.settings.max_batch} go in one request"
            )

    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._sweep()), asyncio.create_task(self._share_numbers())]
        self._warm()
        yield
        for task in tasks:
            task.cancel()
        if self.metrics.shared:
            self.metrics.shared.write()
        if self._own:
            await asyncio.to_thread(self.executor.close)

    def _warm(self) -> None:
        """Let the workers start, so that the first client does not wait for them."""
        for _ in range(self.executor.slots):
            self.executor.submit(warm, None, None).add_done_callback(self._warmed)

    def _warmed(self, done: Future[str]) -> None:
        if done.cancelled() or done.exception() is not None:
            return
        self.readiness.workers_up = True
        if done.result():
            _log.warning("programs cannot be scored: %s", done.result())

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_S)
            self.sessions.expire()

    async def _share_numbers(self) -> None:
        while self.metrics.shared:
            self.metrics.shared.write()
            await asyncio.sleep(_SHARE_S)


def _executor(settings: Settings) -> Executor:
    require(
        settings.executor.partition(":")[0] != "local",
        "executor='local' would hold up the event loop: 'processes' or 'ray'",
    )
    kind, _, argument = settings.executor.partition(":")
    if kind == "processes" and (not argument or argument.isdecimal()):
        workers = int(argument or 0) or cpu_count()
        # One more than slow work may take: see Desk.
        return Processes(workers + 1, settings.work_s, _PROGRAMS_NICE)
    return make_executor(settings.executor, settings.work_s)


def raise_lost(found: Any) -> None:
    if isinstance(found, Lost):
        raise HTTPException(503, f"{found}. Try again.", {"Retry-After": "1"})
