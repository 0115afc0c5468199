"""What goes wrong, as an answer: ``{"detail": "what, and what to do"}``."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from ..errors import MintEnvsError, SandboxUnavailable
from ..executors.port import CannotStart
from .episodes import Differs
from .references import StaleReference
from .wire import StrictJSON
from .work import NoRoom

_log = logging.getLogger("mint_envs.serve")

#: Status codes, and what they mean here.
FAULTS = {
    401: "the token is missing or wrong",
    403: "the Host header is not one of this server",
    404: "there is no such thing here",
    405: "another method",
    408: "the body came too slowly",
    409: "the session is too long, busy, or at another turn",
    410: "the session cannot be gone on with: the detail says why",
    413: "the body or the batch is too large",
    422: "something in the request is wrong; the detail says what",
    421: "the session is held by another process, since its episode has chance in it",
    428: "the responses of the session so far are wanted, as said",
    429: "too much at once: wait for as many seconds as Retry-After says",
    500: "a fault of the server",
    503: "no sandbox or worker works on the server, or it is stopping",
}


def add_faults(app: FastAPI) -> None:
    """Let every error become such an answer."""
    for kind, handler in _HANDLERS.items():
        app.add_exception_handler(kind, handler)


def _fault_response(status: int, detail: str, **headers: str) -> Response:
    return StrictJSON({"detail": detail}, status, headers)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _fault_response(
        422, "; ".join(_validation_text(one) for one in list(error.errors())[:5])
    )


async def _too_busy(_: Request, error: Exception) -> Response:
    assert isinstance(error, NoRoom)
    wait = str(round(error.retry_s))
    return _fault_response(429, f"{error}: try again in {wait} s", **{"Retry-After": wait})


async def _mistake(_: Request, error: Exception) -> Response:
    """What a worker raised: a mistake in the request, or else a fault of the server."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, CannotStart):
        _log.error("no worker comes up", exc_info=error)
        return _fault_response(503, "no worker comes up on the server", **{"Retry-After": "10"})
    if isinstance(error, SandboxUnavailable):
        return _fault_response(503, str(error))
    if isinstance(error, MintEnvsError):
        return _fault_response(422, str(error)[:2000])
    if isinstance(error, RecursionError):
        return _fault_response(422, "the request is nested too deeply")
    raise error


async def _gone(_: Request, error: Exception) -> Response:
    return _fault_response(410, str(error)[:2000])


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _fault_response(error.status_code, str(error.detail), **(error.headers or {}))


async def _server_fault(_: Request, error: Exception) -> Response:
    _log.error("a fault of the server", exc_info=error)
    return _fault_response(500, "a fault of the server; its log says more")


_HANDLERS = {
    RequestValidationError: _invalid,
    NoRoom: _too_busy,
    StaleReference: _gone,
    Differs: _gone,
    ExceptionGroup: _mistake,
    MintEnvsError: _mistake,
    RecursionError: _mistake,
    HTTPException: _http_error,
    Exception: _server_fault,
}


def _validation_text(error: Any) -> str:
    where = ".".join(str(part)[:80] for part in error["loc"][1:])
    more = error.get("ctx", {}).get("error") if error["type"] == "json_invalid" else None
    message = f"{error['msg']}: {more}" if more else str(error["msg"])
    return f"{where}: {message}"[:400] if where else message[:400]
