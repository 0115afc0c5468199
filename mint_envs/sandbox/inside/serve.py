"""The program's half of a split check: answers what the tests ask with values.

A request is ``[what, arguments, rows, patched]``; ``what`` is a name of the program's, such as
``f`` or ``Solution().f``, or ``.`` and the name of an operation on the first argument. A reply is
``["value", wire, rows, changed, printed]``, ``["error", names, text, arguments, printed]`` or
``["huge"]``; between them ``["callback", number, arguments, rows]`` calls a function of the tests'.
The reply to a batch of calls is ``["many", values, others]``: values that JSON has as they are, and
``[place, reply]`` of each call of which there is more to tell.
"""

from __future__ import annotations

import builtins
import io
import marshal
import operator
import sys
import types
from collections.abc import Callable
from itertools import islice
from typing import Any

from .lent import MUTABLE, Lent, copy_back
from .names import defined
from .objects import Crossing
from .pipe import TooLarge, receive, receive_request, send
from .records import Records, describe_error, execute, module
from .wire import (
    MAX_ITEMS,
    NOT_PLAIN,
    Unsupported,
    decode,
    encode,
    encode_any,
    encode_each,
    plain_copy,
)

#: Items of a generator that are sent together.
_AT_ONCE = 1000
_CONTAINERS = (list, tuple, dict, set, int)
_MAX_PRINTED = 1 << 20
#: Values in replies that are sent together.
_MUCH = 100_000
_PATCHED = ("input", "print")
_MARKS = "!?~"


def answer_calls(job: dict[str, Any], records: Records, peer: int) -> None:
    """Run the program and answer until the tests have ended."""
    server = _Server(job, peer)
    server.load(job["program"])
    while True:
        try:
            batch, request = receive_request(peer)
        except EOFError:
            return
        _reply(peer, server.answer_many(*request) if batch else server.answer(request))


def _reply(peer: int, reply: Any) -> None:
    try:
        send(peer, reply)
    except (TooLarge, MemoryError):
        send(peer, ["huge"])
    except ValueError:  # a number of more digits than JSON is written with
        if reply[0] != "many":
            raise
        kind, values, others = reply
        told = [[i, ["value", encode(value), [], None, ""]] for i, value in enumerate(values)
                if i not in dict(others)]  # fmt: skip
        _reply(peer, [kind, [None] * len(values), [*others, *told]])


def _error(names: list[str], text: str, *rest: Any) -> list[Any]:
    return ["error", names, text, *(rest or (None, ""))]


