"""One case of a battery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Labelled:
    """A response whose worth is known.

    Args:
        kind: what was done to make it; the table of a report has a row for each.
        response: the text.
        right: whether it should be paid.
        row: of its problem: the prompt, and what the verifier is given.
    """

    kind: str
    response: str
    right: bool
    row: dict[str, Any]
