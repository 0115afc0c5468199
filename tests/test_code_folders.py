"""Folders of the Landlock tier: none stays behind, not even of a caller that was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mint_envs.code import Sandbox
from mint_envs.errors import SandboxUnavailable
from mint_envs.sandbox import folders
from mint_envs.sandbox.folders import PREFIX, Folder, sweep

ROOT = Path(__file__).parent.parent
HOLD = """\
import sys, time
from mint_envs.sandbox.folders import Folder
print(Folder().path, flush=True)
time.sleep(60)
"""
WRITE = """\
from mint_envs.code import Sandbox
s = Sandbox("landlock", workers=1)
print(s._backend._idle["python"][0]._folder.path, flush=True)
s.run('''import tempfile, os, time
def f():
    os.makedirs(tempfile.gettempdir() + "/a/b/c")
    os.mkdir(tempfile.gettempdir() + "/closed", 0)
    time.sleep(60)
''', ["f()"])
"""
CHURN = """\
from mint_envs.sandbox.folders import Folder
for _ in range(40):
    folder = Folder()
    open(folder.path + "/mine", "w").close()
    folder.delete()
"""


def start(code: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    )


def path_of(process: subprocess.Popen[str]) -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for folders that is this test's alone."""
    monkeypatch.setattr(folders, "_memory", lambda: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_next_start_deletes_what_a_killed_caller_left() -> None:
    try:
        Sandbox("landlock", workers=1).close()
    except SandboxUnavailable:
        pytest.skip("this machine has no landlock tier")
    caller = start(WRITE)
    left = path_of(caller)
    deadline = time.monotonic() + 30
    while not (left / "closed").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    kill(caller)
    while left.exists():  # its zygote goes as well, and with it the lock
        assert time.monotonic() < deadline, "the folder of a dead caller is still there"
        Sandbox("landlock", workers=1).close()


def test_the_folder_of_a_living_process_stays() -> None:
    holder = start(HOLD)
    try:
        held = path_of(holder)
        Folder().delete()
        sweep(str(held.parent))
        assert held.is_dir()
    finally:
        kill(holder)
    sweep(str(held.parent))
    assert not held.exists()


def test_what_is_not_ours_stays(parent: Path) -> None:
    kept = parent / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    (parent / f"{PREFIX}link").symlink_to(kept)
    (parent / f"{PREFIX}file").write_text("x")
    sweep(str(parent))
    assert (kept / "file").exists()
    assert (parent / f"{PREFIX}link").is_symlink()
    assert (parent / f"{PREFIX}file").exists()


def test_another_users_folder_stays(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = parent / f"{PREFIX}theirs"
    theirs.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    sweep(str(parent))
    assert theirs.is_dir()


def test_a_folder_that_is_taken_before_it_is_locked_is_made_again(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, taken = tempfile.mkdtemp, []

    def make_and_lose(**how: str) -> str:
        path = make(**how)
        if len(taken) < 2:
            taken.append(path)
            os.rmdir(path)
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_lose)
    folder = Folder()
    assert Path(folder.path).is_dir()
    assert folder.path not in taken
    folder.delete()
    folder.delete()
    assert not list(parent.iterdir())


def test_many_starts_at_once_take_nothing_from_each_other() -> None:
    churning = [start(CHURN) for _ in range(4)]
    assert [process.communicate()[0] for process in churning] == [""] * 4
    assert [process.returncode for process in churning] == [0] * 4
