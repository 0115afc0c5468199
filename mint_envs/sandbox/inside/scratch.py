"""The folder that programs may write to where /tmp cannot be mounted afresh for each of them."""

from __future__ import annotations

import contextlib
import os

_MAX_DEPTH = 50


def empty(folder: str) -> None:
    """Delete what is in ``folder``, however deep it nests and whatever modes it has.

    Folders are moved up before they are deleted: no path grows long and nothing recurses. The
    program that made them is dead, so nothing moves meanwhile.
    """
    os.chmod(folder, 0o700)
    count = 0
    while entries := os.listdir(folder):
        for name in entries:
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isdir(path):
                os.unlink(path)
                continue
            os.chmod(path, 0o700)
            for inner in os.listdir(path):
                while os.path.lexists(up := os.path.join(folder, f".old{count}")):
                    count += 1
                os.rename(os.path.join(path, inner), up)
            os.rmdir(path)
    os.utime(folder, (0, 0))


def full(folder: str, size: int, files: int) -> bool:
    """Return whether it holds more than ``size`` bytes, ``files`` files, or anything hidden.

    Hidden is what is nested too deep or closed to its owner: it could not be counted.
    """
    todo = [(folder, 0)]
    while todo:
        path, depth = todo.pop()
        try:
            entries = list(os.scandir(path))
        except FileNotFoundError:  # deleted just now
            continue
        except OSError:
            return True
        files -= len(entries)
        if files < 0 or depth > _MAX_DEPTH:
            return True
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    todo.append((entry.path, depth + 1))
                size -= entry.stat(follow_symlinks=False).st_blocks * 512
        if size < 0:
            return True
    return False


def mark(folder: str) -> tuple[int, int]:
    """Return what changes when anything is done to the folder."""
    status = os.stat(folder)
    return status.st_ctime_ns, status.st_mtime_ns
