"""Verdicts on disk: one small file each, so that a verdict once given stays.

Files are written whole (a temporary name, then a rename), so any number of threads and processes
may share a folder. What cannot be read, or is not what was written, is a miss and is written anew.
A folder that cannot be written to costs the memory of verdicts, never a verdict.
"""

from __future__ import annotations

import json
import logging
import re
import stat
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from ...atomic import write_whole
from ...errors import SettingError

log = logging.getLogger("mint_envs.judge")

_KEY = re.compile(r"[0-9a-f]{64}")
_LARGEST = 1 << 20  # bytes; an entry has some hundred


class Verdicts:
    """The verdicts in ``folder``, and the questions that are being asked now.

    Args:
        folder: made if it is not there; None keeps nothing.

    Raises:
        SettingError: the folder cannot be made.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.lock = threading.Lock()
        #: Keys that some thread is asking for now; others wait for it.
        self.asking: dict[str, Future[Any]] = {}
        self._said = False
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingError(
                f"judge_cache={str(folder)!r} cannot be a folder: {error}. Name another, or 'off'"
            ) from error

    def get(self, key: str) -> str | None:
        """Return the verdict kept under ``key``, or None."""
        if self.folder is None:
            return None
        path = self._path(key)
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
                return None  # a pipe would be waited for, and for ever
            kept = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        whole = isinstance(kept, dict) and kept.get("key") == key
        verdict = kept.get("verdict") if whole else None
        return verdict if isinstance(verdict, str) else None

    def put(self, key: str, verdict: str, about: Mapping[str, str]) -> None:
        """Keep ``verdict``; ``about`` says, for a reader of the folder, whose it is."""
        if self.folder is None:
            return
        path = self._path(key)
        try:
            path.parent.mkdir(exist_ok=True)
            write_whole(path, json.dumps({"key": key, "verdict": verdict, **about}) + "\n")
        except OSError as error:
            self._say(error)

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        assert _KEY.fullmatch(key)
        return self.folder / key[:2] / f"{key}.json"

    def _say(self, error: OSError) -> None:
        """Say once that verdicts are not kept; they still count."""
        if not self._said:
            self._said = True
            log.warning("verdicts cannot be kept in %s: %s", self.folder, error)
