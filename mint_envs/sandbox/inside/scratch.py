"""The folder that programs may write to where /tmp cannot be mounted afresh for each of them."""

from __future__ import annotations

import contextlib
import math
import os
import stat
import time
from itertools import islice

_MAX_DEPTH = 50
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW

#: Folders are told apart by device and inode.
_Place = tuple[int, int]


def empty(folder: str, patience_s: float = math.inf) -> None:
    """Delete what is in ``folder``, however deep it nests, whatever modes and names it has.

    Every folder is opened to its owner before anything in it is touched, and reached from the one
    above or below, never by a path: no path grows long, nothing recurses, and two descriptors are
    open at most. Nothing is moved, which a folder that may not be written to would refuse.

    Raises:
        OSError: something is left, perhaps since it took longer than ``patience_s``.
    """
    walk = _Walk(folder, time.monotonic() + patience_s)
    try:
        walk.empty()
        os.utime(walk.here, (0, 0))
    finally:
        os.close(walk.here)


class _Walk:
    """Where the deletion stands: ``here`` is a descriptor of a folder."""

    def __init__(self, folder: str, until: float) -> None:
        self.here = _enter(folder, None)
        self._until = until
        self._above: list[tuple[bytes, list[bytes], _Place]] = []  # way back, what is left there

    def empty(self) -> None:
        folders = _delete_files(self.here)
        while folders or self._above:
            if time.monotonic() > self._until:
                raise TimeoutError("the folder takes too long to be emptied")
            folders = self._down(folders.pop(), folders) if folders else self._up()

    def _down(self, name: bytes, others: list[bytes]) -> list[bytes]:
        self._above.append((name, others, _inode(self.here)))
        self._go(_enter(name, self.here))
        return _delete_files(self.here)

    def _up(self) -> list[bytes]:
        name, others, place = self._above.pop()
        self._go(os.open(b"..", _OPEN, dir_fd=self.here))
        if _inode(self.here) != place:
            raise OSError("a folder was moved while it was emptied")
        os.rmdir(name, dir_fd=self.here)
        return others

    def _go(self, there: int) -> None:
        os.close(self.here)
        self.here = there


def _enter(name: str | bytes, parent: int | None) -> int:
    """Return a descriptor of a folder, which its owner may now read, write and enter."""
    try:
        here = os.open(name, _OPEN, dir_fd=parent)
    except PermissionError:
        if stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
            raise
        os.chmod(name, 0o700, dir_fd=parent)
        here = os.open(name, _OPEN, dir_fd=parent)
    os.fchmod(here, 0o700)
    return here


def _delete_files(here: int) -> list[bytes]:
    """Delete all but the folders in a folder; return the names of those."""
    folders = []
    for entry in os.listdir(here):
        name = os.fsencode(entry)
        if stat.S_ISDIR(os.lstat(name, dir_fd=here).st_mode):
            folders.append(name)
        else:
            os.unlink(name, dir_fd=here)
    return folders


def _inode(folder: int) -> _Place:
    status = os.fstat(folder)
    return status.st_dev, status.st_ino


def full(folder: str, size: int, files: int) -> bool:
    """Return whether it holds more than ``size`` bytes, ``files`` files, or anything hidden.

    Hidden is what is nested too deep or closed to its owner: it could not be counted.
    """
    todo = [(folder, 0)]
    while todo:
        path, depth = todo.pop()
        try:
            inner, blocks, count = _look_into(path, files)
        except FileNotFoundError:  # deleted just now
            continue
        except OSError:
            return True
        size -= 512 * blocks
        files -= count
        if files < 0 or size < 0 or depth > _MAX_DEPTH:
            return True
        todo += [(name, depth + 1) for name in inner]
    return False


def _look_into(path: str, most: int) -> tuple[list[str], int, int]:
    """Return (folders, blocks, entries) of a folder; the rest is not looked at beyond ``most``.

    There may be more entries than memory holds.
    """
    folders, blocks, count = [], 0, 0
    with os.scandir(path) as entries:
        for entry in islice(entries, most + 1):
            count += 1
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                blocks += entry.stat(follow_symlinks=False).st_blocks
    return folders, blocks, count


def mark(folder: str) -> tuple[int, int]:
    """Return what changes when anything is done to the folder."""
    status = os.stat(folder)
    return status.st_ctime_ns, status.st_mtime_ns


def append(path: str, out: int) -> None:
    """Append a file that a program left, if it is one, to ``out``; as much as that may hold."""
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                os.lseek(out, 0, os.SEEK_END)
                while os.sendfile(out, fd, None, 1 << 20):
                    pass
        finally:
            os.close(fd)
