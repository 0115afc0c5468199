"""Tasks over rows, and rows from a JSONL or Parquet file or a Hugging Face data set.

Nothing here knows what a row means: tasks pick the fields. Every error names the file, and the
line where there is one.
"""

from __future__ import annotations

import csv
import hashlib
import json
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .core import Problem, Task
from .errors import DatasetError, first_line, require
from .hub import offline_if_unreachable
from .jsonl import read_list, read_rows
from .problems import row_at

Row = Mapping[str, Any]

_FILES = (".jsonl", ".jsonl.gz", ".json", ".parquet", ".csv")

_PARQUET_ROWS, _PARQUET_BUFFER = 64, 1 << 20  # rows, and bytes of each column, that are held
#: One problem in this many is held out when a set without splits of its own is split.
HELD_OUT = 10


class DatasetTask(Task[Problem]):
    """A task whose problems are the rows of a data set, or else drawn from the seed.

    Drawn problems are split too: those whose ``key`` a digest picks, one in ten, are the held-out
    ``split="test"``; the others are ``"train"``, the default; ``"all"`` is both.
    """

    def __init__(
        self, rows: Sequence[Problem] | None, split: str | None = None, drop: str | None = None
    ) -> None:
        """Take the rows, split already, less those that ``drop`` names; None: they are drawn.

        Raises:
            DatasetError: ``drop`` is no list of ``mint-envs audit``, or names none of the rows.
        """
        require(
            rows is not None or split in (None, "train", "test", "all"),
            f"split={split!r}: 'train', 'test' or 'all'",
        )
        require(drop is None or rows is not None, f"drop={drop!r} needs dataset=...")
        self.rows, self._split = rows, split
        if drop is not None and rows is not None:
            self.rows = without(rows, list(map(self.problem_id, rows)), drop)

    def problem_id(self, problem: Problem) -> str:
        """Of a row: a digest of what it asks, which is the same in every style of prompt."""
        if self.rows is None:
            return super().problem_id(problem)
        return row_id(self.key(problem))

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Problem:
        """Draw a problem from the seed, whichever split it belongs to."""

    @abstractmethod
    def key(self, problem: Problem) -> str:
        """Return what tells a drawn problem from others: its split hangs on it."""

    def finish(self, problem: Problem) -> Problem | None:
        """Return a drawn problem made ready, or None to draw another; for work that is dear."""
        return problem

    @property
    def size(self) -> int | None:
        return None if self.rows is None else len(self.rows)

    def sample(self, rng: np.random.Generator) -> Problem:
        if self.rows is not None:
            return self.rows[int(rng.integers(len(self.rows)))]
        while True:
            problem = self.draw(rng)
            if self._split != "all" and held_out(self.key(problem)) != (self._split == "test"):
                continue
            if (finished := self.finish(problem)) is not None:
                return finished

    def problem(self, index: int) -> Problem:
        if self.rows is None:
            return super().problem(index)
        found: Problem = row_at(self.rows, index)
        return found


def load_rows(source: str, split: str | None = None, *, cut_last_line: bool = False) -> list[Row]:
    """Return all rows of ``source``.

    Args:
        source: a path that ends in .jsonl, .jsonl.gz, .json (a list), .parquet or .csv (with a
            line of names); a folder of such files, taken by name; or the name of a Hugging Face
            data set (``"openai/gsm8k"``, ``"openai/gsm8k:main"`` for a config).
        split: of a Hugging Face set, its split (default ``"train"``); of a file, ``"test"`` is
            one row in ten, chosen by a digest of the row, ``"train"`` the others, ``None`` all.
        cut_last_line: leave out a last line without its end, as a killed writer leaves it.

    Raises:
        DatasetError: it does not exist, has no rows, or a row is broken (named by line).
    """
    return [row for _, row in placed_rows(source, split, cut_last_line=cut_last_line)]


def placed_rows(
    source: str, split: str | None = None, *, cut_last_line: bool = False
) -> list[tuple[str, Row]]:
    """Return (where it stands, row) for all rows of ``source``, as ``load_rows`` takes it.

    Raises:
        DatasetError: it does not exist, has no rows, or a row is broken (named by line).
    """
    return _placed(source, split, cut_last_line)


def rows_or_faults(source: str, split: str | None = None) -> list[Row | DatasetError]:
    """Return all rows of ``source`` in order, and in place of a line that is no row what is wrong.

    A line that is broken belongs to every split.

    Raises:
        DatasetError: ``source`` does not exist, has no rows, or cannot be read as a whole.
    """
    return [row for _, row in _placed(source, split, faults=True)]


