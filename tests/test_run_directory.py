"""A run directory that was moved, edited, cut off or half-written, and output that goes nowhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mint_envs.jsonl import cut_rows, whole_rows
from trainers.__main__ import main
from trainers.backends import UpdateResult
from trainers.backends.bandit import BanditBackend
from trainers.command import own_settings
from trainers.errors import TrainerError
from trainers.stored import check_same_task, read_state

ARGV = [
    "mint/Math-v0", "--digits", "1", "--backend", "bandit", "--batch", "4", "--group", "4",
    "--save-every", "2", "--eval-every", "2", "--eval-problems", "3", "--max-tokens", "2",
]  # fmt: skip


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("MINT_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of four steps."""
    assert main([*ARGV, "--steps", "4", "--run-dir", "r"]) == 0
    return tmp_path / "r"


def steady(path: Path) -> list[dict[str, Any]]:
    """Return the rows without what the clock decides."""
    return [
        {k: v for k, v in row.items() if "seconds" not in k and "per_s" not in k}
        for row in whole_rows(path)
    ]


def assert_same_run(one: Path, two: Path) -> None:
    for name in ("metrics.jsonl", "rollouts.jsonl", "eval.jsonl"):
        assert steady(one / name) == steady(two / name)
    a, b = (sorted((f / "checkpoints").glob("step-*"))[-1] for f in (one, two))
    assert a.name == b.name
    assert (a / "bandit.json").read_text() == (b / "bandit.json").read_text()


def whole() -> Path:
    assert main([*ARGV, "--steps", "6", "--run-dir", "whole"]) == 0
    return Path("whole")


