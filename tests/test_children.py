"""Children with a deadline: what they may do to who waits for them, and what is left of them."""

from __future__ import annotations

import os
import resource
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from children_scripts import HEAD, LINUX, alive, soon
from hypothesis import given, settings
from hypothesis import strategies as st

from mint_envs import children
from mint_envs.children import Child, ChildGone, ChildLate, LineChild

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes with a deadline are POSIX's")


def talking(script: str) -> LineChild:
    return LineChild([sys.executable, "-S", "-c", HEAD + textwrap.dedent(script)])


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


@contextmanager
def ended(child: Child) -> Iterator[None]:
    try:
        yield
    finally:
        child.end()


ECHO = "for line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()"


@pytest.fixture(scope="module")
def echo() -> Iterator[LineChild]:
    child = talking(ECHO)
    yield child
    child.end()
    assert not Path(f"/proc/{child.pid}").exists()


@settings(max_examples=50, deadline=None)
@given(
    lines=st.lists(
        st.binary(max_size=300_000).map(lambda text: text.replace(b"\n", b"")), max_size=4
    )
)
def test_lines_come_back_as_they_were_sent(echo: LineChild, lines: list[bytes]) -> None:
    echo.send(b"".join(line + b"\n" for line in lines), 60)
    assert [echo.line(60) for _ in lines] == lines


def test_own_pipes_leave_the_streams_alone() -> None:
    script = (
        "import os, sys; source, target = map(int, sys.argv[1:]); assert not sys.stdin.read()\n"
        "os.write(target, os.read(source, 99))"
    )
    child = LineChild([sys.executable, "-S", "-c", script], own_pipes=True)
    with ended(child):
        assert child.ask(b"hello\n", 30) == b"hello"


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("sleeps", "time.sleep(600)"),
        ("spins", "while True: pass"),
        ("writes much, without a line's end", "os.write(1, b'x' * 50_000_000); time.sleep(600)"),
        ("drips", "while True: os.write(1, b'x'); time.sleep(0.001)"),
        ("ignores signals", "[signal.signal(s, signal.SIG_IGN) for s in (2, 15)]; time.sleep(600)"),
        ("is stopped", "os.kill(os.getpid(), signal.SIGSTOP)"),
    ],
)
@pytest.mark.parametrize("in_thread", [False, True])
def test_no_child_holds_up_who_waits(name: str, script: str, in_thread: bool) -> None:
    child, seconds, raised = talking(script), [], []

    def wait() -> None:
        start = time.monotonic()
        try:
            child.ask(b"?\n", 0.5)
        except Exception as error:
            raised.append(error)
        seconds.append(time.monotonic() - start)

    thread = threading.Thread(target=wait)
    if in_thread:
        thread.start()
        thread.join()
    else:
        wait()
    assert isinstance(raised[0], ChildLate)
    assert str(raised[0]) == "no answer within 0.5 s"
    assert seconds[0] < 5
    assert child.over
    assert not Path(f"/proc/{child.pid}").exists()


def test_a_child_that_does_not_read() -> None:
    child = talking("time.sleep(600)")
    with ended(child), pytest.raises(ChildLate, match=r"has not read within 0\.3 s"):
        child.send(b"x" * 10_000_000, 0.3)


def test_a_child_that_answers_before_it_has_read_all() -> None:
    """Both pipes are full at once: whoever only wrote would wait for ever."""
    child = talking("os.write(1, b'y' * 5_000_000 + b'\\n'); print(len(sys.stdin.readline()))")
    with ended(child):
        child.send(b"x" * 5_000_000 + b"\n", 30)
        assert len(child.line(30)) == 5_000_000
        assert child.line(30) == b"5000001"


@pytest.mark.parametrize(
    "script",
    ["sys.exit(3)", "os.close(1); time.sleep(600)", "os.write(1, b'no end'); os._exit(3)",
     "offspring(); os._exit(3)", "sys.stdin.close(); os.close(0); os.close(1); time.sleep(600)"],
)  # fmt: skip
def test_a_child_that_says_no_more(script: str) -> None:
    child = talking(script)
    with ended(child):
        start = time.monotonic()
        with pytest.raises(ChildGone):
            child.line(60)
        assert time.monotonic() - start < 10


