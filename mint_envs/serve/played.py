"""What this process has of sessions that it, or another, has played: no more than a help.

It spares clients to send their responses again, and says which worker has the episode. What is
forgotten, the latest used last, is sent again by the client and played again.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from ..problems import Answer
from .references import SessionRef, chain_digest
from .sessions import answer_bytes
from .work import Home

_ENTRY = 1000  # bytes that an entry costs beside its texts
_AT = 8  # bytes by which a text in a tuple is reached


@dataclass(frozen=True, slots=True)
class Played:
    """A session after its latest response here.

    ``before`` and ``asked`` name that response: the digest of those before, and of itself.
    """

    history: tuple[str, ...]
    said: str
    home: Home | None
    before: str
    asked: str
    answer: Answer
    after: SessionRef
    weight: int


class PlayedTurns:
    """The sessions that were played here lately, by episode; within so many bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, Played] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def history(self, ref: SessionRef) -> tuple[tuple[str, ...], Home | None] | None:
        """Return the responses so far and where the episode is; None if they are not here."""
        if not ref.turn:
            return (), None
        found = self._get(ref.episode)
        if found is None or found.said != ref.said:
            return None
        return found.history, found.home

    def answered(self, ref: SessionRef, response: str, cut: bool) -> Played | None:
        """Return what was said to this very response, if it is the latest; else None."""
        found = self._get(ref.episode)
        if (
            found is None
            or found.before != ref.said
            or found.asked != chain_digest("", response, cut)
        ):
            return None
        return found if found.after.turn == ref.turn + 1 else None

    def keep(
        self, ref: SessionRef, history: tuple[str, ...], response: str, cut: bool,
        answer: Answer, after: SessionRef, home: Home | None,
    ) -> None:  # fmt: skip
        """Keep a session as it is after a response; ``home`` is None when its episode is over."""
        over = home is None
        texts = () if over else (*history, response)
        weight = _ENTRY + after.weight * (not over) + _AT * len(texts) + answer_bytes(answer)
        asked = chain_digest("", response, cut)
        self.forget(ref.episode)
        self._kept[ref.episode] = Played(
            texts, "" if over else after.said, home, ref.said, asked, answer, after, weight
        )
        self.bytes += weight
        while self.bytes > self._max_bytes:
            self.forget(next(iter(self._kept)))

    def forget(self, episode: str) -> None:
        """Drop what is kept of an episode, if anything is."""
        found = self._kept.pop(episode, None)
        if found is not None:
            self.bytes -= found.weight

    def _get(self, episode: str) -> Played | None:
        if episode in self._kept:
            self._kept.move_to_end(episode)
        return self._kept.get(episode)
