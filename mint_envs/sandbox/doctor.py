"""Which sandbox this machine has, proved by running a handful of attacks."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import SandboxUnavailable
from . import Limits, Sandbox
from .toolchains import TOOLCHAINS

#: (what is tried, program, expression, what it must give; None: anything but a value)
ATTACKS: tuple[tuple[str, str, str, object], ...] = (
    ("an honest program", "def f(): return sum(range(10))", "f()", 45),
    ("scratch files", "import tempfile\ndef f():\n    with tempfile.TemporaryFile() as t:\n"
     "        return t.write(b'abc')", "f()", 3),
    ("reads the host's files", "def f():\n    for p in ('/etc/passwd', '/etc/hostname'):\n"
     "        try:\n            open(p).read(); return p\n        except OSError: pass\n"
     "    return 'nothing'", "f()", "nothing"),
    ("finds secrets of the environment", "import os\ndef f():\n    return sorted(k for k in "
     "os.environ if 'KEY' in k or 'TOKEN' in k)", "f()", ["l", []]),
    ("opens a connection", "import socket\ndef f():\n    socket.create_connection(('127.0.0.1', 22)"
     ", 1)\n    return 'open'", "f()", None),
    ("starts a process", "import os\ndef f():\n    return os.fork()", "f()", None),
    ("kills its parent", "import os\ndef f():\n    os.kill(os.getppid() or 1, 9)\n    return 1",
     "f()", None),
    ("opens a user namespace", "import ctypes\ndef f():\n    return ctypes.CDLL(None).unshare("
     "0x10000000)", "f()", -1),
    ("changes the interpreter", "import os\ndef f():\n    os.chmod(os.__file__, 0o777)\n"
     "    return 1", "f()", None),
    ("lifts its limits", "import resource as r\ndef f():\n    r.setrlimit(r.RLIMIT_AS, "
     "(r.RLIM_INFINITY,) * 2)\n    return 1", "f()", None),
    ("runs for ever", "def f():\n    while True: pass", "f()", None),
    ("takes all memory", "def f():\n    return len(bytearray(64 << 30))", "f()", None),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the report: ``ok`` is None for a fact that is neither good nor bad."""

    name: str
    ok: bool | None
    text: str


def examine() -> Iterator[Fact]:
    """Yield what there is to know, the slow parts last."""
    uname = platform.uname()
    yield Fact("system", None, f"{uname.system} {uname.release}, {uname.machine}")
    version = _landlock_version() if uname.system == "Linux" else -1
    yield Fact("Landlock", version > 0, f"version {version}" if version > 0 else "none")
    tiers = []
    for tier in ("namespaces", "landlock"):
        finding = _try(tier)
        tiers += [tier] if finding.ok else []
        yield finding
    if tiers:
        yield from _prove(tiers[0])
    for name in ("docker", "podman"):
        path = shutil.which(name)
        yield Fact(name, None, f"command {path}" if path else "not installed")
    for language, chain in TOOLCHAINS.items():
        yield Fact(language, None, chain.path() or f"{chain.tool} is not installed")


def _landlock_version() -> int:
    from .inside import confine  # only for Linux

    return confine.landlock_version()


def _try(tier: str) -> Fact:
    try:
        with Sandbox(tier, workers=1) as sandbox:
            outcome = sandbox.run("def f(): return 1", ["f()"])
    except SandboxUnavailable as error:
        return Fact(f"tier {tier}", False, str(error).partition(". Ways out")[0])
    works = outcome.records.get(0) == ("value", 1)
    return Fact(f"tier {tier}", works, "works" if works else outcome.failure or "broken")


def _prove(tier: str) -> Iterator[Fact]:
    with Sandbox(tier, workers=1) as sandbox:
        for name, program, call, wanted in ATTACKS:
            outcome = sandbox.run(program, [call], limits=Limits(cpu_s=0.5))
            kind, value = outcome.records.get(0, ("", None))
            held = kind != "value" if wanted is None else (kind, value) == ("value", wanted)
            limit = f"stopped by its {outcome.limit} limit" if outcome.limit else ""
            text = limit or outcome.error(0)[1] or "as it should"
            yield Fact(f"{tier}: {name}", held, text if held else f"{kind} {value}"[:80])
