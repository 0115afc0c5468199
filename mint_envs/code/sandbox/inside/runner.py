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
    python = dict(vars(builtins)) if job.get("names") else {}
    if not records.attempt(-1, lambda: execute(job["program"], names)):
        return
    for index, text in enumerate(job["calls"]):
        whose = job["names"][index] if python else ()
        done = records.attempt(index, lambda t=text, w=whose: _value(t, names, w, python))  # type: ignore[misc]
        if not done and job["stop_early"]:
            return


def _value(text: str, names: dict[str, Any], whose: Any, python: dict[str, Any]) -> Any:
    """Return the value of a call; built-in names that are not the program's are Python's."""
    if not whose:
        return encode(eval(text, names))
    values = []
    for own in readings(whose, defined(names, python)):
        others = {n for group in whose for n in group if n in python} - own
        values.append(encode(eval(text, {**names, **{n: python[n] for n in others}})))
    return _agreed(values)


def _agreed(values: list[Any]) -> Any:
    if any(value != values[0] for value in values):
        raise Unsupported(_UNCLEAR)
    return values[0]


_UNCLEAR = "a value that depends on which built-in name is the program's"


def defined(names: dict[str, Any], python: dict[str, Any]) -> set[str]:
    """Return the built-in names that a program has made its own."""
    return {n for n, real in python.items() if n in names and names[n] is not real}


def readings(whose: Any, own: set[str]) -> list[set[str]]:
    """Return what a test is to hold for: sets of names that are the program's, the rest Python's.

    ``whose`` is ``[fixed, group, ...]``: of a group one at a time. See ``names.py`` outside.
    """
    groups = [own.intersection(group) for group in whose[1:]]
    found: list[set[str]] = []
    for name in sorted(set().union(*groups)):
        if any(name in reading for reading in found):
            continue
        reading = {name}
        for other in sorted(set().union(*groups)):
            if not any(other in group and reading & group for group in groups):
                reading.add(other)
        found.append(reading)
    return found or [set()]


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
    names, python = module("solution"), dict(vars(builtins))
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
        if failed:
            reply = ["error", failed, None]
        elif name is None:
            reply = ["value", sorted(defined(names, python)), None]
        else:
            reply = _call(names, name, arguments, keywords)
        try:
            _send(peer, reply)
        except Unsupported as error:
            _send(peer, ["error", describe(error), None])


def _call(names: dict[str, Any], name: str, arguments: Any, keywords: Any) -> list[Any]:
    try:
        values, named = decode(arguments), decode(keywords)
        target = names[name] if name in names else eval(name, names)  # such as Solution().f
        result = encode_any(target(*values, **named))
        return ["value", result, _each(values)]
    except BaseException as error:
        return ["error", [_builtin_kind(error), describe(error)[1]], None]


def _each(arguments: Any) -> Any:
    return ["l", [encode_any(argument, 1) for argument in arguments]]


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
    """The tests' half: the program is behind stubs; this process writes the records.

    Where it is not clear which built-in names are the program's, all is run once for each reading.
    """
    whose = job["names"] or [()] * len(job["steps"])
    own: set[str] = set()
    if any(whose) and not records.attempt(-1, lambda: own.update(_own(peer))):
        return
    plays = [readings(names, own) for names in whose]
    rounds = max(map(len, plays), default=1)
    book = records if rounds == 1 else _Book()
    for turn in range(rounds):
        _Round(job, book, peer, own, [play[turn % len(play)] for play in plays]).run()
    if isinstance(book, _Book):
        book.write(records)


def _own(peer: int) -> set[str]:
    """Ask the program which built-in names it has defined; none is, if it failed."""
    try:
        _send(peer, [None, None, None])
        kind, value, _ = _receive(peer)
    except Exception as error:
        raise CallFailed(f"{type(error).__name__}: {error}") from None
    if kind != "value":
        raise CallFailed(str(value[1]))
    return {name for name in value if isinstance(name, str) and hasattr(builtins, name)}


class _Book(Records):
    """Keeps the results of several rounds: a step has a value only if all agree."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[str, Any]] = {}

    def add(self, index: int, kind: str, payload: Any) -> None:
        old = self._kept.setdefault(index, (kind, payload))
        if old[0] == "error" or old == (kind, payload):
            return
        unclear = ["Unsupported", f"Unsupported: {_UNCLEAR}"]
        self._kept[index] = ("error", payload if kind == "error" else unclear)

    def write(self, records: Records) -> None:
        for index, (kind, payload) in sorted(self._kept.items()):
            records.add(index, kind, payload)


class _Round:
    """The tests from first to last, by one reading of each."""

    def __init__(
        self, job: dict[str, Any], records: Records, peer: int, own: set[str],
        plays: list[set[str]],
    ) -> None:  # fmt: skip
        self._job, self._records, self._plays = job, records, plays
        self._failed: list[CallFailed] = []
        self._scope: dict[str, Any] = {"__name__": "tests"}
        self._stubs = {_bound(n): _stub(n, peer, self._failed) for n in job["stubs"]}
        self._own = {n: _stub(n, peer, self._failed) for n in own if any(n in p for p in plays)}

    def run(self) -> None:
        if not self._records.attempt(-1, self._prepare):
            return
        index = -self._job["first"]
        for (kind, text), own in zip(self._job["steps"], self._plays, strict=True):
            action = _evaluate if kind == "eval" else _execute
            self._choose(own)
            done = self._records.attempt(max(index, -1), lambda t=text, do=action: self._do(do, t))  # type: ignore[misc]
            if not done and (index < 0 or self._job["stop_early"]):
                return
            index += 1

    def _prepare(self) -> None:
        self._scope.update(self._stubs)
        exec(compile(self._job["setup"], "tests.py", "exec"), self._scope)
        self._scope.update(self._stubs)  # the setup may hold the prompt, which defines it too

    def _choose(self, own: set[str]) -> None:
        for name, stub in self._own.items():
            if name in own:
                self._scope[name] = stub
            elif self._scope.get(name) is stub:
                del self._scope[name]

    def _do(self, action: Callable[..., Any], text: str) -> Any:
        self._failed.clear()
        return _sound(action(text, self._scope), self._failed)


def _bound(name: str) -> str:
    """Return what the tests call a stub: an entry that is ``max`` is not their ``max``."""
    return name if name.isidentifier() and not hasattr(builtins, name) else "candidate"


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
        sent = _each(arguments)
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
