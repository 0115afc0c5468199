"""The routes. Each reads a form, hands the work to the desk, and answers."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import APIRoute

import mint_envs

from ..core import Reward, Task
from ..errors import require
from ..executors import Executor, Lost, Turn, make_executor
from ..executors.processes import Processes
from ..registration import family_of, settings_of, type_name
from ..reports.pages import api_page
from ..sandbox.port import cpu_count
from . import wire
from .catalog import Catalog, Offer, grader_items
from .faults import FAULTS, add_faults
from .graders import graded
from .guard import App, Guard
from .metrics import Counted, Metrics
from .sessions import OpenSession, Sessions
from .settings import Settings
from .wire import StrictJSON
from .work import Desk, respond_turns, score_items, show_prompts, warm

_SWEEP_S = 5.0
_log = logging.getLogger("mint_envs.serve")


class _Route(APIRoute):  # type: ignore[misc]
    """A route whose requests hold strict JSON."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(wire.StrictRequest(request.scope, request.receive))

        return strict


class Server:
    """What the routes share."""

    def __init__(self, settings: Settings, executor: Executor | None) -> None:
        self.settings = settings
        self.catalog, self.graders = Catalog(settings), grader_items()
        self._own = executor is None
        self.executor = _executor(settings) if executor is None else executor
        self.desk = Desk(self.executor, settings.max_waiting, settings.max_client_waiting)
        self.sessions = Sessions(settings.max_sessions, settings.session_s, settings.max_history)
        self.metrics = Metrics(self.desk, self.sessions, self.executor)

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
        sweeper = asyncio.create_task(self._sweep())
        self._warm()
        yield
        sweeper.cancel()
        if self._own:
            await asyncio.to_thread(self.executor.close)

    def _warm(self) -> None:
        """Let the workers start, so that the first client does not wait for them."""
        for _ in range(self.executor.slots):
            self.executor.submit(warm, None, None).add_done_callback(_warn_unscorable)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_S)
            self.sessions.expire()


def _warn_unscorable(warmed: Future[str]) -> None:
    if not warmed.cancelled() and warmed.exception() is None and warmed.result():
        _log.warning("programs cannot be scored: %s", warmed.result())


def _executor(settings: Settings) -> Executor:
    require(
        settings.executor.partition(":")[0] != "local",
        "executor='local' would hold up the event loop: 'processes' or 'ray'",
    )
    kind, _, argument = settings.executor.partition(":")
    if kind == "processes" and (not argument or argument.isdecimal()):
        workers = int(argument or 0) or cpu_count()
        # One more than slow work may take: see Desk. A single one is meant: it keeps its episodes.
        return Processes(workers + (argument != "1"), settings.work_s)
    return make_executor(settings.executor, settings.work_s)


def make_app(settings: Settings | None = None, executor: Executor | None = None) -> App:
    """Return the ASGI application.

    Args:
        settings: what is served and within which limits.
        executor: where work runs, instead of the one that the settings name.

    Raises:
        SettingError: a setting is wrong, or an offer cannot be made.
    """
    settings = settings or Settings()
    server = Server(settings, executor)
    app = FastAPI(
        title="mint-envs",
        version=mint_envs.__version__,
        description=inspect.cleandoc(
            """Environments and graders. A score of null was not measured: leave that sample out.
            Problems are named by seed or index; the same seed gives the same problem on any
            machine."""
        ),
        docs_url=None,
        redoc_url=None,
        lifespan=contextlib.asynccontextmanager(server.lifespan),
        default_response_class=StrictJSON,
        responses={code: {"model": wire.Fault, "description": text}
                   for code, text in FAULTS.items()},
    )  # fmt: skip
    app.router.route_class = _Route
    app.include_router(_score_routes(server))
    app.include_router(_session_routes(server))
    app.include_router(_other_routes(server, app))
    add_faults(app)
    routes = frozenset(_paths(app))
    return Counted(Guard(app, settings), server.metrics, routes)


def _paths(app: FastAPI) -> list[str]:
    return [*app.openapi()["paths"], "/docs", "/openapi.json"]


def _score_routes(server: Server) -> APIRouter:
    router = APIRouter(route_class=_Route)

    @router.post("/v1/score", response_model=wire.RewardsOut)
    async def score_responses(form: wire.ScoreForm) -> Response:
        """Score a batch of responses to problems of one environment; rewards keep the order."""
        server.check_batch(form.items)
        task = await server.task(form.env, form.settings)
        items = [(item.ref, item.texts) for item in form.items]
        return _rewards(server, form.env, await server.desk.run(score_items, task, items))

    @router.post("/v1/prompts", response_model=wire.PromptsOut)
    async def prompts(form: wire.PromptsForm) -> Response:
        """Return the prompts of problems, to be answered and then scored by /v1/score."""
        server.check_batch(form.problems)
        task = await server.task(form.env, form.settings)
        found = await server.desk.run(
            show_prompts, task, [problem.ref for problem in form.problems]
        )
        for one in found:
            _raise_lost(one)
        return StrictJSON(
            {"prompts": [{"prompt": wire.prompt_out(p), "problem_id": i} for p, i in found]}
        )

    for name, form in server.graders.items():
        _add_grader(router, server, name, form)
    return router


def _add_grader(router: APIRouter, server: Server, name: str, item: Any) -> None:
    form, work = wire.grade_form(name, item), partial(graded, item.grader)

    async def grade(form: Any) -> Response:
        server.check_batch(form.items)
        items = [one.model_dump(exclude_unset=True) for one in form.items]
        for one in items if "sandbox_timeout_s" in item.model_fields else ():
            server.catalog.check_seconds(one)
            one.setdefault("sandbox_timeout_s", min(5.0, server.settings.max_program_s))
        found = await server.desk.run(work, None, list(enumerate(items)))
        return _rewards(server, f"grade/{name}", found)

    grade.__annotations__["form"] = form
    router.add_api_route(
        f"/v1/grade/{name}", grade, methods=["POST"], response_model=wire.RewardsOut,
        operation_id=f"grade_{name}", summary=f"Grade {name}",
        description=f"{(item.__doc__ or '').strip()} Rewards keep the order.",
    )  # fmt: skip


