"""The caller's side of one zygote. Standard library only: also used in containers."""

from __future__ import annotations

import array
import contextlib
import glob
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .environment import PythonEnvironment
from .folders import Folder
from .inside import confine, zygote
from .payloads import json_bytes, program_payload, tests_payload
from .port import KILLED, Job, Outcome, Tool, niceness, ran_out_of_memory, read_records
from .sleep import SleptTime, pid_of

_START_S = 30.0
_GRACE_S = 10.0
_LOOK_EVERY_S = 1.0
#: The longest a job may take on a crowded machine, in multiples of its limit of CPU time.
_PATIENCE = 40
#: Imported by every zygote: what programs often use and what is cheap to have.
_MODULES = (
    "collections", "math", "re", "itertools", "functools", "heapq", "bisect", "typing", "string",
    "operator", "copy", "time",
)  # fmt: skip
#: Bytes of data without which a virtual machine does not start, and that an idle one uses.
_VM_DATA, _VM_MEMORY = 1 << 30, 64 << 20
#: Bytes of address space that preloaded packages map, beside a program's own.
_PACKAGES_RESERVE = 2 << 30
_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "MALLOC_ARENA_MAX": "1",  # else each thread maps 64 MiB more, and a score of them fill the room
}
_MODES = {"values": zygote.VALUES, "main": zygote.MAIN, "split": zygote.SPLIT}
_LIMITS = {zygote.CPU: "cpu", zygote.STOPPED: "wall", zygote.FILES: "files"}
_TELLING = re.compile(r"Error|Exception|panicked|terminate called|error:")


class ZygoteLost(Exception):
    """The zygote died or hung. The job can be done again by another.

    ``begun`` is whether it had taken the job: if not, that cannot be the job's fault.
    """

    def __init__(self, reason: str, begun: bool = True) -> None:
        super().__init__(reason)
        self.begun = begun


class TierRefused(Exception):
    """The zygote cannot shut itself in here; the message names what is missing."""


