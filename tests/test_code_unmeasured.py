"""What makes a verdict None, and that no program can bring it about."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_code_backends import docker  # noqa: F401
from test_code_sandbox import TIERS, python, works

from mint_envs.code import Sandbox, grade
from mint_envs.sandbox import Job, Limits, Outcome, bridge, folders
from mint_envs.sandbox.blame import settle
from mint_envs.sandbox.folders import PREFIX, sweep
from mint_envs.sandbox.inside import scratch
from mint_envs.sandbox.port import KILLED, read_records
from mint_envs.sandbox.toolchains import TOOLCHAINS
from mint_envs.sandbox.worker import SandboxWorker, ZygoteLost

SQUARE = [("f(3)", 9)]
KILLS_ITS_ZYGOTE = (
    "```python\nimport os, signal\ndef f(n):\n    os.kill(os.getppid(), signal.SIGKILL)\n"
    "    return n * n\n```"
)
#: Lines of a program that makes a folder hard to empty, standing in the folder itself.
NASTY = {
    "closed inside": "mkdir('a'); mkdir('a/b', 0o555)",
    "closed and full": "mkdir('a'); open('a/x', 'w'); mkdir('a/b'); open('a/b/y', 'w'); "
    "chmod('a/b', 0); chmod('a', 0o444)",
    "every mode": "umask(0)\nfor m in (0, 0o111, 0o333, 0o555, 0o1000, 0o2000, 0o7777):\n"
    "    mkdir('%o' % m); mkdir('%o/in' % m); open('%o/in/x' % m, 'w'); chmod('%o/in' % m, m); "
    "chmod('%o' % m, m)",
    "odd names": "for n in (b'\\xff', b'\\n', b'-rf', b'x' * 255, b'.old0', b'\\xed\\xa0\\x80'):\n"
    "    mkdir(n); chdir(n); mkdir(n, 0o500); open(b'f', 'w'); chdir('..')",
    "deep": "for i in range(3000): mkdir('d' * 200); chdir('d' * 200)",
    "deep and closed": "for i in range(400): mkdir('d'); chdir('d')\nmkdir('e', 0)",
    "links": "symlink('/', 'root'); symlink('..', 'up'); symlink('l', 'l'); mkdir('a'); "
    "symlink('../../..', 'a/b'); link('l', 'm')",
    "pipes": "mkfifo('p'); mkdir('a'); mkfifo('a/q'); chmod('a', 0o500)\n"
    "import socket; socket.socket(socket.AF_UNIX).bind('s')",
    "many": "mkdir('a')\nfor i in range(3000): close(open_(f'a/{i}', O_CREAT))\nchmod('a', 0)",
    "itself": "mkdir('a', 0); chmod('.', 0)",
}
PRELUDE = "import os, sys\nfrom os import *\nopen_, open = open, __builtins__.open\n"


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """In memory, where there is such a folder: thousands of folders on a disk take minutes."""
    with tempfile.TemporaryDirectory(dir=folders._memory() or tmp_path) as path:
        yield Path(path)


@functools.cache
def tiers() -> list[str]:
    return [tier for tier in TIERS if works(tier)]


def as_owner(code: str, folder: Path, *, capable: bool) -> subprocess.CompletedProcess[str]:
    """Run code in a folder, by its owner; without the capabilities of root, modes count."""
    drop = (
        "from mint_envs.sandbox.inside import confine\nconfine.drop_privileges()\n"
        if not capable
        else ""
    )
    done = python("-c", f"import os\nos.chdir({str(folder)!r})\n{drop}{code}")
    assert done.returncode == 0, done.stderr
    return done


EMPTY = "from mint_envs.sandbox.inside import scratch\nscratch.empty({folder!r})\n"


@pytest.mark.parametrize("capable", [True, False])
@pytest.mark.parametrize("name", NASTY)
def test_a_folder_is_emptied_whatever_is_in_it(name: str, capable: bool, tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir(mode=0o700)
    as_owner(PRELUDE + NASTY[name], folder, capable=True)
    as_owner("os.chdir('/')\n" + EMPTY.format(folder=str(folder)), tmp_path, capable=capable)
    assert os.listdir(folder) == []
    assert Path("/etc").is_dir()


@pytest.mark.parametrize("name", ["closed inside", "every mode", "deep", "odd names", "itself"])
def test_the_next_start_deletes_such_a_folder_of_a_dead_caller(name: str, tmp_path: Path) -> None:
    folder = tmp_path / f"{PREFIX}dead"
    folder.mkdir(mode=0o700)
    as_owner(PRELUDE + NASTY[name], folder, capable=True)
    code = "os.chdir('/')\nfrom mint_envs.sandbox.folders import sweep\n"
    as_owner(code + f"sweep({str(tmp_path)!r})", tmp_path, capable=False)
    assert not folder.exists()
    sweep(str(tmp_path))


def test_a_folder_too_large_to_be_counted_is_full(tmp_path: Path) -> None:
    for i in range(50):
        (tmp_path / str(i)).mkdir()
    assert scratch.full(str(tmp_path), 1 << 20, 49)
    assert not scratch.full(str(tmp_path), 1 << 20, 50)


def test_emptying_gives_up_when_it_takes_too_long(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(TimeoutError):
        scratch.empty(str(tmp_path), -1.0)
    scratch.empty(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif("landlock" not in tiers(), reason="no landlock tier")
def test_a_zygote_that_cannot_clean_up_is_replaced_and_the_verdict_stands() -> None:
    worker = SandboxWorker("landlock")
    try:
        assert worker._folder
        os.rmdir(worker._folder.path)  # what a program might bring about, in some way
        outcome = worker.run(Job("def f(n): return n * n", calls=("f(3)",)))
        assert outcome.records[0] == ("value", 9)
        assert not worker.sound
    finally:
        worker.close()
    with Sandbox("landlock", workers=1) as sandbox:
        (worker,) = sandbox._backend._idle["python"]  # type: ignore[attr-defined]
        os.rmdir(worker._folder.path)
        for n in (3, 4):
            assert sandbox.run("def f(n): return n * n", [f"f({n})"]).records[0] == ("value", n * n)
        (after,) = sandbox._backend._idle["python"]  # type: ignore[attr-defined]
        assert after is not worker
        assert worker.process.returncode is not None


# -- whose fault -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:sandbox='unsafe':RuntimeWarning")
def test_a_program_that_kills_its_zygote_earns_0() -> None:
    """Nothing stops it where there are no walls."""
    begun = time.monotonic()
    with Sandbox("unsafe", workers=1) as sandbox:
        reward = grade(KILLS_ITS_ZYGOTE, SQUARE, sandbox=sandbox)
        assert reward.score == 0.0
        assert reward.metadata["limit"] == "sandbox"
        assert reward.metadata["error_type"] == "SandboxLost"
        assert grade("def f(n): return n * n", SQUARE, sandbox=sandbox).score == 1.0
    assert time.monotonic() - begun < 20


def test_a_program_that_brings_its_container_down_earns_0(docker: Path) -> None:  # noqa: F811
    """The double of docker is no wall: the program kills the bridge above its zygote."""
    code = (
        "```python\nimport os, signal\ndef f(n):\n"
        "    for line in open(f'/proc/{os.getppid()}/status'):\n"
        "        if line.startswith('PPid'): os.kill(int(line.split()[1]), signal.SIGKILL)\n"
        "    return n * n\n```"
    )
    with Sandbox("docker", workers=2) as sandbox:
        container: Any = sandbox._backend
        container._command = _without_walls(container._command)
        container._alone = functools.partial(_alone, container)
        container.close()
        honest = Job("def f(n): return n * n", calls=("f(3)",))
        guilty = Job(code.strip("`").removeprefix("python\n"), calls=("f(3)",))
        outcomes = sandbox.run_jobs([honest, guilty])
        assert outcomes[0].records[0] == ("value", 9)
        assert (outcomes[1].limit, outcomes[1].failure) == ("sandbox", "")


def _without_walls(command: list[str]) -> list[str]:
    boot = "from sandbox import pool; pool.Pool = (lambda make: lambda tier, n: make('plain', n))"
    return [
        word.replace(
            "from sandbox import bridge;", f"{boot}(pool.Pool); from sandbox import bridge;"
        )
        for word in command
    ]


def _alone(container: Any) -> Any:
    own = type(container)("docker", 1)
    own._command = container._command
    own.close()
    return own


class _Machine:
    """Runs jobs; loses the guilty always, and the others as long as it is ``down``."""

    def __init__(self, down: int = 0, reason: str = "lost") -> None:
        self.down, self.reason, self.ran = down, reason, 0

    def __call__(self, job: Job) -> Outcome:
        self.ran += 1
        self.down -= 1
        if self.down >= 0 or job.program == "guilty":
            return Outcome(failure=self.reason)
        return Outcome(stdout=b"42\n")


def test_what_only_the_program_does_not_survive_is_its_own_doing() -> None:
    machine = _Machine()
    outcome = settle(machine, machine, Job("guilty"))
    assert (outcome.limit, outcome.failure, outcome.error(-1)[0]) == ("sandbox", "", "SandboxLost")
    assert machine.ran <= 10
    machine = _Machine(reason=KILLED)
    assert settle(machine, machine, Job("guilty")).limit == "memory"


@pytest.mark.parametrize("language", ["python", *TOOLCHAINS])
def test_what_nothing_survives_is_not_measured(language: str) -> None:
    machine = _Machine(down=1000)
    outcome = settle(machine, machine, Job("honest", language=language))
    assert outcome.failure.endswith("lost")
    assert machine.ran <= 10


def test_an_honest_program_waits_for_a_machine_that_comes_back() -> None:
    for down in range(3):
        machine = _Machine(down)
        assert settle(machine, machine, Job("honest")).stdout == b"42\n"


def test_a_zygote_that_was_dead_before_is_no_loss_of_the_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, dead = SandboxWorker.run, iter(range(12))

    def run_or_find_dead(self: SandboxWorker, job: Job) -> Outcome:
        if next(dead, None) is not None:
            raise ZygoteLost("found dead", begun=False)
        return run(self, job)

    with Sandbox(workers=1) as sandbox:
        monkeypatch.setattr(SandboxWorker, "run", run_or_find_dead)
        outcome = sandbox.run("def f(): return 2", ["f()"])
        assert outcome.records[0] == ("value", 2)


OUT_OF_DESCRIPTORS = """\
import os, resource, sys
from mint_envs.code import Sandbox, grade
with Sandbox({tier!r}, workers=1) as sandbox:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    held = []
    try:
        while True: held.append(os.dup(0))
    except OSError: pass
    print(grade("def f(n): return n * n", [("f(3)", 9)], sandbox=sandbox).score)
    os.close(held.pop())
    os.close(held.pop())
    for seconds in (0.01, 0.4):  # the second is long enough for the caller to be shown its process
        program = f"import time\\ndef f(n):\\n    time.sleep({{seconds}})\\n    return n * n"
        print(grade(program, [("f(3)", 9)], sandbox=sandbox).score)
    for fd in held: os.close(fd)
    print(grade("def f(n):  return n * n", [("f(3)", 9)], sandbox=sandbox).score)