def test_what_it_said_last_is_heard() -> None:
    """Though it has ended, and what it left behind holds the pipe."""
    for _ in range(20):
        child = talking("os.write(1, b'a\\nb\\n'); offspring(); os._exit(0)")
        with ended(child):
            child.wait(30)
            assert [child.line(30), child.line(30)] == [b"a", b"b"]
            with pytest.raises(ChildGone):
                child.line(30)


def test_a_line_has_a_longest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_LONGEST_LINE", 100_000)
    child = talking("while True: os.write(1, b'x' * 1000)")
    with ended(child), pytest.raises(ChildGone, match="100000 bytes"):
        child.line(60)


@LINUX
def test_time_of_the_cpu_is_not_time_by_the_clock() -> None:
    child = talking("time.sleep(1); say('awake')\nwhile True: pass")
    with ended(child):
        assert child.line(60, cpu_s=0.5) == b"awake"
        start = time.monotonic()
        with pytest.raises(ChildLate, match=r"within 0\.3 s"):
            child.line(60, cpu_s=0.3)
        assert time.monotonic() - start < 30


@LINUX
def test_it_is_ended_with_all_that_it_started() -> None:
    child = talking("say(offspring()); time.sleep(600)")
    pids = [child.pid, int(child.line(30))]
    assert all(map(alive, pids))
    assert child.end() == -signal.SIGKILL
    assert soon(lambda: not any(map(alive, pids)))
    assert child.end() == -signal.SIGKILL


@LINUX
def test_what_is_left_of_one_that_ended_by_itself_goes_too() -> None:
    child = talking("say(offspring()); sys.stdin.read(); sys.exit(7)")
    left = int(child.line(30))
    assert child.end(grace_s=30) == 7
    assert soon(lambda: not alive(left))


def test_a_grace_is_no_longer_than_it_says() -> None:
    child = talking("time.sleep(600)")
    start = time.monotonic()
    assert child.end(grace_s=0.3) == -signal.SIGKILL
    assert 0.2 < time.monotonic() - start < 5


def test_one_that_somebody_else_reaped() -> None:
    child = talking("pass")
    os.waitpid(child.pid, 0)
    assert child.ended()
    child.end()
    assert child.over


@LINUX
def test_no_descriptor_is_left() -> None:
    talking("").end()
    before = descriptors()
    for script in ["", "time.sleep(600)", "offspring(); os._exit(1)"] * 5:
        talking(script).end()
    for _ in range(5):
        with pytest.raises(FileNotFoundError):
            LineChild(["/no/such/program"])
        with pytest.raises(FileNotFoundError):
            Child(["/no/such/program"])
    assert descriptors() == before


@LINUX
def test_no_descriptor_is_left_where_none_is_free() -> None:
    """Each pipe that cannot be opened closes those that were."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    failed = 0
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        while failed < 20 and len(held) > 1:
            before = descriptors_held()
            try:
                LineChild([sys.executable, "-S", "-c", ""]).end()
                break
            except OSError:
                failed += 1
            assert descriptors_held() == before
            os.close(held.pop())
    finally:
        for fd in held:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert 5 < failed < 15


def descriptors_held() -> list[int]:
    """As ``descriptors``, which needs one itself."""
    return [fd for fd in range(256) if is_open(fd)]


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def test_more_descriptors_than_select_knows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip("so many cannot be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        child = talking(ECHO)
        with ended(child):
            assert child.ask(b"here\n", 30) == b"here"
    finally:
        for fd in held:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_it_is_ended_by_another_thread_while_one_waits() -> None:
    for _ in range(5):
        child, raised = talking("time.sleep(600)"), []

        def wait(child: LineChild = child, raised: list[Exception] = raised) -> None:
            try:
                child.line(60)
            except Exception as error:
                raised.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.05)
        child.end()
        thread.join(10)
        assert isinstance(raised[0], ChildGone)
