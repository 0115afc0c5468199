"""``mint-envs bench`` on functions that lie, die, hang or harm their process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from benching import REWARDS, SUMS, checks, run, told, written

from mint_envs.bench import sound
from mint_envs.bench.run import silent
from mint_envs.bench.target import client, forks
from mint_envs.bench.target.client import TargetWorker, TimeOver, WorkerDied
from mint_envs.bench.target.targets import Target
from mint_envs.errors import SettingError
from mint_envs.reports.report import Section
from mint_envs.responses import attacks
from mint_envs.responses.written import KNOWN, Wording


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("data") / "sums.jsonl", SUMS)


# -- hostile functions are reported --------------------------------------------------


@pytest.mark.parametrize(
    ("name", "check", "says"),
    [
        ("nan", "range", "nan"),
        ("raises", "any text", "ValueError"),
        ("by_chance", "determinism", "and"),
        ("by_hash", "determinism", "another process"),
        ("by_count", "determinism", "now this, now that"),
        ("seeds", "global random state", "changes it"),
    ],
)
def test_unsound_functions(name: str, check: str, says: str, sums: str) -> None:
    report = run(name, data=sums, only=("sound",))
    assert says in told(report, check), report.findings


def test_a_kit_that_is_cut_off_by_the_time_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_late(*_: Any, **__: Any) -> Any:
        raise TimeOver("the time was over")

    left: list[str] = []
    worker = SimpleNamespace(ask=too_late)
    options = SimpleNamespace(texts=1)
    it: Any = SimpleNamespace(
        worker=worker, options=options, items=[], progress=silent, leave_out=left.append
    )
    section = Section("sound", "")
    sound._conformance(section, it)
    assert (section.findings, left) == ([], ["the conformance kit"])


@pytest.mark.quick
@pytest.mark.parametrize(("load", "times"), [(0.1, 1.0), (3.0, 3.0), (500.0, 8.0)])
def test_a_crowded_machine_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, load: float, times: float
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (2 * load, 0.0, 0.0))
    assert forks.crowd() == times


@pytest.mark.quick
def test_thoughts_that_a_form_ends_are_not_said_to_go_on() -> None:
    (form,) = [one for one in KNOWN if one.name == "<think>, then a box"]
    groups = {one.group for one in attacks.structure_attacks(form, "7")}
    assert attacks.UNENDED not in groups
    plain = Wording("a box", "\\boxed{", "}")
    assert attacks.UNENDED in {one.group for one in attacks.structure_attacks(plain, "7")}


def test_when_the_time_is_over_no_answer_is_waited_for_and_nobody_is_said_to_hang() -> None:
    target = Target(f"{REWARDS}:hangs_on_digits", rows=SUMS)
    with TargetWorker(target, timeout_s=600.0) as worker:
        until = time.monotonic()
        worker.over = until + 0.1
        pairs = [(0, ("19",)), (0, ("2",)), (0, ("1",))]
        assert [one.status for one in worker.each(pairs, until=until)] == ["ok"]
        with pytest.raises(TimeOver):  # what must be answered says so
            list(worker.each(pairs[1:]))


@pytest.mark.parametrize(
    ("name", "status"), [("hangs_on_digits", "hung"), ("exits_on_digits", "died")]
)
def test_a_death_costs_one_response(name: str, status: str) -> None:
    target = Target(f"{REWARDS}:{name}", rows=SUMS)
    with TargetWorker(target, timeout_s=0.2) as worker:
        found = worker.score([(0, ("19",)), (0, ("2",)), (0, ("1",)), (3, ("89",))])
    assert [verdict.status for verdict in found] == ["ok", status, "ok", "ok"]
    assert [verdict.score for verdict in found] == [1.0, None, 0.0, 1.0]


@pytest.mark.parametrize(
    ("name", "status"), [("hangs_on_digits", "hung"), ("exits_on_digits", "died")]
)
def test_a_death_apart_costs_no_process(name: str, status: str) -> None:
    target = Target(f"{REWARDS}:{name}", rows=SUMS)
    with TargetWorker(target, timeout_s=0.2) as worker:
        found = list(worker.each([(0, ("2",)), (0, ("19",))], apart=True))
        assert worker.starts == 1
    assert [verdict.status for verdict in found] == [status, "ok"]


def test_a_function_that_hangs_all_the_time_is_given_up(
    sums: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_MOST_LOST", 2)
    report = run("hangs_on_digits", data=sums, only=("right",), timeout_s=0.1)
    assert checks(report) == {"slow"}
    assert "no answer within" in told(report, "slow")
    assert "Not understood" not in report.lead


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("by_thread", "ok", ""),
        ("leaves_a_child", "ok", ""),
        ("keeps_to_its_loop", "ok", ""),
        ("replaces_json", "ok", ""),
        ("interrupts", "error", "KeyboardInterrupt"),
        ("raises_speechless", "error", "_Speechless"),
        ("beyond_floats", "range", "int"),
    ],
)
def test_what_a_function_does_to_its_process(name: str, status: str, says: str) -> None:
    """Alone and in copies: a copy has no threads of a pool, and a pipe may have other ends."""
    target, pairs = Target(f"{REWARDS}:{name}", rows=SUMS), [(0, ("19",)), (0, ("20",))]
    with TargetWorker(target, timeout_s=1.0) as worker:
        found = [*worker.each(pairs), *worker.each(pairs, apart=True), *worker.each(pairs)]
    assert [verdict.status for verdict in found] == [status] * 6, found
    assert all(says in verdict.note for verdict in found)
    if status == "ok":
        assert [verdict.score for verdict in found] == [1.0, 0.0] * 3


def test_an_async_function_that_exits() -> None:
    with TargetWorker(Target(f"{REWARDS}:keeps_to_its_loop", rows=SUMS), timeout_s=1.0) as worker:
        found = worker.score([(0, (text,)) for text in ("19", "exit", "19")])
    assert [(verdict.status, verdict.score) for verdict in found] == [
        ("ok", 1.0), ("error", None), ("ok", 1.0)
    ]  # fmt: skip


def test_a_function_that_ends_is_not_called_slow(sums: str) -> None:
    report = run("exits_on_digits", data=sums, only=("fast",))
    assert "slow" not in checks(report)


def test_memory_is_bounded_without_being_told() -> None:
    """Half of what is free, here less so that the test is short."""
    with TargetWorker(Target(f"{REWARDS}:allocates", rows=SUMS), timeout_s=60.0) as worker:
        assert worker._child is not None
        size = 1 << 30
        soft, _ = resource.prlimit(worker._child.pid, resource.RLIMIT_DATA)
        assert 0 < soft < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        resource.prlimit(worker._child.pid, resource.RLIMIT_DATA, (size, size))
        (verdict,) = worker.score([(0, ("19",))])
    assert (verdict.status, verdict.note[:11]) == ("error", "MemoryError")


@pytest.mark.parametrize("memory_mb", [0, 4000])
def test_a_limit_of_memory_leaves_the_sandbox_alone(memory_mb: int) -> None:
    rows = [{"prompt": "Write f.", "tests": [["f()", 1]]}]
    target = Target(f"{REWARDS}:share_of_tests", rows=rows)
    with TargetWorker(target, timeout_s=20.0, memory_mb=memory_mb) as worker:
        pair = (0, ("def f():\n    return 1",))
        found = [*worker.each([pair]), *worker.each([pair], apart=True)]
    assert [verdict.score for verdict in found] == [1.0, 1.0]


def test_errors_all_the_time_leave_a_report(sums: str) -> None:
    report = run("interrupts", data=sums, only=("sound",))
    assert "KeyboardInterrupt" in told(report, "any text")
    assert "stopped" not in checks(report)


@pytest.mark.parametrize(("name", "status"), [("Ending", "died"), ("Hanging", "hung")])
def test_an_adapter_that_ends_or_hangs_whatever_it_is_asked(name: str, status: str) -> None:
    with TargetWorker(Target(f"{REWARDS}:{name}"), timeout_s=0.1) as worker:
        items, _ = worker.about()
        (verdict,) = worker.score([(0, ("19",))])
    assert len(items) == 32
    assert verdict.status == status


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("NoSamples", SettingError, "returns no samples"),
        ("NoPrompt", SettingError, "NoPrompt: its problems cannot be read: .*no token id"),
        ("BadPrompt", SettingError, "BadPrompt: its problems cannot be read: ZeroDivisionError"),
    ],
)
def test_an_adapter_without_problems(name: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says), TargetWorker(Target(f"{REWARDS}:{name}")) as worker:
        worker.about()


def test_no_escape_of_an_error_reaches_the_terminal(sums: str) -> None:
    report = run("raises_escapes", data=sums, only=("sound",))
    assert "\\x1b[31m\\ud800" in told(report, "any text")
    assert "\x1b" not in told(report, "any text")


def test_time_lost_by_hanging_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_MOST_LOST_S", 0.5)
    with TargetWorker(Target(f"{REWARDS}:hangs_on_digits", rows=SUMS), timeout_s=0.1) as worker:
        with pytest.raises(WorkerDied, match="hung"):
            worker.score([(0, ("2",))] * 9)
        assert worker.lost <= 2
        with pytest.raises(WorkerDied, match="hung"):
            worker.score([(0, ("1",))])  # at once, and not after one more


def test_a_solver_of_the_users(sums: str) -> None:
    right = run("exact", data=sums, only=("right",), solver=f"{REWARDS}:solves")
    assert right.numbers["oracle"] == 1.0
    with pytest.raises(SettingError, match=r"--solve .*solves_nothing: it raises ValueError: no"):
        run("exact", data=sums, only=("right",), solver=f"{REWARDS}:solves_nothing")
    with pytest.raises(SettingError, match="has no 'solved'"):
        run("exact", data=sums, only=("right",), solver=f"{REWARDS}:solved")


def test_a_function_that_hangs_does_not_outlive_a_benchmark_that_is_killed(
    tmp_path: Path,
) -> None:
    told_pid = tmp_path / "pid"
    cases = written(tmp_path / "c.jsonl", [{**SUMS[0], "response": "19", "label": 1}])
    (tmp_path / "hanging.py").write_text(
        "import os, re, pathlib\n"
        "def reward(response, answer):\n"
        f"    pathlib.Path({str(told_pid)!r}).write_text(str(os.getpid()))\n"
        "    re.fullmatch('(a+)+b', 'a' * 60)  # holds the interpreter\n"
    )
    command = [sys.executable, "-m", "mint_envs", "bench", f"{tmp_path}/hanging.py:reward"]
    bench = subprocess.Popen([*command, "--cases", cases], stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: told_pid.exists() and told_pid.read_text())
    finally:
        bench.kill()
        bench.wait()
    wait_for(lambda: not Path(f"/proc/{told_pid.read_text()}").exists())


def wait_for(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