def _rewards(server: Server, env: str, found: Sequence[Reward | Lost]) -> Response:
    server.metrics.count(env, found)
    return StrictJSON({"rewards": [wire.reward_out(one) for one in found]})


def _raise_lost(found: Any) -> None:
    if isinstance(found, Lost):
        raise HTTPException(503, f"{found}. Try again.", {"Retry-After": "1"})


def _session_routes(server: Server) -> APIRouter:
    router = APIRouter(route_class=_Route)
    sessions, desk = server.sessions, server.desk

    def of(id: str) -> OpenSession:
        session = sessions.get(id)
        if session is None:
            raise HTTPException(
                404, "there is no such session: it was closed, or idle for too long; open another"
            )
        return session

    @router.post("/v1/sessions", response_model=wire.SessionOut, status_code=201)
    async def open_session(form: wire.SessionForm) -> Response:
        """Begin an episode; the answer holds its id and its prompt."""
        ref = form.ref(secrets.randbits(63))
        sessions.check_room()
        session = OpenSession(form.env, await server.task(form.env, form.settings), ref)
        (shown,) = await desk.run(show_prompts, session.task, [ref])
        _raise_lost(shown)
        sessions.add(session)
        prompt, problem_id = shown
        return StrictJSON(
            {
                "id": session.id,
                "seed": ref.seed,
                "index": ref.index,
                "prompt": wire.prompt_out(prompt),
                "problem_id": problem_id,
                "idle_s": server.settings.session_s,
            },
            201,
        )

    @router.post("/v1/sessions/{id}/respond", response_model=wire.TurnOut)
    async def respond_to(id: str, form: wire.TurnForm) -> Response:
        """Give the next response of an episode; the answer holds the reply, or the reward."""
        session = of(id)
        said = session.said_before(form.response, form.cut, form.turn)
        if said is not None:
            sessions.touch(session)
            return StrictJSON(wire.turn_out(session.turn, said))
        _check_turn(session, form, sessions.is_open(session))
        sessions.check_text(form.response)
        session.busy = True
        try:
            turn = Turn(session.ref, session.id, session.history, form.response, form.cut)
            (answer,) = await desk.run(respond_turns, session.task, [turn])
        finally:
            session.busy = False
        _raise_lost(answer)  # the session stays as it was: the response may be sent again
        sessions.advance(session, form.response, form.cut, answer)
        if isinstance(answer, Reward):
            server.metrics.count(session.env, [answer])
        return StrictJSON(wire.turn_out(session.turn, answer))

    @router.delete("/v1/sessions/{id}", status_code=204)
    async def close_session(id: str) -> Response:
        """Close a session."""
        of(id)
        sessions.close(id)
        return Response(status_code=204)

    return router


def _check_turn(session: OpenSession, form: wire.TurnForm, is_open: bool) -> None:
    if not is_open:
        raise HTTPException(409, "the episode of this session is over: open another session")
    if session.busy:
        raise HTTPException(409, "the session is working on a response already")
    if session.full:
        raise HTTPException(
            409, "the session has had too many turns, or too much text: open another"
        )
    if form.turn is not None and form.turn != session.turn:
        raise HTTPException(409, f"turn={form.turn}: the session has had {session.turn} responses")


def _other_routes(server: Server, app: FastAPI) -> APIRouter:
    router = APIRouter(route_class=_Route)

    @router.get("/v1/envs", response_model=wire.EnvsOut)
    async def envs() -> Response:
        """List what is served, the settings that are yours to choose, and the limits."""
        offers = [_env_out(server.catalog, offer) for offer in server.catalog.offers.values()]
        limits = {
            name: getattr(server.settings, name)
            for name in ("max_body", "max_batch", "max_sessions", "session_s", "max_program_s")
        }
        return StrictJSON({"envs": offers, "graders": sorted(server.graders), "limits": limits})

    @router.get("/healthz", response_model=wire.HealthOut)
    async def health() -> Response:
        """Say that the server is up. Needs no token."""
        return StrictJSON({"status": "ok", "version": mint_envs.__version__})

    @router.get(
        "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}}
    )
    async def metrics() -> Response:
        """Numbers for Prometheus."""
        return Response(server.metrics.text(), media_type="text/plain; version=0.0.4")

    @router.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(
            api_page(app.openapi()),
            headers={"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"},
        )

    return router


def _env_out(catalog: Catalog, offer: Offer) -> dict[str, Any]:
    task = catalog.task(offer.name, {})
    return {
        "name": offer.name,
        "id": offer.id,
        "single_turn": task.single_turn,
        "size": task.size,
        "stop": list(task.stop),
        "settings": {
            name: {
                "type": type_name(one.type),
                "default": _visible_default(offer, name, one.default),
                "help": one.help,
                "yours": name in offer.free,
            }
            for name, one in settings_of(offer.id).items()
        },
    }


def _visible_default(offer: Offer, name: str, default: Any) -> Any:
    """Return what a client may see of a setting: paths and names are the operator's own."""
    value = offer.settings.get(name, default)
    hidden = value is inspect.Parameter.empty or (name in offer.settings and isinstance(value, str))
    return (
        None
        if hidden and name not in family_of(offer.id).client_settings
        else wire.plain_json(value)
    )
