"""Chat completions from any OpenAI-compatible address, with retries: what judges and policies ask.

The key goes into one header, and is in no error or log: error texts hold status codes and names of
errors, but nothing that the server wrote.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import logging
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from .errors import SettingError
from .process_local import ProcessLocal

Result = TypeVar("Result")

_LONGEST_BODY = 1 << 20  # bytes
_LONGEST_PAUSE_S = 30.0
#: A server that wants a longer pause than this is given up on.
_LONGEST_WAIT_S = 120.0
#: Answers that may be others when asked again; of 3xx no redirect is followed, for the key and
#: the data are meant for this host alone.
_PASSING = frozenset((408, 409, 425, 429))
#: Where the HTTP client logs.
_LOGGERS = ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy")


class MayPass(Exception):
    """A fault that may pass; ``wait_s`` is how long the server wants to be left alone."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class WillLast(Exception):
    """A fault that asking again does not help."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back: the text, the thoughts that a server keeps apart, and if it was cut off.

    ``refusal`` is what some services say instead of a text. ``prompt_tokens`` and ``tokens`` are
    what the service counts of the prompt and of the completion; None where it does not say.
    ``ids`` and ``logprobs`` are the tokens as they were sampled, where the service gives both.
    """

    text: str
    thought: str = ""
    cut: bool = False
    refusal: str = ""
    prompt_tokens: int | None = None
    tokens: int | None = None
    ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


class ChatService:
    """An address that is asked.

    Args:
        url: up to and without ``/chat/completions``.
        key: returns the key, or ``""`` where none is sent; called for every request.
        key_name: what the key is called in an error, which does not show it.
        hints: what may help, by the status of an answer.
        concurrency: most requests at one time.
        retries: how often a request is made again.
        timeout_s: seconds for one request, from connecting to the last byte.
        backoff_s: the first pause in seconds; each next one is twice as long, up to 30 s.

    Raises:
        SettingError: the key is none that a header can carry.
    """

    def __init__(
        self,
        url: str,
        key: Callable[[], str],
        key_name: str,
        hints: Mapping[int, str],
        *,
        concurrency: int,
        retries: int,
        timeout_s: float,
        backoff_s: float,
    ) -> None:
        self._url, self._key, self._key_name, self._hints = url, key, key_name, hints
        self._concurrency, self._retries = concurrency, retries
        self._timeout_s, self._backoff_s = timeout_s, backoff_s
        self._gate = asyncio.Semaphore(concurrency)
        self._random = random.Random()  # for pauses; the global one is the user's
        self._headers()
        hide_key(key)

    def client(self) -> Any:
        """Return an HTTP client, to be used in ``async with``."""
        return httpx.AsyncClient(
            verify=_certificates.get() if self._url.startswith("https:") else False,
            timeout=None,  # one limit for the whole request stands in _once
            follow_redirects=False,
            limits=httpx.Limits(max_connections=self._concurrency),
            headers={"Accept-Encoding": "identity"},  # so that the bound on bytes is one on memory
        )

    async def ask(
        self, client: Any, fields: Mapping[str, Any], read: Callable[[Completion], Result]
    ) -> Result:
        """Return what ``read`` makes of an answer; it raises ``MayPass`` for one that is no good.

        Raises:
            MayPass, WillLast: there is no good answer, and why.
        """
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._retries + 1),
            wait=self._pause,
            retry=retry_if_exception_type(MayPass),
            reraise=True,
        )
        found: Result = await retrying(self._once, client, json.dumps(fields), read)
        return found

    def _pause(self, state: RetryCallState) -> float:
        doubled: float = self._backoff_s * 2.0 ** (state.attempt_number - 1)
        jitter = 1.0 + self._random.random() / 2
        wait_s = float(state.outcome.exception().wait_s)
        return max(min(doubled, _LONGEST_PAUSE_S) * jitter, wait_s)

    async def _once(
        self, client: Any, content: str, read: Callable[[Completion], Result]
    ) -> Result:
        limit = self._timeout_s
        try:
            async with self._gate, asyncio.timeout(limit):
                body = await self._post(client, content)
        except TimeoutError:
            raise MayPass(f"no answer within {limit:g} s") from None
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise MayPass(f"the connection failed ({type(error).__name__})") from None
        return read(_completion(body))

    async def _post(self, client: Any, content: str) -> bytes:
        url = f"{self._url}/chat/completions"
        request = client.build_request("POST", url, content=content, headers=self._headers())
        response = await client.send(request, stream=True)
        try:
            self._check(response)
            body = b""
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > _LONGEST_BODY:
                    raise MayPass(f"its answer is longer than {_LONGEST_BODY} bytes")
        finally:
            await response.aclose()
        return body

    def _headers(self) -> dict[str, str]:
        key = _checked_key(self._key(), self._key_name)
        given = {"Authorization": f"Bearer {key}"} if key else {}
        return {"Content-Type": "application/json", **given}

    def _check(self, response: Any) -> None:
        """Raise unless the status is 200, saying what helps."""
        status = response.status_code
        if status == 200:
            return
        wait_s = _retry_after(response.headers.get("Retry-After", ""))
        hint = self._hints.get(status, "")
        reason = f"it answered {status}{hint and f': {hint}'}"
        if wait_s > _LONGEST_WAIT_S:
            raise WillLast(f"{reason}, and to come back in {wait_s:.0f} s")
        if status >= 500 or status in _PASSING or status < 400:
            raise MayPass(reason, wait_s)
        raise WillLast(reason)


