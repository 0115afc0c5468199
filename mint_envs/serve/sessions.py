"""Sessions that cannot be moved: their episodes have chance in them, and live in one worker.

All others are held by nobody: see ``references``.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..core import Reward, Task
from ..executors import Answer
from ..problems import ProblemRef
from .work import Home, NoRoom

_ENDED = 4096  # ended sessions whose last answer is kept, for a client that lost it on the way
_SESSION = 256  # bytes that a session costs beside its responses


def new_episode() -> str:
    """Return a name for an episode that no other has, on any machine."""
    return secrets.token_urlsafe(18)


@dataclass(slots=True)
class OpenSession:
    """An episode of a client. ``home`` is where it is, once it has begun."""

    env: str
    task: Task[Any]
    ref: ProblemRef
    id: str = field(default_factory=new_episode)
    home: Home | None = None
    history: tuple[str, ...] = ()
    last: tuple[bytes, bool, Answer] | None = None  # digest of the response, truncated, answer
    used: float = 0.0
    busy: bool = False
    weight: int = _SESSION
    said: int = 0  # bytes of the last answer
    turns: int = 0  # of an episode that is over

    @property
    def turn(self) -> int:
        """How many responses it has had."""
        return self.turns or len(self.history)

    def said_before(self, text: str, truncated: bool, turn: int) -> Answer | None:
        """What was said to this response, if it is the last one, sent again; else None."""
        if self.last is None or turn != self.turn - 1:
            return None
        return self.last[2] if (_text_digest(text), truncated) == self.last[:2] else None


class Sessions:
    """The open sessions, the one used last at the end; bounded in number, size and idle time."""

    def __init__(
        self, most: int, idle_s: float, max_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._idle_s, self._max_bytes, self._clock = most, idle_s, max_bytes, clock
        self._open: OrderedDict[str, OpenSession] = OrderedDict()
        self._ended: OrderedDict[str, OpenSession] = OrderedDict()
        self.bytes = 0
        self.expired = 0

    def __len__(self) -> int:
        return len(self._open)

    def check_room(self) -> None:
        """Raise NoRoom if there is no room for another."""
        self.expire()
        if len(self._open) >= self._most:
            oldest = next(iter(self._open.values()))
            left = self._idle_s - (self._clock() - oldest.used)
            raise NoRoom(min(60.0, max(1.0, left)), f"{len(self._open)} sessions are open")
        self._check_bytes(_SESSION)

    def add(self, session: OpenSession) -> None:
        """Open a session.

        Raises:
            NoRoom: there is no room.
        """
        self.check_room()
        session.used = self._clock()
        self._open[session.id] = session
        self.bytes += session.weight

    def get(self, id: str) -> OpenSession | None:
        """Return an open session, or one that ended lately; None if there is no such."""
        self.expire()
        return self._open.get(id) or self._ended.get(id)

    def is_open(self, session: OpenSession) -> bool:
        return session.id in self._open

    def check_text(self, text: str) -> None:
        """Raise NoRoom if the sessions hold too much already to keep one more response."""
        self._check_bytes(len(text))

    def advance(self, session: OpenSession, text: str, truncated: bool, answer: Answer) -> None:
        """Keep a response and what was said to it; the end of the episode ends the session."""
        session.last = _text_digest(text), truncated, answer
        session.history = (*session.history, text)
        size = answer_bytes(answer)
        more = len(text) + size - session.said
        self.bytes += more if self.is_open(session) else 0
        session.weight += more
        session.said = size
        self.touch(session)
        if isinstance(answer, Reward):
            self._end(session)

    def touch(self, session: OpenSession) -> None:
        session.used = self._clock()
        if session.id in self._open:
            self._open.move_to_end(session.id)

    def _end(self, session: OpenSession) -> None:
        if self.close(session.id):
            session.turns, session.history = len(session.history), ()
            self._ended[session.id] = session
            while len(self._ended) > _ENDED:
                self._ended.popitem(last=False)

    def close(self, id: str) -> bool:
        """Close a session; return whether it was open."""
        session = self._open.pop(id, None)
        if session is not None:
            self.bytes -= session.weight
        return session is not None or self._ended.pop(id, None) is not None

    def expire(self) -> None:
        """Close the sessions that have been idle for too long; one in use is not idle."""
        oldest = self._clock() - self._idle_s
        while self._open:
            session = next(iter(self._open.values()))
            if session.used > oldest:
                break
            if session.busy:
                self.touch(session)
                continue
            self.close(session.id)
            self.expired += 1
        while self._ended and next(iter(self._ended.values())).used <= oldest:
            self._ended.popitem(last=False)

    def _check_bytes(self, size: int) -> None:
        if self.bytes + size > self._max_bytes:
            raise NoRoom(10.0, f"the open sessions hold {self.bytes >> 20} MiB of responses")


def _text_digest(text: str) -> bytes:
    """Tell a response from others: an ended session keeps none of its texts."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def answer_bytes(answer: Answer) -> int:
    """Return about how many bytes an answer keeps."""
    if isinstance(answer, Reward):
        return len(repr(answer.metadata))
    return len(answer) if isinstance(answer, str) else sum(len(m["content"]) for m in answer)
