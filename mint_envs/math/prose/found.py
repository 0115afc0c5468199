"""What a search for the answer comes back with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """An answer as written (``""``: none), where it was, its rivals, and why there is none."""

    answer: str
    where: str
    rivals: tuple[str, ...] = ()
    reason: str = ""
    end: int = 0  #: where what says so ends in the text that was searched

    @property
    def is_prose(self) -> bool:
        """Whether it comes from a sentence rather than from mathematics."""
        return self.where not in ("box", "gold")