"""


@pytest.mark.parametrize("tier", TIERS)
def test_a_caller_without_descriptors_gets_no_score_and_no_exception(tier: str) -> None:
    if not works(tier):
        pytest.skip(f"this machine has no {tier} tier")
    done = python("-c", OUT_OF_DESCRIPTORS.format(tier=tier))
    assert done.stdout.split() == ["None", "1.0", "1.0", "1.0"], done.stdout + done.stderr


def test_a_zygote_that_has_no_process_left_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is the job measured, nor does the zygote die of it."""
    tier = tiers()[0]
    monkeypatch.setattr("mint_envs.sandbox.worker._process_limit", lambda *rest: 1)
    if tier != "namespaces":
        pytest.skip("the limit binds in a user namespace only")
    worker = SandboxWorker(tier)
    try:
        outcome = worker.run(Job("def f(): return 2", calls=("f()",)))
        assert "could not be set up" in outcome.failure
        assert worker.process.poll() is None
    finally:
        worker.close()


MEMORY = Path("/sys/fs/cgroup/memory")
EATS = """\
import os, sys
from pathlib import Path
group = Path(sys.argv[1])
(group / "cgroup.procs").write_text(str(os.getpid()))
from mint_envs.code import Sandbox, grade
with Sandbox(workers=1) as sandbox:
    eat = "def f(n):\\n    x = b'x' * (700 << 20)\\n    return n * n"
    reward = grade(eat, [("f(3)", 9)], sandbox=sandbox)
    print(reward.score, reward.metadata["limit"] or "-")
    print(grade("def f(n): return n * n", [("f(3)", 9)], sandbox=sandbox).score)
"""


