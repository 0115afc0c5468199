"""Files and folders written whole, to a temporary name first, then renamed; files held alone."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` so that ``path`` holds the old or the new content, never a part.

    Half a character (a lone surrogate) is written as ``?``.

    Raises:
        OSError: it cannot be written; nothing has changed then.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())  # mkstemp's own mode is for secrets
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes ``path`` if the block ends without an error.

    Raises:
        OSError: it cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
    try:
        yield scratch
        scratch.chmod(0o777 & ~_umask())
        if path.exists():
            shutil.rmtree(path)
        os.replace(scratch, path)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def lock(file: IO[Any]) -> bool:
    """Return whether an open file is this process's alone, until it is closed.

    Where there are no locks (a file system without them, Windows) it counts as ours.
    """
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return True
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True
