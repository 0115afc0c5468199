"""Files of one JSON object a line: appended whole, read with their numbers. Also lists of objects.

A kill or a full disk leaves at most a last line without its end. Who reads says whether such a
line is a mistake or is left out; who goes on writing cuts it off first.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from .atomic import lock
from .errors import DatasetError

Row = dict[str, Any]


# -- writing --------------------------------------------------------------------------------------


def line_of(row: Any, default: Callable[[Any], Any] = str) -> str:
    """Return a row as a line: what JSON does not know becomes ``default(it)``, NaN null."""
    try:
        return json.dumps(row, allow_nan=False, default=default) + "\n"
    except (ValueError, TypeError):  # a number that JSON does not have, a key that is no text
        return json.dumps(_json_safe(row), allow_nan=False, default=default) + "\n"


def _json_safe(value: Any) -> Any:
    """Return ``value`` as JSON can hold it: an environment's info may contain anything."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _json_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_safe(item) for item in value]
    return value


def append_rows(path: Path, rows: Iterable[Any], default: Callable[[Any], Any] = str) -> None:
    """Append one line for each row.

    Raises:
        OSError: they cannot be written (a full disk); the whole lines stay.
    """
    data = "".join(line_of(row, default) for row in rows).encode()
    with path.open("ab", buffering=0) as file:
        _write_all(file, data)


def _write_all(file: FileIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) or 0 :]


class Appended:
    """A file of results to which this process, and no other, appends lines.

    Raises:
        DatasetError: it cannot be written, or another process is appending to it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise self._failed(error) from error

    def __enter__(self) -> Appended:
        if not lock(self._file):
            self._file.close()
            raise DatasetError(
                f"another process is writing {str(self._path)!r}: wait for it, or name another "
                "output"
            )
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write(self, rows: Iterable[Any]) -> None:
        """Append each row as a line of JSON.

        Raises:
            DatasetError: they cannot be written (a full disk); the whole lines stay.
        """
        data = "".join(map(line_of, rows)).encode()
        try:
            _write_all(self._file, data)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> DatasetError:
        return DatasetError(
            f"cannot write {str(self._path)!r}: {error.strerror or error}. The whole lines in it "
            "are kept: the same command goes on after them"
        )


# -- reading --------------------------------------------------------------------------------------


def read_rows(
    path: Path,
    on_torn: Callable[[int], object] | None = None,
    on_bytes: Callable[[int], object] | None = None,
    on_broken: Callable[[int, DatasetError], object] | None = None,
    longest: int | None = None,
) -> Iterator[tuple[int, Row]]:
    """Yield (line number, row) of a file, plain or .gz; empty lines are passed over.

    Args:
        path: the file.
        on_torn: is told the number of a last line without its end, which is left out, or 0 of an
            archive that was cut off; without it that is a mistake.
        on_bytes: is told how far the file has been read.
        on_broken: is told the number of a line that is no JSON object, and why; it is passed over.
            Without it that is a mistake.
        longest: the most bytes that a line may have: an archive of a megabyte can hold one line
            of a gigabyte.

    Raises:
        DatasetError: it cannot be read, or a line is no JSON object, or too long (named).
    """
    try:
        with path.open("rb") as raw:
            file: Any = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
            lines = file if longest is None else _short_lines(file, path, longest)
            for number, _, row in _parsed_rows(lines, path, on_torn, on_broken):
                if on_bytes is not None:
                    on_bytes(raw.tell())
                yield number, row
    except (EOFError, zlib.error) as error:
        if on_torn is None:
            raise _unreadable(path, error) from error
        on_torn(0)
    except OSError as error:
        raise _unreadable(path, error) from error


def _short_lines(file: BinaryIO, path: Path, longest: int) -> Iterator[bytes]:
    for number in itertools.count(1):
        line = file.readline(longest + 1)
        if not line:
            return
        if len(line) > longest:
            raise DatasetError(
                f"line {number} of '{path}' has more than {longest >> 20} MiB: that is no row"
            )
        yield line


def _unreadable(path: Path, error: Exception) -> DatasetError:
    return DatasetError(f"'{path}' cannot be read: {error}")


def _parsed_rows(
    lines: Iterable[bytes],
    path: Path,
    on_torn: Callable[[int], object] | None,
    on_broken: Callable[[int, DatasetError], object] | None = None,
) -> Iterator[tuple[int, bytes, Row]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = _parsed_line(line, number, path)
        except DatasetError as error:
            if on_torn is not None and not line.endswith(b"\n"):
                on_torn(number)
                return
            if on_broken is None:
                raise
            on_broken(number, error)
            continue
        yield number, line, row


def _parsed_line(line: bytes, number: int, path: Path) -> Row:
    try:
        row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"line {number} of '{path}' is no UTF-8 text ({error.reason}): save the file as UTF-8"
        ) from error
    except (ValueError, RecursionError) as error:  # not JSON, or too deep
        raise DatasetError(f"line {number} of '{path}' is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise DatasetError(f"line {number} of '{path}' is a {type(row).__name__}, not an object")
    return row


def whole_rows(path: Path) -> list[Row]:
    """Return the rows of a file that is still written to; a last line without its end is left out.

    Raises:
        DatasetError: it cannot be read, or another line is no JSON object (named).
    """
    return [row for _, row in read_rows(path, on_torn=lambda _: None)]


# -- cutting --------------------------------------------------------------------------------------


def cut_torn(path: Path) -> None:
    """Cut off a last line that was not written to its end; a file that is not there has none."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        whole = sum(len(line) for line in file if line.endswith(b"\n"))
        if whole < file.tell():
            file.truncate(whole)


