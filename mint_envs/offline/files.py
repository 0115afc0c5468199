"""Files of results: written whole, or appended line by line."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` so that ``path`` holds the old or the new content, never a part."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        mask = os.umask(0o022)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # mkstemp's own mode is for secrets
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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
