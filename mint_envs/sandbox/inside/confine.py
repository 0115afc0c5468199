"""Namespaces, a root of its own, capabilities, Landlock, limits: by ctypes, with no other library.

The order matters. Root does the mounts first, since the interpreter may lie in a directory that
only root can read, and becomes the user 65534 before it opens a user namespace. An ordinary user
opens the user namespace first, which is what permits the mounts.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import math
import os
import resource
import struct
import sys
from typing import Any

from . import seccomp

_libc = ctypes.CDLL(None, use_errno=True)
_MACHINE = os.uname().machine

_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_REST = _NEWPID | _NEWNET | _NEWIPC | _NEWUTS | _NEWCGROUP

_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT = 1, 2, 4, 8, 32
_NOATIME, _BIND, _REC, _PRIVATE = 1024, 4096, 16384, 1 << 18

_NOBODY = 65534
_CAP_SETGID, _CAP_SETUID, _CAP_SYS_ADMIN = 6, 7, 21
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_ROOT = "/proc"  # an existing directory under which no file is that we bind; covered by ours

_PDEATHSIG, _SET_DUMPABLE, _SECCOMP, _CAPBSET_DROP, _SECUREBITS, _NO_NEW_PRIVS = (
    1,
    4,
    22,
    24,
    28,
    38,
)
_NOROOT_LOCKED = 0x2F  # no-setuid-fixup, noroot, keep-caps-locked, and their locks

_LIBRARIES = ("/lib", "/lib64", "/lib32")
_SHARED = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/etc/ld.so.cache")
_SHARED_ELSE = "/usr/lib"  # where neither of the two above exists
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
#: There is no /proc, so a stream's name leads to a file that stands for it (``runner.STDIN``).
_STREAMS = ("stdin", "stdout", "stderr")
_TIME_ZONES = "/usr/share/zoneinfo"


class Missing(OSError):
    """The kernel refuses a layer; the message names it."""


def give_way(nice: int) -> None:
    """Let this process, and all that it starts, have the CPU after others."""
    if not nice:
        return
    os.nice(nice)
    # Where the kernel shares out the CPU by session first, that is what counts.
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as file:
        file.write(str(nice))


def _checked_call(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise Missing(number, f"{what}: {os.strerror(number)}")
    return result


def _mount(source: str | None, target: str, kind: str | None = None, flags: int = 0,
           data: str | None = None) -> None:  # fmt: skip
    arguments = [None if text is None else text.encode() for text in (source, target, kind, data)]
    result = _libc.mount(*arguments[:3], ctypes.c_ulong(flags), arguments[3])
    _checked_call(result, f"mount {kind or ''} {target}")


def prctl(option: int, *arguments: Any) -> None:
    values = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments]
    _checked_call(
        _libc.prctl(option, *values, *[ctypes.c_ulong(0)] * (4 - len(values))), f"prctl {option}"
    )


def die_with_parent() -> None:
    prctl(_PDEATHSIG, 9)


# -- tier 1: namespaces ---------------------------------------------------------------------------


def enter_namespaces(config: dict[str, Any]) -> None:
    """Leave the host: the next forked child is process 1 of a world of its own.

    Raises:
        Missing: the kernel or its settings do not allow it.
    """
    if _may_become_nobody():
        proc = os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY)
        _checked_call(_libc.unshare(_NEWNS), "mount namespace")
        _enter_root(config)
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        prctl(_SET_DUMPABLE, 1)  # changing the user cleared it; the maps below belong to us again
        _checked_call(_libc.unshare(_NEWUSER | _NEWNS | _REST), "user namespace")
        _write_maps(proc, _NOBODY, _NOBODY)
    else:
        uid, gid = os.geteuid(), os.getegid()
        _checked_call(_libc.unshare(_NEWUSER | _NEWNS | _REST), "user namespace")
        proc = os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY)
        _write_maps(proc, uid, gid)
        _enter_root(config)
    os.close(proc)


def _may_become_nobody() -> bool:
    """Return whether this is a root that can mount and change its user.

    Root in a container often cannot, for want of a capability or of any other user to become;
    it is then served as an ordinary user is.
    """
    if os.geteuid() != 0:
        return False
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file if ":" in line)
    capabilities = int(lines["CapEff"], 16)
    wanted = (_CAP_SETGID, _CAP_SETUID, _CAP_SYS_ADMIN)
    return all(capabilities >> bit & 1 for bit in wanted) and _maps_nobody()


def _maps_nobody() -> bool:
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/self/{name}") as file:
            rows = [[int(word) for word in line.split()] for line in file]
        if not any(inside <= _NOBODY < inside + count for inside, _, count in rows):
            return False
    with open("/proc/self/setgroups") as file:
        return file.read().strip() == "allow"


def _write_maps(proc: int, uid: int, gid: int) -> None:
    maps = (("setgroups", "deny"), ("uid_map", f"1000 {uid} 1"), ("gid_map", f"1000 {gid} 1"))
    for name, text in maps:
        try:
            fd = os.open(name, os.O_WRONLY, dir_fd=proc)
            os.write(fd, text.encode())
            os.close(fd)
        except OSError as error:
            reason = f"user namespace: {name} cannot be written: {error.strerror}"
            raise Missing(error.errno, reason) from None


def _enter_root(config: dict[str, Any]) -> None:
    """Make a read-only root with the interpreter in it and nothing of the host's data."""
    _mount(None, "/", flags=_REC | _PRIVATE)
    _mount("tmpfs", _ROOT, "tmpfs", _NOSUID | _NODEV, "size=1m,mode=755")
    links = [path for path in (*_LIBRARIES, *config["links"]) if os.path.islink(path)]
    for link in links:
        os.makedirs(os.path.dirname(_ROOT + link), exist_ok=True)
        os.symlink(os.readlink(link), _ROOT + link)
    for path in _read_only(config, links):
        _bind(path, _ROOT + path)
    for path in config["hidden"]:
        if os.path.isdir(_ROOT + path):
            _mount("tmpfs", _ROOT + path, "tmpfs", _NOSUID | _NODEV | _RDONLY, "size=4k,mode=755")
    for source, target in {**config["packages"], **config["site"]}.items():
        _bind(source, _ROOT + target)
    for name in _STREAMS:
        os.symlink(f"/tmp/.{name}", f"{_ROOT}/dev/{name}")
    os.makedirs(_ROOT + "/tmp", exist_ok=True)
    _mount(None, _ROOT, flags=_REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)
    os.chdir(_ROOT)
    _checked_call(_libc.syscall(_PIVOT_ROOT[_MACHINE], b".", b"."), "pivot_root")
    _checked_call(_libc.umount2(b".", 2), "umount of the host's root")
    os.chdir("/")


