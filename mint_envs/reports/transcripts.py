"""Transcripts from a run's folder or from any file of rollouts.

A row needs ``prompt`` and ``response`` (or ``turns``); all else is shown where it is there:
``reward`` or ``score``, ``scored``, ``parts``, ``metadata``, ``step``, ``advantage``,
``observations``, and ``pieces`` with ``logprobs``, one for each token of the responses, where
``acts`` (start and end of each response) divides them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..datasets import Row, load_rows, numbered_rows
from ..errors import DatasetError, require

_LONGEST_ROW = 32 << 20  # bytes of a line; a hundred thousand tokens with all kept have five


@dataclass(frozen=True, slots=True)
class Transcript:
    """One episode, to be read.

    ``turns`` are the responses, ``observations`` what the environment said after each but the
    last. ``reward`` is None if it was not measured. ``pieces`` are (text, log-probability) of the
    tokens of each turn; empty where they were not kept.
    """

    number: int
    prompt: str
    turns: tuple[str, ...]
    observations: tuple[str, ...]
    reward: float | None
    step: int | None = None
    seed: int | None = None
    problem_id: str = ""
    advantage: float | None = None
    parts: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    pieces: tuple[tuple[tuple[str, float], ...], ...] = ()

    @property
    def text(self) -> str:
        """All that was said, for a search."""
        return "\n".join((self.prompt, *self.turns, *self.observations))


@dataclass(frozen=True, slots=True)
class TranscriptFilter:
    """Which transcripts to show. ``steps`` and ``rewards`` are inclusive."""

    steps: tuple[float, float] | None = None
    rewards: tuple[float, float] | None = None
    unmeasured: bool = False
    search: str = ""

    def takes(self, one: Transcript) -> bool:
        if self.unmeasured and one.reward is not None:
            return False
        if self.rewards and (one.reward is None or not _within(one.reward, self.rewards)):
            return False
        if self.steps and (one.step is None or not _within(one.step, self.steps)):
            return False
        return self.search.casefold() in one.text.casefold() if self.search else True


@dataclass(frozen=True, slots=True)
class Rollouts:
    """What there is to show: transcripts, and a run's evaluations if it is a run.

    The transcripts may be gone through again and again; of a file they are read each time.
    """

    name: str
    transcripts: Iterable[Transcript]
    evals: tuple[Row, ...] = ()


def load_rollouts(source: Path) -> Rollouts:
    """Return what is in a run's folder, or a file (.jsonl, .jsonl.gz, .json or .parquet).

    A last line that was cut off, as a killed run leaves it, is left out.

    Raises:
        DatasetError: nothing is there. When the transcripts are gone through: there is none, or a
            row has no prompt or no response, or is longer than any row (named by line).
    """
    if not source.exists():
        raise DatasetError(
            f"'{source}' does not exist: give the folder of a run, or a file of rollouts"
        )
    if not source.is_dir():
        return Rollouts(source.name, _Transcripts(source))
    if not (path := source / "rollouts.jsonl").is_file():
        raise DatasetError(
            f"'{source}' has no rollouts.jsonl: give the folder of a run of mint-grpo that has "
            "ended its first step, or a file of rollouts"
        )
    evals = _optional(source / "eval.jsonl")
    return Rollouts(source.resolve().name, _Transcripts(path), evals)


def transcript(row: Row, number: int, source: str) -> Transcript:
    """Read one row.

    Raises:
        DatasetError: it has no prompt, or no response.
    """
    turns = row.get("turns") or [row.get("response")]
    if not isinstance(turns, Sequence) or not all(isinstance(turn, str) for turn in turns):
        raise DatasetError(f"row {number} of '{source}' has no text in 'response' or 'turns'")
    if row.get("prompt") is None:
        raise DatasetError(f"row {number} of '{source}' has no 'prompt'")
    score = row.get("reward", row.get("score"))
    measured = row.get("scored", True) and _finite_number(score) is not None
    return Transcript(
        number=number,
        prompt=_prompt_text(row["prompt"]),
        turns=tuple(turns),
        observations=_text_list(row.get("observations")),
        reward=_finite_number(score) if measured else None,
        step=None if (step := _finite_number(row.get("step"))) is None else int(step),
        seed=None if (seed := _finite_number(row.get("seed"))) is None else int(seed),
        problem_id=str(row.get("problem_id") or ""),
        advantage=_finite_number(row.get("advantage")),
        parts=_mapping(row.get("parts")),
        metadata=_mapping(row.get("metadata")),
        pieces=_pieces_by_turn(row, len(turns)),
    )


def parse_span(text: str, name: str) -> tuple[float, float]:
    """Read ``"3"``, ``"3:10"``, ``":10"`` or ``"3:"`` as an inclusive span.

    Raises:
        SettingError: it is none of these.
    """
    low, colon, high = text.partition(":")
    ends = (
        _range_end(low, -math.inf),
        _range_end(high, math.inf) if colon else _range_end(low, math.nan),
    )
    require(
        ends[0] <= ends[1] and text not in ("", ":"),
        f"{name}={text!r} must be a number, or a span such as 0.5:1, :0.5 or 3:",
    )
    return ends


def _range_end(text: str, default: float) -> float:
    try:
        return float(text) if text else default
    except ValueError:
        return math.nan


def _within(value: float, span: tuple[float, float]) -> bool:
    return span[0] <= value <= span[1]


@dataclass(frozen=True, slots=True)
class _Transcripts:
    """The transcripts of a file, of which one is in memory at a time."""

    path: Path

    def __iter__(self) -> Iterator[Transcript]:
        number = 0
        for number, row in self._rows():
            yield transcript(row, number, str(self.path))
        if not number:
            raise DatasetError(f"'{self.path}' is empty: it must hold at least one row")

    def _rows(self) -> Iterator[tuple[int, Row]]:
        return numbered_rows(self.path, cut_last_line=True, longest=_LONGEST_ROW)


def _optional(path: Path) -> tuple[Row, ...]:
    if not path.is_file() or not path.stat().st_size:
        return ()
    return tuple(load_rows(str(path), cut_last_line=True))


def _prompt_text(prompt: Any) -> str:
    """A prompt as text: chat messages one under the other."""
    if not isinstance(prompt, list):
        return str(prompt)
    return "\n\n".join(_message(message) for message in prompt)


def _message(message: Any) -> str:
    if not isinstance(message, Mapping):
        return str(message)
    return f"{message.get('role', '')}: {message.get('content', '')}"


def _finite_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _text_list(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _pieces_by_turn(row: Row, turns: int) -> tuple[tuple[tuple[str, float], ...], ...]:
    """Divide the tokens of an episode among its turns; nothing where they do not fit."""
    pieces, logprobs, acts = (row.get(key) for key in ("pieces", "logprobs", "acts"))
    if not (isinstance(pieces, list) and isinstance(logprobs, list) and isinstance(acts, list)):
        return ()
    try:
        lengths = [int(end) - int(start) for start, end in acts]
    except (TypeError, ValueError):
        return ()
    if len(acts) != turns or not sum(lengths) == len(pieces) == len(logprobs):
        return ()
    tokens = iter(
        (str(p), _finite_number(lp) or 0.0) for p, lp in zip(pieces, logprobs, strict=True)
    )
    return tuple(tuple(next(tokens) for _ in range(length)) for length in lengths)


def chosen(transcripts: Iterable[Transcript], wanted: TranscriptFilter) -> list[Transcript]:
    """Return the transcripts that the filter takes."""
    return [one for one in transcripts if wanted.takes(one)]
