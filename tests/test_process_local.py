"""One thing of each kind in a process: threads, forks, failures, and the order at exit."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mint_envs.process_local import ProcessLocal


def said_by(script: str, timeout_s: float = 60) -> list[str]:
    """Run a script in a process of its own; return the lines that it and its children write."""
    head = (
        "import os, signal, sys, threading, time\n"
        "from mint_envs.process_local import ProcessLocal\n"
        "def say(text): os.write(1, f'{text}\\n'.encode())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


class Thing:
    def __init__(self, *key: Any) -> None:
        self.key, self.closed = key, 0

    def close(self) -> None:
        self.closed += 1


def test_one_for_each_key_whatever_threads_ask() -> None:
    made = []

    def make(*key: Any) -> Thing:
        time.sleep(0.01)
        made.append(key)
        return Thing(*key)

    home = ProcessLocal(make)
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda i: home.get(i % 4), range(64)))
    assert sorted(made) == [(0,), (1,), (2,), (3,)]
    assert {id(one) for one in found} == {id(home.get(i)) for i in range(4)}
    assert home.get() is home.get()
    assert home.get() is not home.get(None)


@given(st.lists(st.tuples(st.sampled_from(["get", "drop", "close"]), st.integers(0, 3))))
def test_it_keeps_what_a_dictionary_would(steps: list[tuple[str, int]]) -> None:
    """Whatever is asked, dropped and closed: each thing is closed once, the latest first."""
    ended: list[Thing] = []
    home = ProcessLocal(Thing, ended.append)
    kept: dict[int, Thing] = {}
    for what, key in steps:
        expected = []
        ended.clear()
        if what == "get":
            assert home.get(key) is kept.setdefault(key, home.get(key))
        elif what == "drop":
            expected = [kept.pop(key)] if key in kept else []
            home.drop(key)
        else:
            expected = list(kept.values())[::-1]
            kept.clear()
            home.close()
        assert ended == expected
    ended.clear()
    home.close()
    assert ended == list(kept.values())[::-1]


def test_what_cannot_be_made_is_not_kept() -> None:
    calls = []

    def make() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("no")
        return 7

    home = ProcessLocal(make)
    with pytest.raises(ValueError, match="no") as caught:
        home.get()
    assert caught.value.__context__ is None
    assert home.get() == 7
    assert len(calls) == 2


def test_none_is_a_thing_too() -> None:
    calls: list[int] = []
    home = ProcessLocal(lambda: calls.append(1))
    assert home.get() is home.get() is None
    assert calls == [1]


def test_one_may_be_made_of_another() -> None:
    home: ProcessLocal[Any] = ProcessLocal(lambda n: (n, home.get(n - 1) if n else None))
    assert home.get(3) == (3, (2, (1, (0, None))))


def test_what_is_slow_to_make_does_not_hold_up_the_end() -> None:
    going, ended = threading.Event(), []

    def make(key: str) -> str:
        assert key == "quick" or going.wait(60)
        return key

    home = ProcessLocal(make, ended.append)
    home.get("quick")
    thread = threading.Thread(target=home.get, args=("slow",))
    thread.start()
    home.close()
    assert ended == ["quick"]
    going.set()
    thread.join()
    home.close()
    assert ended == ["quick", "slow"]


def test_all_are_closed_though_one_cannot_be() -> None:
    ended = []

    def close(key: int) -> None:
        ended.append(key)
        if key == 1:
            raise OSError("it is stuck")

    home = ProcessLocal(lambda key: key, close)
    for key in range(3):
        home.get(key)
    with pytest.raises(OSError, match="stuck"):
        home.close()
    assert ended == [2, 1, 0]
    home.close()


def test_many_threads_make_and_close() -> None:
    """Each thing that was made is closed once, and nobody gets what was closed before he asked."""
    made: list[Thing] = []

    def make() -> Thing:
        made.append(Thing())
        return made[-1]

    home = ProcessLocal(make, Thing.close)
    end = time.monotonic() + 0.5

    def work(number: int) -> None:
        while time.monotonic() < end:
            home.close() if number == 0 else home.get()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    home.close()
    assert {thing.closed for thing in made} == {1}


def test_what_nobody_holds_is_closed_and_collected() -> None:
    ended: list[int] = []
    home = ProcessLocal(lambda key: key, ended.append)
    home.get(1)
    home.get(2)
    there = weakref.ref(home)
    del home
    gc.collect()
    assert there() is None
    assert ended == [2, 1]


def test_the_order_at_exit_is_that_of_making_backwards() -> None:
    """Over all homes: what was made later may need what was made before."""
    assert said_by("""
        first = ProcessLocal(lambda key: key, lambda key: say(f"first {key}"))
        second = ProcessLocal(lambda key: key, lambda key: say(f"second {key}"))
        def broken(key):
            say("broken")
            sys.stderr = open(os.devnull, "w")  # what Python says of it
            raise OSError
        third = ProcessLocal(lambda key: key, broken)
        first.get(1), second.get(1), third.get(1), first.get(2), second.get(2)
        second.drop(1), second.get(1)  # from now on the latest
    """) == ["second 1", "second 1", "second 2", "first 2", "broken", "first 1"]


def test_what_is_asked_for_at_exit_is_still_made() -> None:
    assert (
        said_by("""
        import atexit
        home = ProcessLocal(lambda: say("made"), lambda _: say("closed"))
        atexit.register(lambda: home.get())
        home.get()
    """)
        == ["made", "closed"] * 2
    )


FORK = """
    home = ProcessLocal(lambda: os.getpid(), lambda pid: say(f"{name} closes {pid == os.getpid()}"))
    name = "parent"
    mine = home.get()
    for generation in ("child", "grandchild"):
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
            break
        name = generation
        assert home.get() == os.getpid() != mine
        mine = home.get()