def _read_only(config: dict[str, Any], links: list[str]) -> list[str]:
    paths = [path for path in _LIBRARIES if path not in links]
    for pattern in (*_SHARED, *_DEVICES, _TIME_ZONES, *config["read_only"]):
        paths += glob.glob(pattern)
    if not any(glob.glob(pattern) for pattern in _SHARED[:2]):
        paths.append(_SHARED_ELSE)
    found: list[str] = []
    for path in sorted({path for path in paths if os.path.exists(path)}):
        if not any(path.startswith(outer + "/") for outer in found):
            found.append(path)
    return found


def _bind(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w"):
            pass
    _mount(source, target, flags=_BIND | _REC)
    keep = os.statvfs(source).f_flag & _NOEXEC
    device = 0 if source.startswith("/dev/") else _NODEV
    _mount(None, target, flags=_REMOUNT | _BIND | _RDONLY | _NOSUID | device | keep)


def mount_tmp(size: str, executable: bool) -> None:
    """Mount a small /tmp of our own: the only place that programs can write to."""
    flags = _NOSUID | _NODEV | _NOATIME | (0 if executable else _NOEXEC)
    _mount("tmpfs", "/tmp", "tmpfs", flags, f"size={size},nr_inodes=4k,mode=700")


# -- tier 2: no namespaces ------------------------------------------------------------------------


def give_up_root() -> None:
    """Become nobody as far as limits go; stay able to read the interpreter's files.

    The limit on processes does not bind the *real* user 0. The effective user keeps reading what
    belongs to it, within Landlock, and has no capability left.
    """
    if _may_become_nobody():
        os.setgroups([])
        os.setresuid(_NOBODY, 0, 0)


def drop_privileges() -> None:
    """Drop every capability for good; no program started later can regain one."""
    if os.geteuid() == 0:
        _libc.prctl(_SECUREBITS, _NOROOT_LOCKED, 0, 0, 0)  # refused where there is nothing to drop
    for capability in range(64):
        if _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    _checked_call(_libc.capset(struct.pack("Ii", 0x20080522, 0), bytes(24)), "capset")


def anonymous_host() -> None:
    """Hide the machine's name, which a new namespace copies."""
    _checked_call(_libc.sethostname(b"sandbox", ctypes.c_size_t(7)), "host name")


def no_new_privileges() -> None:
    prctl(_NO_NEW_PRIVS, 1)


# -- Landlock -------------------------------------------------------------------------------------

_EXECUTE, _WRITE, _READ, _READ_DIR = 1, 2, 4, 8
_MAKE_CHAR, _MAKE_SOCK, _MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11


def landlock_version() -> int:
    return int(_libc.syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint(1)))


