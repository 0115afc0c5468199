"""A client of ``mint-envs serve``. Needs: pip install 'mint-envs[client]'.

    from mint_envs.client import Client
    with Client("http://127.0.0.1:8421") as client:
        (shown,) = client.prompts("mint/Math-v0", seeds=[3])
        (reward,) = client.score("mint/Math-v0", [(3, "42")])
        with client.session("mint/ToolUse-v0", seed=1) as session:
            reply = session.respond("...")          # what comes next, or the Reward

A score that was not measured is ``None``, as everywhere. A server that is busy is asked again when
it says so, and one that is away (a restart, a killed process) until ``patience_s`` is over. A
session goes on in any process of the server: it is signed, and this side keeps its responses.
"""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ..core import Message, Prompt, Reward
from ..errors import MintEnvsError, SettingError, require
from .settings import is_loopback

_BATCH = 256
_RESPOND = "/v1/sessions/respond"
_LONGEST_PAUSE_S = 2.0  # between tries of a connection that breaks
_ELSEWHERE = 32  # connections on which a process is looked for that holds a session
#: What a balancer says whose server has just gone; a server of ours says its version with it.
_NOBODY_THERE = (502, 503, 504)


class ServiceError(MintEnvsError):
    """The server did not do what was asked; the message says why and what to do."""


class Unreachable(ServiceError):
    """No server answers at this address, or the connection broke again and again."""


class TokenRefused(ServiceError):
    """The server wants a token, or another one."""


class Busy(ServiceError):
    """The server had no room for longer than the client's patience."""


class RequestRefused(ServiceError, ValueError):
    """The server says that the request is wrong: a name, a setting, a size."""


class SessionLost(ServiceError):
    """The session cannot be gone on with: it was idle for too long, is none of this server, or its
    episode has chance in it and was lost with the process that held it."""


class ServerFault(ServiceError):
    """The server has a fault, or its answer cannot be read."""


class _SaidWanted(ServiceError):
    """This process of the server has not the responses of the session so far."""


