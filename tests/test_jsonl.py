"""Lines of JSON: whole ones are appended and read with their numbers, a torn last one is seen."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mint_envs.errors import DatasetError
from mint_envs.jsonl import append_rows, cut_rows, cut_torn, line_of, read_rows, whole_rows


def test_what_json_does_not_know_is_null_or_text() -> None:
    row = {"a": float("nan"), 1: (2, [float("inf")]), "p": Path("x")}
    assert json.loads(line_of(row)) == {"a": None, "1": [2, [None]], "p": "x"}
    assert json.loads(line_of({"p": Path("x"), (1,): 2}, repr)) == {"p": repr(Path("x")), "(1,)": 2}


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_lines_have_their_numbers_and_a_torn_one_is_told(name: str, tmp_path: Path) -> None:
    path, torn = tmp_path / name, list[int]()
    data = b'\xef\xbb\xbf{"a": 1}\n\n{"a": 2}\n{"a": '
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert list(read_rows(path, torn.append)) == [(1, {"a": 1}), (3, {"a": 2})]
    assert torn == [4]
    with pytest.raises(DatasetError, match=f"line 4 of '{path}' is not JSON"):
        list(read_rows(path))


@pytest.mark.parametrize("middle", [b"x\n", b"[]\n", b'"\xff"\n'])
def test_a_broken_line_with_an_end_is_a_mistake(middle: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for data in (b"{}\n" + middle + b"{}\n", b"{}\n" + middle):
        path.write_bytes(data)
        with pytest.raises(DatasetError, match="line 2 of"):
            whole_rows(path)


def test_an_archive_that_was_cut_off(tmp_path: Path) -> None:
    path, torn = tmp_path / "a.jsonl.gz", list[int]()
    text = "".join(line_of({"a": i * 7919 % 1000}) for i in range(2000))
    path.write_bytes(gzip.compress(text.encode())[:-500])
    assert 0 < len(list(read_rows(path, torn.append))) < 2000
    assert len(torn) == 1
    with pytest.raises(DatasetError, match="cannot be read"):
        list(read_rows(path))


def test_a_writer_goes_on_after_whole_lines_only(tmp_path: Path) -> None:
    rows: list[Any] = [{"a": 1}, {"b": "\ud800\n"}, {"c": [None]}]
    whole = "".join(map(line_of, rows)).encode()
    path = tmp_path / "a.jsonl"
    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        cut_torn(path)
        kept = path.read_bytes().count(b"\n")
        append_rows(path, rows[kept:])
        assert path.read_bytes() == whole
    cut_torn(tmp_path / "none.jsonl")


def test_cutting_keeps_a_last_line_that_lacks_its_end_only(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": 2}')
    cut_rows(path, lambda row: row["a"] < 3)
    assert path.read_bytes() == b'{"a": 1}\n{"a": 2}\n'
    cut_rows(path, lambda row: row["a"] < 2)
    assert path.read_bytes() == b'{"a": 1}\n'
    with pytest.raises(OSError, match="No space left"):
        append_rows(Path("/dev/full"), [{}])