@pytest.mark.skipif(not os.access(MEMORY / "cgroup.procs", os.W_OK), reason="no memory cgroup")
def test_a_program_that_takes_the_machines_memory_earns_0() -> None:
    group = MEMORY / f"mint-memory-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(400 << 20))
        done = python("-c", EATS, str(group))
        assert done.stdout.split() == ["0.0", "memory", "1.0"], done.stdout + done.stderr
    finally:
        deadline = time.monotonic() + 10
        while group.exists() and time.monotonic() < deadline:
            try:
                group.rmdir()
            except OSError:
                time.sleep(0.05)


# -- what a program sends --------------------------------------------------------------------------


def test_records_nest_no_deeper_than_values_do() -> None:
    def lists(depth: int) -> bytes:
        return b'[0,"value",' + b"[" * depth + b"]" * depth + b"]\n"

    assert read_records(lists(320))
    assert read_records(lists(500)) == {}
    begun, rest = b'[0,"value",' + b"[" * 200 + b"1", b"[" * 200 + b"1" + b"]" * 400
    assert read_records(begun + b"\n" + rest + b'],[1,"value",2]\n') == {}  # two lines, two rows
    inside = begun + b',{"x":1\n' + rest + b'}],[1,"value",2]\n'
    assert read_records(inside) == {}
    assert read_records(b'[0,"value","{"]\n[1,"value",["l",["}"]]]\n')[0] == ("value", "{")
    assert read_records(b'[0,"value",' + b'["l",[' * 400 + b"]]" * 400 + b"]\n") == {}
    assert read_records(b'[0,"value",' + b'[{"a":' * 400 + b"1" + b"}]" * 400 + b"]\n") == {}
    wide = b'[0,"value",["l",[' + b'["l",[]],' * 500 + b'["l",[]]]]]\n'
    assert len(read_records(wide)[0][1][1]) == 501
    outcome = Outcome(read_records(lists(340)))
    assert bridge.outcome_from(bridge.outcome_to(outcome)) == outcome


