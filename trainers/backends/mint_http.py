"""The HTTP side of the mint backend: one layer of retries, the key, and the preflight.

The SDK retries in three layers of its own, the inner ones for five minutes and the outer ones for
ever, and sends an ``optim_step`` again after a broken connection although not every server
recognises the repetition (SkyRL 0.3.0 applies it twice). So the SDK gets an HTTP client of ours
that has already retried; what that client gives up on reaches the SDK as status 424, which none
of its layers retries.
"""

from __future__ import annotations

import asyncio
import email.utils
import logging
import re
import time
from collections.abc import Callable
from typing import Any

import httpx
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from mint_envs.errors import did_you_mean

from ..errors import BackendError

log = logging.getLogger("trainers.mint")

#: What the SDK holds in place of the key. It wants ``tml-`` in front, MinT's keys have ``sk-``,
#: and a self-hosted server has what it likes; and what the SDK does not know it cannot log.
PLACEHOLDER = "tml-added-below"
#: Status of an answer that we wrote ourselves: the SDK passes it on and retries nothing.
GAVE_UP = 424
#: Requests that must not arrive twice: a second one would change the weights again.
_UPDATES = ("/forward_backward", "/optim_step")
#: The SDK sends these again by itself, on a clock; a lost one does no harm.
_BEATS = ("/session_heartbeat", "/telemetry")
_LONGEST_PAUSE_S = 30.0


class Passing(Exception):
    """A fault that may pass. ``reached``: the request may have been carried out all the same."""

    def __init__(self, reason: str, reached: bool, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.reached, self.wait_s = reached, wait_s


class ServiceHTTP(httpx.AsyncClient):  # type: ignore[misc]  # httpx is optional, so Any to mypy
    """An ``httpx.AsyncClient`` that retries what can be retried and adds the key.

    Retried, with doubling pauses and jitter or as ``Retry-After`` says: 408, 425, 429, 5xx, broken
    connections, answers that are not JSON. A ``forward_backward`` or ``optim_step`` is sent again
    only if it cannot have been carried out (429, 503, no connection). Otherwise its answer is 424
    with ``"lost": true``, and no further update goes out through this client.

    One thing is left to the SDK: 429 on ``asample`` is how a service says that enough samples are
    in flight. The SDK then sends fewer at a time, for as long as it takes; ``Retry-After`` is
    waited out before it hears of it.

    Args:
        api_key: goes into ``X-API-Key`` wherever the SDK put the placeholder.
        retries: how often a request is sent again.
        backoff_s: the first pause, in seconds; each next one is twice as long, up to 30 s.
    """

    def __init__(self, api_key: str, retries: int, backoff_s: float) -> None:
        super().__init__(
            http2=True,
            follow_redirects=False,  # the key is for this host alone
            # Servers drop idle connections after 5 s or more; we drop them first, lest an update
            # meet a connection that is just being closed.
            limits=httpx.Limits(max_connections=1000, keepalive_expiry=2.0),
            event_hooks={"request": [self._add_key]},
        )
        self._key, self._retries = api_key, retries
        doubling = wait_exponential(multiplier=backoff_s, max=_LONGEST_PAUSE_S)
        self._backoff = doubling + wait_random(0, backoff_s / 2)
        self._said = 0.0
        self.stopped = ""  # why nothing more goes out
        self._update_failed = ""  # why no update goes out

    async def send(self, request: Any, **kwargs: Any) -> Any:
        """Send ``request``; return its answer, or status 424 and the reason."""
        path = request.url.path
        if path.endswith(_BEATS):
            return await super().send(request, **kwargs)
        update = path.endswith(_UPDATES)
        if update:
            _wait_for_answer(request)
        try:
            answer = await self._retrying(update)(self._once, request, update, kwargs)
        except Passing as fault:
            answer = _gave_up(request, str(fault), lost=update and fault.reached)
        if update and not answer.is_success:
            self._update_failed = f"not sent, since the update before it failed ({answer.text})"
        return answer

    def _retrying(self, update: bool) -> AsyncRetrying:
        return AsyncRetrying(
            stop=stop_after_attempt(self._retries + 1),
            wait=self._pause,
            retry=retry_if_exception(lambda e: _repeatable(e, update)),
            before_sleep=self._say,
            reraise=True,
        )

    def _pause(self, state: RetryCallState) -> float:
        fault = state.outcome.exception()
        return float(self._backoff(state) if fault.wait_s is None else fault.wait_s)

    def _say(self, state: RetryCallState) -> None:
        """Log why there is a pause; one line a second at most, however many requests wait."""
        if time.monotonic() - self._said < 1.0:
            return
        self._said = time.monotonic()
        fault, pause = state.outcome.exception(), state.next_action.sleep
        log.warning("%s; try %d in %.1f s", fault, state.attempt_number + 1, pause)

    async def _once(self, request: Any, update: bool, kwargs: dict[str, Any]) -> Any:
        if why := self.stopped or (update and self._update_failed):
            return _gave_up(request, str(why))
        try:
            answer = await super().send(request, **kwargs)
        except httpx.ReadTimeout:
            if request.url.path.endswith("/retrieve_future"):
                raise  # a server may hold this until the result is there: ask again, no fault
            raise Passing("no answer in time", reached=True) from None
        except httpx.TransportError as error:
            raise Passing(_reason(error), reached=not _never_sent(error)) from None
        if answer.status_code == 429 and request.url.path.endswith("/asample"):
            await asyncio.sleep(_retry_after(answer) or 0.0)
            return answer
        return _checked(request, answer)

    async def _add_key(self, request: Any) -> None:
        if request.headers.get("X-API-Key") == PLACEHOLDER:
            request.headers["X-API-Key"] = self._key


def _wait_for_answer(request: Any) -> None:
    """Lift the read timeout: giving up on an update's answer would leave its fate unknown."""
    timeout = request.extensions.get("timeout", {})
    request.extensions["timeout"] = {**timeout, "read": None}


def _repeatable(error: BaseException, update: bool) -> bool:
    return isinstance(error, Passing) and not (update and error.reached)


def _never_sent(error: Exception) -> bool:
    return isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)


