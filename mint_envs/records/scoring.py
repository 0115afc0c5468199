"""``mint-envs score``: rewards of saved responses, appended line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..core import Reward, Task
from ..datasets import Row, numbered_rows
from ..errors import DatasetError, IndexOutOfRange, SettingError, require
from ..jsonl import Appended, cut_torn, read_rows
from ..problems import KINDS, Finder, ProblemRef, play_all
from .cases import responses_of

#: Rows that are scored, and written, together: a kill loses no more.
BATCH = 256

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Tally:
    """What was done: rows written by this run and by an earlier one; of both, what came of it.

    ``unmeasured`` counts responses, ``mean`` is that of the others.
    """

    rows: int
    earlier: int
    unmeasured: int
    mean: float | None


def score_file(task: Task[Any], source: str, out: str, tell: Tell | None = None) -> Tally:
    """Score the responses in ``source`` and append the rewards to ``out``, in order.

    A row names its problem by ``index``, ``seed``, ``problem_id`` or ``prompt``, and holds a
    ``response`` (text, or a list of texts for several turns) or ``responses``. Its line in
    ``out`` has ``line`` (that of the row in ``source``), ``problem_id``, ``reward`` (null:
    not measured), ``scored``, ``parts``, ``metadata``, and the row's own ``index``, ``seed`` and
    ``id``; for ``responses`` the first three of these are lists. If ``out`` holds lines of an
    earlier run, this one goes on after them.

    Raises:
        DatasetError: a file cannot be read, or a row is broken (names line and field).
    """
    path = Path(source)
    require(path.is_file(), f"{source!r} does not exist (looked from {Path.cwd()})")
    require(path.resolve() != Path(out).resolve(), f"{out!r} is the input: name another output")
    finder = Finder(task)
    with Appended(Path(out)) as file:
        earlier = _earlier(Path(out))
        scores = list(earlier.scores)
        rows = list(numbered_rows(path))
        if not rows:
            raise DatasetError(f"{source!r} is empty: it must hold at least one row")
        _same_work(task, rows, earlier, finder, source, out)
        rows = [row for row in rows if row[0] > earlier.line]
        for done, batch in _row_batches(rows):
            lines = list(_scored(task, batch, source, finder))
            file.write(lines)
            scores += [score for line in lines for score in _rewards_of(line)]
            if tell:
                tell("responses", earlier.rows + done, earlier.rows + len(rows))
    known = [score for score in scores if score is not None]
    mean = sum(known) / len(known) if known else None
    return Tally(len(rows), earlier.rows, len(scores) - len(known), mean)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """What an earlier run has written: the last line of its input, its problem, all rewards."""

    line: int = 0
    problem_id: Any = None
    rows: int = 0
    scores: tuple[float | None, ...] = ()


def _rewards_of(line: Mapping[str, Any]) -> list[float | None]:
    """Return the rewards in a line of the output."""
    reward = line["reward"]
    return list(reward) if isinstance(reward, list) else [reward]


def _earlier(out: Path) -> _Earlier:
    cut_torn(out)
    try:
        found = [row for _, row in read_rows(out)]
        if not found:
            return _Earlier()
        scores = tuple(score for line in found for score in _rewards_of(line))
        return _Earlier(int(found[-1]["line"]), found[-1]["problem_id"], len(found), scores)
    except (ValueError, KeyError, TypeError):
        raise DatasetError(
            f"a line of {str(out)!r} is none of `mint-envs score`: name another output"
        ) from None


def _same_work(
    task: Task[Any], rows: Sequence[tuple[int, Row]], earlier: _Earlier, finder: Finder,
    source: str, out: str,
) -> None:  # fmt: skip
    """Refuse to go on in the output of another input, environment or settings."""
    if not earlier.rows:
        return
    for number, row in rows:
        if number == earlier.line:
            if task.problem_id(_problem_of_row(finder, row, source, number)) == earlier.problem_id:
                return
            break
    raise DatasetError(
        f"{out!r} ends with problem {earlier.problem_id} of line {earlier.line}, and that is not "
        f"line {earlier.line} of {source!r} here: it belongs to another input, environment or "
        "--set. Name another output"
    )


def _row_batches(rows: Sequence[tuple[int, Row]]) -> Iterator[tuple[int, list[tuple[int, Row]]]]:
    source, done = iter(rows), 0
    while batch := list(islice(source, BATCH)):
        done += len(batch)
        yield done, batch


def _scored(
    task: Task[Any], batch: Sequence[tuple[int, Row]], source: str, finder: Finder
) -> Iterator[dict[str, Any]]:
    """Yield the output line of each row; all responses of the batch are scored together."""
    asked = []
    for number, row in batch:
        problem = _problem_of_row(finder, row, source, number)
        asked.append((number, row, problem, responses_of(row, source, number)))
    games = [(problem, turns) for _, _, problem, many in asked for turns in many]
    rewards = iter(play_all(task, games))
    for number, row, problem, many in asked:
        yield _scored_line(task, number, row, problem, [next(rewards) for _ in many])


def _problem_of_row(finder: Finder, row: Row, source: str, number: int) -> Any:
    """Return the problem of a row.

    Raises:
        DatasetError: it names none, or one that is not there; tells the line.
    """
    try:
        ref = ProblemRef.from_row(row)
        if ref is not None:
            return finder.find(ref)
    except (SettingError, IndexOutOfRange) as error:
        raise DatasetError(f"line {number} of {source!r}: {error}") from None
    raise DatasetError(
        f"line {number} of {source!r} names no problem: give one of {', '.join(KINDS)}. "
        f"It has {', '.join(map(str, row)) or '(nothing)'}"
    )


def _scored_line(
    task: Task[Any], number: int, row: Row, problem: Any, rewards: Sequence[Reward]
) -> dict[str, Any]:
    own = {key: row[key] for key in ("id", "index", "seed", "step") if key in row}
    scores: list[Any] = [reward.score for reward in rewards]
    scored: list[Any] = [reward.measured for reward in rewards]
    parts: list[Any] = [dict(reward.parts) for reward in rewards]
    metadata: list[Any] = [dict(reward.metadata) for reward in rewards]
    several = "responses" in row or "completions" in row
    fields = {"reward": scores, "scored": scored, "parts": parts, "metadata": metadata}
    values = fields if several else {name: value[0] for name, value in fields.items()}
    return {"line": number, **own, "problem_id": task.problem_id(problem), **values}
