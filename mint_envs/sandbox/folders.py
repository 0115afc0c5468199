"""Folders that programs may write to, where there is no mount namespace to take them away again.

Each is locked (``flock``) by the process that made it and by its zygote, for as long as either of
them lives. A caller that is killed with SIGKILL leaves its folder behind; the next start finds it
unlocked and deletes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
import time

from .inside import scratch

PREFIX = "mint-sandbox-held-"
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_LAST_GASP_S = 0.05  # what a program may outlive its zygote, which was perhaps killed just now


class Folder:
    """A new folder; ``lock`` is a descriptor to hand to the zygote."""

    def __init__(self) -> None:
        parent = _memory() or tempfile.gettempdir()
        sweep(parent)
        while True:
            self.path = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
            with contextlib.suppress(OSError):  # another start took it for a dead one's: once more
                self.lock = _locked(self.path)
                return

    def delete(self) -> None:
        """Delete it and what is in it. Twice is harmless."""
        if self.lock >= 0:
            with contextlib.suppress(OSError):
                scratch.empty(self.path)
                os.rmdir(self.path)
        self.let_go()

    def let_go(self) -> None:
        """Leave it to those who share it: after a fork, to the parent."""
        if self.lock >= 0:
            os.close(self.lock)
        self.lock = -1


def sweep(parent: str) -> None:
    """Delete the folders of this user in ``parent`` that no living process holds."""
    with contextlib.suppress(OSError):
        for name in os.listdir(parent):
            if name.startswith(PREFIX):
                with contextlib.suppress(OSError):  # in use, another user's, or just gone
                    _delete_if_dead(os.path.join(parent, name))


def _delete_if_dead(path: str) -> None:
    lock = _locked(path)
    try:
        time.sleep(_LAST_GASP_S)
        scratch.empty(path)
        os.rmdir(path)
    finally:
        os.close(lock)


def _locked(path: str) -> int:
    """Return a descriptor of a folder of this user's, locked.

    Raises:
        OSError: somebody else has locked it, it is not ours, no folder, or no longer there.
    """
    try:
        lock = os.open(path, _OPEN)
    except PermissionError:  # closed to its owner, who alone may change that
        os.chmod(path, 0o700)
        lock = os.open(path, _OPEN)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        here, there = os.fstat(lock), os.lstat(path)
        same = stat.S_ISDIR(there.st_mode) and os.path.samestat(here, there)
        if not same or here.st_uid != os.geteuid():
            raise OSError(f"{path} is another's")
    except OSError:
        os.close(lock)
        raise
    return lock


def _memory() -> str | None:
    """Return a folder in memory, where files are made and deleted fastest; None for the usual."""
    folder = "/dev/shm"
    return folder if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK) else None