def test_a_moved_run_resumes_from_its_own_checkpoint(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = whole().resolve()
    shutil.move(folder, tmp_path / "elsewhere")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert main(["--resume", "../elsewhere", "--steps", "6"]) == 0
    assert_same_run(one, tmp_path / "elsewhere")


def test_a_run_that_was_killed_before_its_first_checkpoint_resumes(folder: Path) -> None:
    shutil.rmtree(folder / "checkpoints")
    assert main(["--resume", "r", "--steps", "6"]) == 0
    assert_same_run(whole(), folder)


def test_what_a_kill_leaves_of_a_later_checkpoint_is_taken_back(folder: Path) -> None:
    (folder / "checkpoints" / ".step-000006-x1").mkdir()
    (folder / "checkpoints" / "step-000009").mkdir()
    with (folder / "rollouts.jsonl").open("a") as file:
        file.write('{"step": 5}\n{"step": 5, "re')
    assert main(["--resume", "r", "--steps", "6"]) == 0
    names = sorted(path.name for path in (folder / "checkpoints").iterdir())
    assert names == ["state.json", "step-000004", "step-000006"]
    assert_same_run(whole(), folder)


def test_a_last_line_without_its_end_is_kept_and_ended(folder: Path) -> None:
    path = folder / "metrics.jsonl"
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert main(["--resume", "r", "--steps", "6"]) == 0
    assert_same_run(whole(), folder)


def test_a_long_runs_episodes_are_not_read_into_memory_to_resume(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    with path.open("w") as file:
        for step in range(200):
            file.write(json.dumps({"step": step, "tokens": [1] * 20_000}) + "\n")
    size = path.stat().st_size
    tracemalloc.start()
    try:
        cut_rows(path, lambda row: row["step"] < 150)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < size / 10
    assert path.stat().st_size < size
    assert [row["step"] for row in whole_rows(path)] == list(range(150))


def test_new_settings_of_a_resumed_run_hold_for_the_next(folder: Path) -> None:
    assert main(["--resume", "r", "--steps", "6"]) == 0
    assert json.loads((folder / "config.json").read_text())["steps"] == 6


def test_a_finished_run_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {p: p.read_bytes() for p in folder.rglob("*.json*")}
    assert main(["--resume", "r"]) == 0
    assert "All 4 steps are done" in capsys.readouterr().out
    assert {p: p.read_bytes() for p in before} == before


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("config.json", "", ["config.json"]),
        ("config.json", "[1]", ["config.json", "object"]),
        ("config.json", "{}", ["config.json", "env"]),
        ("config.json", '{"env": "mint/Math-v0", "batch": "x"}', ["--batch", "'x'"]),
        ("config.json", '{"env": "mint/Math-v0", "env_settings": {"digitz": 1}}', ["digits"]),
        ("checkpoints/state.json", "", ["state.json", "delete it"]),
        ("checkpoints/state.json", "null", ["state.json", "delete it"]),
        ("checkpoints/state.json", '{"step": "x"}', ["state.json", "delete it"]),
        ("checkpoints/state.json", '{"step": -1, "sampler": "a", "training": "a"}', ["state.json"]),
        ("checkpoints/state.json", '{"step": 4, "sampler": "a", "training": "a"}', ["checkpoint"]),
        ("checkpoints/step-000004/bandit.json", "{}", ["step-000004"]),
        ("checkpoints/step-000004/bandit.json", "[]", ["step-000004"]),
        ("metrics.jsonl", '{"step": 1}\nrubbish\n{"step": 2}\n', ["line 2", "metrics.jsonl"]),
        ("metrics.jsonl", '{"step": 1}\n[]\n', ["line 2", "metrics.jsonl"]),
        ("metrics.jsonl", '{"reward": 1}\n', ["metrics.jsonl", "step"]),
    ],
)
def test_a_damaged_run_says_what_is_wrong(
    folder: Path, name: str, text: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_text(text)
    assert main(["--resume", "r", "--steps", "5"]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    for word in words:
        assert word in error


def test_a_resumed_run_stays_in_its_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--resume", "r", "--run-dir", "other"]) == 2
    assert "leave --run-dir out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--digits", "3"], ["--digits 3", "digits=1"]),
        (["--env-settings", '{"digits": 1, "terms": 3}'], ["--terms 3", "terms=2"]),
        (["--env-settings", '{"terms": 2}'], ["--digits 2", "digits=1"]),
    ],
)
def test_a_resumed_run_keeps_its_environment(
    folder: Path, given: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*.json*")}
    assert main(["--resume", "r", "--steps", "5", *given]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert all(word in error for word in [*words, "--init-from r"]), error
    assert {path: path.read_bytes() for path in before} == before


def test_settings_of_the_environment_may_be_said_again_and_others_changed(folder: Path) -> None:
    said = ["--digits", "1", "--operators", "+", "--eval-problems", "20", "--eval-every", "5"]
    assert main(["--resume", "r", "--steps", "5", *said]) == 0
    stored = json.loads((folder / "config.json").read_text())
    assert (stored["steps"], stored["eval_problems"]) == (5, 20)


def test_where_and_how_fast_an_environment_runs_may_change() -> None:
    def check(env: str, then: dict[str, Any], now: dict[str, Any]) -> None:
        check_same_task(Path("r"), env, own_settings(env), then, now)

    check("mint/Code-v0", {"sandbox": "docker"}, {"sandbox": "auto"})
    check("mint/Chat-v0", {"judge_retries": 1}, {"judge_retries": 9})
    check("mint/Chat-v0", {"level": "easy", "x": 60}, {"level": "easy", "x": 60.0})
    with pytest.raises(
        TrainerError, match=re.escape("--env-settings '{\"size\": 4}' --init-from r")
    ):
        check("CartPole-v1", {}, {"size": 4})


def test_metrics_with_keys_missing_are_still_drawn(folder: Path) -> None:
    (folder / "metrics.jsonl").write_text('{"step": 1}\n{"step": 2, "reward": 0.5}\n')
    assert main(["--resume", "r", "--steps", "5"]) == 0


def test_runs_that_start_in_the_same_second_have_folders_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trainers.command.run_folder", lambda config: Path("runs/same"))
    for _ in range(3):
        assert main([*ARGV, "--steps", "1"]) == 0
    assert sorted(p.name for p in Path("runs").iterdir()) == ["same", "same-2", "same-3"]


def test_training_that_diverges_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def update(*args: Any) -> UpdateResult:
        return UpdateResult({"grad_norm": float("nan")})

    monkeypatch.setattr(BanditBackend, "update", update)
    argv = [*ARGV, "--steps", "9", "--batch", "30", "--group", "30", "--max-tokens", "1"]
    assert main([*argv, "--run-dir", "r"]) == 2
    error = capsys.readouterr().err
    for word in ("grad_norm=nan", "--lr", "--resume r"):
        assert word in error
    assert read_state(Path("r"))["training"] is None or whole_rows(Path("r/metrics.jsonl"))


def test_ctrl_c_twice_while_saving_waits_and_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save = BanditBackend.save

    def impatient(self: BanditBackend, name: str, rolling: bool = False) -> tuple[str, str]:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        return save(self, name, rolling)

    monkeypatch.setattr(BanditBackend, "save", impatient)
    assert main([*ARGV, "--steps", "8", "--run-dir", "r"]) == 130
    assert read_state(Path("r"))["step"] == 2
    assert "mint-grpo --resume r" in capsys.readouterr().out


def test_two_processes_in_one_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """The second is refused, and nothing of the first is touched; a kill -9 leaves no lock."""
    command = [sys.executable, "-m", "trainers", *ARGV, "--steps", "9999", "--run-dir", "r"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        try:
            assert first.stdout is not None
            while not first.stdout.readline().startswith("Step 3:"):
                assert first.poll() is None
            first.send_signal(signal.SIGSTOP)
            before = {path: path.read_bytes() for path in Path("r").rglob("*.json*")}
            for argv in (["--resume", "r"], [*ARGV, "--run-dir", "r"]):
                assert main(argv) == 2
            assert {path: path.read_bytes() for path in before} == before
            errors = capsys.readouterr().err.splitlines()
        finally:
            first.kill()
    assert "another process is at work in r" in errors[0]
    assert "holds a run already" in errors[1]
    done = read_state(Path("r"))["step"]
    assert main(["--resume", "r", "--steps", str(done + 2)]) == 0
    assert [row["step"] for row in whole_rows(Path("r/metrics.jsonl"))] == [*range(1, done + 3)]


def test_two_that_start_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both have looked before either has begun: the one that comes later is refused."""
    from trainers import __main__ as module

    claimed, codes = module._claimed, []

    @contextmanager
    def slow(command: Any) -> Iterator[Any]:
        monkeypatch.setattr(module, "_claimed", claimed)
        with claimed(command) as ours:
            codes.append(main([*ARGV, "--steps", "2", "--run-dir", "r"]))
            yield ours

    monkeypatch.setattr(module, "_claimed", slow)
    assert main([*ARGV, "--steps", "3", "--run-dir", "r"]) == 2
    assert codes == [0]
    assert "holds a run already" in capsys.readouterr().err
    assert len(whole_rows(Path("r/metrics.jsonl"))) == 2


def test_ctrl_c_twice_while_the_curve_is_drawn_waits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The drawing library is imported there: half an import would break what is drawn next."""
    drawn: list[str] = []

    def impatient(folder: Path) -> None:
        if not drawn:
            drawn.append("begun")
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            drawn.append("done")

    monkeypatch.setattr("trainers.run.draw_run", impatient)
    assert main([*ARGV, "--steps", "8", "--run-dir", "r"]) == 130
    assert drawn == ["begun", "done"]
    assert "mint-grpo --resume r" in capsys.readouterr().out


# -- output --------------------------------------------------------------------------------------


def start(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command line in which $GRPO is mint-grpo."""
    grpo = f"{sys.executable} -m trainers {' '.join(ARGV)} --steps 3"
    env = {**os.environ, "GRPO": grpo, **variables}
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=120, env=env
    )


def test_a_pipe_that_closes_stops_the_run_and_saves() -> None:
    done = start("$GRPO --steps 900 --run-dir r | head -4")
    assert done.returncode == 0
    assert done.stdout.startswith("Model: ")
    assert done.stderr == ""
    assert 1 <= read_state(Path("r"))["step"] < 900


def test_output_that_cannot_be_written_is_one_line() -> None:
    done = start("$GRPO --run-dir r > /dev/full")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "No space left" in done.stderr


def test_closed_output_and_a_terminal_without_unicode() -> None:
    assert start("$GRPO --run-dir a >&-").returncode == 0
    assert start("$GRPO --run-dir 'ü :smile:'", PYTHONIOENCODING="ascii").stderr == ""
    assert read_state(Path("ü :smile:"))["step"] == 3
