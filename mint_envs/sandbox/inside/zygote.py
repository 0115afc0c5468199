"""Process 1 of the sandbox: forks one confined child for each job and sees it and all its own dead.

It never reads a job or a result: the child reads the job from a memory file that the caller made
for this job alone, and the caller reads the records from it when no process of the job is left.

A request is one packet, ``REQUEST``, with the descriptors of the memory files attached; the
answer is one packet, ``ANSWER``. A job that lasts gets a packet of one byte first, ``b"S"``, with
a descriptor of its process, so that the caller can tell a blocked program from a crowded machine.
Any packet that arrives while a job runs means: stop it.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from typing import Any

from . import confine, runner, scratch, serve, split, warm

#: mode, CPU seconds, memory, address space beyond that, stack, file size, length of the job (of the
#: tests' job, in a split check), length of the program's job.
REQUEST = struct.Struct("=cdQQQQQQ")
#: how it ended, whether this zygote is fit for another job, wait status, CPU seconds, the program's
#: peak memory in KiB, beyond what the idle zygote has.
ANSWER = struct.Struct("=c?idQ")

VALUES, MAIN, SPLIT, EXEC, COMPILE = b"v", b"m", b"s", b"x", b"c"
DONE, CPU, STOPPED, SETUP, FILES = b"D", b"C", b"W", b"F", b"Q"
_SHOW_AFTER_S = 0.25
#: Landlock looks at every folder above, so that a deep one takes long: a new zygote is faster.
_CLEAN_S = 0.5
_LOOK_EVERY_S, _FOLDER_BYTES, _FOLDER_FILES = 0.02, 16 << 20, 4096
_LEVELS = {VALUES: "threads", EXEC: "exec", COMPILE: "processes"}


class Zygote:
    """Serves jobs from one socket until it closes."""

    def __init__(self, control: socket.socket, config: dict[str, Any]) -> None:
        self._control = control
        self._namespaces = config["tier"] == "namespaces"
        self._confined = config["tier"] != "plain"
        self._folder = "/tmp" if self._namespaces else config["scratch"]
        self._limits: tuple[Any, ...] = ()
        self._idle_kib = 0
        levels = _LEVELS if self._namespaces else {VALUES: "bare"}
        self._filters = {mode: confine.Filter(level) for mode, level in levels.items()}
        os.set_blocking(_BEGUN_FD, False)
        if self._confined:
            self._lock(config)
        self._poller = select.poll()
        self._poller.register(control, select.POLLIN)

    def _lock(self, config: dict[str, Any]) -> None:
        """Give up what the zygote itself no longer needs; every child inherits that."""
        readable: list[str] = ["/"]
        listable: list[str] = []
        if self._namespaces:
            confine.mount_tmp(config["tmp_size"], config["tmp_executable"])
        else:
            os.environ["TMPDIR"] = self._folder
            readable, listable = confine.readable_paths(config)
        scratch.empty(self._folder)
        os.chdir(self._folder)  # into what was mounted: programs may write where they stand
        self._mark = scratch.mark(self._folder)
        confine.drop_privileges()
        if confine.landlock_version() > 0:  # namespaces and containers are wall enough without
            confine.landlock(readable, [self._folder], listable)

    def serve(self) -> None:
        self._idle_kib = _memory_of_a_child()
        while True:
            message, attached, _, _ = self._control.recvmsg(REQUEST.size, socket.CMSG_SPACE(16))
            if not message:
                return
            fds = array.array("i")
            for _, _, data in attached:
                fds.frombytes(data)
            if len(message) != REQUEST.size:
                continue  # a "stop" that came just after its job had ended
            answer = self._job(REQUEST.unpack(message), list(fds))
            self._control.send(answer)

    def _job(self, request: tuple[Any, ...], fds: list[int]) -> bytes:
        self._limit(*request[2:6])
        self._children: list[int] = []
        try:
            self._begin(request, fds)
            how = self._watch(request[1])
        except OSError:  # the machine has no process or no descriptor left
            how = SETUP
        try:
            return self._clear(how, request[1], fds[2] if request[0] == EXEC else -1)
        finally:
            for fd in fds:
                os.close(fd)

    def _begin(self, request: tuple[Any, ...], fds: list[int]) -> None:
        """Start the processes of a job."""
        mode = request[0]
        if mode != SPLIT:
            name = {VALUES: "values", MAIN: "main", COMPILE: "compile"}.get(mode, "exec")
            self._children.append(self._fork(name, request, fds))
            return
        half = (*request[:6], request[7], 0)
        here, there = socket.socketpair()
        with here, there:
            self._children.append(self._fork("tests", request, [fds[0], here.fileno()]))
            self._children.append(self._fork("serve", half, [fds[1], there.fileno()]))

    def _limit(self, *limits: Any) -> None:
        if self._limits != limits:
            confine.job_limits(*limits)
            self._limits = limits

    def _fork(self, name: str, request: tuple[Any, ...], fds: list[int]) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                if name == "compile":  # its processes have clocks of their own
                    confine.cpu_limit(request[1])
                self._become(name, request[0], fds)
            except BaseException as error:
                _complain(error)
                os._exit(1)
            try:
                job = os.pread(3, request[6], 0)  # its size is the program's own doing
                os.lseek(3, request[6], os.SEEK_SET)
                runner.run(job, name, 3, 4)
            except BaseException as error:
                _complain(error)
                os._exit(1)
            os._exit(0)
        return pid

    def _become(self, name: str, mode: bytes, fds: list[int]) -> None:
        """Turn this fresh child into the confined process that runs the job.

        Every page that a child touches is copied, so what could be done before the fork was.
        """
        null = os.open("/dev/null", os.O_RDWR)
        if name == "values":
            os.dup2(null, 0)
            os.dup2(null, 1)
            os.dup2(null, 2)
            os.closerange(4, _BEGIN_FD)  # the job's file is number 3 already
        else:
            _arrange(name, fds, null)
        os.closerange(_BEGIN_FD + 1, 1 << 20)
        if not self._namespaces:
            confine.die_with_parent()
        if self._confined:
            self._filters.get(mode, self._filters[VALUES]).apply()
        os.write(_BEGIN_FD, b".")  # confined; the program itself cannot take this back
        os.close(_BEGIN_FD)

    def _watch(self, cpu_s: float) -> bytes:
        """Wait until the first child ends, one has used its CPU time, or the caller says stop."""
        children = self._children
        handle = os.pidfd_open(children[0])
        self._poller.register(handle, select.POLLIN)
        try:
            if self._folder and not self._namespaces:
                return self._watch_folder(children, cpu_s, handle)
            if self._poll(_SHOW_AFTER_S, handle):
                return self._ended
            self._show(children)
            while (left := cpu_s - _cpu_used(children)) > 0:
                if self._poll(min(max(left / 2, 0.005), 0.25), handle):
                    return self._ended
            return CPU
        finally:
            self._poller.unregister(handle)
            os.close(handle)

    def _watch_folder(self, children: list[int], cpu_s: float, handle: int) -> bytes:
        """As ``_watch`` where no file system of a fixed size limits what a program may write."""
        shown, begun = False, time.monotonic()
        while _cpu_used(children) < cpu_s:
            if self._poll(_LOOK_EVERY_S, handle):
                return self._ended
            if scratch.full(self._folder, _FOLDER_BYTES, _FOLDER_FILES):
                return FILES
            if not shown and time.monotonic() - begun > _SHOW_AFTER_S:
                self._show(children)
                shown = True
        return CPU

    def _show(self, children: list[int]) -> None:
        """Let the caller see the processes of a job that lasts."""
        handles = [os.pidfd_open(pid) for pid in children]
        self._control.sendmsg([b"S"], [_rights(handles)])
        for handle in handles:
            os.close(handle)

    def _poll(self, seconds: float, handle: int) -> bool:
        ready = self._poller.poll(seconds * 1000)
        if not ready:
            return False
        if any(fd == handle for fd, _ in ready):
            self._ended = DONE
        else:
            self._ended = STOPPED
            if not self._control.recv(1):
                self._leave()
        return True

    def _leave(self) -> None:
        """End with every process of the job: the caller is gone."""
        self._kill(self._children)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
        os._exit(0)

    def _clear(self, how: bytes, cpu_s: float, out: int) -> bytes:
        """End every process of the job, then report on it.

        ``out`` takes what the program wrote to its standard output by name, where it may have.
        """
        children = self._children
        self._kill(children)
        status, used, peak = 0, 0.0, 0
        while True:
            try:
                pid, code, usage = os.wait4(-1, 0)
            except ChildProcessError:
                break
            if pid in children:
                mine = usage.ru_utime + usage.ru_stime
                used = max(used, mine)
                peak = usage.ru_maxrss if pid == children[-1] else peak  # the program is the last
                status = code if pid == children[0] else status
        if how == DONE and used > cpu_s:
            how = CPU  # it slipped through between two looks at its clock
        if not self._all_begun(len(children)):
            how = SETUP
        if out >= 0:
            scratch.append(f"{self._folder}/{runner.STDOUT}", out)
        return ANSWER.pack(how, self._clean(), status, used, max(0, peak - self._idle_kib))

    def _all_begun(self, count: int) -> bool:
        try:
            return len(os.read(_BEGUN_FD, 16)) >= count
        except BlockingIOError:
            return False

    def _clean(self) -> bool:
        """Leave no file for the next job; return whether that could be done.

        If not, the verdict on this job stands all the same, and the caller replaces this zygote.
        """
        try:
            if self._folder and scratch.mark(self._folder) != self._mark:
                scratch.empty(self._folder, _CLEAN_S)
                self._mark = scratch.mark(self._folder)
        except (OSError, MemoryError):
            return False
        return True

    def _kill(self, children: list[int]) -> None:
        targets = [-1] if self._namespaces else children
        for target in targets:
            with contextlib.suppress(ProcessLookupError):
                os.kill(target, signal.SIGKILL)


#: Out of the way: the files of a job get the numbers from 3 on when they arrive.
_LOCK_FD, _CONTROL_FD, _BEGUN_FD, _BEGIN_FD = 99, 100, 101, 102


def _arrange(name: str, fds: list[int], null: int) -> None:
    """Give the files of a job their numbers.

    0, 1 and 2 are the streams of a script, 3 the job and its records, 4 the other half of a split
    check or what a compiler made.
    """
    streams, rest = [null, null, null], fds[1:]
    if name in ("main", "exec", "compile"):
        streams = [fds[1], fds[2], fds[0] if name == "exec" else null]
        rest = fds[3:]
    safe = [os.dup2(fd, 64 + i) for i, fd in enumerate([*streams, fds[0], *rest])]
    for i, fd in enumerate(safe):
        os.dup2(fd, i, inheritable=i < 3)
    os.closerange(len(safe), _BEGIN_FD)


def _cpu_used(pids: list[int]) -> float:
    """Return the CPU time of the process that has used most, by its own clock."""
    used = 0.0
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended
            used = max(used, time.clock_gettime((~pid << 3) | 2))
    return used


def _memory_of_a_child() -> int:
    """Return the KiB of a child that does nothing; of itself, the kernel tells but the peak."""
    try:
        pid = os.fork()
    except OSError:  # no process is to be had, now at least: rather too much room than too little
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if pid == 0:
        os._exit(0)
    return os.wait4(pid, 0)[2].ru_maxrss


def _rights(fds: list[int]) -> tuple[int, int, array.array[int]]:
    return (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))


def _complain(error: BaseException) -> None:
    os.write(2, f"sandbox: {type(error).__name__}: {error}\n".encode())


def _preload(config: dict[str, Any]) -> None:
    """Import what programs often use, once, and seed it: children inherit the state.

    ``random`` would seed itself from the system after every fork, so it is kept from saying so.
    """
    at_fork, os.register_at_fork = os.register_at_fork, lambda **hooks: None
    import random

    os.register_at_fork = at_fork
    random.seed(0)
    for name in config["preload"]:
        with contextlib.suppress(ImportError):
            __import__(name)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)


def main() -> None:
    """Start: ``argv`` holds the descriptors of the socket and of the lock, and the configuration.

    The first answer is ``b"R"`` (ready), or ``b"E"`` and what is missing.
    """
    control = _settle(int(sys.argv[1]), int(sys.argv[2]))
    config = json.loads(sys.argv[3])
    confine.give_way(config["nice"])
    sys.argv = sys.orig_argv = [runner.FILE]
    os.environ.pop("LD_LIBRARY_PATH", None)  # it was for the interpreter to start
    packages = config["packages"]
    places = packages.values() if config["tier"] == "namespaces" else packages
    sys.path.extend(sorted({os.path.dirname(place) for place in places}))
    site = config["site"]
    sys.path.extend(site.values() if config["tier"] == "namespaces" else site)
    try:
        _shut_in(config)
        _preload(config)
        zygote = Zygote(control, config)
    except Exception as error:
        control.send(b"E" + f"{error}"[:2000].encode())
        os._exit(1)
    runner.add_site()
    runner.MODES.update(serve=serve.answer_calls, tests=split.tests)
    warm.warm_up()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)  # a collection in a young child would copy every page
    control.send(b"R")
    zygote.serve()
    os._exit(0)


def _settle(control: int, lock: int) -> socket.socket:
    """Move the control socket and the pipe of children to their numbers; close all else.

    The lock on the folder that programs write to is only held: children close it, and the folder
    is taken for a dead one's when it is free.
    """
    kept = [(control, _CONTROL_FD), (lock, _LOCK_FD)] if lock >= 0 else [(control, _CONTROL_FD)]
    low = [(os.dup(fd), place) for fd, place in kept]  # out of the way of each other's places
    for fd, place in (*low, *zip(os.pipe(), (_BEGUN_FD, _BEGIN_FD), strict=True)):
        os.dup2(fd, place, inheritable=False)
    os.closerange(3, _LOCK_FD if lock >= 0 else _CONTROL_FD)
    os.closerange(_BEGIN_FD + 1, 1 << 20)
    return socket.socket(fileno=_CONTROL_FD)


def _shut_in(config: dict[str, Any]) -> None:
    """Apply what holds for the zygote and every child."""
    if config["tier"] == "plain":
        return
    if not confine.can_filter():
        raise confine.Missing(f"no table of system calls for {os.uname().machine}")
    if config["tier"] == "namespaces":
        confine.enter_namespaces(config)
        if os.fork():
            _stand_by()
        confine.die_with_parent()
        confine.anonymous_host()
    else:
        confine.give_up_root()
        if confine.landlock_version() < config["landlock_needed"]:
            raise confine.Missing(f"Landlock version {confine.landlock_version()} is too old")
    confine.no_new_privileges()
    confine.common_limits(config["processes"])
    os.chdir("/tmp" if config["tier"] == "namespaces" else "/")
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # not dumpable: closed to ptrace and /proc


def _stand_by() -> None:
    """The outer process: waits for process 1, since only it can be waited for from outside."""
    os.closerange(3, 1 << 20)
    try:
        os.wait()
    finally:
        os._exit(0)