"""


def test_a_fork_and_a_fork_of_a_fork_begin_anew_and_close_their_own() -> None:
    """They leave in the ordinary way, and so run what was registered before they were forked."""
    assert said_by(FORK) == ["grandchild closes True", "child closes True", "parent closes True"]


def test_a_child_that_makes_nothing_closes_nothing() -> None:
    assert said_by("""
        class Mine:
            def __del__(self):
                if os.getpid() != parent: say("collected in the child")
        parent = os.getpid()
        home = ProcessLocal(Mine, lambda _: say("closed"))
        home.get()
        if pid := os.fork():
            os.waitpid(pid, 0)
        else:
            import gc
            gc.collect()
            home.drop(), home.close()
            os._exit(0)
    """) == ["closed"]


def test_a_fork_while_another_thread_holds_the_lock() -> None:
    """Of home, and of one whose thing is just being made."""
    assert said_by("""
        held, going = threading.Event(), threading.Event()
        def make(key):
            if key == "slow" and threading.current_thread() is not threading.main_thread():
                held.set(), going.wait(60)
            return os.getpid()
        for inherited in (False, True):
            held.clear(), going.clear()
            home = ProcessLocal(make, lambda _: None, inherited=inherited)
            quick = home.get("quick")
            thread = threading.Thread(target=home.get, args=("slow",))
            thread.start()
            held.wait(60)
            if pid := os.fork():
                assert os.waitpid(pid, 0)[1] == 0
                going.set()
                thread.join()
            else:
                signal.alarm(20)
                assert home.get("slow") == os.getpid()
                assert (home.get("quick") == quick) is inherited
                home.close()
                os._exit(0)
        say("all right")
    """) == ["all right"]


def test_a_fork_while_one_is_made_by_the_same_thread() -> None:
    assert said_by("""
        def make():
            if not (pid := os.fork()):
                signal.alarm(20)
            else:
                os.waitpid(pid, 0)
            return os.getpid()
        home = ProcessLocal(make, lambda pid: say(pid == os.getpid()))
        assert home.get() == home.get() == os.getpid()
    """) == ["True", "True"]


def test_what_is_inherited_goes_on_in_a_child_that_closes_its_copy() -> None:
    assert said_by("""
        home = ProcessLocal(object, lambda _: say(name), inherited=True)
        name, thing = "parent", home.get()
        if pid := os.fork():
            os.waitpid(pid, 0)
        else:
            name = "child"
            assert home.get() is thing
    """) == ["child", "parent"]


@pytest.mark.parametrize("leave", ["sys.exit()", "os._exit(0)"])
def test_a_child_that_ends_does_no_harm_to_the_loop_of_its_parent(leave: str) -> None:
    """A loop that is collected in a copy would take its parent's descriptors off their watch."""
    assert said_by(f"""
        import asyncio, gc
        from mint_envs.chat.judge.loop import LOOP
        async def work(n):
            await asyncio.sleep(0.01)
            return n
        assert LOOP.get().start(work(1)).result(20) == 1
        for _ in range(3):
            if pid := os.fork():
                assert os.waitpid(pid, 0)[1] == 0
            else:
                signal.alarm(20)
                gc.collect()
                assert LOOP.get().start(work(2)).result(10) == 2
                {leave}
            say(LOOP.get().start(work(3)).result(20))
    """) == ["3", "3", "3"]


def test_it_works_where_there_are_no_forks() -> None:
    assert said_by("""
        del sys.modules["mint_envs.process_local"], os.register_at_fork
        from mint_envs.process_local import ProcessLocal as Anew
        assert Anew is not ProcessLocal
        home = Anew(os.getpid)
        say(home.get() == os.getpid())
    """) == ["True"]


def test_forks_under_load() -> None:
    """Threads that make and close all the time; each fork must find a home that works."""
    assert said_by("""
        import warnings
        warnings.simplefilter("ignore")
        home = ProcessLocal(lambda key: (key, os.getpid()), lambda _: None)
        stop = threading.Event()
        def work(number):
            while not stop.is_set():
                home.get(number)
                home.close()
        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        [thread.start() for thread in threads]
        for _ in range(100):
            if pid := os.fork():
                assert os.waitpid(pid, 0)[1] == 0
            else:
                signal.alarm(20)
                os._exit(home.get(0) != (0, os.getpid()))
        stop.set()
        say("all right")
    """) == ["all right"]


def test_it_is_quick() -> None:
    home = ProcessLocal(Thing)
    home.get("x")
    start = time.perf_counter()
    for _ in range(10_000):
        home.get("x")
    assert (time.perf_counter() - start) / 10_000 < 50e-6