def _placed(
    source: str, split: str | None, cut_last_line: bool = False, faults: bool = False
) -> list[tuple[str, Any]]:
    """Return (where it stands, row); with ``faults`` a broken line is an error in its place."""
    path = Path(source)
    if not source.endswith(_FILES) and not path.is_dir():
        if path.exists():
            raise DatasetError(f"dataset={source!r} must end in one of {', '.join(_FILES)}")
        found = enumerate(_hub_rows(source, split or "train"), 1)
        return [(f"row {number} of {source!r}", row) for number, row in found]
    if not path.exists():
        raise DatasetError(f"dataset={source!r} does not exist (looked from {Path.cwd()})")
    if split not in (None, "all", "train", "test"):
        raise DatasetError(f"split={split!r} of a file must be 'train', 'test' or 'all'")
    files = _files_of(path) if path.is_dir() else [path]
    rows = [
        (f"row {number} of {str(file)!r}", row)
        for file in files
        for number, row in (_with_faults(file) if faults else numbered_rows(file, cut_last_line))
    ]
    if not rows:
        raise DatasetError(f"dataset={source!r} is empty: it must hold at least one row")
    return rows if split in (None, "all") else _side(rows, split, source)


def _files_of(folder: Path) -> list[Path]:
    """Return the files of a folder that hold rows, by name."""
    found = sorted(path for path in folder.iterdir() if path.name.endswith(_FILES))
    if not found:
        raise DatasetError(
            f"dataset='{folder}' is a folder without a file that ends in {', '.join(_FILES)}"
        )
    return found


def _side(rows: list[tuple[str, Any]], split: str | None, source: str) -> list[tuple[str, Any]]:
    """Return the rows of one split of a file."""
    kept = [
        (where, row)
        for where, row in rows
        if isinstance(row, DatasetError)
        or held_out(json.dumps(row, sort_keys=True, default=str)) == (split == "test")
    ]
    if not kept:
        raise DatasetError(
            f"dataset={source!r} has {len(rows)} rows, too few for a split={split!r} of its own: "
            "give it more, or take them all by split=all"
        )
    return kept


def _with_faults(path: Path) -> Iterator[tuple[int, Row | DatasetError]]:
    """Yield (line number, row), and for a line that is no row (line number, what is wrong)."""
    faults: list[tuple[int, DatasetError]] = []
    for number, row in numbered_rows(path, on_broken=lambda *fault: faults.append(fault)):
        yield from faults
        faults.clear()
        yield number, row
    yield from faults


def numbered_rows(
    path: Path,
    cut_last_line: bool = False,
    on_broken: Callable[[int, DatasetError], object] | None = None,
    longest: int | None = None,
) -> Iterator[tuple[int, Row]]:
    """Yield (line number, row) of a .jsonl, .jsonl.gz, .json, .parquet or .csv file.

    ``cut_last_line`` leaves out a last line without its end, as a killed writer leaves it.
    ``on_broken`` is told of a line of JSONL or CSV that is no row, which is then passed over.
    ``longest`` is the most bytes that a line of JSONL, or an object of a list, may have.

    Raises:
        DatasetError: it cannot be read, or a row is broken (named by line).
    """
    if path.name.endswith(".parquet"):
        return iter(enumerate(_parquet_rows(path), 1))
    if path.suffix == ".csv":
        return _csv_rows(path, on_broken)
    if path.suffix == ".json":
        return read_list(path, longest)
    on_torn = (lambda _: None) if cut_last_line else None
    return read_rows(path, on_torn=on_torn, on_broken=on_broken, longest=longest)


def read_each(
    rows: Sequence[Row], read: Callable[[Row, int], Problem], skip: bool
) -> list[Problem]:
    """Return what ``read(row, number)`` makes of each row, counted from 1.

    Args:
        rows: all of a data set.
        read: raises ``DatasetError`` for a row that is refused.
        skip: leave such rows out, with a warning that counts them.

    Raises:
        DatasetError: a row is refused; with ``skip``, all are.
    """
    problems, refused = [], []
    for number, row in enumerate(rows, 1):
        try:
            problems.append(read(row, number))
        except DatasetError as error:
            if not skip:
                raise
            refused.append(error)
    if refused and not problems:
        raise refused[0]
    if refused:
        warnings.warn(
            f"{len(refused)} of {len(rows)} rows are refused, and left out. The first: "
            f"{refused[0]}",
            stacklevel=4,
        )
    return problems


def row_id(key: str) -> str:
    """Return the stable name of the problem that asks ``key``."""
    return hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=8).hexdigest()