def _checked_key(key: str, name: str) -> str:
    if key and not re.fullmatch(r"[!-~]+", key):
        raise SettingError(
            f"{name} holds no key: there are spaces, line ends or letters beyond ASCII in it"
        )
    return key


class _KeyFilter(logging.Filter):
    """Keeps a key out of the debug log of the HTTP client, which shows what a server sent."""

    def __init__(self, key: Callable[[], str]) -> None:
        super().__init__()
        self._key = key

    def filter(self, record: logging.LogRecord) -> bool:
        key = self._key()
        text = record.getMessage()
        if key and key in text:
            record.msg, record.args = text.replace(key, "(key)"), ()
        return True


def _hide_key(key: Callable[[], str]) -> None:
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_KeyFilter(key))


_hidden = ProcessLocal(_hide_key, inherited=True)
_certificates = ProcessLocal(httpx.create_ssl_context)  # slow to make


def hide_key(key: Callable[[], str]) -> None:
    """Keep what ``key`` returns out of the logs of this process."""
    _hidden.get(key)


def _completion(body: bytes) -> Completion:
    try:
        read = json.loads(body)
        choice = read["choices"][0]
        message, why = choice["message"], choice.get("finish_reason")
        text, refusal = message["content"], message.get("refusal")
        thought = message.get("reasoning_content") or message.get("reasoning") or ""
        usage = read.get("usage")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise MayPass("what it sent is no chat completion") from None
    thought = thought if isinstance(thought, str) else ""
    refusal = refusal if isinstance(refusal, str) else ""
    if not isinstance(text, str) and not (text is None and (thought or refusal)):
        raise MayPass("its answer holds no text")
    prompt, own = _count_of(usage, "prompt_tokens"), _count_of(usage, "completion_tokens")
    ids, logprobs = _sampled(choice)
    return Completion(text or "", thought, why == "length", refusal, prompt, own, ids, logprobs)


def _sampled(choice: Any) -> tuple[tuple[int, ...] | None, tuple[float, ...] | None]:
    """Return the ids and log-probabilities of a choice, as vLLM gives them; None unless both."""
    ids, told = choice.get("token_ids"), choice.get("logprobs")
    content = told.get("content") if isinstance(told, Mapping) else None
    if not isinstance(ids, list) or not isinstance(content, list) or len(ids) != len(content):
        return None, None
    found = [one.get("logprob") if isinstance(one, Mapping) else None for one in content]
    logprobs = tuple(one for one in found if isinstance(one, float))
    if len(logprobs) < len(ids) or any(type(one) is not int for one in ids):
        return None, None
    return tuple(ids), logprobs


def _count_of(usage: Any, name: str) -> int | None:
    """Return a number of tokens as a service gives it, or None."""
    count = usage.get(name) if isinstance(usage, Mapping) else None
    return count if type(count) is int and count >= 0 else None


def _retry_after(value: str) -> float:
    """Return the seconds that a ``Retry-After`` header asks for, 0 if none can be read."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return seconds if 0 < seconds < float("inf") else 0.0
