"""The program as the tests see it: names that call it, and objects that stay with it.

The tests compare plain values, in their own process. An object of the program's answers to its
methods, and equals nothing: a program must not make the verdict on itself.
"""

from __future__ import annotations

import builtins
import functools
import io
import json
import marshal
import operator
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from .objects import Crossing, read_array
from .pipe import MAX_MESSAGE, TooLarge, receive, receive_measured, send, send_bytes
from .wire import Unsupported, decode, encode, encode_any, encode_each

_PATCHED = {name: getattr(builtins, name) for name in ("input", "print")}
_STDIN = sys.stdin
_FUNCTIONS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial,
    operator.itemgetter, operator.attrgetter, operator.methodcaller,
    type(str.upper), type(str.__len__), type("".__len__),
)  # fmt: skip
#: What plain values have: an object must not come in place of one and answer for it.
_PLAIN_METHODS = frozenset(
    name for kind in (str, list, dict, set, tuple, int, float, bytes) for name in dir(kind)
)


class CallFailed(BaseException):
    """The program's process ended or sent no plain value. No ``except Exception`` catches it."""


class HarnessFailed(BaseException):
    """The tests could not be carried out, whatever the program is."""


class Huge:
    """A result too large to cross. It differs from whatever is not as large itself.

    What is as large, and cannot be made of what the program has sent before, is the tests' own:
    then nobody could pass.
    """

    def __init__(self, received: int) -> None:
        self._received = received

    def __eq__(self, other: object) -> bool:
        if self._received < _LITTLE and not isinstance(other, Huge) and _size(other) >= MAX_MESSAGE:
            raise HarnessFailed("a value too large to cross")
        return False

    __hash__ = None  # type: ignore[assignment]


_LITTLE = 1 << 20


def _size(value: object) -> int:
    try:
        return len(json.dumps(encode(value)))
    except (Unsupported, RecursionError):
        return 0


class Opaque:
    """An object in place of a plain value: it is not None, and has and equals nothing."""

    def __init__(self, wire: Any) -> None:
        self._wire = ["h", int(wire[1]), str(wire[2])]

    def __repr__(self) -> str:
        return "<an object of the program's>"


#: No calls that can be seen coming: what is called, arguments, replies, how many are used.
_NONE: list[Any] = ["", [], [], 0]


