"""Numbers for Prometheus. Labels are routes and names of offers, never a client's text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..core import Reward
from ..executors import Executor, Lost
from ..problems import Answer
from .guard import App, Message, Receive, Scope, Send
from .numbers import SharedNumbers
from .played import PlayedTurns
from .sessions import Sessions
from .work import Desk

_BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """The numbers of a server.

    Args:
        shared: the file of this process, if several are the server; /metrics then adds them up.
    """

    def __init__(
        self, desk: Desk, sessions: Sessions, played: PlayedTurns, executor: Executor,
        shared: Path | None = None,
    ) -> None:  # fmt: skip
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "mint_requests", "requests answered", ["route", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "mint_request_seconds", "time to answer a request", ["route"],
            buckets=_BUCKETS, registry=self._registry,
        )  # fmt: skip
        self.rewards = Counter(
            "mint_rewards", "rewards given", ["env", "measured"], registry=self._registry
        )
        self._watch("mint_waiting", "items waiting for or in work", lambda: desk.waiting)
        self._watch("mint_given_up", "pieces of work whose clients had gone", lambda: desk.given_up)
        self.turns = Counter(
            "mint_turns", "turns of sessions", ["episode"], registry=self._registry
        )
        self._watch("mint_sessions_held", "sessions that cannot be moved", lambda: len(sessions))
        self._watch("mint_sessions_played", "sessions that were played here", lambda: len(played))
        self._watch(
            "mint_session_bytes", "bytes that sessions keep", lambda: sessions.bytes + played.bytes
        )
        self._watch("mint_sessions_expired", "held sessions closed when idle",
                    lambda: sessions.expired)  # fmt: skip
        self._watch(
            "mint_workers_replaced", "workers that were lost and replaced",
            lambda: getattr(executor, "replaced", 0),
        )  # fmt: skip
        self._watch("mint_processes", "server processes whose numbers these are", lambda: 1)
        self.shared = None if shared is None else SharedNumbers(shared, self._registry)

    def _watch(self, name: str, help: str, read: Any) -> None:
        Gauge(name, help, registry=self._registry).set_function(read)

    def count(self, env: str, rewards: Sequence[Reward | Lost]) -> None:
        """Count rewards by whether they were measured."""
        measured = sum(isinstance(one, Reward) and one.measured for one in rewards)
        for label, count in (("yes", measured), ("no", len(rewards) - measured)):
            if count:
                self.rewards.labels(env, label).inc(count)

    def count_turn(self, env: str, answer: Answer, replayed: bool) -> None:
        """Count a turn by whether its episode had to be played again, and the reward it gave."""
        self.turns.labels("played_again" if replayed else "under_way").inc()
        if isinstance(answer, Reward):
            self.count(env, [answer])

    def text(self) -> bytes:
        text: bytes = generate_latest(self.shared or self._registry)
        return text


class Counted:
    """An ASGI application round another, that counts and times its answers."""

    def __init__(self, app: App, metrics: Metrics, routes: frozenset[str]) -> None:
        self._app, self._metrics, self._routes = app, metrics, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = self._route(scope)
            self._metrics.requests.labels(route, str(status or 499)).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - began)

    def _route(self, scope: Scope) -> str:
        path = str(getattr(scope.get("route"), "path", scope["path"]))
        return path if path in self._routes else "other"
