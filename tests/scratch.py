"""A folder to make mistakes in, and nothing of it left in the process afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import gymnasium as gym


@contextmanager
def scratch(folder: Path, files: Mapping[str, str | bytes]) -> Iterator[None]:
    """Write ``files`` into ``folder``; at the end forget what was imported and registered there."""
    for name, text in files.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    path, ids = list(sys.path), set(gym.registry)
    try:
        yield
    finally:
        sys.path[:] = path
        for id in set(gym.registry) - ids:
            del gym.registry[id]
        for name in files:
            sys.modules.pop(Path(name).stem, None)
