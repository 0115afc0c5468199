"""The system calls that a program may make: an allow list, as a classic BPF program.

Everything that is not named here fails with EPERM: no sockets but pairs, no new processes, no
signals to others, no ptrace, no mounts, no kernel keyrings, no io_uring, no bpf.
"""

from __future__ import annotations

import errno
import struct
import sys

#: name: (x86_64, aarch64); -1 where the architecture has no such call.
_CALLS = {
    # files
    "read": (0, 63), "write": (1, 64), "open": (2, -1), "close": (3, 57), "stat": (4, -1),
    "fstat": (5, 80), "lstat": (6, -1), "lseek": (8, 62), "pread64": (17, 67),
    "pwrite64": (18, 68), "readv": (19, 65), "writev": (20, 66), "preadv": (295, 69),
    "pwritev": (296, 70), "access": (21, -1), "dup": (32, 23), "dup2": (33, -1),
    "dup3": (292, 24), "fsync": (74, 82),
    "fdatasync": (75, 83), "truncate": (76, 45), "ftruncate": (77, 46), "fallocate": (285, 47),
    "getdents": (78, -1), "getdents64": (217, 61), "getcwd": (79, 17), "chdir": (80, 49),
    "fchdir": (81, 50), "rename": (82, -1), "renameat": (264, 38), "renameat2": (316, 276),
    "mkdir": (83, -1), "mkdirat": (258, 34), "rmdir": (84, -1), "creat": (85, -1),
    "link": (86, -1), "linkat": (265, 37), "unlink": (87, -1), "unlinkat": (263, 35),
    "symlink": (88, -1), "symlinkat": (266, 36), "readlink": (89, -1), "readlinkat": (267, 78),
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53), "umask": (95, 166),
    "openat": (257, 56), "newfstatat": (262, 79), "faccessat": (269, 48),
    "faccessat2": (439, 439), "utimensat": (280, 88), "statx": (332, 291),
    "statfs": (137, 43), "fstatfs": (138, 44), "fadvise64": (221, 223), "sendfile": (40, 71),
    "copy_file_range": (326, 285), "close_range": (436, 436),
    # waiting
    "poll": (7, -1), "ppoll": (271, 73), "select": (23, -1), "pselect6": (270, 72),
    "pipe": (22, -1), "pipe2": (293, 59), "eventfd2": (290, 19), "epoll_create": (213, -1),
    "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_wait": (232, -1),
    "epoll_pwait": (281, 22), "epoll_pwait2": (441, 441),
    # a pair of sockets joined to each other (asyncio makes one)
    "socketpair": (53, 199), "recvfrom": (45, 207), "shutdown": (48, 210),
    "getsockname": (51, 204), "getpeername": (52, 205), "getsockopt": (55, 209),
    # memory
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214),
    "mremap": (25, 216), "msync": (26, 227), "mincore": (27, 232), "madvise": (28, 233),
    "membarrier": (324, 283),
    # threads and signals to oneself
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132), "pause": (34, -1), "futex": (202, 98), "sched_yield": (24, 124),
    "set_tid_address": (218, 96), "set_robust_list": (273, 99), "rseq": (334, 293),
    "restart_syscall": (219, 128), "exit": (60, 93), "exit_group": (231, 94),
    # time
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "gettimeofday": (96, 169), "time": (201, -1),
    "times": (100, 153), "getitimer": (36, 102), "setitimer": (38, 103), "alarm": (37, -1),
    # asking
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getpgrp": (111, -1),
    "getpgid": (121, 155), "getsid": (124, 156), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getgroups": (115, 158),
    "getresuid": (118, 148), "getresgid": (120, 150), "uname": (63, 160), "sysinfo": (99, 179),
    "getrlimit": (97, 163), "getrusage": (98, 165), "getpriority": (140, 141),
    "sched_getaffinity": (204, 123), "sched_getscheduler": (145, 120),
    "sched_getparam": (143, 121), "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126), "getcpu": (309, 168), "getrandom": (318, 278),
    "wait4": (61, 260),
}  # fmt: skip