class Program:
    """The connection to the program's half.

    Args:
        classes: names of the tests' own classes whose objects cross by value.
        scope: the tests' names, by which those classes and errors are found.
    """

    def __init__(self, peer: int, classes: list[str], scope: dict[str, Any]) -> None:
        self._peer, self._scope = peer, scope
        self._classes = frozenset(classes)
        self._functions: list[Callable[..., Any]] = []
        self._raised: list[BaseException] = []
        self._waiting = _NONE
        self._unsettled: list[tuple[Any, Any, list[Any], list[Any]]] = []
        self._objects, self._plain = False, True
        self.eager = False
        self._received = 0
        self.calls = 0
        self.failed: list[BaseException] = []
        self.crossing = Crossing(
            self._class_of, self._special, {"h": self._object, "w": self._coroutine,
                                            "k": lambda wire: self._functions[wire[1]],
                                            "a": self._array, "p": self._opaque},
        )  # fmt: skip

    def call(self, what: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return what the program answers, or raise what it raises."""
        self._objects, self._plain = what[:1] in "!.", what[:1] not in "!.?"
        try:
            reply, members = self._ask(what, arguments, keywords)
            return self._result(reply, arguments, keywords, members)
        except (CallFailed, HarnessFailed) as error:
            self.failed.append(error)
            raise

    def ask_own_names(self) -> set[str]:
        """Ask which built-in names the program has defined; none is, if it failed."""
        try:
            send(self._peer, [None, None, None, None])
            reply = receive(self._peer)
        except Exception as error:
            raise CallFailed(f"{type(error).__name__}: {error}") from None
        if reply[0] != "value":
            raise CallFailed(str(reply[2]))
        return {name for name in reply[1] if isinstance(name, str) and hasattr(builtins, name)}

    def _ask(self, what: str, arguments: Any, keywords: Any) -> Any:
        if self._waiting[1] and not keywords and (reply := self._foretold(what, arguments)):
            return reply, []
        try:
            sent, rows, members = self.crossing.pack(
                lambda: [encode_each(arguments), encode(keywords)], []
            )
        except Unsupported as error:
            raise self._no_argument(error, (*arguments, *keywords.values())) from None
        try:
            self.calls += 1
            send(self._peer, [what, sent, rows, self._patched()])
            while (reply := self._reply())[0] == "callback":
                send(self._peer, self._called_back(*reply[1:]))
        except TooLarge as error:
            raise self._no_argument(error, ()) from None
        except Exception as error:
            raise CallFailed(f"{type(error).__name__}: {error}") from None
        return reply, members

    def _no_argument(self, error: Unsupported, values: tuple[Any, ...]) -> BaseException:
        """Say whose fault it is that an argument cannot cross: never let a program choose that."""
        if self.calls and (isinstance(error, TooLarge) or not str(error).startswith("type ")):
            return CallFailed(f"Unsupported: {error}")
        if any(isinstance(v, Huge | BaseException | types.CoroutineType) for v in values):
            return CallFailed(f"Unsupported: {error}")
        return HarnessFailed(f"an argument of the tests' cannot be handed over: {error}")

    def _result(self, reply: Any, arguments: Any, keywords: Any, members: list[Any]) -> Any:
        try:
            if reply[0] == "value":
                _, wire, rows, changed, printed = reply
                result, _ = self.crossing.unpack(wire, rows, [])
                if changed is not None:
                    self._unsettled.append((arguments, keywords, [changed, rows], members))
                    if self.eager:
                        self.settle()
                if printed:
                    sys.stdout.write(printed)
                return result
            if reply[0] == "huge":
                return Huge(self._received)
            error = self._error(reply)
        except Exception as fault:
            raise CallFailed(f"{type(fault).__name__}: {fault}") from None
        raise error

    def settle(self) -> bool:
        """Let the tests see what the program has changed in place, as in one process."""
        unsettled, self._unsettled = self._unsettled, []
        for arguments, keywords, (wire, rows), members in unsettled:
            try:
                new, _ = self.crossing.unpack(["l", wire], rows, members)
                _copy_back([*arguments, *keywords.values()], [*new[0], *new[1].values()])
            except Exception as error:
                self.failed.append(CallFailed(f"{type(error).__name__}: {error}"))
                raise self.failed[-1] from None
        return True

    # -- calls that can be seen coming: many in one message

    def ahead(self, function: Any, items: list[Any], expected: Callable[[Any], list[Any]]) -> Any:
        """Make ready for the calls in a loop over ``items``; ``expected`` says their arguments.

        Only for what JSON could hold: ``marshal`` would take an array for bytes.
        """
        what = getattr(function, "_what", None)
        self._waiting = _NONE
        if what and len(items) > 1:
            try:
                arguments = expected(items)
                json.dumps(arguments)
                self._waiting = [what, [marshal.dumps(each, 2) for each in arguments], [], 0]
            except (TypeError, ValueError, RecursionError):
                pass
        return items

    def _foretold(self, what: str, arguments: tuple[Any, ...]) -> Any:
        """Return the reply to a call that was seen coming, if it is this one."""
        name, waiting, replies, done = self._waiting
        try:
            expected = name == what and waiting[done] == marshal.dumps([*arguments], 2)
        except (IndexError, ValueError):
            expected = False
        if expected and not self._patched():
            if done >= len(replies):
                replies += self._batch(what, waiting[done : done + min(max(2 * done, 4), 256)])
            if done < len(replies):
                self._waiting[3] = done + 1
                return replies[done]
        self._waiting = _NONE
        return None

    def _batch(self, what: str, sent: list[bytes]) -> list[Any]:
        self.calls += len(sent)
        try:
            send(self._peer, ["batch"])
            send_bytes(self._peer, marshal.dumps([what, sent], 2))
            replies = self._reply()
            return [] if replies[0] == "huge" else list(replies)
        except Exception as error:
            raise CallFailed(f"{type(error).__name__}: {error}") from None

    def _reply(self) -> Any:
        length, reply = receive_measured(self._peer)
        self._received += length
        return reply

    # -- what crosses by a number, or by value

    def _class_of(self, name: str) -> type | None:
        found = self._scope.get(name) if name in self._classes else None
        return found if isinstance(found, type) else None

    def _special(self, value: Any) -> Any:
        if isinstance(value, ProgramObject | Opaque):
            return value._wire
        if isinstance(value, _Foreign | _ForeignClass):
            return ["n", value._what.lstrip("!?")]
        if not isinstance(value, _FUNCTIONS):
            raise Unsupported(f"type {type(value).__name__}")
        self._functions.append(value)
        return ["k", len(self._functions) - 1]

    def _object(self, wire: Any) -> ProgramObject:
        if not self._objects:  # whatever the program's process says
            raise Unsupported(f"type {wire[2]}")
        return ProgramObject(self, wire)

    def _opaque(self, wire: Any) -> Opaque:
        if self._plain:
            raise Unsupported(f"type {wire[2]}")
        return Opaque(wire)

    def _array(self, wire: Any) -> Any:
        """An array that no test asks for as such is a list: ``array([]) != 9`` holds nothing."""
        made = read_array(wire)
        return made if self._objects else made.tolist()

    def _coroutine(self, wire: Any) -> Any:
        async def wait() -> Any:
            return self.call(".wait", (ProgramObject(self, ["h", wire[1], ""]),), {})

        return wait()

    def _patched(self) -> dict[str, Any] | None:
        found: dict[str, Any] = {}
        for name, real in _PATCHED.items():
            if (mine := getattr(builtins, name)) is not real:
                self._functions.append(mine)
                found[name] = len(self._functions) - 1
        if sys.stdin is not _STDIN and isinstance(sys.stdin, io.StringIO):
            found["stdin"] = sys.stdin.read()
        return found or None

    def _called_back(self, number: Any, sent: Any, rows: list[Any]) -> list[Any]:
        try:
            (arguments, keywords), _ = self.crossing.unpack(["l", sent], rows, [])
            result = self._functions[number](*arguments, **keywords)
            wire, rows, _ = self.crossing.pack(lambda: encode_any(result), [])
            return ["value", wire, rows]
        except Exception as error:
            self._raised.append(error)
            return ["error", len(self._raised) - 1, []]

    def _error(self, reply: Any) -> BaseException:
        """Return the program's exception, for tests that expect one.

        StopIteration would end a loop of the tests early, as if all were well.
        """
        if reply[0] == "raised":
            raised: BaseException = self._raised[reply[1]]
            return raised
        _, names, text, data, printed = reply
        known = [kind for name in names if (kind := self._exception(str(name))) is not None]
        if not known or issubclass(known[0], StopIteration | StopAsyncIteration) or data is None:
            return CallFailed(str(text))
        sys.stdout.write(printed)
        arguments, held, said = data
        kind, arguments = known[0], decode(arguments)
        others = tuple(k for k in known[1:] if not issubclass(kind, k))[:1]
        error = _made_error(kind, arguments) if not others else None
        if error is None or str(error) != said:
            error = _made_error(
                type(kind.__name__, (kind, *others), {"__str__": lambda self: str(said)}), arguments
            )
        vars(error).update({str(k): v for k, v in decode(held).items()})
        return error

    def _exception(self, name: str) -> Any:
        kind = self._scope.get(name, getattr(builtins, name, None))
        return kind if isinstance(kind, type) and issubclass(kind, Exception) else None


def _made_error(kind: type[BaseException], arguments: tuple[Any, ...]) -> BaseException:
    """Return an error as it was made there, without the code of its class."""
    error: BaseException = kind.__new__(kind, *arguments)
    error.args = arguments
    return error


def _copy_back(old: list[Any], new: list[Any]) -> None:
    for one, other in zip(old, new, strict=False):
        if type(one) is list and type(other) is list:
            one[:] = other
        elif type(one) in (dict, set) and type(other) is type(one):
            one.clear()
            one.update(other)
        elif type(one).__module__ == "numpy" and getattr(other, "shape", ()) == one.shape != ():
            one[...] = other


class ProgramObject:
    """An object of the program's.

    One that the tests have built themselves may also be asked what it contains and whether it is
    true. One that came as a result does not answer to what plain values have: it could stand in
    for one.
    """

    __slots__ = ("_built", "_program", "_wire")

    def __init__(self, program: Program, wire: Any, built: bool = False) -> None:
        object.__setattr__(self, "_program", program)
        object.__setattr__(self, "_wire", ["h", int(wire[1]), str(wire[2])])
        object.__setattr__(self, "_built", built)

    def _do(self, what: str, *arguments: Any, **keywords: Any) -> Any:
        return self._program.call("." + what, (self, *arguments), keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (not self._built and name in _PLAIN_METHODS):
            raise AttributeError(f"no attribute {name!r} of an object of the program's")
        return self._do("get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._do("set", name, value)

    def __delattr__(self, name: str) -> None:
        self._do("delete", name)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._do("call", *arguments, **keywords)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProgramObject) and other._wire == self._wire

    def __hash__(self) -> int:
        return hash(self._wire[1])

    def __repr__(self) -> str:
        return str(self._do("repr"))

    def __str__(self) -> str:
        return str(self._do("str"))

    def __format__(self, form: str) -> str:
        return format(str(self), form)

    def __bool__(self) -> bool:
        return self._do("bool") is True if self._built else True

    def __contains__(self, item: Any) -> bool:
        if self._built:
            return self._do("contains", item) is True
        return item in list(self)

    def __iter__(self) -> Iterator[Any]:
        found = self._do("items")
        if not isinstance(found, list):
            raise CallFailed("an iterator without items")
        return iter(found)

    def __enter__(self) -> Any:
        return self._do("enter")

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        return self._do("exit", kind is not None) is True


def _operation(name: str) -> Callable[..., Any]:
    """An operator between objects. With anything else it must make an object: no number."""

    def apply(self: ProgramObject, *others: Any) -> Any:
        result = self._do(name, *others)
        if name != "getitem" and any(not isinstance(other, ProgramObject) for other in others):
            return result if isinstance(result, ProgramObject) or result is None else NotImplemented
        return result

    return apply


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "neg", "pos",
              "invert", "abs", "getitem", "setitem", "delitem", "len", "next"):  # fmt: skip
    setattr(ProgramObject, f"__{_name}__", _operation(_name))
for _name in ("and_", "or_", "xor"):
    setattr(ProgramObject, f"__{_name.rstrip('_')}__", _operation(_name))
for _name in ("add", "mul"):
    setattr(ProgramObject, f"__r{_name}__", _operation(f"r{_name}"))


#: What a request begins with where a result need not be plain, or may be any object but None.
_MARKS = {"objects": "!", "maybe": "?"}


class _Foreign:
    """A name of the program's."""

    def __init__(self, program: Program, name: str, role: str) -> None:
        self._program, self._what = program, _MARKS.get(role, "") + name
        self.__name__ = self.__qualname__ = name

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._program.call(self._what, arguments, keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._program.call(".get", (self, name), {})


class _ForeignClass(type):
    """Makes a class of the program's: its objects stay there."""

    _program: Program
    _what: str

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        found = cls._program.call(cls._what, arguments, keywords)
        if type(found) is not ProgramObject:
            return found
        return ProgramObject(cls._program, found._wire, built=True)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return cls._program.call(".get", (cls, name), {})

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, ProgramObject) and value._do("isinstance", cls) is True


def stub(program: Program, name: str, role: str) -> Any:
    """Return what stands for a name of the program's in the tests."""
    if role == "error":
        return type(name, (Exception,), {})
    if role == "class":
        return _ForeignClass(name, (), {"_program": program, "_what": f"!{name}"})
    return _Foreign(program, name, role)
