"""A child process with a deadline: started, talked to in lines, and ended with all that it started.

    child = LineChild([sys.executable, "-m", "my_worker"])
    child.ask(b"a question\\n", wall_s=10)      # its next line
    child.end()

    python children.py PID FD COMMAND...    # the command, ended with the process of that id

Whoever asks has a limit by the clock that works in any thread. The sandbox starts its processes by
itself: what it needs beyond this is walls.
"""

from __future__ import annotations

import math
import os
import select
import shutil
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from time import monotonic, sleep
from typing import Any

_POLL_S = 0.05
_LONGEST_LINE = 1 << 28  # bytes


class ChildGone(Exception):
    """The child has ended, or has closed its end of the pipe."""


class ChildLate(Exception):
    """The child has not done in time what it was waited for."""


class Child:
    """A process in a session of its own, that is ended with all that is left in its group.

    Ctrl-C does not reach it: that is for this process, which ends it in good order. If this process
    is killed, Linux kills the group; elsewhere the child sees the end of its pipes, no more. A copy
    of this process made by fork lets go of it. It is for one thread at a time.

    Args:
        command: the program and its arguments.
        options: ``env``, ``stdin``, ``stdout``, ``stderr`` and ``pass_fds`` of ``subprocess``;
            what is not given is the null device.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        with ExitStack() as theirs, ExitStack() as ours:
            fds = tuple(options.pop("pass_fds", ()))
            # Nobody writes to this pipe; its other end is closed with this process.
            line = [_pipe(theirs, ours)[0].fileno()] if sys.platform == "linux" else []
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                command, pass_fds=(*fds, *line), start_new_session=True, **{**quiet, **options}
            )
            for fd in line:
                kill_on_hangup(fd, -self.pid)
            self._ours = ours.pop_all()
        _CHILDREN.add(self)

    @property
    def pid(self) -> int:
        """Its id, which is that of its group too; its own until ``end`` has been called."""
        return self._process.pid

    @property
    def over(self) -> bool:
        """Whether ``end`` has been called: there is nothing left of it."""
        return self._process.returncode is not None

    def ended(self) -> bool:
        """Return whether it has ended, with or without what it started."""
        if self.over or not hasattr(os, "waitid"):
            return self._process.poll() is not None
        try:  # it is not reaped, so that no other process can get its id
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # somebody else has reaped it
            return True
        return found is not None

    def wait(self, wall_s: float) -> None:
        """Wait until it has ended.

        Raises:
            ChildLate: it has not, in that time.
        """
        late, pause_s = deadline(wall_s), 0.001
        while not self.ended():
            if late():
                raise ChildLate(f"it has not ended within {wall_s:g} s")
            sleep(pause_s)
            pause_s = min(2 * pause_s, _POLL_S)

    def end(self, grace_s: float = 0.0) -> int:
        """End it, with its group, and return its exit status as ``subprocess`` has it.

        Args:
            grace_s: seconds in which it may end by itself. Calling this twice is harmless.
        """
        if not self.over:
            try:
                with suppress(ChildLate):
                    self.wait(grace_s)
            finally:
                kill_group(self.pid)
                self._process.wait()
        self._ours.close()
        return self._process.returncode

    def cpu_s(self) -> float:
        """Return the seconds of CPU time that it has used itself; 0 where this is not known."""
        try:
            with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as file:
                user, system = file.read().rpartition(")")[2].split()[11:13]
        except OSError:
            return 0.0  # not Linux
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _let_go(self) -> None:
        """In a forked copy: it is the child of another process, whose pipes it must not hold."""
        self._process.returncode = 0
        self._ours.close()


class LineChild(Child):
    """A child that is asked in lines and answers in lines.

    Args:
        command: the program and its arguments.
        own_pipes: what it reads and writes for us are two pipes of their own, whose descriptors are
            two more arguments; its output is ours. Otherwise they are its standard streams.
        env: as for ``subprocess``.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        own_pipes: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> None:
        with ExitStack() as theirs, ExitStack() as ours:
            source, self._to = _pipe(theirs, ours)
            self._from, target = _pipe(ours, theirs)
            os.set_blocking(self._to.fileno(), False)
            fds = (source.fileno(), target.fileno())
            if own_pipes:
                command = [*command, *map(str, fds)]
                super().__init__(command, env=env, pass_fds=fds, stdout=None, stderr=None)
            else:
                super().__init__(command, env=env, stdin=source, stdout=target)
            self._ours.push(ours.pop_all())
        self._kept, self._searched, self._closed = bytearray(), 0, False

    def ask(self, data: bytes, wall_s: float, cpu_s: float = math.inf) -> bytes:
        """Send a line, and return the next that comes.

        A child that fails in this is ended, and so is one whose answer is not waited for (say for
        Ctrl-C): it would be taken for that to the next question.

        Raises:
            ChildGone, ChildLate: as ``send`` and ``line``.
        """
        try:
            self.send(data, wall_s)
            return self.line(wall_s, cpu_s)
        except BaseException:
            self.end()
            raise

    def send(self, data: bytes, wall_s: float) -> None:
        """Write to the child.

        Raises:
            ChildGone: it does not read any more.
            ChildLate: it has not read all in time (seconds by the clock).
        """
        late, left = deadline(wall_s), memoryview(data)
        with self._gone_if_closed():
            while left:
                if late():
                    raise ChildLate(f"it has not read within {wall_s:g} s")
                left = left[self._write(left) :]

    def line(self, wall_s: float, cpu_s: float = math.inf) -> bytes:
        """Return its next line, without the line's end.

        Args:
            wall_s: seconds by the clock.
            cpu_s: seconds of CPU time of the child itself, where that is known: waiting for a busy
                machine is not hanging.

        Raises:
            ChildGone: there is none.
            ChildLate: there is none in time.
        """
        late = self._deadline(wall_s, cpu_s)
        with self._gone_if_closed():
            while (line := self._next()) is None:
                if late():
                    raise ChildLate(f"no answer within {min(wall_s, cpu_s):g} s")
                # What it left behind may hold the pipe open: then there is no end of file.
                if not self._fill(_POLL_S) and (self._closed or self.ended()) and not self._fill(0):
                    raise ChildGone("it has ended, or closed its pipe")
        return line

    @contextmanager
    def _gone_if_closed(self) -> Iterator[None]:
        """Another thread may end it, and close its pipes, at any moment of an exchange."""
        try:
            yield
        except (ValueError, OSError):
            if self._to.closed or self._from.closed:
                raise ChildGone("it was ended") from None
            raise

    def end(self, grace_s: float = 0.0) -> int:
        """As ``Child.end``; it sees the end of its input first."""
        self._to.close()
        return super().end(grace_s)

    def _deadline(self, wall_s: float, cpu_s: float) -> Callable[[], bool]:
        late = deadline(wall_s)
        if cpu_s == math.inf:
            return late
        start = self.cpu_s()
        return lambda: late() or self.cpu_s() - start > cpu_s

    def _write(self, data: memoryview) -> int:
        """Write what goes at once; take in what comes, or both sides might wait for ever."""
        ready = _ready(_POLL_S, writing=self._to, reading=None if self._closed else self._from)
        if self._from in ready:
            self._take_in()
        if self._to not in ready:
            return 0
        try:
            return self._to.write(data) or 0
        except BrokenPipeError:
            raise ChildGone("it does not read any more") from None

    def _fill(self, wall_s: float) -> bool:
        """Take in what comes; return False if nothing does in that time, or ever will."""
        return bool(_ready(wall_s, reading=self._from)) and self._take_in()

    def _take_in(self) -> bool:
        data = self._from.read(1 << 16)
        self._closed = not data
        self._kept += data or b""
        if len(self._kept) > _LONGEST_LINE and self._kept.find(b"\n", self._searched) < 0:
            raise ChildGone(f"it wrote {_LONGEST_LINE} bytes without a line's end")
        return not self._closed

    def _next(self) -> bytes | None:
        """Return a line that has come; None if its end has not."""
        end = self._kept.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._kept)
            return None
        line = bytes(self._kept[:end])
        del self._kept[: end + 1]
        self._searched = 0
        return line