def cut_rows(path: Path, wanted: Callable[[Row], bool]) -> None:
    """Cut a file off before the first row that is not ``wanted``, or that has no end.

    It is read a line at a time: the episodes of a long run do not fit in memory.

    Raises:
        DatasetError: a line that stays is no JSON object (named).
    """
    with path.open("rb+") as file:
        end, last = 0, b"\n"
        for _, line, row in _parsed_rows(file, path, on_torn=lambda _: None):
            if not wanted(row):
                break
            end, last = file.tell(), line
        _end_at(file, end, last)


def _end_at(file: BinaryIO, end: int, last: bytes) -> None:
    """Cut off what follows ``end``; the last line that stays may lack its end only."""
    file.truncate(end)
    if not last.endswith(b"\n"):
        file.seek(end)
        file.write(b"\n")


# -- a list of objects, in parts ------------------------------------------------------------------

_PART = 1 << 20  # characters that are read at a time
_SPACE = " \t\r\n"


def read_list(path: Path, longest: int | None = None) -> Iterator[tuple[int, Row]]:
    """Yield (number from 1, object) of a file that is one JSON list; one object is held at a time.

    Args:
        path: the file.
        longest: the most characters that an object may have.

    Raises:
        DatasetError: it cannot be read, is no list of objects, or one is too long (named).
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = _Ahead(file, path, longest)
            text.expect("[")
            number, ends = 0, text.next_is("]")
            while not ends:
                number += 1
                yield number, text.object(number)
                ends = text.next_is("]")
                if not ends:
                    text.expect(",")
            if text.next() is not None:
                raise ValueError("there is more after the end of the list")
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, DatasetError):
            raise
        raise DatasetError(f"'{path}' cannot be read: {error}") from error


class _Ahead:
    """Text of a file of which a part is held."""

    def __init__(self, file: TextIO, path: Path, longest: int | None) -> None:
        self._file, self._path, self._longest = file, path, longest
        self._held, self._at = "", 0
        self._decode = json.JSONDecoder().raw_decode

    def next(self) -> str | None:
        """Return the next character that is no white space, which stays; None at the end."""
        while True:
            while self._at < len(self._held):
                if self._held[self._at] not in _SPACE:
                    return self._held[self._at]
                self._at += 1
            if not self._more(_PART):
                return None

    def next_is(self, sign: str) -> bool:
        """Take the next character if it is ``sign``; return whether it was."""
        found = self.next() == sign
        self._at += found
        return found

    def expect(self, sign: str) -> None:
        if not self.next_is(sign):
            if sign == "[":
                raise DatasetError(f"dataset='{self._path}' must hold a list of objects")
            raise ValueError(f"{self.next()!r} in place of {sign!r} between objects")

    def object(self, number: int) -> Row:
        """Take the next object; as long as its end is not held, more is read: twice as much."""
        if self.next() != "{":
            raise DatasetError(
                f"dataset='{self._path}' must hold a list of objects, and number {number} is none"
            )
        size = _PART
        while True:
            try:
                found, end = self._decode(self._held, self._at)
            except json.JSONDecodeError as error:
                self._check_length(number, len(self._held), f", or is broken: {error.msg}")
                if not self._more(size):
                    raise ValueError(f"object {number} is broken: {error.msg}") from None
                size *= 2
            else:
                self._check_length(number, end)
                self._at = end
                return dict(found)

    def _check_length(self, number: int, end: int, more: str = "") -> None:
        if self._longest and end - self._at > self._longest:
            raise DatasetError(
                f"object {number} of '{self._path}' has more than {self._longest >> 20} MiB{more}"
            )

    def _more(self, size: int) -> bool:
        """Read on; let go of what was taken."""
        part = self._file.read(size)
        self._held, self._at = self._held[self._at :] + part, 0
        return bool(part)
