"""A client of ``mint-envs serve``. Needs: pip install 'mint-envs[client]'.

    from mint_envs.client import Client
    with Client("http://127.0.0.1:8421") as client:
        (shown,) = client.prompts("mint/Math-v0", seeds=[3])
        (reward,) = client.score("mint/Math-v0", [(3, "42")])
        with client.session("mint/ToolUse-v0", seed=1) as session:
            reply = session.respond("...")          # what comes next, or the Reward

A score that was not measured is ``None``, as everywhere. A server that is busy is asked again when
it says so; a response of a session is never carried out twice.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ..core import Message, Prompt, Reward
from ..errors import MintEnvsError, SettingError, require
from .settings import is_loopback

_BATCH = 256
_TRIES = 4  # for a connection that breaks


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
    """The session was closed, idle for too long, or lost when the server was started again."""


class ServerFault(ServiceError):
    """The server has a fault, or its answer cannot be read."""


_BY_STATUS: dict[int, type[ServiceError]] = {
    401: TokenRefused,
    403: TokenRefused,
    404: RequestRefused,
    408: Unreachable,
    409: RequestRefused,
    413: RequestRefused,
    422: RequestRefused,
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
        patience_s: seconds to go on asking a server that is busy.
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
        """Send a request, again while the server is busy or the connection breaks."""
        content = None if body is None else _request_json(body)
        give_up = time.monotonic() + self._patience_s
        breaks = 0
        while True:
            try:
                answer = self._http.request(
                    method, path, content=content, headers={"content-type": "application/json"}
                )
            except self._errors as error:
                breaks += 1
                self._check_break(error, breaks)
                time.sleep(0.25 * 2**breaks)
                continue
            wait = _wait_s(answer)
            if wait is None or time.monotonic() + wait > give_up:
                return _read_answer(answer, path)
            time.sleep(wait)

    def _check_break(self, error: Exception, breaks: int) -> None:
        """Raise Unreachable if it is of no use to ask again."""
        if "ReadTimeout" in type(error).__name__:
            raise Unreachable(
                f"{self.url} did not answer within timeout_s={self._timeout_s:g}: send smaller "
                "batches, or give it more time"
            ) from error
        if breaks >= _TRIES:
            raise Unreachable(
                f"{self.url} does not answer: {type(error).__name__} {error}. Is "
                "`mint-envs serve` running there?"
            ) from error


class Session:
    """An episode on the server.

    ``prompt`` is what the model sees first, ``reward`` the verdict once there is one.

    Args:
        client, opened: ``Client.session`` makes it.
    """

    def __init__(self, client: Client, opened: Mapping[str, Any]) -> None:
        self._client = client
        self.id: str = opened["id"]
        self.seed: int | None = opened["seed"]
        self.index: int | None = opened["index"]
        self.prompt: Prompt = opened["prompt"]
        self.problem_id: str = opened["problem_id"]
        self.reward: Reward | None = None
        self._turn = 0

    def respond(self, text: str, *, cut: bool = False) -> str | list[Message] | Reward:
        """Give the next response; return what the environment says next, or the Reward.

        Args:
            cut: the response was cut off before its end; nothing of it is run.

        Raises:
            SessionLost: it was idle for too long, or the server was started again.
        """
        body = {"response": text, "cut": cut, "turn": self._turn}
        answer = self._client._ask("POST", f"/v1/sessions/{self.id}/respond", body)
        self._turn = answer["turn"]
        if not answer["done"]:
            reply: str | list[Message] = answer["reply"]
            return reply
        self.reward = _read_reward(answer["reward"])
        return self.reward

    def close(self) -> None:
        """Close the session, if its episode is not over."""
        if self.reward is None:
            with contextlib.suppress(SessionLost):
                self._client._ask("DELETE", f"/v1/sessions/{self.id}")

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
    raise _error(answer.status_code, path, str(detail or answer.text[:200]))


def _error(status: int, path: str, detail: str) -> ServiceError:
    kind = _BY_STATUS.get(status, ServerFault)
    if status == 404 and path.startswith("/v1/sessions/"):
        kind = SessionLost
    return kind(f"{path}: {detail} (HTTP {status})")


def _host(url: str) -> str:
    parts = urlsplit(url)
    require(
        parts.scheme in ("http", "https") and bool(parts.hostname),
        f"url={url!r} must be an address such as 'http://127.0.0.1:8421'",
    )
    return parts.hostname or ""
