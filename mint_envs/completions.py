"""Completions from any OpenAI-compatible address, with retries: what judges and policies ask.

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
#: Bytes too: each token is told with its text, its place and the likeliest others.
_LONGEST_OF_TOKENS = 64 << 20
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


@dataclass(frozen=True, slots=True)
class SampledTokens:
    """What came back for token ids: the ids that followed them, as they were sampled.

    ``prompt_ids`` are those of the prompt as the service has them, None where it does not say;
    ``cut``: it ended at the longest length.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    cut: bool
    prompt_ids: tuple[int, ...] | None
    text: str


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
        return await self._ask(
            client, "/chat/completions", fields, lambda body: read(_completion(body)), _LONGEST_BODY
        )

    async def ask_tokens(self, client: Any, fields: Mapping[str, Any]) -> SampledTokens:
        """Return the tokens that follow those of ``fields["prompt"]``.

        Raises:
            MayPass: there is no answer, and why.
            WillLast: the address does not take token ids, or does not give them, with their
                log-probabilities; or it refuses.
        """
        return await self._ask(client, "/completions", fields, _sampled_tokens, _LONGEST_OF_TOKENS)

    async def _ask(
        self, client: Any, path: str, fields: Mapping[str, Any],
        read: Callable[[bytes], Result], longest: int,
    ) -> Result:  # fmt: skip
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._retries + 1),
            wait=self._pause,
            retry=retry_if_exception_type(MayPass),
            reraise=True,
        )
        request = path, json.dumps(fields), longest
        found: Result = await retrying(self._once, client, request, read)
        return found

    def _pause(self, state: RetryCallState) -> float:
        doubled: float = self._backoff_s * 2.0 ** (state.attempt_number - 1)
        jitter = 1.0 + self._random.random() / 2
        wait_s = float(state.outcome.exception().wait_s)
        return max(min(doubled, _LONGEST_PAUSE_S) * jitter, wait_s)

    async def _once(
        self, client: Any, request: tuple[str, str, int], read: Callable[[bytes], Result]
    ) -> Result:
        limit = self._timeout_s
        try:
            async with self._gate, asyncio.timeout(limit):
                body = await self._post(client, *request)
        except TimeoutError:
            raise MayPass(f"no answer within {limit:g} s") from None
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise MayPass(f"the connection failed ({type(error).__name__})") from None
        return read(body)

    async def _post(self, client: Any, path: str, content: str, longest: int) -> bytes:
        url = f"{self._url}{path}"
        request = client.build_request("POST", url, content=content, headers=self._headers())
        response = await client.send(request, stream=True)
        try:
            self._check(response)
            body = b""
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > longest:
                    raise MayPass(f"its answer is longer than {longest} bytes")
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
    if not isinstance(content, list):
        return None, None
    found = [one.get("logprob") if isinstance(one, Mapping) else None for one in content]
    return (tuple(ids), _floats(found)) if _fit(ids, found) else (None, None)


def _sampled_tokens(body: bytes) -> SampledTokens:
    """Read an answer of ``/completions`` to a prompt of token ids, as vLLM and SGLang give it."""
    try:
        choice = json.loads(body)["choices"][0]
        ids, told = choice.get("token_ids"), choice.get("logprobs")
        logprobs = told.get("token_logprobs") if isinstance(told, Mapping) else None
        prompt, text = choice.get("prompt_token_ids"), str(choice.get("text") or "")
        why = choice.get("finish_reason")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise MayPass("what it sent is no completion") from None
    if not _fit(ids, logprobs):
        raise WillLast("it gives no token ids with their log-probabilities")
    told = isinstance(prompt, list) and prompt and all(type(one) is int for one in prompt)
    known = tuple(prompt) if told else None
    return SampledTokens(tuple(ids), _floats(logprobs), why == "length", known, text)


def _fit(ids: Any, logprobs: Any) -> bool:
    """Return whether these are ids, and as many log-probabilities."""
    return (
        isinstance(ids, list) and isinstance(logprobs, list) and len(ids) == len(logprobs)
        and all(type(one) is int and one >= 0 for one in ids)
        and all(type(one) in (int, float) and one <= 0 for one in logprobs)
    )  # fmt: skip


def _floats(found: Any) -> tuple[float, ...]:
    return tuple(map(float, found))


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
