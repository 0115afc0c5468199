"""A place in the tokens of an answer, and the small steps from it."""

from __future__ import annotations

from collections.abc import Callable

from .lexer import Token
from .limits import MAX_DEPTH, Unreadable


class Cursor:
    """What every rule of the grammar is written with.

    ``kind`` and ``text`` are those of the next token, ``""`` at the end. ``bars`` counts absolute
    values that are open, and ``in_set`` says that braces are: there a bar has another meaning.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.kinds = [kind for kind, _ in tokens]
        self.texts = [text for _, text in tokens]
        self.here = self.depth = self.bars = 0
        self.in_set = False

    @property
    def kind(self) -> str:
        return self.kinds[self.here] if self.here < len(self.kinds) else ""

    @property
    def text(self) -> str:
        return self.texts[self.here] if self.here < len(self.texts) else ""

    def ahead(self, steps: int) -> str:
        at = self.here + steps
        return self.texts[at] if at < len(self.texts) else ""

    def next(self) -> str:
        text = self.text
        self.here += 1
        return text

    def skip(self, mark: str) -> bool:
        """Pass over ``mark`` if it is next; return whether it was."""
        found = self.text == mark and self.kind == "m"
        self.here += found
        return found

    def expect(self, *wanted: str) -> str:
        if self.text not in wanted or self.kind != "m":
            raise Unreadable(f"{self.text or 'end'!r} where {wanted[0]!r} was expected")
        return self.next()

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable("too deep")

    def collect(self, stop: Callable[[str, str], bool]) -> str:
        """Return the tokens up to the first for which ``stop`` holds, joined by spaces."""
        start = self.here
        while self.kind and not stop(self.kind, self.text):
            self.here += 1
        return " ".join(self.texts[start : self.here])