class SandboxWorker:
    """One zygote; ``sound`` is whether it is fit for another job.

    Args:
        tier: ``"namespaces"``, ``"landlock"``, ``"container"`` (Landlock if there is any) or
            ``"plain"``.
        preload: modules that the zygote imports beforehand, besides the usual ones.
        toolchain: globs of further paths that programs may read, for compilers.
        environment: whose interpreter runs programs, and whose packages they may import; None:
            this interpreter's, and those of its packages that are preloaded.

    Raises:
        TierRefused: the tier does not work on this machine.
        ZygoteLost: the zygote ended while it started.
    """

    def __init__(
        self,
        tier: str,
        preload: tuple[str, ...] = (),
        toolchain: tuple[str, ...] = (),
        environment: PythonEnvironment | None = None,
    ) -> None:
        self.sound = True
        self._packages_reserve = _PACKAGES_RESERVE if environment else 0
        self._same = environment is None or environment.executable == interpreter()
        with contextlib.ExitStack() as undo:
            self._folder = Folder() if tier in ("landlock", "container") else None
            if self._folder:
                undo.callback(self._folder.delete)
            path, lock = (self._folder.path, self._folder.lock) if self._folder else ("", -1)
            config = configuration(tier, preload, toolchain, path, environment)
            self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            undo.callback(self._control.close)
            with theirs:
                self.process = _start(theirs, config, lock, environment)
            undo.pop_all()
        try:
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def _wait_until_ready(self) -> None:
        self._control.settimeout(_START_S)
        try:
            answer = self._control.recv(4096)
        except OSError as error:
            raise TierRefused(f"it did not start within {_START_S:.0f} s ({error})") from None
        if not answer:
            raise ZygoteLost("the zygote ended while it started", begun=False)
        if answer != b"R":
            raise TierRefused(answer[1:].decode(errors="replace"))

    def run(self, job: Job) -> Outcome:
        """Run one job.

        Raises:
            ZygoteLost: the zygote died or hung.
        """
        if job.kind != "split":
            return self._run(
                _MODES[job.kind],
                job,
                [program_payload(job)],
                job.stdin.encode("utf-8", "surrogatepass"),
            )
        return self._run(zygote.SPLIT, job, [tests_payload(job, self._same), program_payload(job)])

    def compile(self, job: Job, tool: Tool) -> Outcome:
        """Run a compiler; the outcome's ``stdout`` is an archive of what was made."""
        return self._run(zygote.COMPILE, job, [json_bytes(asdict(tool))], b"", tool=tool)

    def execute(self, job: Job, tool: Tool, archive: bytes) -> Outcome:
        """Run what was compiled (``archive``), or an interpreter on ``files``, with job.stdin."""
        payload = {**asdict(tool), "compiled": bool(archive)}
        stdin = job.stdin.encode("utf-8", "surrogatepass")
        return self._run(zygote.EXEC, job, [json_bytes(payload)], stdin, archive, tool)

    def _run(
        self, mode: bytes, job: Job, payloads: list[bytes], stdin: bytes | None = None,
        archive: bytes = b"", tool: Tool | None = None,
    ) -> Outcome:  # fmt: skip
        reserve, stack = (
            (tool.reserve, tool.stack) if tool else (self._packages_reserve, job.limits.memory)
        )
        machine = tool is not None and tool.reserve > 0
        least, idle = (_VM_DATA, _VM_MEMORY) if machine else (confine.LEAST_MEMORY, 0)
        with contextlib.ExitStack() as held:
            files = [held.enter_context(_memory_file(payload)) for payload in payloads]
            out = -1
            if stdin is not None and mode != zygote.VALUES:
                out = held.enter_context(_memory_file(b""))
                files += [held.enter_context(_memory_file(stdin, rewind=True)), out]
            if archive:
                files.append(held.enter_context(_memory_file(archive, rewind=True)))
            lengths = [len(payload) for payload in payloads]
            size = max(max(lengths) + job.limits.output + 1, len(archive))
            request = zygote.REQUEST.pack(
                mode,
                job.limits.cpu_s,
                max(job.limits.memory, least),
                reserve,
                stack,
                size,
                lengths[0],
                lengths[-1],
            )
            answer = self._exchange(request, job, files)
            text = os.pread(files[0], job.limits.output + 1, len(payloads[0]))
            stdout = os.pread(out, job.limits.output + 1, 0) if out >= 0 else b""
        room = 0 if job.limits.memory >= least else job.limits.memory + idle
        outcome = _zygote_outcome(answer, job, text, stdout, mode, room)
        self.sound = zygote.ANSWER.unpack(answer)[1] and not outcome.failure
        return outcome

    def _exchange(self, request: bytes, job: Job, files: list[int]) -> bytes:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))
        begun = False
        try:
            self._control.settimeout(job.limits.blocked_s + _GRACE_S)
            self._control.sendmsg([request], [rights])
            begun = True
            answer, attached, _, _ = self._control.recvmsg(64, socket.CMSG_SPACE(8))
            if answer == b"S":  # without the handles, where this process has no descriptor left
                handles = attached[0][2] if attached else b""
                answer = self._wait(array.array("i", handles), job)
        except OSError as error:
            raise ZygoteLost(str(error), begun) from None
        if len(answer) != zygote.ANSWER.size:
            raise ZygoteLost("the zygote has ended")
        return answer

    def _wait(self, handles: Iterable[int], job: Job) -> bytes:
        """Wait for a long job; stop it when it has slept for too long."""
        begun = time.monotonic()
        try:
            slept = SleptTime([pid_of(handle) for handle in handles])
            while True:
                left = job.limits.blocked_s - slept.seconds()
                if left <= 0 or time.monotonic() - begun > _PATIENCE * job.limits.cpu_s + 60:
                    self._control.send(b"K")
                    self._control.settimeout(_GRACE_S)
                    return self._control.recv(64)
                self._control.settimeout(min(max(left, 0.05), _LOOK_EVERY_S))
                with contextlib.suppress(TimeoutError):
                    return self._control.recv(64)
        finally:
            for handle in handles:
                os.close(handle)

    def close(self) -> None:
        """End the zygote and all that it started."""
        self._control.close()
        self.process.kill()
        self.process.wait()
        if self._folder:
            self._folder.delete()

    def forget(self) -> None:
        """Let go of it in a forked process, which has only copies of the descriptors."""
        self._control.close()
        self.process.returncode = 0  # not ours to wait for
        if self._folder:
            self._folder.let_go()


def configuration(
    tier: str,
    preload: tuple[str, ...],
    toolchain: tuple[str, ...],
    scratch: str,
    environment: PythonEnvironment | None = None,
) -> dict[str, Any]:
    """Return what the zygote needs to know of this machine.

    Raises:
        TierRefused: the interpreter cannot be seen where programs run.
    """
    standard = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    libraries = sysconfig.get_config_var("LIBDIR") or ""
    site: dict[str, str] = {}
    if environment:
        standard, libraries = set(environment.standard), environment.libraries
        site = {folder: f"/packages/{i}" for i, folder in enumerate(environment.site)}
    library = [path for path in sorted(standard) if os.path.exists(f"{path}/os.py")]
    hidden = [path for path in (*library, libraries) if path.startswith("/tmp/")]
    if tier == "namespaces" and hidden:
        raise TierRefused(f"the interpreter's {hidden[0]} is in /tmp, which is each program's own")
    return {
        "tier": tier,
        "preload": [*_MODULES, *preload],
        "packages": {} if environment else _packages(preload),
        "site": site,
        "read_only": [*sorted(standard), *_shared_libraries(libraries), *toolchain],
        "hidden": [*_package_folders(standard, ""), *_package_folders(toolchain, "python*/"),
                   *_package_folders(toolchain, "lib/python*/")],
        "links": ["/bin", "/sbin"] if toolchain else [],
        "landlock_needed": 0 if tier == "container" else 1,
        "tmp_size": "512m" if toolchain else "16m",
        "tmp_executable": bool(toolchain),
        "processes": _process_limit(tier, 256 if toolchain else 64),
        "scratch": scratch,
        "nice": niceness(),
    }  # fmt: skip