def _checked(request: Any, answer: Any) -> Any:
    """Return ``answer``, or raise Passing if another try may do better."""
    status = answer.status_code
    if status == 408 and request.url.path.endswith("/retrieve_future"):
        return answer  # "not ready yet"
    if status in (408, 425, 429) or status >= 500:
        # 429 and 503 say that the request was not taken; of the others one cannot know.
        reached = status not in (425, 429, 503)
        raise Passing(f"the service answers {status}", reached, _retry_after(answer))
    if status == 409:  # the SDK would repeat it for five minutes
        return _gave_up(request, _detail(answer), lost=True)
    if status == 402:  # the SDK would pause for an hour
        return _gave_up(request, f"the account has no credit left (402): {_detail(answer)}")
    if answer.is_success and not _readable(answer):
        raise Passing("the service answers with something that is not JSON", reached=True)
    return answer


def _readable(answer: Any) -> bool:
    if "x-protobuf" in answer.headers.get("content-type", ""):
        return True
    try:
        answer.json()
    except ValueError:
        return False
    return True


def _retry_after(answer: Any) -> float | None:
    """Return the seconds that ``Retry-After`` asks for (a number or a date), or None."""
    value = answer.headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    date = email.utils.parsedate_tz(value)
    return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else None


def _gave_up(request: Any, reason: str, lost: bool = False) -> Any:
    return httpx.Response(GAVE_UP, request=request, json={"detail": reason, "lost": lost})


def _reason(error: Exception) -> str:
    return " ".join(f"{type(error).__name__} {error}".split())


def _detail(answer: Any) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return str(answer.text[:200])


# -- preflight ------------------------------------------------------------------------------------


def reach(base_url: str) -> None:
    """Raise BackendError unless a service answers at ``base_url`` within three seconds a phase.

    A service that answers 429 or 5xx counts as there: the retries deal with it.
    """
    if not re.match(r"https?://[^/\s]", base_url):
        raise BackendError(
            f"MINT_BASE_URL={_public(base_url)!r} is no address. Write http(s)://host[:port]"
        )
    answer = _ask(base_url, lambda http: http.get("/api/v1/healthz"))
    if answer.is_redirect:
        raise BackendError(
            f"{_public(base_url)} sends on to {answer.headers.get('location')}, where the key "
            "would go too. If that is the service, set MINT_BASE_URL to it"
        )
    if answer.status_code == 404:
        raise BackendError(
            f"{_public(base_url)} answers, but not as a MinT (Tinker) service: /api/v1/healthz "
            "is not there. Check MINT_BASE_URL"
        )


def admit(base_url: str, api_key: str, base_model: str) -> None:
    """Raise BackendError if the service refuses ``api_key`` or does not have ``base_model``.

    A service that lacks one of the endpoints asked here passes that check.
    """
    config = _admitted(
        base_url, api_key, "POST", "/api/v1/client/config", {"sdk_version": "0.22.0"}
    )
    token = api_key
    if config.get("pjwt_auth_enabled"):  # the key is to be changed for a short-lived one
        token = _admitted(base_url, api_key, "POST", "/api/v1/auth/token", {}).get("jwt", api_key)
    able = _admitted(base_url, token, "GET", "/api/v1/get_server_capabilities", None)
    models = [str(model.get("model_name")) for model in able.get("supported_models", [])]
    if models and base_model not in models:
        raise BackendError(
            f"{_public(base_url)} has no model {base_model!r}. {did_you_mean(base_model, models)}"
            " Choose with --base-model or MINT_BASE_MODEL"
        )


def _admitted(base_url: str, key: str, method: str, path: str, body: Any) -> dict[str, Any]:
    headers = {"X-API-Key": key}
    answer = _ask(base_url, lambda http: http.request(method, path, headers=headers, json=body))
    if answer.status_code in (401, 403):
        raise BackendError(
            f"{_public(base_url)} refuses the key ({answer.status_code}). Check MINT_API_KEY, or "
            "train on this machine with --backend local"
        )
    try:
        value = answer.json() if answer.is_success else {}
    except ValueError:
        value = {}
    return value if isinstance(value, dict) else {}


def _public(url: str) -> str:
    """Return ``url`` without a user name and password."""
    return re.sub(r"//[^/@]*@", "//", url)


def _ask(base_url: str, request: Callable[[Any], Any]) -> Any:
    try:
        with httpx.Client(base_url=base_url.rstrip("/"), timeout=3.0) as http:
            return request(http)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
        raise BackendError(
            f"cannot reach {_public(base_url)} ({_reason(error)}). Check the network and "
            "MINT_BASE_URL, or train on this machine with --backend local"
        ) from None
