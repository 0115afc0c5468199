"""``HTTPJudge``: a model behind any OpenAI-compatible address, asked over HTTP.

Every fault ends as an ``Answer`` with an error, never as a verdict and never as an exception. The
key is read from the environment for each request, goes into one header, and is in no object, error
or log; so error texts hold status codes and names of errors, but nothing that the server wrote.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import logging
import os
import queue
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from ...errors import SettingError
from ...process_local import ProcessLocal
from .loop import LOOP
from .port import Answer
from .question import Question

log = logging.getLogger("mint_envs.judge")

_LONGEST_BODY = 1 << 20  # bytes
_LONGEST_PAUSE_S = 30.0
#: A server that wants a longer pause than this is given up on.
_LONGEST_WAIT_S = 120.0
#: Answers that may be others when asked again; of 3xx no redirect is followed, for the key and
#: the data are meant for this host alone.
_PASSING = frozenset((408, 409, 425, 429))
_HINTS = {
    400: "the model or an option may not suit it: see judge_options",
    401: "set the environment variable {variable} to its key",
    403: "the key in the environment variable {variable} may not use this model",
    404: "check judge (it ends in /v1, as a rule) and judge_model",
    422: "the model or an option may not suit it: see judge_options",
}
#: Where the HTTP client logs.
_LOGGERS = ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy")
_NO_VERDICT = "its answer is not the JSON object that it was asked for"
_CUT = "its answer was cut off: raise max_tokens by judge_options (thinking counts too)"
#: What goes into a request beside the model and the messages; judge_options adds and replaces.
_OPTIONS: Mapping[str, Any] = {"temperature": 0, "max_tokens": 1024}


class _KeyFilter(logging.Filter):
    """Keeps a key out of the debug log of the HTTP client, which shows what a server sent."""

    def __init__(self, variable: str) -> None:
        super().__init__()
        self._variable = variable

    def filter(self, record: logging.LogRecord) -> bool:
        key = os.environ.get(self._variable, "").strip()
        text = record.getMessage()
        if key and key in text:
            record.msg, record.args = text.replace(key, "(key)"), ()
        return True


def _hide_key(variable: str) -> None:
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_KeyFilter(variable))


_hidden = ProcessLocal(_hide_key, inherited=True)
_trusted = ProcessLocal(httpx.create_ssl_context)  # slow to make


class _Passing(Exception):
    """A fault that may pass; ``wait_s`` is how long the server wants to be left alone."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class _Lasting(Exception):
    """A fault that asking again does not help."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is and how it is asked.

    Args:
        url: up to and without ``/chat/completions``.
        model: its name there.
        key_env: name of the environment variable that holds the key; no key is sent without it.
        concurrency: most requests at one time, in one process.
        retries: how often a request is made again.
        timeout_s: seconds for one request, from connecting to the last byte.
        backoff_s: the first pause in seconds; each next one is twice as long, up to 30 s.
        options: JSON object that goes into every request; a field that is null is left out.
    """

    url: str
    model: str
    key_env: str
    concurrency: int = 8
    retries: int = 5
    timeout_s: float = 60.0
    backoff_s: float = 0.5
    options: str = "{}"

    @property
    def fields(self) -> dict[str, Any]:
        """What goes into a request beside the messages."""
        given = {**_OPTIONS, **json.loads(self.options), "model": self.model}
        return {name: value for name, value in given.items() if value is not None}


