"""What a sandbox is asked and what it answers. Standard library only: also used in containers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

#: Why a job was lost whose process the kernel killed: a program cannot send itself that signal.
KILLED = "the program was killed from outside, by a lack of memory perhaps"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run.

    Args:
        cpu_s: seconds of CPU time, of all threads together.
        memory: bytes of address space (of data, in other languages than Python). An idle
            interpreter with its packages maps hundreds of MiB, so below 512 MiB it is bytes that
            the program has really used, beyond an idle interpreter: looked at when it has ended.
        output: bytes of result or standard output.
    """

    cpu_s: float = 5.0
    memory: int = 1 << 30
    output: int = 1 << 20

    @property
    def blocked_s(self) -> float:
        """Seconds that a program may spend asleep; waiting for a crowded CPU does not count."""
        return 2 * self.cpu_s + 1


@dataclass(frozen=True, slots=True)
class Job:
    """A program and what to do with it.

    ``kind`` is ``"values"``: run it, then send the values of the expressions ``calls``;
    ``"main"``: run it as a script with ``stdin``, ``arguments`` and ``files`` (name and text) in
    its folder; ``"split"``: run ``setup`` and then ``steps``
    (pairs of text and, before it, ``"exec"``, ``"eval"``, or ``"now"``: evaluate, and show changes
    of arguments as they are made) in a process of their own, where the names in
    ``stubs`` call the program in another; ``roles`` says of some that they are a ``"class"``, an
    ``"error"``, a ``"value"``, or may return ``"objects"``, or ``"maybe"`` one to be told from
    None, and ``classes`` has the tests' own classes (name, text) whose objects cross by value. The
    first ``first`` of the steps are no tests. ``names``, if
    not empty, says for each call or step which built-in names may be the program's.
    """

    program: str
    kind: Literal["values", "main", "split"] = "values"
    calls: tuple[str, ...] = ()
    stdin: str = ""
    arguments: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    setup: str = ""
    stubs: tuple[str, ...] = ()
    roles: tuple[tuple[str, str], ...] = ()
    classes: tuple[tuple[str, str], ...] = ()
    steps: tuple[tuple[str, str], ...] = ()
    first: int = 0
    names: tuple[tuple[tuple[str, ...], ...], ...] = ()
    stop_early: bool = False
    language: str = "python"
    limits: Limits = Limits()

    def payload(self) -> dict[str, Any]:
        """Return what the program's process is told."""
        told = {"program": self.program, "calls": self.calls, "stop_early": self.stop_early}
        if self.files or self.arguments:
            told |= {"files": dict(self.files), "arguments": self.arguments}
        if self.kind == "split" and self.classes:
            return {**told, "classes": self.classes}
        return {**told, "names": self.names} if self.names and self.kind == "values" else told


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job.

    ``records`` maps the index of a call or step to ``("value", wire form)`` or ``("error",
    [type, text])``; index -1 is the program (or the setup) itself. ``limit`` is ``""``, ``"cpu"``,
    ``"wall"``, ``"memory"``, ``"output"``, ``"files"`` or ``"sandbox"`` (it brought its sandbox
    down). ``failure`` says why the job could not be measured; it is ``""`` when it was.
    """

    records: Mapping[int, tuple[str, Any]] = field(default_factory=dict)
    stdout: bytes = b""
    limit: str = ""
    exit_code: int = 0
    cpu_s: float = 0.0
    failure: str = ""
    record_bytes: int = 0

    def error(self, index: int) -> tuple[str, str]:
        """Return (type, text) of the error of one record; two empty strings if it has none."""
        kind, payload = self.records.get(index, ("", None))
        if kind != "error" or not isinstance(payload, list) or len(payload) != 2:
            return "", ""
        name, text = (part if isinstance(part, str) else "?" for part in payload)
        return name[:80], text[:400]


@dataclass(frozen=True, slots=True)
class Tool:
    """A command of another language.

    Args:
        files: what it finds in its folder.
        reserve: bytes of address space that it maps beyond the limit of memory, and does not use.
        stack: bytes that its first thread's stack may grow to.
        streams: whether it opens its streams by name (``/dev/stdin``).
    """

    files: dict[str, str]
    command: tuple[str, ...]
    environment: dict[str, str]
    reserve: int = 0
    stack: int = 64 << 20
    streams: bool = False


class Backend(Protocol):
    """A place to run programs. ``tier`` names how it is walled off."""

    tier: str

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run the jobs, as many at once as there is room, and return outcomes in order."""
        ...

    def close(self) -> None:
        """End every process. Closing twice is harmless."""
        ...


#: Beyond what values nest to (``wire.MAX_DEPTH``, three brackets at most for each), and far from
#: what a walk over them may recurse to.
_DEEPEST = 350


def read_records(text: bytes) -> dict[int, tuple[str, Any]]:
    """Read the records. A program may have written them itself, so trust nothing in them."""
    found: dict[int, tuple[str, Any]] = {}
    try:
        lines = text.splitlines()
        for line, (index, kind, payload) in zip(lines, _held_by(lines, text), strict=True):
            if type(index) is not int or type(kind) is not str or index in found:
                return {}
            if line.count(b"[") > _DEEPEST and _nesting(payload) > _DEEPEST:
                return {}
            found[index] = (kind, payload)
    except (ValueError, TypeError, RecursionError):
        return {}
    return found


def _held_by(lines: list[bytes], text: bytes) -> list[Any]:
    """Return what each line holds.

    At once, which is several times as fast, in objects that no row can close and open again, so
    that none goes on in the next line: ``{`` is only within texts, if anywhere.
    """
    if not lines or b"{" in text:
        return [json.loads(line) for line in lines]
    together = json.loads(b'[{"":%b}]' % b'},{"":'.join(lines))
    return [each[""] for each in together]


def _nesting(wire: Any) -> int:
    """Return how deep lists nest in it; no value crosses as an object, so that is too deep."""
    depth, level = 0, [wire]
    while level := [item for item in level if isinstance(item, list | dict)]:
        if any(isinstance(item, dict) for item in level):
            return _DEEPEST + 1
        depth, level = depth + 1, [item for inner in level for item in inner]
    return depth


_limit: list[int] = []
_nice: list[int] = []


def limit_workers(count: int) -> None:
    """Let the sandboxes that this process makes from now on have ``count`` workers by default."""
    _limit[:] = [count]


def give_way(nice: int) -> None:
    """Let programs in the sandboxes that this process makes from now on give way to other work.

    Args:
        nice: as of the command ``nice``: 10 is about a tenth of the share of what has 0.
    """
    _nice[:] = [nice]


def niceness() -> int:
    """Return what ``give_way`` said, else 0."""
    return _nice[0] if _nice else 0


def ran_out_of_memory(records: Mapping[int, tuple[str, Any]]) -> bool:
    """Return whether an error among the records says so."""
    return any(
        kind == "error" and isinstance(payload, list) and payload[:1] == ["MemoryError"]
        for kind, payload in records.values()
    )


def cpu_count() -> int:
    """Return how many CPUs this process may use, or fewer if ``limit_workers`` said so."""
    if _limit:
        return _limit[0]
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS, where docker is the way
