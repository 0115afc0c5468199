"""From a name to what it names: modules, files, ids."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mint_envs.errors import SettingError
from mint_envs.loading import imported, load_module, locate


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder that is not on the path, and is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    modules = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_modules_and_files_and_what_is_inside(here: Path) -> None:
    (here / "inside_one.py").write_text("class A:\n    def f(self): ...\n")
    assert imported("json:JSONDecoder.decode").__name__ == "decode"
    assert imported("inside_one:A.f").__name__ == "f"
    assert imported(f"{here}/inside_one.py:A") is imported("inside_one.py:A")
    assert pickle.loads(pickle.dumps(imported("inside_one.py:A")())) is not None


def test_a_file_is_loaded_once_by_whatever_name(here: Path) -> None:
    Path("count").write_text("")
    lines = [
        "from pathlib import Path",
        "Path('count').write_text(Path('count').read_text() + 'x')",
        "def f(): ...",
    ]
    (here / "loaded_once.py").write_text("\n".join(lines))
    assert imported("loaded_once.py:f") is imported(f"{here}/loaded_once.py:f")
    assert imported("loaded_once:f") is imported("loaded_once.py:f")
    assert Path("count").read_text() == "x"


def test_nothing_is_put_on_the_path_for_what_is_there_already(here: Path) -> None:
    before = list(sys.path)
    assert load_module("json.decoder", "it").__name__ == "json.decoder"
    assert sys.path == before


def test_the_folder_of_a_file_is_on_the_path_after_it(here: Path) -> None:
    """So that a worker process finds the module, and the file its neighbours."""
    (here / "sub").mkdir()
    (here / "sub" / "neighbour_here.py").write_text("n = 1\n")
    (here / "sub" / "with_neighbour.py").write_text("from neighbour_here import n\n")
    before = list(sys.path)
    assert imported("sub/with_neighbour.py:n") == 1
    assert sys.path == [*before, str(here / "sub")]


def test_a_name_with_a_hyphen_is_a_files(here: Path) -> None:
    (here / "my-reward.py").write_text("def f(): return 3\n")
    assert imported("my-reward.py:f")() == 3
    assert locate("my-reward.py:own/A-v0") == "my-reward:own/A-v0"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("json:detekt_encoding", "Did you mean 'detect_encoding'"),
        ("json.py:loads", r"there is no file json.py \(looked from"),
        ("nowhere_at_all:f", r"there is no module nowhere_at_all in .*, nor installed"),
        ("needy:f", "there is no module not_there_either, which needy needs"),
        ("broken_import:f", r"cannot import name 'nothing' from 'json'.*looked from"),
        ("not-a-module:f", "no name of a module; a file's name ends in .py"),
        ("two.dots.py:f", "no dot in its name; rename"),
        ("types.py:f", "the name types is taken by .*; rename types.py"),
        ("json", "must look like 'module:name' or 'file.py:name'"),
        (":f", "must look like"),
    ],
)
def test_what_is_not_there_is_told_with_what_to_do(here: Path, name: str, says: str) -> None:
    (here / "needy.py").write_text("import not_there_either\n")
    (here / "broken_import.py").write_text("from json import nothing\n")
    for file in ("two.dots.py", "types.py"):
        (here / file).write_text("def f(): ...\n")
    with pytest.raises(SettingError, match=says):
        imported(name)


def test_an_id_is_located() -> None:
    assert locate("mint/Math-v0") == "mint/Math-v0"
    assert locate("toys:own/A-v0") == "toys:own/A-v0"
    with pytest.raises(SettingError, match="nowhere:own/A-v0: there is no module nowhere"):
        locate("nowhere:own/A-v0")


def test_two_files_of_one_name_are_benchmarked_against_each_other(here: Path) -> None:
    """Each has a process of its own, and the one of the working folder is not taken for both."""
    (here / "old").mkdir()
    for folder, value in ((here, 1.0), (here / "old", 0.0)):
        text = f"def f(response, answer):\n    return float(response == answer) * {value}\n"
        (folder / "same_name.py").write_text(text)
    (here / "rows.jsonl").write_text('{"prompt": "1 + 1?", "answer": "2"}\n')
    command = "bench same_name.py:f --against old/same_name.py:f --data rows.jsonl --only right"
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {sys.path!r}\n"
         "from mint_envs.cli import main; main()", *command.split()],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "taken by" not in done.stderr
    assert done.returncode == 0, done.stderr
