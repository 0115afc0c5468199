"""The split check: tests in one process, the program in another."""

from __future__ import annotations

import builtins
import json
import os
import struct
from collections.abc import Callable
from typing import Any

from .names import UNCLEAR, defined, readings
from .records import Records, describe_error, execute, module
from .wire import Unsupported, decode, encode, encode_any

_MAX_MESSAGE = 1 << 20


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


def answer_calls(job: dict[str, Any], records: Records, peer: int) -> None:
    """The program's half: answer calls with values."""
    names, python = module("solution"), dict(vars(builtins))
    failed: list[str] | None = None
    try:
        execute(job["program"], names)
    except BaseException as error:
        failed = ["", describe_error(error)[1]]  # no error that a test may expect of a call
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
            reply = _answer_call(names, name, arguments, keywords)
        try:
            _send(peer, reply)
        except Unsupported as error:
            _send(peer, ["error", describe_error(error), None])


def _answer_call(names: dict[str, Any], name: str, arguments: Any, keywords: Any) -> list[Any]:
    try:
        values, named = decode(arguments), decode(keywords)
        target = names[name] if name in names else eval(name, names)  # such as Solution().f
        result = encode_any(target(*values, **named))
        return ["value", result, _each(values)]
    except BaseException as error:
        return ["error", [_builtin_kind(error), describe_error(error)[1]], None]


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


def tests(job: dict[str, Any], records: Records, peer: int) -> None:
    """The tests' half: the program is behind stubs; this process writes the records.

    Where it is not clear which built-in names are the program's, all is run once for each reading.
    """
    whose = job["names"] or [()] * len(job["steps"])
    own: set[str] = set()
    if any(whose) and not records.attempt(-1, lambda: own.update(_ask_own_names(peer))):
        return
    plays = [readings(names, own) for names in whose]
    rounds = max(map(len, plays), default=1)
    book = records if rounds == 1 else _Book()
    for turn in range(rounds):
        _Round(job, book, peer, own, [play[turn % len(play)] for play in plays]).run()
    if isinstance(book, _Book):
        book.write(records)


def _ask_own_names(peer: int) -> set[str]:
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
        unclear = ["Unsupported", f"Unsupported: {UNCLEAR}"]
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
            raise _program_error(value)
        if changed is not None:
            _copy_back(arguments, changed)
        return result

    return stub


def _program_error(error: Any) -> BaseException:
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
