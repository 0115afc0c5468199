"""Files of results that a user named: whether they can be written, and written whole."""

from __future__ import annotations

import os
from pathlib import Path

from .. import atomic
from ..errors import DatasetError


def check_folders(*paths: str | None) -> None:
    """Make sure, before the work begins, that its results can be written.

    Raises:
        DatasetError: the folder of a path is not there, or may not be written to; or two are the
            same file.
    """
    named = [os.path.realpath(path) for path in paths if path]
    for path in filter(None, paths):
        if named.count(os.path.realpath(path)) > 1:
            raise DatasetError(f"{path!r} is named for two results: give each a file of its own")
        folder = Path(path).absolute().parent
        if not folder.is_dir():
            raise DatasetError(f"cannot write {path!r}: there is no folder {str(folder)!r}")
        if not os.access(folder, os.W_OK):
            raise DatasetError(f"cannot write {path!r}: no permission in {str(folder)!r}")


def write_result(path: Path, text: str) -> None:
    """As ``atomic.write_whole``, for results that a user named.

    Raises:
        DatasetError: it cannot be written.
    """
    try:
        atomic.write_whole(path, text)
    except OSError as error:
        raise DatasetError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
