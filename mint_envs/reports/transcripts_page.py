"""One page with the curve, the rewards by step and the transcripts; nothing on it is fetched."""

from __future__ import annotations

import dataclasses
import html
import json
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from ..records.files import write_whole
from .drawing import NEEDED, can_draw
from .transcripts import Rollouts, Transcript
from .transcripts_plots import draw_curve, draw_rewards


def write_page(path: Path, rollouts: Rollouts, shown: Sequence[Transcript], found: int) -> None:
    """Write the page to ``path``, whole or not at all.

    Args:
        rollouts: gives the name and the pictures, which are of all episodes.
        shown: the transcripts on the page.
        found: how many there are that might have been shown.

    Raises:
        DatasetError: the file cannot be written.
    """
    write_whole(path, page(rollouts, shown, found))


def page(rollouts: Rollouts, shown: Sequence[Transcript], found: int) -> str:
    """Return the page as text."""
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    fields = {
        "TITLE": html.escape(rollouts.name),
        "COUNTS": html.escape(_counts(rollouts, len(shown), found)),
        "PLOTS": _plots(rollouts),
        "DATA": _data(shown),
    }
    # One pass, so that no text of a model brings in a field of its own.
    return re.sub("%(TITLE|COUNTS|PLOTS|DATA)%", lambda match: fields[match[1]], template)


def _plots(rollouts: Rollouts) -> str:
    if not can_draw():
        return f'<p class="dim">{NEEDED}</p>'
    return draw_curve(rollouts) + draw_rewards(rollouts.transcripts)


def _counts(rollouts: Rollouts, shown: int, found: int) -> str:
    every = rollouts.transcripts
    measured = [one.reward for one in every if one.reward is not None]
    mean = f", mean reward {sum(measured) / len(measured):.3f}" if measured else ""
    odd = f", {len(every) - len(measured):,} not measured" if len(measured) < len(every) else ""
    here = "all here" if shown == len(every) else f"{shown:,} of {found:,} here, evenly spread"
    return f"{len(every):,} episodes{mean}{odd}; {here}"


def _data(shown: Sequence[Transcript]) -> str:
    """The transcripts as JSON in which nothing can end a script element."""
    rows = [_row(one) for one in shown]
    return json.dumps(rows, ensure_ascii=True, default=str).replace("<", "\\u003c")


def _row(one: Transcript) -> dict[str, Any]:
    row = dataclasses.asdict(dataclasses.replace(one, parts={}, metadata={}, pieces=()))
    pieces = [[(text, round(logprob, 4)) for text, logprob in turn] for turn in one.pieces]
    return {**row, "parts": one.parts or {}, "metadata": one.metadata or {}, "pieces": pieces}
