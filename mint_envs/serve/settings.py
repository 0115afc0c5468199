"""The settings of the server."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import SettingError, require

TOKEN_VARIABLE = "MINT_SERVE_TOKEN"
KEY_VARIABLE = "MINT_SERVE_SESSION_KEY"
_SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """What is served, and within which limits.

    Args:
        offers: what clients may use, each ``"ID"``, ``"ID?setting=value&..."`` or
            ``"NAME=ID?..."``; empty: every registered id that can be made with its defaults.
        allowed: further settings that clients may choose, each ``"ID:setting"``. See ``catalog``.
        executor: where work runs: ``"processes"``, ``"processes:4"``, ``"ray"``, ...
        token: what clients must show; ``""`` for none, on loopback only.
        hosts: names under which a server without token may be asked for: a web page in the user's
            browser cannot get at it by a name of its own (DNS rebinding).
        max_body: bytes of a request's body.
        max_bodies: bytes of all bodies that are held at one time.
        max_batch: items of one request.
        max_waiting: items that wait for or are in work; more are answered 429.
        max_client_waiting: of these, items of one client (a token at an address); more are
            answered 429.
        session_key: with which sessions are signed: processes that have the same go on with each
            other's. ``""``: one of its own, so that sessions end with the process.
        session_s: seconds after its last turn for which a session is gone on with.
        max_played: bytes of responses that are kept of sessions; what is forgotten, clients send
            again.
        max_sessions: open sessions with chance in them, which one process holds; more are
            answered 429.
        max_history: bytes of the responses that these keep.
        read_s: seconds in which a request's head, and then its body, must have come.
        write_s: seconds in which a client must take more of an answer.
        work_s: seconds of one piece of work (of one item, if need be), then it is unmeasured.
        max_program_s: largest ``sandbox_timeout_s`` that a client may ask for.
        max_connections: open connections; more are closed at once.
    """

    offers: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    executor: str = "processes"
    token: str = field(default="", repr=False)
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "::1")
    max_body: int = 4 << 20
    max_bodies: int = 256 << 20
    max_batch: int = 256
    max_waiting: int = 4096
    max_client_waiting: int = 2048
    max_sessions: int = 20_000
    max_history: int = 512 << 20
    max_played: int = 256 << 20
    session_s: float = 3600.0
    session_key: str = field(default="", repr=False)
    read_s: float = 15.0
    write_s: float = 30.0
    work_s: float = 300.0
    max_program_s: float = 10.0
    max_connections: int = 4000

    def __post_init__(self) -> None:
        _check_secret("token", self.token)
        _check_secret("session key", self.session_key)
        for name in ("max_body", "max_bodies", "max_batch", "max_waiting", "max_client_waiting",
                     "max_sessions", "max_history", "max_played", "session_s", "read_s",
                     "write_s", "work_s", "max_program_s", "max_connections"):  # fmt: skip
            require(getattr(self, name) > 0, f"{name}={getattr(self, name)!r} must be above 0")
        for name in ("max_waiting", "max_client_waiting"):
            most = getattr(self, name)
            require(
                most >= self.max_batch, f"{name}={most} must be at least max_batch={self.max_batch}"
            )

    def with_connections(self, most: int) -> Settings:
        """Return these settings with another limit on open connections."""
        return replace(self, max_connections=most)


def _check_secret(name: str, secret: str) -> None:
    require(
        not secret or len(secret) >= _SHORTEST_TOKEN,
        f"the {name} has {len(secret)} characters: give one of {_SHORTEST_TOKEN} or more, "
        "such as `openssl rand -hex 32` prints",
    )
    require(
        secret.isascii() and secret.isprintable() and " " not in secret,
        f"the {name} must be of printable ASCII characters without spaces",
    )


def is_loopback(host: str) -> bool:
    """Return whether ``host`` is this machine, which no other reaches under that name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_host(host: str, token: str) -> None:
    """Raise SettingError if others could reach the server without a token."""
    require(
        bool(token) or is_loopback(host),
        f"host={host!r} can be reached from other machines, and there is no token: put one in "
        f"{TOKEN_VARIABLE} or in a file (--token-file), or serve on 127.0.0.1",
    )


def read_secret(path: Path | None, variable: str, option: str = "--token-file") -> str:
    """Return the token, or key, of a file, else of the environment variable's value.

    Args:
        option: that names the file, for messages.

    Raises:
        SettingError: the file cannot be read, or others may read it.
    """
    if path is None:
        return variable.strip()
    try:
        mode = path.stat().st_mode
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{option} {path}: cannot be read: {error}") from error
    require(bool(secret), f"{option} {path} is empty")
    require(not mode & 0o007, f"{option} {path} can be read by anyone here: chmod 600 {path}")
    return secret