class HTTPJudge:
    """Asks ``endpoint``. Take it from ``http_judge``: its bound holds for the whole process."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._gate = asyncio.Semaphore(endpoint.concurrency)
        self._random = random.Random()  # for pauses; the global one is the user's
        self._warned = False
        read_key(endpoint.key_env)
        _hidden.get(endpoint.key_env)

    @property
    def name(self) -> str:
        """The model, with all that is sent beside the messages. The address is no part."""
        return json.dumps(self.endpoint.fields, sort_keys=True)

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Yield (position, answer) as they come; each question is asked until it has a verdict."""
        arrived: queue.SimpleQueue[tuple[int, Answer] | None] = queue.SimpleQueue()
        work = LOOP.get().start(self._all(questions, arrived))
        work.add_done_callback(lambda _: arrived.put(None))
        try:
            while (item := arrived.get()) is not None:
                yield item
        finally:
            work.cancel()

    async def _all(self, questions: Sequence[Question], arrived: Any) -> None:
        secure = self.endpoint.url.startswith("https:")
        client = httpx.AsyncClient(
            verify=_trusted.get() if secure else False,
            timeout=None,  # one limit for the whole request stands in _once
            follow_redirects=False,
            limits=httpx.Limits(max_connections=self.endpoint.concurrency),
            headers={"Accept-Encoding": "identity"},  # so that the bound on bytes is one on memory
        )
        async with client:
            asked = (self._one(client, i, one, arrived) for i, one in enumerate(questions))
            await asyncio.gather(*asked)

    async def _one(self, client: Any, position: int, question: Question, arrived: Any) -> None:
        try:
            answer = Answer(await self._retrying(client, question))
        except (_Passing, _Lasting) as fault:
            answer = Answer(error=str(fault))
        except Exception as error:  # none is known; but a lost answer would be waited for in vain
            answer = Answer(error=type(error).__name__)
        if answer.error and not self._warned:
            self._warned = True
            log.warning("the judge %s: %s; its rewards are unmeasured", self.endpoint.model,
                        answer.error)  # fmt: skip
        arrived.put((position, answer))

    async def _retrying(self, client: Any, question: Question) -> str:
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.endpoint.retries + 1),
            wait=self._pause,
            retry=retry_if_exception_type(_Passing),
            reraise=True,
        )
        text: str = await retrying(self._once, client, question)
        return text

    def _pause(self, state: RetryCallState) -> float:
        doubled: float = self.endpoint.backoff_s * 2.0 ** (state.attempt_number - 1)
        jitter = 1.0 + self._random.random() / 2
        wait_s = float(state.outcome.exception().wait_s)
        return max(min(doubled, _LONGEST_PAUSE_S) * jitter, wait_s)

    async def _once(self, client: Any, question: Question) -> str:
        """Make one request; return the text of an answer that holds a verdict."""
        limit = self.endpoint.timeout_s
        try:
            async with self._gate, asyncio.timeout(limit):
                body = await self._post(client, question)
        except TimeoutError:
            raise _Passing(f"no answer within {limit:g} s") from None
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise _Passing(f"the connection failed ({type(error).__name__})") from None
        text, cut = _content(body)
        if question.read(text) is None:
            raise _Passing(_CUT if cut else _NO_VERDICT)
        return text

    async def _post(self, client: Any, question: Question) -> bytes:
        content = json.dumps({**self.endpoint.fields, "messages": question.messages()})
        url = f"{self.endpoint.url}/chat/completions"
        request = client.build_request("POST", url, content=content, headers=self._headers())
        response = await client.send(request, stream=True)
        try:
            self._check(response)
            body = b""
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > _LONGEST_BODY:
                    raise _Passing(f"its answer is longer than {_LONGEST_BODY} bytes")
        finally:
            await response.aclose()
        return body

    def _headers(self) -> dict[str, str]:
        key = read_key(self.endpoint.key_env)
        given = {"Authorization": f"Bearer {key}"} if key else {}
        return {"Content-Type": "application/json", **given}

    def _check(self, response: Any) -> None:
        """Raise unless the status is 200, saying what helps."""
        status = response.status_code
        if status == 200:
            return
        wait_s = _retry_after(response.headers.get("Retry-After", ""))
        hint = _HINTS.get(status, "").format(variable=self.endpoint.key_env)
        reason = f"it answered {status}{hint and f': {hint}'}"
        if wait_s > _LONGEST_WAIT_S:
            raise _Lasting(f"{reason}, and to come back in {wait_s:.0f} s")
        if status >= 500 or status in _PASSING or status < 400:
            raise _Passing(reason, wait_s)
        raise _Lasting(reason)


_judges = ProcessLocal(HTTPJudge)


def http_judge(endpoint: Endpoint) -> HTTPJudge:
    """Return the judge of ``endpoint``, the same for every thread of this process.

    Raises:
        SettingError: what the environment holds is no key.
    """
    return _judges.get(endpoint)


def read_key(variable: str) -> str:
    """Return the key in an environment variable, or ``""``.

    Raises:
        SettingError: it holds what no header can carry. The message does not show it.
    """
    key = os.environ.get(variable, "").strip()
    if key and not re.fullmatch(r"[!-~]+", key):
        raise SettingError(
            f"the environment variable {variable} holds no key: there are spaces, line ends or "
            "letters beyond ASCII in it"
        )
    return key


def _content(body: bytes) -> tuple[str, bool]:
    """Return the text of a chat completion, and whether it was cut off."""
    try:
        choice = json.loads(body)["choices"][0]
        text, why = choice["message"]["content"], choice.get("finish_reason")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise _Passing("what it sent is no chat completion") from None
    if not isinstance(text, str):
        raise _Passing("its answer holds no text")
    return text, why == "length"


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
