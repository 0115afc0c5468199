"""Files of one JSON object a line, as a run appends them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from .errors import TrainerError


def append_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append one line for each row. What JSON does not know becomes None or text."""
    text = "".join(
        json.dumps(_plain(row), ensure_ascii=True, allow_nan=False, default=str) + "\n"
        for row in rows
    )
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file; a last line that was cut off is left out.

    Raises:
        TrainerError: another line is no JSON object: the file was edited. Names the line.
    """
    with path.open("rb") as file:
        return [row for _, row in _rows(file, path)]


def cut_rows(path: Path, wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Cut a file off before the first row that is not ``wanted``, or that was cut off already.

    It is read a line at a time: the episodes of a long run do not fit in memory.

    Raises:
        TrainerError: as ``read_rows``, for the lines that stay.
    """
    with path.open("rb+") as file:
        end, last = 0, b"\n"
        for line, row in _rows(file, path):
            if not wanted(row):
                break
            end, last = end + len(line), line
        file.truncate(end)
        file.seek(end)
        file.write(b"" if last.endswith(b"\n") else b"\n")


def _rows(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield (line, row)."""
    for number, line in enumerate(file, 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            if not file.read(1):
                return
            raise TrainerError(
                f"line {number} of {path} is not JSON ({error}): mend it, or delete the line"
            ) from error
        if not isinstance(row, dict):
            raise TrainerError(f"line {number} of {path} is not an object: delete the line")
        yield line, row


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON can hold it: an environment's info may contain anything."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
