"""Runs one job in the confined child: sends back values, never verdicts.

The program shares this interpreter and may rewrite all of it. It gains nothing by that: there is
no expected value here to find, and no verdict to forge.
"""

from __future__ import annotations

import atexit
import builtins
import json
import os
import struct
import sys
import types
from collections.abc import Callable
from typing import Any

from .wire import Unsupported, decode, encode, encode_any

FILE = "solution.py"
_MAX_MESSAGE = 1 << 20
_MAX_ERROR = 300


class Records:
    """Writes one line of JSON for each result: ``[index, kind, payload]``."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def add(self, index: int, kind: str, payload: Any) -> None:
        data = json.dumps([index, kind, payload]).encode() + b"\n"
        while data:
            data = data[os.write(self._fd, data) :]

    def attempt(self, index: int, action: Callable[[], Any]) -> bool:
        """Record the value of ``action()``, or its error; of the program itself (-1) only that."""
        try:
            value = action()
            if index >= 0:
                self.add(index, "value", value)
        except BaseException as error:
            self.add(index, "error", describe(error))
            return False
        return True


def describe(error: BaseException) -> list[str]:
    """Return the error's type and its last traceback line within the program."""
    name = type(error).__name__
    try:
        text = str(error)[:_MAX_ERROR]
        line = _line_of(error)
        return [str(name), f"{name}: {text}" + (f" (line {line})" if line else "")]
    except BaseException:
        return [str(name), str(name)]


def _line_of(error: BaseException) -> int:
    line = getattr(error, "lineno", 0) if isinstance(error, SyntaxError) else 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line or 0


def module(name: str) -> dict[str, Any]:
    """Return the names of a new module that a program is to fill."""
    made = sys.modules[name] = types.ModuleType(name)
    sys.argv = [FILE]
    return made.__dict__


def execute(source: str, names: dict[str, Any]) -> None:
    exec(compile(source, FILE, "exec"), names)


def run(job: bytes, mode: str, out: int, peer: int) -> None:
    """Run a job. ``out`` takes the records, ``peer`` joins the two halves of a split check."""
    _MODES[mode](json.loads(job), Records(out), peer)


def _values(job: dict[str, Any], records: Records, peer: int) -> None:
    names: dict[str, Any] = module("solution")
    if not records.attempt(-1, lambda: execute(job["program"], names)):
        return
    for index, text in enumerate(job["calls"]):
        done = records.attempt(index, lambda text=text: encode(eval(text, names)))  # type: ignore[misc]
        if not done and job["stop_early"]:
            return


def _main(job: dict[str, Any], records: Records, peer: int) -> None:
    """The program as a script: stdin and stdout are files of the caller's."""

    def script() -> None:
        try:
            execute(job["program"], module("__main__"))
        except SystemExit as end:
            if end.code not in (None, 0):
                raise
        finally:
            finish()

    records.attempt(-1, script)


def finish() -> None:
    """Do what an interpreter does at its end, which ``os._exit`` would leave out."""
    if threads := sys.modules.get("threading"):  # not imported here: it makes every fork dearer
        threads._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.__stdout__):
        if stream is not None and not stream.closed:
            stream.flush()


# -- the split check: tests in one process, the program in another --------------------------------


class CallFailed(BaseException):
    """The program's process ended or sent no plain value. No ``except Exception`` catches it."""


def _send(fd: int, message: Any) -> None:
    data = json.dumps(message).encode()
    if len(data) > _MAX_MESSAGE:
        raise Unsupported("a value too large")
    data = struct.pack("I", len(data)) + data
    while data:
        data = data[os.write(fd, data) :]


def _receive(fd: int) -> Any:
    (length,) = struct.unpack("I", _exactly(fd, 4))
    if length > _MAX_MESSAGE:
        raise Unsupported("a message too large")
    return json.loads(_exactly(fd, length))