def test_a_bridge_answers_whatever_happens(docker: Path) -> None:  # noqa: F811
    deep = (
        "import os\nos.write(3, b'[0,\"value\",' + b'[' * 600 + b']' * 600 + b']\\n')\nos._exit(0)"
    )
    with Sandbox("docker", workers=1) as sandbox:
        assert grade(f"```python\n{deep}\n```", SQUARE, sandbox=sandbox).score == 0.0
        assert grade("def f(n): return n * n", SQUARE, sandbox=sandbox).score == 1.0


@pytest.mark.parametrize("tier", TIERS)
def test_a_program_as_large_as_memory_earns_0(tier: str) -> None:
    if not works(tier):
        pytest.skip(f"this machine has no {tier} tier")
    program = "def f(n): return n * n\n#" + "x" * (600 << 20)
    with Sandbox(tier, workers=1) as sandbox:
        outcome = sandbox.run(program, ["f(3)"], limits=Limits(memory=512 << 20))
        assert (outcome.failure, dict(outcome.records)) == ("", {})


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    "tests",
    [
        SQUARE,
        [{"stdin": "3\n", "stdout": "9\n"}],
        {"code": "def check(g):\n    for n in (3, 4):\n        assert g(n) == n * n\n",
         "entry_point": "f"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["numpyx", "pytest", "mint_envs"])
def test_a_package_that_is_not_there_costs_the_score_and_is_named(
    name: str, tests: Any, tier: str
) -> None:
    if not works(tier):
        pytest.skip(f"this machine has no {tier} tier")
    program = f"```python\nimport {name}\ndef f(n):\n    return n * n\nprint(9)\n```"
    with Sandbox(tier, workers=1) as sandbox:
        reward = grade(program, tests, sandbox=sandbox)
    assert reward.score == 0.0
    assert f"No module named '{name}'" in reward.metadata["error"]


def test_a_zygote_shares_no_memory_with_programs() -> None:
    """What a child could write to would be there for the next."""
    code = (
        "from mint_envs.sandbox.inside import confine, warm, zygote\nwarm.warm_up()\n"
        "print([line for line in open('/proc/self/maps') if line.split()[1] in ('rw-s', 'rwxs')])"
    )
    assert python("-c", code).stdout.strip() == "[]"
