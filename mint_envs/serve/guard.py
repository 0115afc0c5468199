"""What stands before the routes: host, token, and bodies that are too large or too slow.

All of it happens while the request comes in, before anything is parsed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from .fair import CLIENT
from .settings import Settings
from .wire import StrictJSON
from .work import Desk, NoRoom

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN_PATHS = ("/healthz", "/readyz")

_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::\d*)?")
#: An environment by name, outside of any text: quotes within text follow a backslash.
_ENV = re.compile(rb'(?<!\\)"env"\s*:\s*"([^"\\]*)"')
_ENV_WITHIN = 1000  # bytes from the start of a body
_DRAINED = 8  # times as much as a body may hold is read of one that is too large


class RequestDenied(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status, self.headers = status, {k.replace("_", "-"): v for k, v in headers.items()}


class Guard:
    """An ASGI application round another."""

    def __init__(self, app: App, settings: Settings, desk: Desk) -> None:
        self._app, self._settings, self._desk = app, settings, desk
        self._digest = hashlib.sha256(settings.token.encode()).digest()
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        held = _Held(self)
        try:
            headers = _request_headers(scope)
            self._check_host(headers)
            if scope["path"] not in OPEN_PATHS:
                self._check_token(headers)
            body = await self._body(headers, receive, held)
            if body is None:  # the client has gone
                return
            CLIENT.set(_client(scope, headers))
            await self._while_there(scope, body, receive, send)
        except RequestDenied as refusal:
            # The connection cannot be used again: the rest of the body is not understood. Of one
            # that is too large some is read, since clients look for an answer when all is sent.
            if refusal.status == 413:
                await self._drain(receive)
            answer = StrictJSON(
                {"detail": str(refusal)}, refusal.status, {**refusal.headers, "connection": "close"}
            )
            await answer(scope, receive, send)
        finally:
            held.release()

    async def _while_there(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Let the request be worked on, until its client goes away."""
        work = asyncio.ensure_future(self._worked_on(scope, body, receive, send))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
            await work
        except asyncio.CancelledError:
            if not work.cancelled():  # it was not the client: the server stops
                work.cancel()
                raise
        finally:
            gone.cancel()

    async def _worked_on(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        try:
            await self._desk.before_reading(_about(scope["path"], body))
        except NoRoom as full:
            wait = f"{full.retry_s:.0f}"
            raise RequestDenied(429, f"{full}: try again in {wait} s", retry_after=wait) from None
        await self._app(scope, _replay(body, receive), send)

    async def _drain(self, receive: Receive) -> None:
        """Read on and throw away, within limits, until the client has sent all."""
        left = _DRAINED * self._settings.max_body
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.read_s):
                while left > 0:
                    message = await receive()
                    left -= len(message.get("body", b"")) + 1
                    if not message.get("more_body", False):
                        return

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        if self._settings.token:
            return
        host = headers.get(b"host", b"").decode("latin-1").lower()
        found = _HOST.fullmatch(host)
        name = found[1].removeprefix("[").removesuffix("]") if found else host
        if name not in self._settings.hosts:
            raise RequestDenied(
                403, f"the Host header says {name[:80]!r}: a server without token answers to "
                f"{', '.join(self._settings.hosts)} alone"
            )  # fmt: skip

    def _check_token(self, headers: dict[bytes, bytes]) -> None:
        if not self._settings.token:
            return
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        given = hashlib.sha256(token.strip()).digest()
        if not hmac.compare_digest(given, self._digest) or scheme.lower() != b"bearer":
            raise RequestDenied(
                401, "no token, or a wrong one: send the header 'Authorization: Bearer TOKEN'",
                www_authenticate="Bearer",
            )  # fmt: skip

    async def _body(
        self, headers: dict[bytes, bytes], receive: Receive, held: _Held
    ) -> bytes | None:
        """Read the body, within the limits on its size, its time and all bodies together."""
        told = headers.get(b"content-length", b"0")
        self._check_size(int(told) if told.isdigit() and len(told) < 20 else 0)
        chunks: list[bytes] = []
        try:
            async with asyncio.timeout(self._settings.read_s):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunks.append(message.get("body", b""))
                    held.take(len(chunks[-1]))
                    self._check_size(held.size)
                    more = message.get("more_body", False)
        except TimeoutError:
            raise RequestDenied(
                408, f"the body did not come within {self._settings.read_s:g} s"
            ) from None
        return b"".join(chunks)

    def _check_size(self, size: int) -> None:
        if size > self._settings.max_body:
            raise RequestDenied(
                413,
                f"the body is larger than {self._settings.max_body} bytes: send smaller batches",
            )
        if self._held > self._settings.max_bodies:
            raise RequestDenied(429, "too many large requests at once: try again", retry_after="2")


class _Held:
    """The bytes that one request holds, from the common store."""

    def __init__(self, guard: Guard) -> None:
        self._guard, self.size = guard, 0

    def take(self, size: int) -> None:
        self.size += size
        self._guard._held += size

    def release(self) -> None:
        self._guard._held -= self.size
        self.size = 0


def _request_headers(scope: Scope) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in found and name in (b"host", b"authorization"):
            raise RequestDenied(400, f"two {name.decode()} headers")
        found[name] = value
    return found


def _client(scope: Scope, headers: dict[bytes, bytes]) -> str:
    """Return whose request it is: of which token, at which address."""
    address = scope.get("client") or ("",)
    token = hashlib.sha256(headers.get(b"authorization", b"")).hexdigest()[:16]
    return f"{token}@{address[0]}"


def _about(path: str, body: bytes) -> str:
    """Return what a request has scored or graded, so far as it shows without a reading."""
    if path.startswith("/v1/grade/"):
        return path.removeprefix("/v1/")
    found = _ENV.search(body, 0, _ENV_WITHIN) if path == "/v1/score" else None
    return found[1].decode("utf-8", "replace") if found else ""


async def _disconnected(receive: Receive) -> None:
    """Return when the client has gone; all of its request has come."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that gives the body in one piece."""
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again
