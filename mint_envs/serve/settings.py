"""The settings of the server."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from ..errors import SettingError, require

TOKEN_VARIABLE = "MINT_SERVE_TOKEN"
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
        max_sessions: open sessions; more are answered 429.
        max_history: bytes of the responses that all sessions together keep.
        session_s: seconds after which an idle session is closed.
        read_s: seconds in which a request's head, and then its body, must have come.
        write_s: seconds in which a client must take more of an answer.
        work_s: seconds of one piece of work (of one item, if need be), then it is unmeasured.
        max_program_s: largest ``sandbox_timeout_s`` that a client may ask for.
        max_connections: open connections; more are closed at once.
    """

    offers: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    executor: str = "processes"
    token: str = ""
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "::1")
    max_body: int = 4 << 20
    max_bodies: int = 256 << 20
    max_batch: int = 256
    max_waiting: int = 4096
    max_client_waiting: int = 2048
    max_sessions: int = 20_000
    max_history: int = 512 << 20
    session_s: float = 600.0
    read_s: float = 15.0
    write_s: float = 30.0
    work_s: float = 300.0
    max_program_s: float = 10.0
    max_connections: int = 4000

    def __post_init__(self) -> None:
        require(
            not self.token or len(self.token) >= _SHORTEST_TOKEN,
            f"the token has {len(self.token)} characters: give one of {_SHORTEST_TOKEN} or more, "
            "such as `openssl rand -hex 32` prints",
        )
        require(
            self.token.isascii() and self.token.isprintable() and " " not in self.token,
            "the token must be of printable ASCII characters without spaces",
        )
        for name in ("max_body", "max_bodies", "max_batch", "max_waiting", "max_client_waiting",
                     "max_sessions", "max_history", "session_s", "read_s", "write_s", "work_s",
                     "max_program_s", "max_connections"):  # fmt: skip
            require(getattr(self, name) > 0, f"{name}={getattr(self, name)!r} must be above 0")
        for name in ("max_waiting", "max_client_waiting"):
            most = getattr(self, name)
            require(
                most >= self.max_batch, f"{name}={most} must be at least max_batch={self.max_batch}"
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


def read_token(path: Path | None, variable: str) -> str:
    """Return the token of a file, else of the environment variable's value.

    Raises:
        SettingError: the file cannot be read, or others may read it.
    """
    if path is None:
        return variable.strip()
    try:
        mode = path.stat().st_mode
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"--token-file {path}: cannot be read: {error}") from error
    require(bool(token), f"--token-file {path} is empty")
    require(not mode & 0o007, f"--token-file {path} can be read by anyone here: chmod 600 {path}")
    return token