_BY_STATUS: dict[int, type[ServiceError]] = {
    401: TokenRefused,
    403: TokenRefused,
    404: RequestRefused,
    408: Unreachable,
    409: RequestRefused,
    410: SessionLost,
    413: RequestRefused,
    421: SessionLost,
    422: RequestRefused,
    428: _SaidWanted,
    429: Busy,
    503: ServerFault,
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A problem: its prompt (text, or chat messages) and its stable name."""

    prompt: Prompt
    problem_id: str


@dataclass(frozen=True, slots=True)
class Environment:
    """What is served under a name. ``yours`` are the settings that a client may give."""

    name: str
    id: str
    single_turn: bool
    size: int | None
    stop: tuple[str, ...]
    yours: tuple[str, ...]


class Client:
    """A connection to a server; safe to use from several threads.

    Args:
        url: of the server, ``http(s)://host:port``.
        token: what the server asks for. It is sent to this server alone: redirects are not
            followed. Over plain http it is sent to this machine only, unless ``insecure``.
        timeout_s: seconds that one request may take, scoring included.
        patience_s: seconds to go on asking a server that is busy, or away.
        insecure: send the token over plain http to another machine, as inside a closed network.
        transport: an ``httpx`` transport, for tests.

    Raises:
        SettingError: httpx is missing, ``url`` is no address, or the token would go out in clear.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8421",
        token: str = "",
        *,
        timeout_s: float = 600.0,
        patience_s: float = 120.0,
        insecure: bool = False,
        transport: Any = None,
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise SettingError(
                "mint_envs.serve.client needs: pip install 'mint-envs[client]'"
            ) from error
        host = _host(url)
        local = is_loopback(host)
        require(
            not token or local or insecure or url.startswith("https"),
            f"url={url!r} is plain http: the token would go to {host} in clear. Use https, or "
            "insecure=True inside a network that you trust.",
        )
        self.url, self._patience_s, self._timeout_s = url.rstrip("/"), patience_s, timeout_s
        self._errors = httpx.TransportError
        self._http = httpx.Client(
            base_url=self.url,
            headers={"authorization": f"Bearer {token}"} if token else {},
            timeout=httpx.Timeout(timeout_s, connect=min(10.0, timeout_s)),
            trust_env=not local,  # no proxy for this machine
            transport=transport,
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def envs(self) -> list[Environment]:
        """Return what is served."""
        return [
            Environment(
                one["name"], one["id"], one["single_turn"], one["size"], tuple(one["stop"]),
                tuple(name for name, setting in one["settings"].items() if setting["yours"]),
            )
            for one in self._ask("GET", "/v1/envs")["envs"]
        ]  # fmt: skip

    def prompts(
        self,
        env: str,
        seeds: Sequence[int] = (),
        *,
        indexes: Sequence[int] = (),
        **settings: Any,
    ) -> list[Shown]:
        """Return the problems of ``seeds``, then those of ``indexes``."""
        problems = [{"seed": int(seed)} for seed in seeds]
        problems += [{"index": int(index)} for index in indexes]
        body = {"env": env, "settings": settings}
        return [
            Shown(one["prompt"], one["problem_id"])
            for some in _item_batches(problems)
            for one in self._ask("POST", "/v1/prompts", {**body, "problems": some})["prompts"]
        ]

    def score(
        self,
        env: str,
        responses: Sequence[tuple[int, str | Sequence[str]]],
        *,
        by: str = "seed",
        **settings: Any,
    ) -> list[Reward]:
        """Return the rewards of (seed, response) pairs, in order.

        Args:
            responses: a response is text; for a task of several turns, all texts of the episode.
            by: ``"seed"``, or ``"index"`` if the numbers are problem numbers.
        """
        require(by in ("seed", "index"), f"by={by!r}: 'seed' or 'index'")
        items = [
            {by: int(number), "response": text if isinstance(text, str) else list(text)}
            for number, text in responses
        ]
        return self._rewards("/v1/score", items, {"env": env, "settings": settings})

    def grade(self, grader: str, items: Sequence[Mapping[str, Any]]) -> list[Reward]:
        """Return the rewards of items: by ``"math"``, ``"code"``, ``"tooluse"`` or ``"chat"``.

        An item holds the arguments of ``mint_envs.math.grade``, ``mint_envs.code.grade`` and so on.
        """
        return self._rewards(f"/v1/grade/{grader}", [dict(item) for item in items], {})

    def session(
        self, env: str, *, seed: int | None = None, index: int | None = None, **settings: Any
    ) -> Session:
        """Begin an episode; without ``seed`` and ``index`` the server draws a seed."""
        body = {"env": env, "settings": settings, "seed": seed, "index": index}
        return Session(self, self._ask("POST", "/v1/sessions", body))

    def _rewards(self, path: str, items: list[Any], body: dict[str, Any]) -> list[Reward]:
        return [
            _read_reward(one)
            for some in _item_batches(items)
            for one in self._ask("POST", path, {**body, "items": some})["rewards"]
        ]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, again while the server is busy or away."""
        content = None if body is None else _request_json(body)
        tries = _Tries(self._patience_s)
        while True:
            try:
                answer = self._http.request(
                    method, path, content=content, headers={"content-type": "application/json"}
                )
            except self._errors as error:
                self._check_break(error, tries)
                continue
            if not tries.again_after(answer):
                return _read_answer(answer, path)

    def _check_break(self, error: Exception, tries: _Tries) -> None:
        """Wait a little, or raise Unreachable if it is of no use to ask again."""
        if "ReadTimeout" in type(error).__name__:
            raise Unreachable(
                f"{self.url} did not answer within timeout_s={self._timeout_s:g}: send smaller "
                "batches, or give it more time"
            ) from error
        if "Unsupported" in type(error).__name__ or not tries.wait(tries.pause_s()):
            raise Unreachable(
                f"{self.url} does not answer, for patience_s={self._patience_s:g}: "
                f"{type(error).__name__} {error}. Is `mint-envs serve` running there?"
            ) from error


class _Tries:
    """How often, and for how long, one request is sent again."""

    def __init__(self, patience_s: float) -> None:
        self._give_up = time.monotonic() + patience_s
        self._breaks = self._elsewhere = 0

    def again_after(self, answer: Any) -> bool:
        """Wait and return True, or return False if the answer is final."""
        if answer.status_code == 421:  # held by a process that another connection may reach
            self._elsewhere += 1
            return self._elsewhere < _ELSEWHERE and self.wait(0.02)
        if answer.status_code in _NOBODY_THERE and not _is_ours(answer):
            return self.wait(self.pause_s())
        wait = _wait_s(answer)
        return wait is not None and self.wait(wait)

    def pause_s(self) -> float:
        """Return how long to wait for a server that is away: longer each time."""
        self._breaks += 1
        longest = min(_LONGEST_PAUSE_S, 0.05 * float(2**self._breaks))
        return longest * random.uniform(0.5, 1.0)

    def wait(self, seconds: float) -> bool:
        """Wait, if there is patience for it."""
        if time.monotonic() + seconds > self._give_up:
            return False
        time.sleep(seconds)
        return True


class Session:
    """An episode on the server.

    ``prompt`` is what the model sees first, ``reward`` the verdict once there is one. ``movable``
    says whether any process of the server can go on with it; else ``why_held`` says why not.

    Args:
        client, opened: ``Client.session`` makes it.
    """

    def __init__(self, client: Client, opened: Mapping[str, Any]) -> None:
        self._client = client
        self._session: str | None = opened["session"]
        self._said: list[str] = []
        self.seed: int | None = opened["seed"]
        self.index: int | None = opened["index"]
        self.prompt: Prompt = opened["prompt"]
        self.problem_id: str = opened["problem_id"]
        self.movable: bool = opened["movable"]
        self.why_held: str | None = opened["why_held"]
        self.reward: Reward | None = None

    def respond(self, text: str, *, cut: bool = False) -> str | list[Message] | Reward:
        """Give the next response; return what the environment says next, or the Reward.

        Args:
            cut: the response was cut off before its end; nothing of it is run.

        Raises:
            SessionLost: it was idle for too long, cannot be moved, or is over or closed.
        """
        if self._session is None:
            raise SessionLost("the session is over, or was closed: open another")
        body = {"session": self._session, "response": text, "cut": cut}
        try:
            answer = self._client._ask("POST", _RESPOND, body)
        except _SaidWanted:
            answer = self._client._ask("POST", _RESPOND, {**body, "said": self._said})
        self._session = answer["session"]
        self._said.append(text)
        if not answer["done"]:
            reply: str | list[Message] = answer["reply"]
            return reply
        self.reward = _read_reward(answer["reward"])
        return self.reward

    def close(self) -> None:
        """Close the session, if its episode is not over."""
        if self._session is not None:
            with contextlib.suppress(SessionLost):
                self._client._ask("POST", "/v1/sessions/close", {"session": self._session})
            self._session = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _request_json(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (ValueError, TypeError) as error:
        raise RequestRefused(
            f"the request is no JSON: {error}. Send text and finite numbers."
        ) from None


def _item_batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for i in range(0, len(items), _BATCH):
        yield items[i : i + _BATCH]


def _read_reward(one: Mapping[str, Any]) -> Reward:
    return Reward(one["score"], one["parts"], one["metadata"])


def _wait_s(answer: Any) -> float | None:
    """Return how long to wait before asking again, or None if the answer is final."""
    if answer.status_code not in (429, 503) or "retry-after" not in answer.headers:
        return None
    try:
        return min(60.0, max(0.1, float(answer.headers["retry-after"])))
    except ValueError:
        return 1.0


def _read_answer(answer: Any, path: str) -> Any:
    if answer.status_code == 204:
        return None
    try:
        found = answer.json()
    except ValueError:
        found = None
    if answer.is_success and isinstance(found, dict):
        return found
    detail = found.get("detail") if isinstance(found, dict) else None
    raise _service_error(answer.status_code, path, str(detail or answer.text[:200]))


def _is_ours(answer: Any) -> bool:
    """Whether our server has said this, not a balancer before it."""
    try:
        found = answer.json()
    except ValueError:
        return False
    return isinstance(found, dict) and "detail" in found


def _service_error(status: int, path: str, detail: str) -> ServiceError:
    kind = _BY_STATUS.get(status, ServerFault)
    return kind(f"{path}: {detail} (HTTP {status})")


def _host(url: str) -> str:
    parts = urlsplit(url)
    require(
        parts.scheme in ("http", "https") and bool(parts.hostname),
        f"url={url!r} must be an address such as 'http://127.0.0.1:8421'",
    )
    return parts.hostname or ""
