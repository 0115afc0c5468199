"""Rows from a JSONL or Parquet file, or from a Hugging Face data set.

Nothing here knows what a row means: tasks pick the fields. Every error names the file, and the
line where there is one.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import DatasetError
from .hub import offline_if_unreachable

Row = Mapping[str, Any]

_FILES = (".jsonl", ".jsonl.gz", ".json", ".parquet")

#: One problem in this many is held out when a set without splits of its own is split.
HELD_OUT = 10


def load_rows(source: str, split: str | None = None) -> list[Row]:
    """Return all rows of ``source``.

    Args:
        source: a path that ends in .jsonl, .jsonl.gz, .json (a list) or .parquet, or the name of
            a Hugging Face data set (``"openai/gsm8k"``, ``"openai/gsm8k:main"`` for a config).
        split: of a Hugging Face set, its split (default ``"train"``); of a file, ``"test"`` is
            one row in ten, chosen by a digest of the row, ``"train"`` the others, ``None`` all.

    Raises:
        DatasetError: it does not exist, has no rows, or a row is broken (named by line).
    """
    path = Path(source)
    if not source.endswith(_FILES):
        if path.exists():
            raise DatasetError(f"dataset={source!r} must end in one of {', '.join(_FILES)}")
        return _hub_rows(source, split or "train")
    if not path.is_file():
        raise DatasetError(f"dataset={source!r} does not exist (looked from {Path.cwd()})")
    if split not in (None, "all", "train", "test"):
        raise DatasetError(f"split={split!r} of a file must be 'train', 'test' or 'all'")
    rows = list(_parquet_rows(path) if source.endswith(".parquet") else _json_rows(path))
    if not rows:
        raise DatasetError(f"dataset={source!r} is empty: it must hold at least one row")
    if split in (None, "all"):
        return rows
    kept = [
        row
        for row in rows
        if held_out(json.dumps(row, sort_keys=True, default=str)) == (split == "test")
    ]
    if not kept:
        raise DatasetError(
            f"dataset={source!r} has {len(rows)} rows, too few for a split={split!r} of its own"
        )
    return kept


def held_out(key: str) -> bool:
    """Return whether the problem that ``key`` names is held out: the same on every machine."""
    digest = hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % HELD_OUT == 0


def field(row: Row, names: Sequence[str], source: str, number: int) -> Any:
    """Return the first field of ``row`` that ``names`` lists; dots reach into nested objects.

    Raises:
        DatasetError: the row has none of them; names the fields that it has.
    """
    for name in names:
        value: Any = row
        for key in name.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            return value
    raise DatasetError(
        f"row {number} of dataset={source!r} has none of the fields {', '.join(names)}; "
        f"it has {', '.join(map(str, row)) or '(nothing)'}. Name the right one by a setting."
    )


def _json_rows(path: Path) -> Iterator[Row]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as file:
            if path.suffix == ".json":
                yield from _checked(json.loads(file.read().decode("utf-8-sig")), path)
                return
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _parse(line, path, number)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        if isinstance(error, DatasetError):
            raise
        raise DatasetError(f"dataset='{path}' cannot be read: {error}") from error


def _parse(line: bytes, path: Path, number: int) -> Row:
    try:
        row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or too deep
        raise DatasetError(f"line {number} of '{path}' is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise DatasetError(f"line {number} of '{path}' is a {type(row).__name__}, not an object")
    return row


def _checked(rows: Any, path: Path) -> list[Row]:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DatasetError(f"dataset='{path}' must hold a list of objects")
    return rows


def _parquet_rows(path: Path) -> list[Row]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DatasetError("reading Parquet needs: pip install 'mint-envs[data]'") from error
    try:
        rows: list[Row] = pyarrow.parquet.read_table(path).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise DatasetError(f"dataset='{path}' cannot be read: {error}") from error
    return rows


def _hub_rows(name: str, split: str) -> list[Row]:
    try:
        import datasets
    except ImportError as error:
        raise DatasetError(
            f"dataset={name!r} is no file; as a Hugging Face data set it needs: "
            "pip install 'mint-envs[data]'"
        ) from error
    repository, _, config = name.partition(":")
    try:
        with offline_if_unreachable() as unreachable:
            rows = list(datasets.load_dataset(repository, config or None, split=split))
    except Exception as error:  # the hub's client raises many kinds; all mean the same to a user
        why = f"{unreachable} cannot be reached" if unreachable else _first_line(error)
        raise DatasetError(
            f"dataset={name!r} is no file, and cannot be loaded from the Hugging Face hub: {why}. "
            "Check the name, or download it and give the path of a JSONL or Parquet file."
        ) from error
    if not rows:
        raise DatasetError(f"split {split!r} of dataset={name!r} is empty")
    return rows


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