def deadline(wall_s: float) -> Callable[[], bool]:
    """Return what tells whether that many seconds have passed since now."""
    end = monotonic() + wall_s
    return lambda: monotonic() > end


def kill_group(pid: int) -> None:
    """Kill the process of an id, and the group that it leads; what is gone already is fine."""
    assert pid > 1, pid  # 0 would be our own group
    for kill in filter(None, [getattr(os, "killpg", None), os.kill]):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def kill_on_hangup(fd: int, process: int) -> None:
    """Have Linux kill a process, or a group (its number below 0), when a pipe's writer is gone.

    The kernel tells of it by a signal, for which SIGKILL may be chosen. This depends on no thread,
    as "die with your parent" does, and on nothing that the process does. But it tells of data too:
    nothing may be written to the pipe. Elsewhere than on Linux this does nothing.

    Args:
        fd: the end of the pipe that is read.
    """
    if sys.platform != "linux":
        return
    import fcntl

    with suppress(OSError):  # a kernel that is not quite Linux
        fcntl.fcntl(fd, fcntl.F_SETOWN, process)
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)


@contextmanager
def leashed(command: Sequence[str]) -> Iterator[list[str]]:
    """Yield a command that does the same, and is killed, with its group, if this process is gone.

    For a child that a foreign package starts, in a group of its own. It opens the reading end of a
    pipe of ours by its number here: so it needs no descriptor. Elsewhere than on Linux nothing is
    done, nor to a command that is not there, which whoever starts it will say.
    """
    if sys.platform != "linux" or shutil.which(command[0]) is None:
        yield list(command)
        return
    with ExitStack() as stack:
        source, _ = _pipe(stack, stack)
        here = [str(os.getpid()), str(source.fileno())]
        yield [sys.executable, "-I", "-S", __file__, *here, *command]