def landlock(readable: list[str], writable: list[str], listable: list[str]) -> None:
    """Shut this process and its children in, for good.

    They may read below ``readable``, everything below ``writable``, and to see the names of
    files (not their content) below ``listable``.

    Raises:
        Missing: the kernel has no Landlock.
    """
    version = _checked_call(landlock_version(), "landlock")
    rights = (1 << 13) - 1
    for since, bit in ((2, 13), (3, 14), (5, 15)):
        rights |= 1 << bit if version >= since else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    attributes = struct.pack("QQQ", rights, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    rules = _checked_call(
        _libc.syscall(444, attributes[:size], ctypes.c_size_t(size), ctypes.c_uint(0)), "landlock"
    )
    scratch = rights & ~(_MAKE_CHAR | _MAKE_SOCK | _MAKE_BLOCK)
    for path in readable:
        _allow(rules, path, _EXECUTE | _READ | _READ_DIR)
    for path in listable:
        _allow(rules, path, _READ_DIR)
    for path in writable:
        _allow(rules, path, scratch)
    _allow(rules, "/dev/null", _READ | _WRITE)
    _checked_call(_libc.syscall(446, rules, ctypes.c_uint(0)), "landlock")
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not os.path.isdir(path):
        rights &= _EXECUTE | _WRITE | _READ
    rule = struct.pack("=Qi", rights, fd)
    _checked_call(_libc.syscall(445, rules, 1, rule, ctypes.c_uint(0)), f"landlock rule for {path}")
    os.close(fd)


def readable_paths(config: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return (what may be read, what may be listed) where no root of our own hides the rest.

    A rule opens everything below a folder, so a folder with something to hide in it is opened
    entry by entry.
    """
    readable, listable = [*config["packages"], *config["site"]], []
    hidden = set(config["hidden"])
    links = [path for path in _LIBRARIES if os.path.islink(path)]  # what they lead to is listed
    for path in _read_only(config, links):
        if any(os.path.dirname(secret) == path for secret in hidden):
            listable.append(path)
            entries = {os.path.join(path, name) for name in os.listdir(path)}
            readable += sorted(entries - hidden)
        elif path != "/dev/null":
            readable.append(path)
    return readable, listable


# -- the child ------------------------------------------------------------------------------------


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


class Filter:
    """The system call filter of one level, made ready in the zygote."""

    _ANY_PID = 0x7EADBEEF

    def __init__(self, level: str) -> None:
        code = seccomp.program(_MACHINE, self._ANY_PID, level)
        mark = struct.pack("=I", self._ANY_PID)
        self._code = ctypes.create_string_buffer(code, len(code))
        self._places = [i for i in range(0, len(code), 4) if code[i : i + 4] == mark]
        self._program = _Program(len(code) // 8, ctypes.cast(self._code, ctypes.c_void_p))
        self._reference = ctypes.byref(self._program)

    def apply(self) -> None:
        """Install it in this process, for good. Written to touch little memory after a fork."""
        pid = os.getpid()
        for place in self._places:
            struct.pack_into("=I", self._code, place, pid)
        if _libc.prctl(_SECCOMP, 2, self._reference, 0, 0) < 0:
            raise Missing(ctypes.get_errno(), "system call filter")


def common_limits(processes: int) -> None:
    """Limits that no job changes: no core files, few open files and processes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))


def cpu_limit(seconds: float) -> None:
    """Let the kernel end this process, and each that it starts, when it has used so much."""
    whole = math.ceil(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole))


#: An idle interpreter maps a few hundred MiB with its packages; the zygote has to live too. Less is
#: held by what a program has really used, at its end.
LEAST_MEMORY = 512 << 20


def job_limits(memory: int, reserve: int, stack: int, file_size: int) -> None:
    """Set limits of one job in the zygote, whose child inherits them.

    Only the soft limits, since the zygote must change them for the next job; no program can, for
    want of the system call. Virtual machines reserve more address space than they use, by
    ``reserve``: theirs is a limit on data, and on the space so that page tables are bounded.
    The stack grows to ``stack``, as far as the caller's own hard limit lets it.
    """
    memory = max(memory, LEAST_MEMORY)
    for which, value in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_AS, memory + reserve)):
        resource.setrlimit(which, (value, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, resource.RLIM_INFINITY))
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(
        resource.RLIMIT_STACK, (stack if most == resource.RLIM_INFINITY else min(stack, most), most)
    )


def can_filter() -> bool:
    """Return whether this machine has a table of system calls and the kernel takes filters."""
    return sys.platform == "linux" and seccomp.machine_known(_MACHINE)
