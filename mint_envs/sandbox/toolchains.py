"""Other languages: what their tools are, how a program is compiled and run.

A new language is one entry of ``TOOLCHAINS``.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .java import java_names
from .port import Job, Limits, Outcome, Tool

if TYPE_CHECKING:
    from .worker import SandboxWorker

#: Limits of a compiler, apart from those of the program.
_COMPILE = Limits(cpu_s=60.0, memory=2 << 30, output=64 << 20)
_VM = 16 << 30
_KEPT_BYTES = 256 << 20
_SYSTEM = ("/usr/bin", "/usr/lib", "/usr/libexec", "/usr/include", "/usr/share/java",
           "/usr/share/go-*", "/etc/alternatives",
           "/etc/ld.so.conf*", "/etc/java-*", "/usr/local/lib", "/usr/local/bin",
           "/usr/local/include")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Toolchain:
    """How one language is run.

    Args:
        tool: the command that must be installed.
        source: name of the file that holds the program.
        compile: arguments after the tool, or empty for a language that is run from its source.
        run: the command that runs it. In both, ``{tool}`` stands for the tool's path, ``{source}``
            for the file, ``{main}`` for the class to run, ``{heap}`` for MiB of a machine's heap.
        sound: a program that prints 42, to tell a broken sandbox from a broken program.
        extra: paths of the tool that lie outside the system's folders.
        reserve: bytes of address space that its programs map beyond what they use.
        remote: what a SandboxFusion server calls the language, if another name than ours.
        heap: the share of the memory that a virtual machine may give to a program's data.
        spare: bytes of data that the machine itself needs, and stacks of threads (as contests give
            them: 256 MB), beside the limit of memory.
        stack: bytes of the first thread's stack; 0: as much as there is memory.
    """

    tool: str
    source: str
    compile: tuple[str, ...]
    run: tuple[str, ...]
    sound: str
    extra: tuple[str, ...] = ()
    reserve: int = 0
    remote: str = ""
    heap: float = 0.75
    spare: int = 0
    stack: int = 0

    def path(self) -> str | None:
        """Return the tool's path, or None if it is not installed."""
        found = shutil.which(self.tool)
        if found and _is_switch(found):
            found = None
        return found or next(iter(self._own_places()), None)

    def _own_places(self) -> list[str]:
        patterns = [pattern.replace("{rustup}", home) for pattern in self.extra
                    for home in (_rustup_homes() if "{rustup}" in pattern else [""])]  # fmt: skip
        return [path for pattern in patterns for path in glob.glob(pattern)]

    def command(self, name: str = "") -> str:
        """Return the real path of a tool (rustup's ``rustc`` is only a switch for others)."""
        own = [path for path in self._own_places() if os.path.basename(path) == (name or self.tool)]
        found = own[-1] if own else shutil.which(name or self.tool)
        return os.path.realpath(found) if found else (name or self.tool)

    def home(self, name: str = "") -> str:
        """Return the folder that a tool is installed in, above its ``bin``."""
        return os.path.dirname(os.path.dirname(self.command(name)))

    def homes(self) -> list[str]:
        """Return the homes of its tools that lie outside the system's folders."""
        tools = [self.tool, *(["java"] if "{java}" in self.run else [])]
        outside = {tool for tool in tools if not _system(self.command(tool))}
        return sorted({self.home(tool) for tool in outside} - {""})

    def out_of_reach(self) -> str:
        """Return the home of a tool that holds much else, so that no program may see it; or ""."""
        private = os.path.expanduser("~")
        for home in self.homes():
            if home in ("/tmp", f"{private}/.local") or f"{private}/".startswith(f"{home}/"):
                return home
            if home.startswith("/tmp/"):
                return home
        return ""

    def environment(self) -> dict[str, str]:
        """Return what a tool needs to find its own libraries: there is no /proc to ask."""
        home = self.home()
        return {
            "PATH": f"{home}/bin:/usr/local/bin:/usr/bin:/bin",
            "GOROOT": home,
            "HOME": "/tmp",
            "TMPDIR": "/tmp",
            "LANG": "C.UTF-8",
            "LD_LIBRARY_PATH": f"{home}/lib",
        }

    def paths(self) -> list[str]:
        """Return the folders that programs of this language may read."""
        return [*_SYSTEM, *self.homes()]


TOOLCHAINS = {
    "javascript": Toolchain("node", "main.js", (),
                            ("{tool}", "--max-old-space-size={heap}", "--v8-pool-size=0",
                             "--stack-size=250000", "main.js"),
                            "console.log(42)\n", reserve=_VM, remote="nodejs", stack=264 << 20),
    "cpp": Toolchain("g++", "main.cpp", ("-O1", "-std=c++17", "-pipe", "-o", "program", "main.cpp"),
                     ("./program",), '#include <cstdio>\nint main() { std::puts("42"); }\n'),
    "rust": Toolchain("rustc", "main.rs", ("-O", "--edition", "2021", "-Clink-arg=-fuse-ld=bfd",
                                   "-o", "program", "main.rs"),
                      ("./program",), 'fn main() { println!("42"); }\n',
                      ("{rustup}/toolchains/*/bin/rustc",)),
    "go": Toolchain("go", "main.go", ("build", "-o", "program", "main.go"), ("./program",),
                    'package main\nimport "fmt"\nfunc main() { fmt.Println(42) }\n',
                    ("/usr/local/go/bin/go",), _VM),
    "java": Toolchain("javac", "Main.java", ("-d", ".", "{source}"),
                      ("{java}", "-Xmx{heap}m", "-Xss64m", "-XX:+UseSerialGC",
                       "-XX:TieredStopAtLevel=1", "-cp", ".", "{main}"),
                      "public class Main { public static void main(String[] a) "
                      "{ System.out.println(42); } }\n", reserve=_VM, heap=1.0, spare=1 << 30,
                      stack=8 << 20),
}  # fmt: skip