#: Starting another program: only for compiled languages.
_EXEC = {"execve": (59, 221), "arch_prctl": (158, -1), "capget": (125, 90)}

#: Starting processes: only for compilers, whose input is text and whose output is a file.
_PROCESSES = {
    "vfork": (58, -1), "fork": (57, -1), "waitid": (247, 95), "setpgid": (109, 154),
    "execveat": (322, 281), "sched_setaffinity": (203, 122),
}  # fmt: skip

#: What Landlock does not see: it would change files of the host by their path. Only where there is
#: no root of our own.
_BY_PATH = ("chmod", "fchmod", "fchmodat", "utimensat", "truncate")

_AUDIT = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

_LOAD, _JEQ, _JGE, _JGT, _JSET, _JA, _RET = 0x20, 0x15, 0x35, 0x25, 0x45, 0x05, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_DONE = _ERRNO | 0  # the call is not made, and says that all went well
_NR, _ARCH = 0, 4  # offsets into struct seccomp_data
_CLONE_THREAD = 0x00010000
_NEW_NAMESPACES = 0x7E020000
_MAP_SHARED, _MAP_ANONYMOUS = 1, 0x20
_SAFE_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # isatty, size, FIO*
_SET_NAME, _GET_NAME = 15, 16
#: Duplicate, flags, who has a lock. Not the owner of a descriptor: it would be sent SIGIO, SIGKILL.
_SAFE_FCNTLS = (*range(6), 36, 1030, 1032)
#: Locks are granted, and not set: by those on files that all may read, two programs could talk.
_LOCKS = (6, 7, 37, 38)

Code = list[tuple[int, int, int, int]]


def machine_known(machine: str) -> bool:
    """Return whether there is a table for this architecture."""
    return machine in _AUDIT


def program(machine: str, pid: int, level: str = "threads") -> bytes:
    """Return the filter as an array of ``struct sock_filter``.

    Args:
        machine: ``os.uname().machine``.
        pid: of the process that installs it; signals are allowed to itself alone.
        level: ``"threads"``: may start threads; ``"exec"``: also another program in its place,
            and no anonymous shared memory;
            ``"processes"``: also processes; ``"bare"``: threads, and no call that changes a
            file's mode, times or length by its path.
    """
    audit, column = _AUDIT[machine]
    calls = dict(_CALLS)
    if level in ("exec", "processes"):
        calls |= _EXEC
    if level == "processes":
        calls |= _PROCESSES
    if level == "bare":
        calls = {name: row for name, row in calls.items() if name not in _BY_PATH}
    blocks: dict[int, Code] = {row[column]: [_ret(_ALLOW)] for row in calls.values()}
    for row, block in _special(pid, level):
        blocks[row[column]] = block
    blocks.pop(-1, None)
    code: Code = [(_LOAD, 0, 0, _ARCH), (_JEQ, 1, 0, audit), _ret(_KILL), (_LOAD, 0, 0, _NR)]
    code += [(_JGE, 0, 1, 0x40000000), _ret(_KILL)]  # the x32 table of x86_64
    code += _tree(_ranges(blocks))
    return b"".join(struct.pack("=HBBI", *line) for line in code)