def _package_folders(folders: Iterable[str], between: str) -> list[str]:
    """Return where packages of Python lie: they hold data sets, and this library."""
    names = ("site-packages", "dist-packages")
    found = [glob.glob(f"{folder}/{between}{name}") for folder in folders for name in names]
    return sorted({path for paths in found for path in paths if os.path.isdir(path)})


def _process_limit(tier: str, own: int) -> int:
    """Return the limit on processes and threads.

    The kernel counts those of one user together, all over the machine, but where the sandbox has
    a user namespace and the kernel (5.14) counts by it.
    """
    release = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    if tier == "namespaces" and release >= (5, 14):
        return own
    try:
        others = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        others = 8192
    return others + 1024


def _shared_libraries(folder: str) -> list[str]:
    """Return what the interpreter's own extension modules load, where that is not in /usr/lib."""
    return [f"{folder}/*.so*"] if folder and not folder.startswith("/usr/lib") else []


def _packages(names: tuple[str, ...]) -> dict[str, str]:
    """Return {folder here: folder inside} of packages and the libraries beside them."""
    found: dict[str, str] = {}
    for name in set(names) - sys.stdlib_module_names:
        spec = importlib.util.find_spec(name)
        for folder in spec.submodule_search_locations or () if spec else ():
            for path in (Path(folder), Path(f"{folder}.libs")):
                if path.is_dir():
                    found[str(path.resolve())] = f"/packages/{path.name}"
    return found


def interpreter() -> str:
    """Return the interpreter for the zygote: this one, without its virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def _start(
    theirs: socket.socket, config: dict[str, Any], lock: int, environment: PythonEnvironment | None
) -> subprocess.Popen[bytes]:
    here = str(Path(__file__).parent)
    boot = (
        f"import sys; sys.path.insert(0, {here!r}); from inside import zygote; sys.path.pop(0); "
        "zygote.main()"
    )
    python = environment.executable if environment else interpreter()
    command = [python, "-s", "-S", "-P", "-B", "-c", boot]
    return subprocess.Popen(
        [*command, str(theirs.fileno()), str(lock), json.dumps(config)],
        env={**_ENVIRONMENT, **_loader()},
        pass_fds=(theirs.fileno(), *([lock] if lock >= 0 else [])),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if "MINT_SANDBOX_DEBUG" not in os.environ else None,
        start_new_session=True,  # Ctrl-C is for the caller, who closes this in good order
        cwd="/",
    )


def _loader() -> dict[str, str]:
    """Return what some interpreters need to find their own libraries."""
    return {k: v for k, v in os.environ.items() if k == "LD_LIBRARY_PATH"}


@contextlib.contextmanager
def _memory_file(data: bytes, rewind: bool = False) -> Iterator[int]:
    """A file in memory for one job alone: nothing of it can be seen by the next."""
    fd = os.memfd_create("job")
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if rewind:
            os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def _zygote_outcome(
    answer: bytes, job: Job, text: bytes, stdout: bytes, mode: bytes, room: int
) -> Outcome:
    """Return the outcome of an answer.

    ``room``: bytes of memory that the program may have used; 0 where the kernel has held it.
    """
    how, _, status, cpu_s, peak_kib = zygote.ANSWER.unpack(answer)
    code = os.waitstatus_to_exitcode(status)
    failure = "the sandbox could not be set up for the job" if how == zygote.SETUP else ""
    limit = _LIMITS.get(how, "")
    if not limit and 0 < room < peak_kib << 10:
        limit, text = "memory", b""
    if how == zygote.DONE and code == -9:  # a program cannot send itself this signal
        failure = KILLED
    if len(text) > job.limits.output or len(stdout) > job.limits.output:
        limit, text, stdout = limit or "output", b"", stdout[: job.limits.output]
    parse: Callable[[bytes], dict[int, tuple[str, Any]]] = (
        _error_line if mode == zygote.EXEC else read_records
    )
    records = parse(text)
    if not limit and ran_out_of_memory(records):
        limit = "memory"
    return Outcome(records, stdout, limit, code, cpu_s, failure, len(text))


def _error_line(text: bytes) -> dict[int, tuple[str, Any]]:
    """Return what another language's program wrote to stderr, its last line, as record -1."""
    lines = text.decode(errors="replace").strip().splitlines()
    telling = [line for line in lines if _TELLING.search(line)] or lines
    return {-1: ("error", ["", telling[-1]])} if lines else {}
