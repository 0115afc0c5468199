"""A session as a signed text that its client keeps: any process with the key can go on with it.

It names the offer, the settings, the problem, and by digests the responses so far and what was said
to them. The texts of the responses are the client's to send, where a process does not have them.
Nothing in it is secret: it is signed, not hidden. One of an earlier turn stays good: an episode is
its responses, so going on from there is another episode.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core import Prompt, Reward
from ..errors import MintEnvsError
from ..problems import Answer, ProblemRef

#: Of the wire, in each answer: a change that a client could stumble over is another number.
WIRE = 1

_LONGEST = 32_768  # characters of a reference
_SIGNATURE = 16  # bytes


class StaleReference(MintEnvsError):
    """A reference of a session that cannot be gone on with; the message says why."""


@dataclass(frozen=True, slots=True)
class SessionRef:
    """What a reference says.

    Args:
        env, settings: the offer's name, and what its client chose.
        offer: digest of what the operator offers under that name.
        seed, index: one of them names the problem.
        episode: name of the episode, made at random.
        turn: how many responses there were.
        said, heard: digests of the responses, and of the problem and what it said to them.
        weight: bytes of the responses.
        at: seconds since 1970 of the last turn.
        holder: the one process that has the episode, of one that cannot be played again; or "".
    """

    env: str
    settings: dict[str, Any]
    offer: str
    seed: int | None
    index: int | None
    episode: str
    heard: str
    at: int
    holder: str = ""
    turn: int = 0
    said: str = ""
    weight: int = 0

    @property
    def problem(self) -> ProblemRef:
        return ProblemRef(seed=self.seed, index=self.index)

    def after(self, response: str, answer: Answer, at: int) -> SessionRef:
        """Return the reference after one more response."""
        return replace(
            self, turn=self.turn + 1, at=at, said=chain_digest(self.said, response),
            heard=chain_digest(self.heard, plain_answer(answer)),
            weight=self.weight + len(json.dumps(response)),
        )  # fmt: skip


class Signer:
    """Makes references, and reads those that it, or another with its key, has made.

    Args:
        key: known to all processes that are to go on with each other's sessions.
        idle_s: seconds after its last turn for which a session is gone on with.
    """

    def __init__(self, key: bytes, idle_s: float, clock: Callable[[], float] = time.time) -> None:
        self._key, self._idle_s, self._clock = key, idle_s, clock

    def now(self) -> int:
        return int(self._clock())

    def sign(self, ref: SessionRef) -> str:
        """Return the text that its client keeps."""
        fields = [getattr(ref, name) for name in SessionRef.__slots__]
        body = _base64(json.dumps(fields, separators=(",", ":")).encode())
        return f"{WIRE}.{body}.{self._signature(body)}"

    def read(self, text: str) -> SessionRef:
        """Return what a reference says.

        Raises:
            StaleReference: it is none, of another version, of another key, or of too long ago.
        """
        version, _, rest = text.partition(".")
        body, _, signature = rest.partition(".")
        if version != str(WIRE) and version.isdecimal() and len(version) < 6:
            raise StaleReference(
                f"the session is of version {version} of the wire, and this server speaks {WIRE}: "
                "open another"
            )
        if len(text) > _LONGEST or not hmac.compare_digest(
            self._signature(body).encode(), signature.encode("utf-8", "surrogatepass")
        ):
            raise StaleReference(
                "the session is not one of this server, or the server was started again with "
                "another key (mint-envs serve --session-key-file keeps one): open another"
            )
        ref = SessionRef(*json.loads(_from_base64(body)))
        if self._clock() - ref.at > self._idle_s:
            raise StaleReference(
                f"the session was idle for more than {self._idle_s:g} s: open another"
            )
        return ref

    def _signature(self, body: str) -> str:
        signed = f"mint-envs session {WIRE} {body}".encode("utf-8", "surrogatepass")
        return _base64(hmac.new(self._key, signed, hashlib.sha256).digest()[:_SIGNATURE])


def chain_digest(before: str, *more: Any) -> str:
    """Return a digest of what came before, as a digest, and of plain values."""
    text = json.dumps([before, *more], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def said_digest(responses: Sequence[str]) -> str:
    """Return ``SessionRef.said`` of these responses."""
    found = ""
    for response in responses:
        found = chain_digest(found, response)
    return found


def first_heard(problem_id: str, prompt: Prompt) -> str:
    """Return ``SessionRef.heard`` before any response: what the problem is, and asks."""
    return chain_digest("", problem_id, plain_answer(prompt))


def plain_answer(answer: Answer) -> Any:
    """Return an answer as JSON has it."""
    if isinstance(answer, Reward):
        return {"score": answer.score}
    return answer if isinstance(answer, str) else [dict(message) for message in answer]


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_base64(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, binascii.Error) as error:  # it was signed: this cannot be
        raise StaleReference("the session cannot be read: open another") from error