def _is_switch(path: str) -> bool:
    """Return whether a tool is rustup by another name, which only calls one of its toolchains."""
    rustup = os.path.join(os.path.dirname(path), "rustup")
    return os.path.exists(rustup) and os.path.samefile(path, rustup)


def _rustup_homes() -> list[str]:
    """Return the folders where rustup may keep toolchains; the one that counts most is the last.

    Beside its switches (``/usr/local/cargo/bin`` and ``/usr/local/rustup``, where HOME is another's
    or none), the user's, and the one that RUSTUP_HOME names.
    """
    switches = shutil.which("rustup")
    above = os.path.dirname(os.path.dirname(os.path.dirname(switches))) if switches else ""
    beside = [os.path.join(above, name) for name in (".rustup", "rustup")] if switches else []
    told = os.environ.get("RUSTUP_HOME")
    return [*beside, os.path.expanduser("~/.rustup"), *([told] if told else [])]


def _system(path: str) -> bool:
    """Return whether a path lies in a folder of the system's that programs may read."""
    return any(path.startswith(f"{folder}/") for part in _SYSTEM for folder in glob.glob(part))


#: What people write for a language, and its name here.
ALIASES = {"python3": "python", "py": "python", "js": "javascript", "node": "javascript",
           "c++": "cpp", "cc": "cpp", "rs": "rust", "golang": "go"}  # fmt: skip


class Artifacts:
    """What compilers made, by language and source: a group repeats programs."""

    def __init__(self) -> None:
        self._made: OrderedDict[bytes, Outcome] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Outcome | None:
        with self._lock:
            return self._made.get(key)

    def put(self, key: bytes, outcome: Outcome) -> None:
        with self._lock:
            self._made[key] = outcome
            self._size += len(outcome.stdout)
            while self._size > _KEPT_BYTES:
                self._size -= len(self._made.popitem(last=False)[1].stdout)


#: Named by a program of C++ that may start threads: each takes a stack as large as the first's.
_THREADS = re.compile(r"thread|async|parallel|omp")
_THREAD_STACK = 8 << 20


def run_compiled(worker: SandboxWorker, job: Job, artifacts: Artifacts) -> Outcome:
    """Compile a program unless that was done before, then run it with ``job.stdin``."""
    chain = TOOLCHAINS[job.language]
    archive = b""
    if chain.compile:
        built = _compiled(worker, job, chain, artifacts)
        if not built.stdout:
            return built
        archive = built.stdout
    source = {} if archive else {chain.source: job.program}
    limits = replace(job.limits, memory=job.limits.memory + chain.spare)
    stack = chain.stack or (_THREAD_STACK if _THREADS.search(job.program) else job.limits.memory)
    tool = Tool(
        {**source, **dict(job.files)},
        (*_command(chain, chain.run, job), *job.arguments),
        chain.environment(),
        chain.reserve,
        stack,
        streams="/dev/std" in job.program,
    )
    return worker.execute(replace(job, limits=limits), tool, archive)


def _command(chain: Toolchain, words: tuple[str, ...], job: Job) -> tuple[str, ...]:
    """Return a command with what its words stand for."""
    file, main = java_names(job.program) if job.language == "java" else (chain.source, "")
    named = {"tool": chain.command(), "source": file, "main": main, "java": chain.command("java"),
             "heap": str(int(job.limits.memory * chain.heap) >> 20)}  # fmt: skip
    return tuple(word.format(**named) for word in words)


def _headers(job: Job) -> dict[str, str]:
    """Return the files that a compiler must find beside the program."""
    return {name: text for name, text in job.files if name.endswith((".h", ".hpp"))}


def _compiled(worker: SandboxWorker, job: Job, chain: Toolchain, artifacts: Artifacts) -> Outcome:
    headers = _headers(job)
    source = "\0".join((job.program, *headers.values())).encode("utf-8", "surrogatepass")
    key = hashlib.blake2b(source, key=job.language.encode()).digest()
    built = artifacts.get(key)
    if built is None:
        words = _command(chain, ("{tool}", *chain.compile), job)
        file = _command(chain, ("{source}",), job)[0]
        tool = Tool({file: job.program, **headers}, words, chain.environment(), _VM)
        built = worker.compile(replace(job, limits=_COMPILE), tool)
        if built.error(-1)[0]:
            built = replace(built, stdout=b"")
        if not built.failure:
            artifacts.put(key, built)
    return built