def without(rows: Sequence[Problem], ids: Sequence[str], drop: str) -> list[Problem]:
    """Return ``rows`` less those that the file ``drop`` names by their ids.

    A line of it is ``{"problem_id": ...}``; with ``"keep": n`` the first n of that id stay.

    Raises:
        DatasetError: it cannot be read, a line is broken, or it names none or all of the rows.
    """
    keep: dict[str, int] = {}
    for number, row in numbered_rows(Path(drop)):
        name = str(field(row, ["problem_id"], drop, number))
        stay = row.get("keep") or 0
        if type(stay) is not int or stay < 0:
            raise DatasetError(f"row {number} of drop={drop!r}: keep={stay!r} is no whole number")
        keep[name] = min(keep.get(name, stay), stay)
    if keep and not keep.keys() & set(ids):
        raise DatasetError(f"drop={drop!r} names {len(keep)} problems, and none is in the data set")
    kept = []
    for problem, name in zip(rows, ids, strict=True):
        keep[name] = keep.get(name, len(rows)) - 1
        if keep[name] >= 0:
            kept.append(problem)
    if not kept:
        raise DatasetError(f"drop={drop!r} leaves no problem of {len(rows)}")
    return kept


def held_out(key: str) -> bool:
    """Return whether the problem that ``key`` names is held out: the same on every machine."""
    return int(row_id(key), 16) % HELD_OUT == 0


def field(row: Row, names: Sequence[str], source: str, number: int) -> Any:
    """Return the first field of ``row`` that ``names`` lists; dots reach into nested objects.

    Raises:
        DatasetError: the row has none of them; names the fields that it has.
    """
    value = look_up(row, names)
    if value is not None:
        return value
    if empty := next((name for name in names if name in row), None):
        raise DatasetError(
            f"row {number} of dataset={source!r}: the field {empty!r} is null. Give it a value, or "
            "leave the row out"
        )
    raise DatasetError(
        f"row {number} of dataset={source!r} has none of the fields {', '.join(names)}; "
        f"it has {', '.join(map(str, row)) or '(nothing)'}. Name the right one by a setting."
    )


def look_up(row: Row, names: Sequence[str]) -> Any:
    """Return the first value of ``row`` that ``names`` lists (dots reach inside), else None."""
    for name in names:
        value: Any = row
        for key in name.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            return value
    return None


def _csv_rows(
    path: Path, on_broken: Callable[[int, DatasetError], object] | None = None
) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) of a CSV file with a line of names; an empty cell is null."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            if not reader.fieldnames or len(set(reader.fieldnames)) < len(reader.fieldnames):
                raise DatasetError(f"'{path}' needs a first line with a name for each column")
            for row in reader:
                if None in row or None in row.values():
                    fault = DatasetError(
                        f"line {reader.line_num} of '{path}' has not the {len(reader.fieldnames)} "
                        "cells that the first line names"
                    )
                    if on_broken is None:
                        raise fault
                    on_broken(reader.line_num, fault)
                    continue
                yield reader.line_num, {name: value or None for name, value in row.items()}
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"'{path}' is no UTF-8 text ({error.reason}): save it as UTF-8"
        ) from None
    except (OSError, csv.Error) as error:
        raise DatasetError(f"'{path}' cannot be read: {error}") from error


def _parquet_rows(path: Path) -> Iterator[Row]:
    """Yield the rows; some are held at a time."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DatasetError("reading Parquet needs: pip install 'mint-envs[data]'") from error
    try:
        with pyarrow.parquet.ParquetFile(path, buffer_size=_PARQUET_BUFFER) as file:
            for batch in file.iter_batches(batch_size=_PARQUET_ROWS, use_threads=False):
                yield from batch.to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise DatasetError(f"dataset='{path}' cannot be read: {error}") from error


def _hub_rows(name: str, split: str) -> list[Row]:
    try:
        import datasets
    except ImportError as error:
        raise DatasetError(
            f"dataset={name!r} is no file; as a Hugging Face data set it needs: "
            "pip install 'mint-envs[data]'"
        ) from error
    repository, _, config = name.partition(":")
    try:
        with offline_if_unreachable() as unreachable:
            rows = list(datasets.load_dataset(repository, config or None, split=split))
    except Exception as error:  # the hub's client raises many kinds; all mean the same to a user
        why = f"{unreachable} cannot be reached" if unreachable else first_line(error)
        raise DatasetError(
            f"dataset={name!r} is no file, and cannot be loaded from the Hugging Face hub: {why}. "
            "Check the name, or download it and give the path of a JSONL or Parquet file."
        ) from error
    if not rows:
        raise DatasetError(f"split {split!r} of dataset={name!r} is empty")
    return rows
