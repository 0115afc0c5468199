"""The routes. Each reads a form, hands the work to the desk, and answers."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, HTTPException
from fastapi.responses import HTMLResponse, Response

import mint_envs

from ..core import Reward
from ..executors import Executor, Lost
from ..registration import family_of, settings_of, type_name
from ..reports.pages import api_page
from . import wire
from .catalog import Catalog, Offer
from .faults import FAULTS, add_faults
from .graders import graded
from .guard import App, Guard
from .metrics import Counted
from .server import Readiness, Server, StrictRoute, raise_lost
from .session_routes import session_routes
from .settings import Settings
from .wire import StrictJSON
from .work import score_items, show_prompts


def make_app(
    settings: Settings | None = None,
    executor: Executor | None = None,
    readiness: Readiness | None = None,
    numbers: Path | None = None,
) -> App:
    """Return the ASGI application.

    Args:
        settings: what is served and within which limits.
        executor: where work runs, instead of the one that the settings name.
        readiness: what /readyz tells; who serves the application says there that it will stop.
        numbers: a file in a folder that all processes of the server share, for /metrics.

    Raises:
        SettingError: a setting is wrong, or an offer cannot be made.
    """
    settings = settings or Settings()
    server = Server(settings, executor, readiness or Readiness(), numbers)
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
    app.router.route_class = StrictRoute
    app.include_router(_score_routes(server))
    app.include_router(session_routes(server))
    app.include_router(_other_routes(server, app))
    add_faults(app)
    routes = frozenset(_paths(app))
    return Counted(Guard(app, settings, server.desk), server.metrics, routes)


def _paths(app: FastAPI) -> list[str]:
    return [*app.openapi()["paths"], "/docs", "/openapi.json"]


def _score_routes(server: Server) -> APIRouter:
    router = APIRouter(route_class=StrictRoute)

    @router.post("/v1/score", response_model=wire.RewardsOut)
    async def score_responses(form: wire.ScoreForm) -> Response:
        """Score a batch of responses to problems of one environment; rewards keep the order."""
        server.check_batch(form.items)
        task = await server.task(form.env, form.settings)
        items = [(item.ref, item.texts) for item in form.items]
        found = await server.desk.run(score_items, task, items, about=form.env)
        return _rewards_answer(server, form.env, found)

    @router.post("/v1/prompts", response_model=wire.PromptsOut)
    async def prompts(form: wire.PromptsForm) -> Response:
        """Return the prompts of problems, to be answered and then scored by /v1/score."""
        server.check_batch(form.problems)
        task = await server.task(form.env, form.settings)
        found = await server.desk.run(
            show_prompts, task, [problem.ref for problem in form.problems]
        )
        for one in found:
            raise_lost(one)
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
        found = await server.desk.run(work, None, list(enumerate(items)), about=f"grade/{name}")
        return _rewards_answer(server, f"grade/{name}", found)

    grade.__annotations__["form"] = form
    router.add_api_route(
        f"/v1/grade/{name}", grade, methods=["POST"], response_model=wire.RewardsOut,
        operation_id=f"grade_{name}", summary=f"Grade {name}",
        description=f"{(item.__doc__ or '').strip()} Rewards keep the order.",
    )  # fmt: skip


def _rewards_answer(server: Server, env: str, found: Sequence[Reward | Lost]) -> Response:
    server.metrics.count(env, found)
    return StrictJSON({"rewards": [wire.reward_out(one) for one in found]})


def _other_routes(server: Server, app: FastAPI) -> APIRouter:
    router = APIRouter(route_class=StrictRoute)

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
        return StrictJSON({"status": "ok", "package": mint_envs.__version__})

    @router.get("/readyz", response_model=wire.HealthOut)
    async def ready() -> Response:
        """Say whether requests should be sent here; 503 before and after. Needs no token."""
        if not server.readiness.ready:
            raise HTTPException(503, "stopping" if server.readiness.stopping else "starting")
        return StrictJSON({"status": "ok", "package": mint_envs.__version__})

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
