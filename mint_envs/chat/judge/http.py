"""``HTTPJudge``: a model behind any OpenAI-compatible address, asked over HTTP.

Every fault ends as an ``Answer`` with an error, never as a verdict and never as an exception. The
key is read from the environment for each request, and is in no object, error or log (see
``mint_envs.completions``).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ...completions import ChatService, Completion, MayPass, WillLast
from ...process_local import ProcessLocal
from .loop import LOOP
from .port import Answer
from .question import Question

log = logging.getLogger("mint_envs.judge")

_HINTS = {
    400: "the model or an option may not suit it: see judge_options",
    401: "set the environment variable {variable} to its key",
    403: "the key in the environment variable {variable} may not use this model",
    404: "check judge (it ends in /v1, as a rule) and judge_model",
    422: "the model or an option may not suit it: see judge_options",
}
_NO_VERDICT = "its answer is not the JSON object that it was asked for"
_CUT = "its answer was cut off: raise max_tokens by judge_options (thinking counts too)"
#: What goes into a request beside the model and the messages; judge_options adds and replaces.
_OPTIONS: Mapping[str, Any] = {"temperature": 0, "max_tokens": 1024}


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
        self._warned = False
        self._service = ChatService(
            endpoint.url,
            _key_of(endpoint.key_env),
            f"the environment variable {endpoint.key_env}",
            {status: hint.format(variable=endpoint.key_env) for status, hint in _HINTS.items()},
            concurrency=endpoint.concurrency,
            retries=endpoint.retries,
            timeout_s=endpoint.timeout_s,
            backoff_s=endpoint.backoff_s,
        )

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
        async with self._service.client() as client:
            asked = (self._one(client, i, one, arrived) for i, one in enumerate(questions))
            await asyncio.gather(*asked)

    async def _one(self, client: Any, position: int, question: Question, arrived: Any) -> None:
        fields = {**self.endpoint.fields, "messages": question.messages()}
        try:
            text = await self._service.ask(
                client, fields, lambda found: _verdict_text(question, found)
            )
            answer = Answer(text)
        except (MayPass, WillLast) as fault:
            answer = Answer(error=str(fault))
        except Exception as error:  # none is known; but a lost answer would be waited for in vain
            answer = Answer(error=type(error).__name__)
        if answer.error and not self._warned:
            self._warned = True
            log.warning("the judge %s: %s; its rewards are unmeasured", self.endpoint.model,
                        answer.error)  # fmt: skip
        arrived.put((position, answer))


def _verdict_text(question: Question, found: Completion) -> str:
    """Return the text of an answer that holds a verdict."""
    if question.read(found.text) is None:
        raise MayPass(_CUT if found.cut else _NO_VERDICT)
    return found.text


_judges = ProcessLocal(HTTPJudge)


def http_judge(endpoint: Endpoint) -> HTTPJudge:
    """Return the judge of ``endpoint``, the same for every thread of this process.

    Raises:
        SettingError: what the environment holds is no key.
    """
    return _judges.get(endpoint)


@cache
def _key_of(variable: str) -> Callable[[], str]:
    """Return what reads the key in an environment variable, ``""`` if there is none."""
    return lambda: os.environ.get(variable, "").strip()
