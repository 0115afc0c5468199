"""Runs one job in the confined child: sends back values, never verdicts.

The program shares this interpreter and may rewrite all of it. There is no verdict here to forge,
and no expected value to find. It may read all calls of the job before it answers the first: so no
call of a job has the answer to another among its arguments (``code/apart.py``).
"""

from __future__ import annotations

import builtins
import json
import marshal
import os
from collections.abc import Callable
from typing import Any

from .names import agreed, defined, readings
from .records import FILE, Records, execute, module
from .scripts import add_site, main, write_files
from .wire import encode

__all__ = ["FILE", "Records", "add_site", "run"]


def run(job: bytes, mode: str, out: int, peer: int) -> None:
    """Run a job: JSON, and perhaps a zero and bytes of ours that are no JSON (``job["raw"]``).

    ``out`` takes the records, ``peer`` joins the two halves of a split check.
    """
    end = job.find(b"\0")
    told = json.loads(job[:end] if end >= 0 else job)
    if end >= 0:
        told["raw"] = memoryview(job)[end + 1 :]
    MODES[mode](told, Records(out), peer)


def _values(job: dict[str, Any], records: Records, peer: int) -> None:
    names: dict[str, Any] = module("solution")
    python = dict(vars(builtins)) if job.get("names") else {}
    if not records.attempt(-1, lambda: execute(job["program"], names)):
        return
    calls = marshal.loads(job["raw"]) if job["calls"] is None else job["calls"]
    for index, call in enumerate(calls):
        if type(call) is tuple:
            done = records.attempt(index, lambda c=call: encode(_called(c, names)))  # type: ignore[misc]
        else:
            whose = job["names"][index] if python else ()
            done = records.attempt(index, lambda t=call, w=whose: _call_value(t, names, w, python))  # type: ignore[misc]
        if not done and job["stop_early"]:
            return


def _called(call: tuple[str, bytes], names: dict[str, Any]) -> Any:
    """Return the value of a call that the caller has read; its arguments are new each time."""
    what, arguments = call
    function = names[what] if what in names else _evaluated(what, names)
    return function(*marshal.loads(arguments))


def _call_value(text: str, names: dict[str, Any], whose: Any, python: dict[str, Any]) -> Any:
    """Return the value of a call; built-in names that are not the program's are Python's."""
    if not whose:
        return encode(_evaluated(text, names))
    values = []
    for own in readings(whose, defined(names, python)):
        others = {n for group in whose for n in group if n in python} - own
        values.append(encode(_evaluated(text, {**names, **{n: python[n] for n in others}})))
    return agreed(values)


def _evaluated(text: str, names: dict[str, Any]) -> Any:
    return eval(compile(text, "<string>", "eval", dont_inherit=True), names)


# -- other languages -------------------------------------------------------------------------------

_STDOUT = 1
#: What /dev/stdin and /dev/stdout lead to, in the folder of a program.
STDIN, STDOUT = ".stdin", ".stdout"


def _compile(job: dict[str, Any], records: Records, peer: int) -> None:
    """Run a compiler on the source; what it made goes to stdout, as a tar archive."""
    import tarfile

    os.chdir("/tmp")
    write_files(job["files"])
    messages = os.open("/tmp/.messages", os.O_RDWR | os.O_CREAT)
    actions = [(os.POSIX_SPAWN_DUP2, messages, 1), (os.POSIX_SPAWN_DUP2, messages, 2)]
    command = job["command"]
    pid = os.posix_spawn(command[0], command, job["environment"], file_actions=actions)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        text = os.pread(messages, 1 << 16, 0).decode(errors="replace")
        text = _errors(text) or f"the compiler ended with {status}"
        records.add(-1, "error", ["CompileError", text])
        return
    with (
        os.fdopen(_STDOUT, "wb", closefd=False) as out,
        tarfile.open(fileobj=out, mode="w") as archive,
    ):
        for name in sorted(set(os.listdir(".")) - {".messages", *job["files"]}):
            archive.add(name)
    records.add(-1, "value", True)


def _errors(text: str) -> str:
    """Return what a compiler said from its first error on: warnings may fill pages before it."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if "error" in line.lower()), 0)
    return "\n".join(lines[first:])[:4000]


def _exec(job: dict[str, Any], records: Records, peer: int) -> None:
    """Another program in this one's place: what was compiled, or a script for an interpreter."""
    os.chdir("/tmp")
    if job["compiled"]:
        import tarfile

        with tarfile.open(fileobj=os.fdopen(peer, "rb", closefd=False)) as archive:
            if hasattr(tarfile, "data_filter"):  # the first releases of 3.11 have none
                archive.extraction_filter = tarfile.data_filter
            archive.extractall(".")
    write_files(job["files"])
    if job["streams"]:
        with open(STDIN, "wb") as file:
            while data := os.read(0, 1 << 20):
                file.write(data)
        os.lseek(0, 0, os.SEEK_SET)
    os.lseek(3, 0, os.SEEK_END)
    os.execve(job["command"][0], job["command"], job["environment"])


#: The halves of a split check are added by who has them (``zygote.py``).
MODES: dict[str, Callable[[dict[str, Any], Records, int], None]] = {
    "values": _values,
    "main": main,
    "compile": _compile,
    "exec": _exec,
}