class _Server:
    """The program, and what of it the tests hold by a number."""

    def __init__(self, job: dict[str, Any], peer: int) -> None:
        self._names = module("solution")
        self._python = dict(vars(builtins))
        self._classes: dict[str, str] = dict(job.get("classes", ()))
        self._peer = peer
        self._kept: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._failed = ""
        self._objects = self._stepwise = False
        self._asked = 0
        self._lent = Lent()
        self._printed = _Printed()
        self._crossing = Crossing(
            self._class_of,
            self._special,
            {"h": self._held, "k": self._callback, "S": lambda wire: self._target(wire[1])},
        )

    def load(self, program: str) -> None:
        try:
            execute(program, self._names)
        except BaseException as error:
            self._failed = describe_error(error)[1]  # no error that a test may expect of a call
        self._printed.take()

    def answer(self, request: Any) -> list[Any]:
        what, arguments, rows, patched = request
        if self._failed:
            return _error([], self._failed)
        if what is None:
            return ["value", sorted(defined(self._names, self._python)), [], None, ""]
        self._asked += 1
        try:
            if patched:
                return self._patched_call(what, arguments, rows, patched)
            return self._call(what, arguments, rows)
        except BaseException as error:
            return self._error_reply(error)

    def answer_many(self, what: str, sent: list[bytes]) -> list[Any]:
        """Answer many calls of one function, the arguments of each as ``marshal`` has them.

        Once there is much, the rest is left to be asked for again: all results at once may take
        more than there is.
        """
        if self._failed:
            failed = [[place, _error([], self._failed)] for place in range(len(sent))]
            return ["many", [None] * len(sent), failed]
        self._objects = what[:1] == "!"
        name = what.lstrip(_MARKS)
        values: list[Any] = []
        others: list[Any] = []
        much = 0
        for data in sent:
            arguments = marshal.loads(data)
            reply = None
            try:
                result = self._target(name)(*arguments)
                value = NOT_PLAIN if self._objects else plain_copy(result)
                if value is NOT_PLAIN or not _unchanged(arguments, data) or self._printed.any():
                    reply = self._told(result, arguments, data)
            except BaseException as error:
                reply = self._error_reply(error)
            if reply is not None:
                others.append([len(values), reply])
                value = None
                much += _about(reply[1])
            elif type(value) is str or type(value) is list:
                much += _about(value) if value and type(value[0]) is list else len(value)
            values.append(value)
            much += 1
            if much > _MUCH:
                break
        return ["many", values, others]

    def _told(self, result: Any, arguments: Any, data: bytes) -> list[Any]:
        """Return the reply to a call of a batch that is more than a plain value."""
        if type(result) in _CONTAINERS and _unchanged(arguments, data):
            wire, table, _ = self._crossing.pack(lambda: encode(result), [])
            return ["value", wire, table, None, self._printed.take()]
        (wire, after), table, _ = self._crossing.pack(
            lambda: (self._encode_result(result), [encode_each(arguments), ["d", []]]), []
        )
        before = [encode_each(marshal.loads(data)), ["d", []]]
        changed = after if after != before else None
        return ["value", wire, table, changed, self._printed.take()]

    def _call(self, what: str, sent: Any, rows: list[Any]) -> list[Any]:
        self._objects, self._stepwise = what[:1] in "!.", what[:2] == "!~"
        (values, named), members = self._crossing.unpack(["l", sent], rows, [])
        result = self._target(what.lstrip(_MARKS))(*values, **named)
        (wire, after, older), table, _ = self._crossing.pack(
            lambda: (
                self._encode_result(result), [self._encode_arguments(values), encode(named)],
                self._lent.changed(),
            ),
            members,
        )  # fmt: skip
        if self._objects:
            self._lent.add(self._asked, [*enumerate(values), *named.items()])
        changed = after if after != sent or table[: len(rows)] != rows else None
        if changed is None and type(result) in MUTABLE:
            same = [i for i, value in enumerate(values) if value is result]
            wire = ["A", same[0]] if same else wire
        return ["value", wire, table, changed, self._printed.take(), *([older] if older else [])]

    def _encode_arguments(self, values: list[Any]) -> Any:
        """As ``encode_each``, but a generator that the tests hold is not read out."""
        return ["l", [self._special(value) if id(value) in self._numbers else encode_any(value, 1)
                      for value in values]]  # fmt: skip

    def _encode_result(self, result: Any) -> Any:
        if isinstance(result, types.GeneratorType):
            return self._special(result) if self._stepwise else self._encode_generator(result)
        return encode_any(result)

    def _encode_generator(self, items: Any) -> Any:
        """Return the first items of a generator, and a number to ask for more if there are."""
        first = [encode(item, 1) for item in islice(items, _AT_ONCE)]
        return ["x", first] if len(first) < _AT_ONCE else ["g", self._keep(items), first]

    def _patched_call(self, what: str, sent: Any, rows: list[Any], patched: Any) -> list[Any]:
        """Put in place what the tests have put there: their ``input``, their standard input."""
        before = {name: getattr(builtins, name) for name in _PATCHED}, sys.stdin
        try:
            for name, state in patched.get("seeds", {}).items():
                _set_state(name, state)
            for number, place, wire in patched.get("lent", ()):
                copy_back([self._lent.value(number, place)], [decode(wire)])
                self._lent.changed()
            if "stdin" in patched:
                sys.stdin = io.StringIO(patched["stdin"])
            for name in _PATCHED:
                if name in patched:
                    setattr(builtins, name, self._callback(["k", patched[name]]))
            return self._call(what, sent, rows)
        finally:
            vars(builtins).update(before[0])
            sys.stdin = before[1]

    def _target(self, what: str) -> Callable[..., Any]:
        if what[:1] == ".":
            return _OPERATIONS[what[1:]]
        if what[:1] == "=":
            return lambda: self._target(what[1:])
        found: Callable[..., Any] = (
            self._names[what] if what in self._names else eval(what, self._names)
        )
        return found  # such as Solution().f

    def _error_reply(self, error: BaseException) -> list[Any]:
        """Return the error as its classes and its data; one that is not the program's has none."""
        text = describe_error(error)[1]
        if isinstance(error, Unsupported):
            return _error([], text)
        if isinstance(error, _TestsError):
            return ["raised", error.number]
        try:
            names = [_kind_name(kind) for kind in type(error).__mro__]
            data, _, _ = self._crossing.pack(lambda: _error_data(error), [])
            return _error(names, text, data, self._printed.take())
        except BaseException:
            return _error([], text)

    # -- what crosses by a number, or by value

    def _class_of(self, name: str) -> type | None:
        """Return the program's class of that name; where it has none, that of the tests."""
        if name not in self._classes:
            return None
        if not isinstance(self._names.get(name), type):
            try:
                execute(self._classes[name], made := {"__name__": "solution"})
                self._names[name] = made[name]
            except Exception:
                self._names[name] = type(name, (), {})
        found: type = self._names[name]
        return found

    def _special(self, value: Any) -> Any:
        if (number := getattr(value, "_of_the_tests", None)) is not None:
            return ["k", number]
        if id(value) in self._numbers:
            return ["h", self._numbers[id(value)], type(value).__name__]
        if hasattr(type(value), "ag_code"):
            return ["y", [encode(item, 1) for item in _collected(value)]]
        if hasattr(type(value), "__await__") or hasattr(type(value), "cr_code"):
            return ["w", self._keep(value)]
        return ["h" if self._objects else "p", self._keep(value), type(value).__name__]

    def _keep(self, value: Any) -> int:
        self._kept.append(value)
        self._numbers[id(value)] = len(self._kept) - 1
        return len(self._kept) - 1

    def _held(self, wire: Any) -> Any:
        return self._kept[wire[1]]

    def _callback(self, wire: Any) -> Callable[..., Any]:
        number = wire[1]

        def function(*arguments: Any, **keywords: Any) -> Any:
            sent, rows, members = self._crossing.pack(
                lambda: [encode_each(arguments), encode(keywords)], []
            )
            send(self._peer, ["callback", number, sent, rows])
            kind, wire, rows = receive(self._peer)
            if kind != "value":
                raise _TestsError(wire)
            return self._crossing.unpack(wire, rows, members)[0]

        function._of_the_tests = number  # type: ignore[attr-defined]
        return function


