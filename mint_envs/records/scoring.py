"""``mint-envs score``: rewards of saved responses, appended line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..core import Reward, Task
from ..datasets import Row, numbered_rows
from ..errors import DatasetError, IndexOutOfRange, require
from ..jsonl import Appended, cut_torn, read_rows
from ..testing.tasks import as_text
from ..testing.verdicts import finish
from .cases import responses_of

#: Rows that are scored, and written, together: a kill loses no more.
BATCH = 256
_SAME_PROMPT = 10_000  # problems of an endless environment among which a prompt is looked up

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
    finder = _Finder(task)
    with Appended(Path(out)) as file:
        earlier = _earlier(Path(out))
        scores = list(earlier.scores)
        rows = list(numbered_rows(path))
        _same_work(task, rows, earlier, finder, source, out)
        rows = [row for row in rows if row[0] > earlier.line]
        for done, batch in _batches(rows):
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
    task: Task[Any], rows: Sequence[tuple[int, Row]], earlier: _Earlier, finder: _Finder,
    source: str, out: str,
) -> None:  # fmt: skip
    """Refuse to go on in the output of another input, environment or settings."""
    if not earlier.rows:
        return
    for number, row in rows:
        if number == earlier.line:
            if task.problem_id(finder.find(row, source, number)) == earlier.problem_id:
                return
            break
    raise DatasetError(
        f"{out!r} ends with problem {earlier.problem_id} of line {earlier.line}, and that is not "
        f"line {earlier.line} of {source!r} here: it belongs to another input, environment or "
        "--set. Name another output"
    )


def _batches(rows: Sequence[tuple[int, Row]]) -> Iterator[tuple[int, list[tuple[int, Row]]]]:
    source, done = iter(rows), 0
    while batch := list(islice(source, BATCH)):
        done += len(batch)
        yield done, batch


def _scored(
    task: Task[Any], batch: Sequence[tuple[int, Row]], source: str, finder: _Finder
) -> Iterator[dict[str, Any]]:
    """Yield the output line of each row; all responses of the batch are scored together."""
    asked = []
    for number, row in batch:
        problem = finder.find(row, source, number)
        asked.append((number, row, problem, responses_of(row, source, number)))
    pairs = [(problem, turns) for _, _, problem, many in asked for turns in many]
    rewards = iter(_rewards(task, pairs))
    for number, row, problem, many in asked:
        yield _line(task, number, row, problem, [next(rewards) for _ in many])


def _rewards(task: Task[Any], pairs: Sequence[tuple[Any, tuple[str, ...]]]) -> list[Reward]:
    if task.single_turn:
        return list(task.score_batch([(problem, turns[-1]) for problem, turns in pairs]))
    return [finish(task, problem, turns) for problem, turns in pairs]


def _line(
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


class _Finder:
    """Finds the problem that a row names."""

    def __init__(self, task: Task[Any]) -> None:
        self._task = task
        self._by_prompt: dict[str, Any] | None = None
        self._by_id: dict[str, Any] | None = None

    def find(self, row: Row, source: str, number: int) -> Any:
        """Return the problem of a row.

        Raises:
            DatasetError: it names none; tells line and field.
        """
        for name in ("index", "seed"):
            if row.get(name) is not None:
                return self._numbered(row[name], name, source, number)
        for name in ("problem_id", "prompt"):
            if row.get(name) is not None:
                return self._named(row[name], name, source, number)
        raise DatasetError(
            f"line {number} of {source!r} names no problem: give one of index, seed, problem_id, "
            f"prompt. It has {', '.join(map(str, row)) or '(nothing)'}"
        )

    def _numbered(self, value: Any, name: str, source: str, number: int) -> Any:
        import numpy as np

        if type(value) is not int or value < 0:
            raise DatasetError(f"line {number} of {source!r}: {name}={value!r} is no whole number")
        if name == "seed":
            return self._task.sample(np.random.default_rng(value))
        try:
            return self._task.problem(value)
        except IndexOutOfRange as error:
            raise DatasetError(f"line {number} of {source!r}: {error}") from None

    def _named(self, value: Any, name: str, source: str, number: int) -> Any:
        if self._by_prompt is None or self._by_id is None:
            self._read()
        assert self._by_prompt is not None
        assert self._by_id is not None
        if name == "problem_id":
            found = self._by_id.get(str(value))
        else:
            found = self._by_prompt.get(_text(value))
        if found is None:
            among = self._task.size or _SAME_PROMPT
            raise DatasetError(
                f"line {number} of {source!r}: no problem of {among:,} has this {name}. "
                "Give the settings of the environment with --set, or rows with 'index' or 'seed'"
            )
        return found

    def _read(self) -> None:
        size = self._task.size
        problems = [self._task.problem(i) for i in range(_SAME_PROMPT if size is None else size)]
        self._by_prompt = {as_text(self._task.prompt(p)): p for p in reversed(problems)}
        self._by_id = {self._task.problem_id(p): p for p in reversed(problems)}


def _text(prompt: Any) -> str:
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, Sequence) and all(isinstance(m, Mapping) for m in prompt):
        return "\n".join(str(message.get("content", "")) for message in prompt)
    return str(prompt)
