"""Whose turn it is: one piece of work of each client after the other, quick work apart from slow.

Pure bookkeeping, of the event loop alone.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from typing import Generic, TypeVar

Piece = TypeVar("Piece")

#: The client whose request is worked on: its token and its address. The guard sets it.
CLIENT: ContextVar[str] = ContextVar("mint_envs_client", default="")


class FairQueue(Generic[Piece]):
    """Pieces that wait, by client; ``take`` goes round the clients."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[Piece]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __iter__(self) -> Iterator[Piece]:
        for pieces in self._waiting.values():
            yield from pieces

    def put(self, client: str, piece: Piece) -> None:
        """Let a piece wait; a client that had none comes after those that wait."""
        self._waiting.setdefault(client, deque()).append(piece)

    def take(
        self, but: Collection[str] = (), suits: Callable[[Piece], bool] = lambda _: True
    ) -> Piece | None:
        """Return the next piece, of the client whose turn is the longest ago; None: none waits.

        Args:
            but: clients that are passed over.
            suits: says whether a piece may be taken now.
        """
        for client, pieces in self._waiting.items():
            piece = None if client in but else next(filter(suits, pieces), None)
            if piece is not None:
                self.remove(client, piece)
                if client in self._waiting:
                    self._waiting.move_to_end(client)
                return piece
        return None

    def pull(self, which: Callable[[Piece], bool]) -> list[tuple[str, Piece]]:
        """Take out all pieces for which this holds; return them with their clients."""
        found = []
        for client, pieces in list(self._waiting.items()):
            found += [(client, piece) for piece in pieces if which(piece)]
            left = deque(piece for piece in pieces if not which(piece))
            if left:
                self._waiting[client] = left
            else:
                del self._waiting[client]
        return found

    def remove(self, client: str, piece: Piece) -> bool:
        """Take out a piece that nobody waits for; return whether it was there."""
        pieces = self._waiting.get(client)
        if pieces is None or piece not in pieces:
            return False
        pieces.remove(piece)
        if not pieces:
            del self._waiting[client]
        return True