def _set_state(name: str, state: Any) -> None:
    """Set the random numbers of ``random`` or ``numpy.random``."""
    if name == "random":
        import random

        random.setstate((state[0], tuple(state[1]), state[2]))
    else:
        import numpy

        legacy: Any = numpy.random  # what tests seed
        legacy.set_state((state[0], numpy.array(state[1], "uint32"), *state[2:]))


def _about(value: Any) -> int:
    """Return about how many values a result holds, at a glance: of itself or its wire form."""
    wire = type(value) is list and len(value) == 2 and type(value[1]) is list
    items = value[1] if wire else value
    if type(items) not in _LONG or not items:
        return 1
    inner = items[0][-1] if type(items[0]) is list and items[0] else items[0]
    return len(items) * (len(inner) if type(inner) in _LONG else 1)


_LONG = (list, str)


class _TestsError(Exception):
    """What a function of the tests' has raised, on its way back to them."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _unchanged(values: Any, data: bytes) -> bool:
    """Whether arguments are still what they were before the call."""
    try:
        return marshal.dumps(values, 2) == data
    except ValueError:  # there is something in them that is no plain data
        return False


class _Printed:
    """What the program prints, for tests that ask for it."""

    def __init__(self) -> None:
        self._raw = io.BytesIO()
        sys.stdout = io.TextIOWrapper(self._raw, encoding="utf-8", write_through=True)

    def any(self) -> bool:
        try:
            return bool(self._raw.tell())
        except ValueError:  # the program has closed it
            return False

    def take(self) -> str:
        try:
            if not self._raw.tell():
                return ""
            data = self._raw.getvalue()
            self._raw.seek(0)
            self._raw.truncate()
        except ValueError:  # the program has closed it
            return ""
        return data[:_MAX_PRINTED].decode("utf-8", "replace")


def _kind_name(kind: type) -> str:
    """Return the name of a class of errors; with that of its module, if a library made it."""
    own = ("builtins", "solution", "__main__", "tests")
    return kind.__name__ if kind.__module__ in own else f"{kind.__module__}.{kind.__name__}"


def _error_data(error: BaseException) -> Any:
    """Return what an error holds that is plain: its arguments, attributes and text."""
    held = {}
    for name, value in vars(error).items():
        if (wire := _said(value)) is not _NOTHING:
            held[name] = wire
    arguments = _said(error.args)
    if arguments is _NOTHING:
        arguments = ["t", [str(error)]]
    return [arguments, ["d", [[name, value] for name, value in held.items()]], str(error)]


_NOTHING = object()


def _said(value: Any) -> Any:
    """Return the wire form of what an error holds, if that says anything to the tests."""
    try:
        wire = encode(value, 1)
    except Unsupported:
        return _NOTHING
    left = [wire]
    while left:
        part = left.pop()
        if isinstance(part, list):
            if part[:1] == ["p"]:
                return _NOTHING
            left += part
    return wire


def _awaited(value: Any) -> Any:
    import asyncio

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())


def _collected(value: Any) -> list[Any]:
    """Return the items of an asynchronous generator."""
    import asyncio

    async def collect() -> list[Any]:
        return [item async for item in value]

    return asyncio.run(collect())


def _more(items: Any) -> list[Any]:
    return list(islice(items, _AT_ONCE))


def _items(value: Any) -> list[Any]:
    found = list(islice(iter(value), MAX_ITEMS + 1))
    if len(found) > MAX_ITEMS:
        raise Unsupported("an iterator without end")
    return found


def _leave(value: Any, broken: bool) -> Any:
    return value.__exit__(*((Exception, Exception(), None) if broken else (None, None, None)))


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "get": getattr, "set": setattr, "delete": delattr, "len": len, "str": str, "repr": repr,
    "bool": bool, "hash": hash, "next": next, "items": _items, "wait": _awaited,
    "more": _more, "issubclass": issubclass, "isinstance": isinstance,
    "call": lambda value, *a, **k: value(*a, **k),
    "enter": lambda value: value.__enter__(), "exit": _leave,
    **{name: getattr(operator, name) for name in (
        "getitem", "setitem", "delitem", "contains", "add", "sub", "mul", "truediv", "floordiv",
        "mod", "pow", "matmul", "and_", "or_", "xor", "neg", "pos", "invert", "abs",
    )},
    "radd": lambda value, other: other + value, "rmul": lambda value, other: other * value,
}  # fmt: skip
