"""Children whose parent ends: killed, by Ctrl-C, or as a copy of itself; nothing outlives it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from children_scripts import HEAD, LINUX, alive, soon

from mint_envs.children import ChildLate
from mint_envs.testing.guards import in_child

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes with a deadline are POSIX's")

PARENT = (
    HEAD
    + """
import threading
from mint_envs.children import LineChild
def talking(script): return LineChild([sys.executable, "-S", "-c", HEAD + script])
"""
)


def parent(script: str) -> subprocess.Popen[bytes]:
    """A process of its own session that starts children."""
    script = f"HEAD = {HEAD!r}\n{PARENT}{textwrap.dedent(script)}"
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def numbers(process: subprocess.Popen[bytes]) -> list[int]:
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], 60)[0]:
        process.kill()
    return list(map(int, process.stdout.readline().split()))


@LINUX
@pytest.mark.parametrize(
    "script",
    [
        """
        child = talking("say(offspring())\\nwhile True: pass")
        say(child.pid, child.line(30).decode())
        time.sleep(600)
        """,
        """
        def start():  # by a thread that ends: the child does not end with that
            global child
            child = talking("say(offspring()); signal.pthread_sigmask(0, {1, 2, 15})\\nwhile 1: 0")
        thread = threading.Thread(target=start)
        thread.start(), thread.join()
        pid = child.line(30).decode()
        time.sleep(0.3)
        assert not child.ended()
        say(child.pid, pid)
        time.sleep(600)
        """,
        """
        child = talking("say(offspring())\\nwhile True: pass")
        pid = child.line(30).decode()
        if not os.fork(): time.sleep(600)  # a copy that goes on must not keep it
        say(child.pid, pid)
        time.sleep(600)
        """,
    ],
)
def test_nothing_outlives_a_parent_that_is_killed(script: str) -> None:
    with parent(script) as process:
        pids = numbers(process)
        assert len(pids) == 2
        assert all(map(alive, pids))
        process.kill()
        assert soon(lambda: not any(map(alive, pids)))
        os.killpg(process.pid, signal.SIGKILL)  # the copy


@LINUX
def test_a_parent_that_leaves_without_a_word_leaves_nothing() -> None:
    with parent("child = talking('while True: pass'); say(child.pid)") as process:
        pids = numbers(process)
        process.wait(30)
        assert soon(lambda: not any(map(alive, pids)))


def test_ctrl_c_is_for_the_parent_who_ends_it_in_good_order() -> None:
    script = """
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background
        child = talking("say('up'); sys.stdin.read(); sys.exit(9)")
        child.line(30)
        try:
            os.killpg(0, signal.SIGINT)  # what a terminal does
            child.line(30)
        except KeyboardInterrupt:
            say(child.end(grace_s=30))
    """
    with parent(script) as process:
        assert numbers(process) == [9]


@LINUX
def test_a_copy_of_the_parent_lets_go() -> None:
    """It can neither ask nor end the child, and the child sees the end of its input."""
    script = """
        child = talking("sys.stdin.read(); say('end')")
        if pid := os.fork():
            child._to.close()
            assert child.line(30) == b"end"
            say(child.end(30))
            os.kill(pid, 9)
        else:
            assert child.end() == 0
            time.sleep(600)
    """
    with parent(script) as process:
        assert numbers(process) == [0]


@LINUX
def test_a_worker_that_hangs_ends_with_the_one_who_asked() -> None:
    """That of ``executor="processes"``, with what it started."""
    script = f"""
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from mint_envs.executors import make_executor
        from odd_tasks import hang_with_offspring
        if __name__ == "__main__":
            executor = make_executor("processes:1")
            executor.submit(hang_with_offspring, None, 1)
            time.sleep(600)
    """
    with parent(script) as process:
        pids = numbers(process)
        assert all(map(alive, pids))
        process.kill()
        assert soon(lambda: not any(map(alive, pids)))


@LINUX
def test_what_a_probe_leaves_behind_is_ended() -> None:
    start = time.monotonic()
    left = in_child(_leave_one_behind)
    assert time.monotonic() - start < 60
    assert soon(lambda: not alive(left))


def _leave_one_behind() -> int:
    return subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"]).pid


def test_a_probe_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mint_envs.testing.guards._CHILD_SECONDS", 0.5)
    with pytest.raises(ChildLate):
        in_child(time.sleep, 600)