def _exactly(fd: int, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = os.read(fd, length - len(data))
        if not piece:
            raise EOFError("the other side has ended")
        data += piece
    return data


def _serve(job: dict[str, Any], records: Records, peer: int) -> None:
    """The program's half: answer calls with values."""
    names = module("solution")
    failed: list[str] | None = None
    try:
        execute(job["program"], names)
    except BaseException as error:
        failed = ["", describe(error)[1]]  # no error that a test may expect of a call
    while True:
        try:
            name, arguments, keywords = _receive(peer)
        except EOFError:
            return
        reply = ["error", failed, None] if failed else _call(names, name, arguments, keywords)
        try:
            _send(peer, reply)
        except Unsupported as error:
            _send(peer, ["error", describe(error), None])


def _call(names: dict[str, Any], name: str, arguments: Any, keywords: Any) -> list[Any]:
    try:
        values, named = decode(arguments), decode(keywords)
        target = names[name] if name in names else eval(name, names)  # such as Solution().f
        result = encode_any(target(*values, **named))
        return ["value", result, encode(values)]
    except BaseException as error:
        return ["error", [_builtin_kind(error), describe(error)[1]], None]


def _builtin_kind(error: BaseException) -> str:
    """Return the builtin type that an error is or is derived from: the tests know only those.

    A value that cannot cross is no error of the program's; a test must not take it for one.
    """
    if isinstance(error, Unsupported):
        return ""
    try:
        kinds = type(error).__mro__
        return next(kind.__name__ for kind in kinds if kind.__module__ == "builtins")
    except BaseException:
        return ""


def _tests(job: dict[str, Any], records: Records, peer: int) -> None:
    """The tests' half: the program is behind stubs; this process writes the records."""
    scope: dict[str, Any] = {"__name__": "tests"}
    names = job["stubs"]
    failed: list[CallFailed] = []
    stubs = {(n if n.isidentifier() else "candidate"): _stub(n, peer, failed) for n in names}

    def prepare() -> None:
        scope.update(stubs)
        exec(compile(job["setup"], "tests.py", "exec"), scope)
        scope.update(stubs)  # the setup may hold the prompt, which defines the function too

    if not records.attempt(-1, prepare):
        return
    for index, (kind, text) in enumerate(job["steps"]):
        action = _evaluate if kind == "eval" else _execute
        failed.clear()
        done = records.attempt(index, lambda text=text, do=action: _sound(do(text, scope), failed))  # type: ignore[misc]
        if not done and job["stop_early"]:
            return


def _sound(value: Any, failed: list[CallFailed]) -> Any:
    """Return a step's value, unless a call in it failed: ``except:`` in tests is no way out."""
    if failed:
        raise failed[0]
    return value


def _evaluate(text: str, scope: dict[str, Any]) -> Any:
    return encode_any(eval(text, scope))


def _execute(text: str, scope: dict[str, Any]) -> bool:
    exec(compile(text, "tests.py", "exec"), scope)
    return True


def _stub(name: str, peer: int, failed: list[CallFailed]) -> Callable[..., Any]:
    def stub(*arguments: Any, **keywords: Any) -> Any:
        try:
            return call(*arguments, **keywords)
        except CallFailed as error:
            failed.append(error)
            raise

    def call(*arguments: Any, **keywords: Any) -> Any:
        sent = encode(list(arguments))
        try:
            _send(peer, [name, sent, encode(keywords)])
            kind, value, after = _receive(peer)
            result = decode(value) if kind == "value" else None
            changed = decode(after) if kind == "value" and after != sent else None
        except Exception as error:
            raise CallFailed(f"{type(error).__name__}: {error}") from None
        if kind != "value":
            raise _raised(value)
        if changed is not None:
            _copy_back(arguments, changed)
        return result

    return stub


def _raised(error: Any) -> BaseException:
    """Return the program's exception, for tests that expect one; only of builtin types.

    StopIteration would end a loop of the tests early, as if all were well.
    """
    name, text = (str(part) for part in error)
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return CallFailed(text)
    if issubclass(kind, StopIteration | StopAsyncIteration):
        return CallFailed(text)
    try:
        expected: BaseException = kind(text)
    except TypeError:  # UnicodeDecodeError wants five arguments
        return CallFailed(text)
    return expected


def _copy_back(arguments: tuple[Any, ...], changed: list[Any]) -> None:
    """Give changes in place back to the tests, as a call in one process would."""
    for old, new in zip(arguments, changed, strict=False):
        if type(old) is list and type(new) is list:
            old[:] = new
        elif type(old) in (dict, set) and type(new) is type(old):
            old.clear()
            old.update(new)


# -- other languages -------------------------------------------------------------------------------

_STDOUT = 1


def _compile(job: dict[str, Any], records: Records, peer: int) -> None:
    """Run a compiler on the source; what it made goes to stdout, as a tar archive."""
    import tarfile

    os.chdir("/tmp")
    _write_files(job["files"])
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
    else:
        _write_files(job["files"])
    os.lseek(3, 0, os.SEEK_END)
    os.execve(job["command"][0], job["command"], job["environment"])


def _write_files(files: dict[str, str]) -> None:
    for name, text in files.items():
        with open(name, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)


_MODES: dict[str, Callable[[dict[str, Any], Records, int], None]] = {
    "values": _values,
    "main": _main,
    "serve": _serve,
    "tests": _tests,
    "compile": _compile,
    "exec": _exec,
}


def warm_up() -> None:
    """Run small jobs in the zygote, so that children find the interpreter's caches filled."""
    program = (
        "import math\nclass A:\n    def f(self, x=1, *a, **k):\n"
        "        return [i for i in range(x)]\n"
        "def g(s):\n    return {c: s.count(c) for c in s}, f'{s!r}', sorted(s), len(s) ** 2\n"
    )
    fd = os.open("/dev/null", os.O_RDWR)
    job = {"program": program, "calls": ["A().f(3)", "g('abc')", "1 / 0"], "stop_early": False}
    for _ in range(3):
        run(json.dumps(job).encode(), "values", fd, -1)
    os.close(fd)
    sys.modules.pop("solution", None)
