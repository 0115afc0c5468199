"""Rows from files, and errors that name the line."""

from __future__ import annotations

import builtins
import gzip
import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from mint_envs.datasets import field, held_out, load_rows
from mint_envs.errors import DatasetError

pytestmark = pytest.mark.quick

ROWS = [{"question": f"{i} + 1?", "answer": str(i + 1)} for i in range(40)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def write(folder: Path, name: str, content: bytes) -> str:
    path = folder / name
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", LINES),
        ("crlf.jsonl", LINES.replace(b"\n", b"\r\n")),
        ("blank.jsonl", b"\n  \n" + LINES.replace(b"\n", b"\n\n")),
        ("no-end.jsonl", LINES.rstrip()),
        ("bom.jsonl", b"\xef\xbb\xbf" + LINES),
        ("a.jsonl.gz", gzip.compress(LINES, mtime=0)),
        ("a.json", json.dumps(ROWS, indent=1).encode()),
        ("bom.json", b"\xef\xbb\xbf" + json.dumps(ROWS).encode()),
    ],
)
def test_rows_come_from_files(tmp_path: Path, name: str, content: bytes) -> None:
    assert load_rows(write(tmp_path, name, content)) == ROWS


def test_rows_come_from_parquet(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    path = str(tmp_path / "a.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    assert load_rows(path) == ROWS
    with pytest.raises(DatasetError, match="cannot be read"):
        load_rows(write(tmp_path, "b.parquet", b"no parquet"))


def test_text_that_only_looks_like_a_line_end_is_none(tmp_path: Path) -> None:
    rows = [{"question": "a\u2028b\x0b\x0cc\x85d", "answer": "\u00e9\U0001f600"}]
    content = json.dumps(rows[0], ensure_ascii=False).encode()
    assert load_rows(write(tmp_path, "a.jsonl", content)) == rows


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", LINES + b"{broken\n", "line 41 of '.*' is not JSON: Expecting"),
        ("a.jsonl", b'\n\n{"a": 1}\n[1]\n', "line 4 of '.*' is a list, not an object"),
        ("a.jsonl", b'{"a": 1}\n"x"\n', "line 2 of '.*' is a str"),
        ("a.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "line 2 of '.*' is no UTF-8 text"),
        ("a.jsonl", b'{"a": 1}\n' + b"[" * 100_000, "line 2 of '.*' is not JSON"),
        ("a.jsonl", b'{"a": ' + b"9" * 5000 + b"}", "line 1 of '.*' is not JSON"),
        ("a.jsonl", b'{"a": 1}\n{"a": 2', "line 2 of '.*' is not JSON"),
        ("a.jsonl.gz", gzip.compress(b'{"a": 1}\n{"a": 2', mtime=0), "line 2 of '.*' is not JSON"),
        ("a.jsonl.gz", LINES, "cannot be read: Not a gzipped file"),
        ("a.jsonl.gz", gzip.compress(LINES, mtime=0)[:-20], "cannot be read"),
        ("a.jsonl.gz", gzip.compress(LINES, mtime=0)[:15] + b"\xff" * 40, "cannot be read"),
        ("a.json", b'{"a": 1}', "must hold a list of objects"),
        ("a.json", b"[1, 2]", "must hold a list of objects"),
        ("a.json", b"[{", "cannot be read"),
        ("a.json", b"[" * 100_000, "must hold a list of objects, and number 1 is none"),
        ("a.json", b'[{"a": ' + b"[" * 100_000, "cannot be read"),
        ("a.json", b'[{"a": 1} {"a": 2}]', "cannot be read: '{' in place of ',' between objects"),
        ("a.json", b'[{"a": 1},]', "number 2 is none"),
        ("a.json", b'[{"a": 1}', "cannot be read: None in place of ','"),
        ("a.json", b'[{"a": 1}, {"a": }]', "cannot be read: object 2 is broken: Expecting value"),
        ("a.json", b'[{"a": 1}] [', "cannot be read: there is more after the end"),
        ("a.json", b'[{"a": "\xff"}]', "cannot be read"),
        ("a.json", b"", "must hold a list of objects"),
        ("a.jsonl", b"", "is empty"),
        ("a.jsonl", b"\n\n \n", "is empty"),
        ("a.json", b"[]", "is empty"),
        ("a.tsv", b"a\tb", "must end in one of .jsonl"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(DatasetError, match=message) as caught:
        load_rows(path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"missing.jsonl' does not exist \(looked from"):
        load_rows(str(tmp_path / "missing.jsonl"))
    with pytest.raises(DatasetError, match="is a folder without a file"):
        load_rows(str(tmp_path))


def test_a_file_is_split_by_row(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", LINES)
    train, test = load_rows(path, "train"), load_rows(path, "test")
    assert len(train) + len(test) == len(ROWS)
    assert 0 < len(test) < len(train)
    shuffled = write(tmp_path, "b.jsonl", b"".join(reversed(LINES.splitlines(keepends=True))))
    assert load_rows(shuffled, "test") == test[::-1]  # a row stays on its side
    assert load_rows(path, "all") == ROWS
    with pytest.raises(DatasetError, match="split='dev' of a file"):
        load_rows(path, "dev")
    tiny = write(tmp_path, "c.jsonl", json.dumps(train[0]).encode())
    with pytest.raises(DatasetError, match="has 1 rows, too few for a split='test'"):
        load_rows(tiny, "test")


def test_what_is_held_out_never_changes() -> None:
    """Results on held-out problems are only comparable if they are the same ones."""
    assert [i for i in range(60) if held_out(str(i))] == [1, 2, 7, 30, 48, 52]
    assert sum(held_out(str(i)) for i in range(10_000)) / 10_000 == pytest.approx(0.1, abs=0.01)


def test_fields_by_name_and_path() -> None:
    row = {"a": {"b": "deep"}, "answer": 0, "none": None}
    assert field(row, ["missing", "answer"], "x", 1) == 0
    assert field(row, ["a.b"], "x", 1) == "deep"
    with pytest.raises(
        DatasetError, match=r"row 7 of dataset='x' has none .* it has a, answer, none"
    ):
        field(row, ["nothing", "a.c", "answer.x"], "x", 7)
    with pytest.raises(DatasetError, match="row 7 of dataset='x': the field 'none' is null"):
        field(row, ["none", "a.c"], "x", 7)
    with pytest.raises(DatasetError, match=r"it has \(nothing\)"):
        field({}, ["a"], "x", 1)


# -- Hugging Face data sets -----------------------------------------------------------------------


class Hub(types.ModuleType):
    """Stands for the package ``datasets``."""

    def __init__(self, load: Any) -> None:
        super().__init__("datasets")
        self.load_dataset = load
        self.config = types.SimpleNamespace(HF_HUB_OFFLINE=False)


@pytest.fixture(params=[True, False], ids=["online", "offline"])
def online(request: Any, monkeypatch: Any) -> bool:
    import huggingface_hub.constants as hub

    monkeypatch.setattr("mint_envs.hub._reachable", lambda host: request.param)
    monkeypatch.setattr("urllib.request.getproxies", dict)
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", False)
    return bool(request.param)


def test_a_name_is_looked_up_on_the_hub(monkeypatch: Any, online: bool) -> None:
    def load(name: str, config: str | None, split: str) -> list[Any]:
        import huggingface_hub.constants as hub

        offline = sys.modules["datasets"].config.HF_HUB_OFFLINE  # type: ignore[attr-defined]
        assert offline == hub.HF_HUB_OFFLINE == (not online)
        return [{"name": name, "config": config, "split": split}]

    monkeypatch.setitem(sys.modules, "datasets", Hub(load))
    assert load_rows("openai/gsm8k:main", "test") == [
        {"name": "openai/gsm8k", "config": "main", "split": "test"}
    ]
    assert load_rows("openai/gsm8k")[0]["split"] == "train"
    import huggingface_hub.constants as hub

    assert not hub.HF_HUB_OFFLINE


def test_a_name_that_cannot_be_loaded_says_why(monkeypatch: Any, online: bool) -> None:
    def load(*_: Any, **__: Any) -> list[Any]:
        raise ConnectionError("Couldn't reach it\nmore lines")

    monkeypatch.setitem(sys.modules, "datasets", Hub(load))
    why = "Couldn't reach it" if online else "huggingface.co cannot be reached"
    with pytest.raises(DatasetError, match=f"hub: {why}. Check the name") as caught:
        load_rows("no/such-set")
    assert "\n" not in str(caught.value)


def test_an_empty_split_is_named(monkeypatch: Any, online: bool) -> None:
    monkeypatch.setitem(sys.modules, "datasets", Hub(lambda *_, **__: []))
    with pytest.raises(DatasetError, match="split 'test' of dataset='a/b' is empty"):
        load_rows("a/b", "test")


@pytest.mark.parametrize(("source", "module"), [("a/b", "datasets"), ("x.parquet", "pyarrow")])
def test_a_missing_extra_is_named(
    monkeypatch: Any, tmp_path: Path, source: str, module: str
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == module:
            raise ImportError(name)
        return real(name, *rest)

    write(tmp_path, "x.parquet", b"")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DatasetError, match=r"pip install 'mint-envs\[data\]'"):
        load_rows(source)