def _run_leashed(process: str, fd: str, *command: str) -> None:
    """Become the command, with what kills its group when the other process is gone."""
    ours = f"/proc/{process}/fd/{fd}"
    with suppress(PermissionError):  # a kernel that does not let us look
        line = os.open(ours, os.O_RDONLY)
        os.set_inheritable(line, True)
        if os.getpgrp() == os.getpid():
            kill_on_hangup(line, -os.getpid())
        os.stat(ours)  # not gone in the meantime
    os.execvp(command[0], command)


def _pipe(reading: ExitStack, writing: ExitStack) -> tuple[FileIO, FileIO]:
    """Return the two ends of a pipe, each closed with its stack."""
    source, target = os.pipe()
    return reading.enter_context(FileIO(source)), writing.enter_context(FileIO(target, "w"))


def _ready(
    wall_s: float, reading: FileIO | None = None, writing: FileIO | None = None
) -> list[FileIO]:
    """Return which of the two is ready, or broken, after at most that time."""
    poll, files = select.poll(), {}  # ``select`` itself knows no descriptor beyond 1023
    for file, what in ((reading, select.POLLIN), (writing, select.POLLOUT)):
        if file is not None and file.closed:
            raise ChildGone("it was ended")
        if file is not None:
            poll.register(file, what)
            files[file.fileno()] = file
    return [files[fd] for fd, _ in poll.poll(math.ceil(1000 * wall_s))]


#: Every child of this process, so that a forked copy can let go of them.
_CHILDREN: weakref.WeakSet[Child] = weakref.WeakSet()


def _let_go_of_all() -> None:
    for child in list(_CHILDREN):
        child._let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_of_all)

if __name__ == "__main__":
    _run_leashed(*sys.argv[1:])
