"""Files of results: written whole, or appended line by line."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import atomic
from ..errors import DatasetError


def check_folders(*paths: str | None) -> None:
    """Make sure, before the work begins, that its results can be written.

    Raises:
        DatasetError: the folder of a path is not there, or may not be written to.
    """
    for path in filter(None, paths):
        folder = Path(path).absolute().parent
        if not folder.is_dir():
            raise DatasetError(f"cannot write {path!r}: there is no folder {str(folder)!r}")
        if not os.access(folder, os.W_OK):
            raise DatasetError(f"cannot write {path!r}: no permission in {str(folder)!r}")


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
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                self._file.close()
                raise DatasetError(
                    f"another process is writing {str(self._path)!r}: wait for it, or name another "
                    "output"
                ) from None
            # A file system without locks: as good as can be had there.
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write(self, rows: Iterable[Any]) -> None:
        """Append each row as a line of JSON.

        Raises:
            DatasetError: they cannot be written (a full disk); the whole lines stay.
        """
        data = memoryview("".join(map(line_of, rows)).encode())
        try:
            while data:
                data = data[self._file.write(data) or 0 :]
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> DatasetError:
        return DatasetError(
            f"cannot write {str(self._path)!r}: {error.strerror or error}. The whole lines in it "
            "are kept: the same command goes on after them"
        )


def write_whole(path: Path, text: str) -> None:
    """As ``atomic.write_whole``, for results that a user named.

    Raises:
        DatasetError: it cannot be written.
    """
    try:
        atomic.write_whole(path, text)
    except OSError as error:
        raise DatasetError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def line_of(row: Any) -> str:
    """Return a row as a line of a JSONL file."""
    return json.dumps(row, ensure_ascii=True, allow_nan=False, default=str) + "\n"


def whole_lines(path: Path) -> list[str]:
    """Return the whole lines of a file, and cut off a last one that was not written to its end.

    A file that does not exist has none.
    """
    if not path.exists():
        return []
    with path.open("rb+") as file:
        data = file.read()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            file.truncate(end)
    return data[:end].decode("utf-8").splitlines()
