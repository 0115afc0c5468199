"""The sandbox: what gets out of it, what it leaves behind, what happens when it breaks."""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mint_envs.code import Sandbox, grade
from mint_envs.errors import SandboxUnavailable
from mint_envs.sandbox import Job, Limits, Outcome, pool, shared
from mint_envs.sandbox.inside import scratch, seccomp
from mint_envs.sandbox.worker import SandboxWorker
from tests import soak_code

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
ROOT = Path(__file__).parent.parent
TIERS = ("namespaces", "landlock")
ADD = "```python\ndef add(a, b):\n    return a + b\n```"


@functools.cache
def works(tier: str) -> bool:
    try:
        Sandbox(tier, workers=1).close()
    except SandboxUnavailable:
        return False
    return True


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this interpreter, with this package, to its end."""
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("tier", TIERS)
def test_no_attack_is_rewarded_and_every_honest_program_is(tier: str) -> None:
    """In a process of its own, which may lock itself into a pids cgroup."""
    if not works(tier):
        pytest.skip(f"this machine has no {tier} tier")
    done = python(str(ROOT / "tests" / "run_code_attacks.py"), tier)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 wrong" in done.stdout


def plain_interpreter() -> str | None:
    """An interpreter that the user nobody may run, and that finds the package and NumPy."""
    for path in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        version = sys.version_info[:2]
        code = f"import sys; assert sys.version_info[:2] == {version!r}; import mint_envs"
        try:
            done = subprocess.run(
                [path, "-B", "-c", code], env=others_environment(), user=65534, capture_output=True
            )
            if done.returncode == 0:
                return path
        except OSError:
            continue
    return None


def others_environment() -> dict[str, str]:
    """What a process of another user needs to find this package and NumPy."""
    paths = os.pathsep.join([str(ROOT), *(p for p in sys.path if "site-packages" in p)])
    return {"PYTHONPATH": paths, "HOME": "/tmp", "PATH": os.environ["PATH"]}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("tier", TIERS)
def test_the_same_as_an_ordinary_user(tier: str) -> None:
    interpreter = plain_interpreter()
    if interpreter is None or not works(tier):
        pytest.skip("no interpreter that the user nobody may run, or no such tier")
    done = subprocess.run(
        [interpreter, "-B", str(ROOT / "tests" / "run_code_attacks.py"), tier],
        env=others_environment(),
        user=65534,
        group=65534,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "uid 65534" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("tier", TIERS)
def test_a_user_with_many_threads_can_use_it(tier: str) -> None:
    """The limit on processes counts all of a user's; the user's own must not use it up."""
    interpreter = plain_interpreter()
    if interpreter is None or not works(tier):
        pytest.skip("no interpreter that the user nobody may run, or no such tier")
    code = (
        "import threading, time\nfrom mint_envs.code import Sandbox\n"
        "for _ in range(300):\n"
        "    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        f"with Sandbox({tier!r}, workers=2) as s:\n"
        "    print(s.run('import threading\\ndef f():\\n    t = threading.Thread(target=print)\\n"
        "    t.start(); t.join(); return 5', ['f()']).records[0])\n"
    )
    done = subprocess.run(
        [interpreter, "-B", "-c", code],
        env=others_environment(),
        user=65534,
        group=65534,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "('value', 5)", done.stdout + done.stderr


def test_many_in_a_row_leave_nothing_behind() -> None:
    wrong, numbers = soak_code.soak(20_000 if LONG else 300)
    assert not wrong, (wrong[:5], numbers)


@pytest.mark.parametrize("tier", TIERS)
def test_killed_zygotes_change_no_verdict(tier: str) -> None:
    if not works(tier):
        pytest.skip(f"this machine has no {tier} tier")
    before = scratch_folders()
    wrong, numbers = soak_code.soak(20_000 if LONG else 300, tier, kill=True)
    assert not wrong, (wrong[:5], numbers)
    assert numbers["kills"]
    assert scratch_folders() <= before


def scratch_folders() -> set[Path]:
    return {path for top in ("/tmp", "/dev/shm") for path in Path(top).glob("mint-sandbox-*")}


def test_verdicts_do_not_depend_on_load() -> None:
    count, others = (500, 8) if LONG else (16, 4)
    assert soak_code.under_load(count, others=others) == []


def test_no_process_outlives_the_sandbox() -> None:
    others = set(soak_code.descendants(os.getpid()))
    with Sandbox(workers=2) as sandbox:
        sandbox.run_jobs([Job(f"x = {i}") for i in range(4)])
        processes = set(soak_code.descendants(os.getpid())) - others
        assert processes
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in processes):
        assert time.monotonic() < deadline, "a process of the sandbox is still there"
        time.sleep(0.01)


@pytest.mark.parametrize("tier", TIERS)
def test_no_process_outlives_a_caller_that_is_killed(tier: str) -> None:
    if not works(tier):
        pytest.skip(f"this machine has no {tier} tier")
    code = (
        "import sys, time\nfrom mint_envs.code import Sandbox\n"
        f"s = Sandbox({tier!r}, workers=1); print('up', flush=True)\n"
        "s.run('import time\\ndef f(): time.sleep(60)', ['f()'])\n"
    )
    caller = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert caller.stdout is not None
    caller.stdout.readline()
    time.sleep(0.5)
    processes = soak_code.descendants(caller.pid)
    assert len(processes) >= 2
    caller.kill()
    caller.wait()
    caller.stdout.close()
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in processes):
        assert time.monotonic() < deadline, "a process outlives the caller"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_a_hung_zygote_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    from mint_envs.sandbox import worker

    monkeypatch.setattr(worker, "_GRACE_S", 0.2)
    others = set(soak_code.descendants(os.getpid()))
    with Sandbox(workers=1) as sandbox:
        sandbox.run("x = 1")
        for pid in set(soak_code.descendants(os.getpid())) - others:
            os.kill(pid, signal.SIGSTOP)
        outcome = sandbox.run("def f(): return 2", ["f()"], limits=Limits(0.1))
        assert outcome.records[0] == ("value", 2)


def _grade_in_child(queue: multiprocessing.SimpleQueue) -> None:  # type: ignore[type-arg]
    queue.put(grade(ADD, [("add(40, 2)", 42)]).score)


@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
def test_a_forked_process_gets_zygotes_of_its_own() -> None:
    assert grade(ADD, [("add(1, 1)", 2)]).score == 1.0
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    children = [context.Process(target=_grade_in_child, args=(queue,)) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [queue.get() for _ in children] == [1.0] * 3
    assert grade(ADD, [("add(2, 2)", 4)]).score == 1.0  # and the parent keeps its own


def test_values_and_limits_of_the_sandbox_itself() -> None:
    with Sandbox(workers=1) as sandbox:
        assert sandbox.tier in TIERS
        outcome = sandbox.run("def f(x): return x + 1", calls=["f(1)", "f('a')"])
        assert outcome.records[0] == ("value", 2)
        assert outcome.error(1)[0] == "TypeError"
        assert sandbox.run("print(input())", stdin="hello").stdout == b"hello\n"
        loop = sandbox.run("while True: pass", limits=Limits(cpu_s=0.1))
        assert loop.limit == "cpu"
        assert 0.1 <= loop.cpu_s < 1.0


def test_a_closed_sandbox_measures_nothing() -> None:
    sandbox = Sandbox(workers=1)
    sandbox.close()
    sandbox.close()
    assert "closed" in sandbox.run("x = 1").failure


def test_a_sandbox_that_nobody_holds_ends_its_processes() -> None:
    others = set(soak_code.descendants(os.getpid()))
    sandbox = Sandbox(workers=1)
    mine = set(soak_code.descendants(os.getpid())) - others
    assert mine
    del sandbox
    gc.collect()
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in mine):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_stop_that_comes_too_late_does_no_harm() -> None:
    worker = SandboxWorker("namespaces" if works("namespaces") else "landlock")
    try:
        for i in range(3):
            worker._control.send(b"K")
            outcome = worker.run(Job(f"def f(): return {i}", calls=("f()",)))
            assert outcome.records[0] == ("value", i)
    finally:
        worker.close()


def test_one_shared_sandbox_for_each_name() -> None:
    assert shared(None) is shared("auto")
    assert shared(shared(None)) is shared(None)


def test_without_any_tier_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, tier: str, *rest: object, **more: object) -> None:
        raise pool.TierRefused(f"{tier} is not allowed here")

    monkeypatch.setattr(SandboxWorker, "__init__", refuse)
    with pytest.raises(SandboxUnavailable) as caught:
        Sandbox()
    for words in ("namespaces is not allowed", "landlock is not allowed", "docker", "doctor"):
        assert words in str(caught.value)


def test_a_machine_without_user_namespaces_falls_to_landlock_by_itself() -> None:
    """Tried for real: in a namespace whose limit of further ones is zero."""
    code = (
        "import ctypes, os\n"
        "uid, gid = os.geteuid(), os.getegid()\n"
        "assert ctypes.CDLL(None).unshare(0x10000000) == 0\n"
        "maps = ('uid_map', f'{uid} {uid} 1'), ('gid_map', f'{gid} {gid} 1')\n"
        "for name, text in (('setgroups', 'deny'), *maps):\n"
        "    open(f'/proc/self/{name}', 'w').write(text)\n"
        "open('/proc/sys/user/max_user_namespaces', 'w').write('0')\n"
        "from mint_envs.code import Sandbox\n"
        "with Sandbox() as s: print(s.tier, s.run('def f(): return 5', ['f()']).records[0])\n"
    )
    done = python("-c", code)
    if "unshare" in done.stderr or not works("namespaces") or not works("landlock"):
        pytest.skip("needs user namespaces to take them away, and Landlock")
    assert done.stdout.strip() == "landlock ('value', 5)", done.stderr


def test_elsewhere_than_linux_it_says_so_and_points_to_docker() -> None:
    code = (
        "import sys\nsys.platform = 'darwin'\nsys.modules['resource'] = None\n"
        "from mint_envs.code import grade\n"
        "try: grade('def f(): return 1', [('f()', 1)])\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = python("-c", code)
    assert done.stdout.startswith("SandboxUnavailable"), done.stderr
    assert "needs Linux" in done.stdout
    assert "docker" in done.stdout


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("level", ["threads", "bare", "exec", "processes"])
def test_the_filter_of_each_machine_is_well_formed(machine: str, level: str) -> None:
    """Run it as the kernel would, on every call number, for both tables."""
    assert seccomp.machine_known(machine)
    code = seccomp.program(machine, 77, level)
    audit, column = seccomp._AUDIT[machine]
    allowed = {nr for nr in range(460) if run_filter(code, nr, audit) == seccomp._ALLOW}
    plain = {row[column] for name, row in seccomp._CALLS.items()} - {-1}
    if level == "bare":
        plain -= {seccomp._CALLS[name][column] for name in seccomp._BY_PATH}
    assert plain <= allowed
    sockets = {"x86_64": {41, 42, 49, 50}, "aarch64": {198, 200, 201, 203}}[machine]
    traps = {"x86_64": {101, 165, 272, 321, 425}, "aarch64": {117, 40, 97, 280, 425}}[machine]
    assert not allowed & (sockets | traps)
    execve = {"x86_64": 59, "aarch64": 221}[machine]
    assert (execve in allowed) == (level in ("exec", "processes"))
    assert run_filter(code, 0, audit ^ 1) == seccomp._KILL
    assert run_filter(code, 0x40000000 + 39, audit) == seccomp._KILL
    kill = {"x86_64": 62, "aarch64": 129}[machine]
    if level != "processes":
        assert run_filter(code, kill, audit, (77, 15)) == seccomp._ALLOW
        assert run_filter(code, kill, audit, (77, 9)) != seccomp._ALLOW
        assert run_filter(code, kill, audit, (78, 15)) != seccomp._ALLOW
    clone = {"x86_64": 56, "aarch64": 220}[machine]
    assert run_filter(code, clone, audit, (0x10000 | 0x100,)) == seccomp._ALLOW
    assert (run_filter(code, clone, audit, (17,)) == seccomp._ALLOW) == (level == "processes")
    assert run_filter(code, clone, audit, (0x10000000,)) != seccomp._ALLOW


def run_filter(code: bytes, nr: int, audit: int, arguments: tuple[int, ...] = ()) -> int:
    """A small interpreter of classic BPF, enough for our filters."""
    import struct

    data = struct.pack("=IIQ", nr, audit, 0)
    data += b"".join(struct.pack("=Q", a) for a in (*arguments, *[0] * (6 - len(arguments))))
    lines = list(struct.iter_unpack("=HBBI", code))
    at, accumulator = 0, 0
    while True:
        operation, yes, no, k = lines[at]
        at += 1
        if operation == seccomp._LOAD:
            (accumulator,) = struct.unpack_from("=I", data, k)
        elif operation == seccomp._RET:
            return int(k)
        elif operation == seccomp._JA:
            at += k
        else:
            tests = {
                seccomp._JEQ: accumulator == k,
                seccomp._JGE: accumulator >= k,
                seccomp._JGT: accumulator > k,
                seccomp._JSET: bool(accumulator & k),
            }
            at += yes if tests[operation] else no


def test_a_scratch_folder_is_emptied_whatever_is_in_it(tmp_path: Path) -> None:
    here = os.getcwd()
    folder = tmp_path / "scratch"
    folder.mkdir()
    os.symlink("/etc", folder / "link")
    (folder / ".old0").mkdir()
    (folder / ".old0" / "x").write_text("x")
    os.chdir(folder)
    try:
        for _ in range(1500):  # far beyond the longest path and the deepest recursion
            os.mkdir("deep")
            os.chdir("deep")
    finally:
        os.chdir(here)
    assert scratch.full(str(folder), 1 << 30, 10_000)
    scratch.empty(str(folder))
    assert list(folder.iterdir()) == []
    assert Path("/etc").exists()
    assert not scratch.full(str(folder), 1 << 20, 10)
    (folder / "big").write_bytes(b"x" * (2 << 20))
    assert scratch.full(str(folder), 1 << 20, 10)


def test_outcomes_tell_nothing_of_a_broken_record() -> None:
    outcome = Outcome({0: ("error", "no list"), 1: ("error", [["a"], 5])})
    assert outcome.error(0) == ("", "")
    assert outcome.error(1) == ("?", "?")
    assert outcome.error(2) == ("", "")
