"""A transcript as lines of a terminal, and two runs side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.table import Table
from rich.text import Text

from ..printable import readable
from .side_by_side import (
    one_side,
    problems_apart,
    responses_part,
    rewards_part,
    rewards_table,
    settings_apart,
)
from .transcripts import Rollouts, Transcript, TranscriptFilter

_LONGEST = 400  # letters of a prompt's end or of a response, side by side
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


def comparison(
    sources: tuple[Path, ...],
    runs: tuple[Rollouts, Rollouts],
    wanted: TranscriptFilter,
    most: int,
) -> Iterator[Table | Text]:
    """Yield what differs: settings, rewards, where they part, and ``most`` problems of both."""
    names = tuple(map(str, sources))
    one, other = (one_side(run, wanted) for run in runs)
    if differ := settings_apart(*sources):
        yield _plain_table(("setting", *names), differ)
    rewards = (
        (span, _three_digits(mine), _three_digits(theirs))
        for span, mine, theirs in rewards_table(one, other)
    )
    yield _plain_table(("mean reward of steps", *names), rewards)
    step = rewards_part(one, other)
    where = "do not part: nowhere" if step is None else f"part at step {step}: there"
    yield Text(
        f"Rewards {where} are they more than three standard errors apart, by groups of five steps."
    )
    parting = responses_part(*runs, wanted)
    if parting is None:
        yield Text("All responses are alike, as far as both go.")
    elif parting.same_problem:
        yield Text(f"Responses part at step {parting.one.step}, on the same problem:")
        said = [(f"#{e.number}", " ".join(e.turns)) for e in (parting.one, parting.other)]
        yield _problem_table(parting.one.prompt, names, said)
    else:
        number, step = parting.one.number, parting.one.step
        yield Text(f"Episode #{number} (step {step}) is of another problem.")
    shared = problems_apart(one, other)
    yield Text(f"Problems that both measured: {len(shared):,}{'; furthest apart:' * bool(shared)}")
    for pair in shared[:most]:
        said = [(f"{_three_digits(a.rewards.mean)} of {a.rewards.many}", a.response) for a in pair]
        yield _problem_table(pair[0].prompt, names, said)


def _problem_table(prompt: str, names: tuple[str, ...], said: list[tuple[str, str]]) -> Table:
    """One problem with a response of each run: (what is known of it, the response)."""
    rows = [(name, known, text) for name, (known, text) in zip(names, said, strict=True)]
    found = _plain_table(("run", "", "response"), rows)
    found.title, found.title_justify = Text(readable(prompt[-_LONGEST:].strip())), "left"
    return found


def _plain_table(names: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    found = Table(*map(readable, names))
    for row in rows:
        found.add_row(*(Text(readable(cell[:_LONGEST])) for cell in row))
    return found


def _three_digits(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