def _special(pid: int, level: str) -> list[tuple[tuple[int, int], Code]]:
    """Return the calls whose arguments decide."""
    if level == "processes":
        clone = [_argument(0), (_JSET, 0, 1, _NEW_NAMESPACES), _deny(), _ret(_ALLOW)]
        kill: Code = [_ret(_ALLOW)]  # in a pid namespace of its own: the pool sees to that
    else:
        clone = [_argument(0), (_JSET, 0, 1, _CLONE_THREAD), _ret(_ALLOW), _deny()]
        kill = _own_signal(pid, 1)
    shared = [((9, 222), _no_shared_memory())] if level == "exec" else []
    return [
        *shared,
        ((56, 220), clone),
        ((435, 435), [_deny(errno.ENOSYS)]),  # clone3 hides its flags: libc falls back to clone
        ((62, 129), kill),
        ((234, 131), kill if level == "processes" else _own_signal(pid, 2)),  # tgkill
        ((302, 261), _null_pointer(2)),  # prlimit64 reads limits, never sets them
        ((44, 206), _null_pointer(4)),  # sendto without an address: only to the pair's other end
        ((16, 29), _only_if(1, _SAFE_IOCTLS)),
        ((73, 32), [_ret(_DONE)]),  # flock
        ((72, 25), [*_granted(1, _LOCKS), *_only_if(1, _SAFE_FCNTLS)]),
        ((157, 167), _only_if(0, (_SET_NAME, _GET_NAME))),  # prctl
    ]


def _ret(action: int) -> tuple[int, int, int, int]:
    return (_RET, 0, 0, action)


def _deny(number: int = errno.EPERM) -> tuple[int, int, int, int]:
    return _ret(_ERRNO | number)


def _argument(index: int, high: bool = False) -> tuple[int, int, int, int]:
    low_first = sys.byteorder == "little"
    return (_LOAD, 0, 0, 16 + 8 * index + (4 if high == low_first else 0))


def _only_if(index: int, values: tuple[int, ...]) -> Code:
    """Allow the call when the argument (its low 32 bits, as the kernel reads it) is listed."""
    code: Code = [_argument(index)]
    for value in values:
        code += [(_JEQ, 0, 1, value & 0xFFFFFFFF), _ret(_ALLOW)]
    return [*code, _deny()]


def _granted(index: int, values: tuple[int, ...]) -> Code:
    """Do nothing, and call it a success, when the argument is listed."""
    code: Code = [_argument(index)]
    for value in values:
        code += [(_JEQ, 0, 1, value), _ret(_DONE)]
    return code


def _own_signal(pid: int, signal: int) -> Code:
    """Allow a signal to oneself, but for SIGKILL, which then only the kernel and the pool send."""
    is_kill = [_argument(signal), (_JEQ, 0, 1, 9), _deny()]
    return [_argument(0), (_JEQ, 0, len(is_kill) + 1, pid), *is_kill, _ret(_ALLOW), _deny()]


def _null_pointer(index: int) -> Code:
    low, high = _argument(index), _argument(index, high=True)
    return [low, (_JEQ, 0, 3, 0), high, (_JEQ, 0, 1, 0), _ret(_ALLOW), _deny()]


def _no_shared_memory() -> Code:
    """Forbid anonymous shared mappings, which no limit on data counts."""
    return [
        _argument(3), (_JSET, 0, 1, _MAP_ANONYMOUS), (_JSET, 1, 0, _MAP_SHARED), _ret(_ALLOW),
        _deny(errno.ENOMEM),
    ]  # fmt: skip


def _ranges(blocks: dict[int, Code]) -> list[tuple[int, int, Code]]:
    """Join neighbouring numbers that share a block, so that the tree stays small."""
    joined: list[tuple[int, int, Code]] = []
    for number, block in sorted(blocks.items()):
        if joined and joined[-1][1] == number - 1 and joined[-1][2] == block == [_ret(_ALLOW)]:
            joined[-1] = (joined[-1][0], number, block)
        else:
            joined.append((number, number, block))
    return joined


def _tree(ranges: list[tuple[int, int, Code]]) -> Code:
    """A binary search: the kernel runs the filter once per call number when it is installed."""
    if len(ranges) == 1:
        low, high, block = ranges[0]
        after = len(block)
        return [(_JGE, 0, after + 1, low), (_JGT, after, 0, high), *block, _deny()]
    middle = len(ranges) // 2
    left, right = _tree(ranges[:middle]), _tree(ranges[middle:])
    return [(_JGE, 0, 1, ranges[middle][0]), (_JA, 0, 0, len(left)), *left, *right]
