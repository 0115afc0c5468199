"""A transcript as lines of a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.text import Text

from ..printable import readable
from .transcripts import Transcript

_ACT, _SAID, _LABEL = "bold", "cyan", "dim"


def headline(one: Transcript) -> str:
    """What is known of an episode, on one line."""
    reward = "not measured" if one.reward is None else f"reward {one.reward:.3g}"
    facts = [f"#{one.number}", reward]
    if one.step is not None:
        facts.append(f"step {one.step}")
    if one.advantage is not None:
        facts.append(f"advantage {one.advantage:+.3g}")
    if one.seed is not None:
        facts.append(f"seed {one.seed}")
    if one.problem_id:
        facts.append(f"problem {readable(one.problem_id)}")
    return " · ".join(facts)


def render(one: Transcript) -> Text:
    """The whole transcript: prompt, then responses and what was said to them in turn."""
    text = Text()
    for label, style, body in _transcript_blocks(one):
        text.append(f"{label}\n", style=_LABEL)
        text.append(readable(body).rstrip("\n") + "\n\n", style=style)
    text.rstrip()
    return text


def _transcript_blocks(one: Transcript) -> Iterator[tuple[str, str, str]]:
    yield "prompt", "", one.prompt
    for index, turn in enumerate(one.turns):
        yield "response", _ACT, turn
        if index < len(one.observations):
            yield "environment", _SAID, one.observations[index]
    for label, values in (("parts", one.parts), ("metadata", one.metadata)):
        if values:
            yield label, "", json.dumps(values, ensure_ascii=False, indent=2, default=str)
