"""The tests' end of the connection to the program, which is in another process.

The tests compare plain values, in their own. What else comes of the program is in ``foreign.py``.
"""

from __future__ import annotations

import _thread
import builtins
import functools
import io
import json
import operator
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .foreign import CallFailed, HarnessFailed, Opaque, ProgramObject, is_foreign
from .foretold import MISSED, Foretold, foretold
from .lent import Lent, copy_back
from .objects import Crossing, read_array
from .pipe import MAX_MESSAGE, TooLarge, receive, receive_measured, send, send_batch
from .wire import Unsupported, decode, encode, encode_any, encode_each

_INPUT, _PRINT = input, print
_PATCHED = {"input": _INPUT, "print": _PRINT}
_STDIN = sys.stdin
_FUNCTIONS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial,
    operator.itemgetter, operator.attrgetter, operator.methodcaller,
    type(str.upper), type(str.__len__), type("".__len__),
)  # fmt: skip


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
#: Errors of these leave out tests, or are of the harness: no program's may be taken for them.
_UNTOLD = ("", "inside", "unittest", "pytest", "tests")


def _size(value: object) -> int:
    try:
        return len(json.dumps(encode(value)))
    except (Unsupported, RecursionError):
        return 0


class Program:
    """The connection to the program's half.

    Args:
        classes: names of the tests' own classes whose objects cross by value.
        scope: the tests' names, by which those classes and errors are found.
    """

    def __init__(self, peer: int, classes: list[str], scope: dict[str, Any]) -> None:
        self._peer, self._scope = peer, scope
        self._one = _thread.RLock()  # the tests' threads call one after the other
        self._classes = frozenset(classes)
        self._functions: list[Callable[..., Any]] = []
        self._raised: list[BaseException] = []
        self._foretold: Foretold | None = None
        self._unsettled: list[tuple[Any, Any, list[Any], list[Any]]] = []
        self._objects, self._plain = False, True
        self._held: dict[int, ProgramObject] = {}
        self._lent = Lent()
        self._asked = 0
        self._last = ""
        self.stops = False  # whether the tests wait for StopIteration
        self._seeded: dict[str, Callable[[], Any]] = {}
        self.eager = False
        self._received = 0
        self.calls = 0
        self.failed: list[BaseException] = []
        self.crossing = Crossing(
            self._class_of, self._special, {"h": self._object, "w": self._coroutine,
                                            "k": lambda wire: self._functions[wire[1]],
                                            "a": self._array, "p": self._opaque,
                                            "g": self._generator, "y": _later},
        )  # fmt: skip

    def call(self, what: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return what the program answers, or raise what it raises."""
        with self._one:
            try:
                if (calls := self._foretold) is not None and not keywords:
                    value = MISSED if self._patched() else calls.next_value(what, arguments)
                    if value is MISSED:
                        value = self._answered(calls, what, arguments)
                    if value is not MISSED:
                        if self.eager and self._unsettled:
                            self.settle()
                        return value
                self._now_asks(what)
                reply, members = self._ask(what, arguments, keywords)
                return self._result(reply, arguments, keywords, members)
            except (CallFailed, HarnessFailed) as error:
                self.failed.append(error)
                raise

    def _now_asks(self, what: str) -> None:
        self._objects, self._plain = what[:1] in "!.", what[:1] not in "!.?"
        self._last = what

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
        try:
            sent, rows, members = self.crossing.pack(
                lambda: [encode_each(arguments), encode(keywords)], []
            )
        except Unsupported as error:
            raise self._no_argument(error, (*arguments, *keywords.values())) from None
        try:
            self.calls += 1
            self._asked += 1
            send(self._peer, [what, sent, rows, self._patched()])
            self._seeded = {}
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
                return self._value(reply, arguments, keywords, members)
            if reply[0] == "huge":
                return Huge(self._received)
            error = self._error(reply)
        except Exception as fault:
            raise CallFailed(f"{type(fault).__name__}: {fault}") from None
        raise error

    def _value(self, reply: Any, arguments: Any, keywords: Any, members: list[Any]) -> Any:
        _, wire, rows, changed, printed, *older = reply
        if wire.__class__ is list and wire[0] == "A" and changed is None:
            result = arguments[wire[1]]
        else:
            result, _ = self.crossing.unpack(wire, rows, [])
        if changed is not None:
            self._unsettled.append((arguments, keywords, [changed, rows], members))
        for number, place, new in older[0] if older else ():
            old, after = self._lent.value(number, place), [["l", [new]], ["d", []]]
            self._unsettled.append(((old,), {}, [after, rows], members))
        if self._objects:
            self._lent.add(self._asked, [*enumerate(arguments), *keywords.items()])
        if self.eager and self._unsettled:
            self.settle()
        if printed:
            sys.stdout.write(printed)
        return result

    def settle(self) -> bool:
        """Let the tests see what the program has changed in place, as in one process."""
        if not self._unsettled:
            return True
        unsettled, self._unsettled = self._unsettled, []
        for arguments, keywords, (wire, rows), members in unsettled:
            try:
                new, _ = self.crossing.unpack(["l", wire], rows, members)
                copy_back([*arguments, *keywords.values()], [*new[0], *new[1].values()])
            except Exception as error:
                self.failed.append(CallFailed(f"{type(error).__name__}: {error}"))
                raise self.failed[-1] from None
        return True

    # -- calls that can be seen coming: many in one message

    def ahead(
        self, function: Any, items: list[Any], told: Callable[[Any], Iterable[Any]],
        ends: list[int] | None,
    ) -> list[Any]:  # fmt: skip
        """Make ready for the calls in a loop over ``items``: ``foretold``.

        Not where objects are made: they may keep what they are given.
        """
        what = getattr(function, "_what", None)
        self._foretold = None
        if what and what[0] != "!" and len(items) > 1:
            self._foretold = foretold(what, items, told, ends)
        return items

    def _answered(self, calls: Foretold, what: str, arguments: tuple[Any, ...]) -> Any:
        """Return the answer to a call that was seen coming, or ``MISSED``."""
        if self._patched() or not calls.is_next(what, arguments):
            self._foretold = None
            return MISSED
        if calls.done == len(calls.values):
            self._ask_ahead(calls)
        if calls.done in calls.others:
            self._now_asks(what)
            calls.done += 1
            return self._result(calls.others.pop(calls.done - 1), arguments, {}, [])
        value = calls.next_value(what, arguments)
        if value is MISSED:
            self._foretold = None
        return value

    def _ask_ahead(self, calls: Foretold) -> None:
        sent = calls.next_message()
        self.calls += len(sent)
        try:
            send_batch(self._peer, [calls.what, sent])
            kind, *told = self._reply()
            if kind != "huge":
                calls.add(*told)
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
        if is_foreign(value):
            return ["S", value._what.lstrip("!?")]
        if not isinstance(value, _FUNCTIONS):
            raise Unsupported(f"type {type(value).__name__}")
        self._functions.append(value)
        return ["k", len(self._functions) - 1]

    def _object(self, wire: Any) -> ProgramObject:
        if not self._objects and wire[1] not in self._held:  # whatever the program's process says
            raise Unsupported(f"type {wire[2]}")
        return self._held.setdefault(wire[1], ProgramObject(self, wire))

    def built(self, found: ProgramObject) -> ProgramObject:
        """Return an object that the tests have made by its class."""
        made = self._held[found._wire[1]] = ProgramObject(self, found._wire, built=True)
        return made

    def _generator(self, wire: Any) -> Iterator[Any]:
        source = ProgramObject(self, ["h", wire[1], ""])
        items = [decode(item) for item in wire[2]]

        def go_on(items: list[Any]) -> Iterator[Any]:
            while items:
                yield from items
                items = self.call(".more", (source,), {})

        return go_on(items)

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
        as_ever = builtins.input is _INPUT and builtins.print is _PRINT and sys.stdin is _STDIN
        if as_ever and not self._seeded and not self._lent.kept:
            return None
        found: dict[str, Any] = {}
        if lent := self._lent.changed():
            found["lent"] = lent
        for name, real in _PATCHED.items():
            if (mine := getattr(builtins, name)) is not real:
                quiet = name == "print"  # nobody has use for what it returns, which may be a mock
                self._functions.append(functools.partial(_done, mine) if quiet else mine)
                found[name] = len(self._functions) - 1
        if self._seeded:
            found["seeds"] = {name: state() for name, state in self._seeded.items()}
        if sys.stdin is not _STDIN and isinstance(sys.stdin, io.StringIO):
            found["stdin"] = sys.stdin.read()
        return found or None

    def share_seed(self, name: str, module: Any, state: Callable[[], Any]) -> None:
        """Let the program's random numbers begin where the tests' do, when they set a seed."""
        seed = module.seed

        def set_seed(*arguments: Any, **keywords: Any) -> None:
            seed(*arguments, **keywords)
            self._seeded[name] = state

        module.seed = set_seed

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
        stops = self.stops and self._last == ".next" and names[:1] == ["StopIteration"]
        ends = issubclass(known[0], StopIteration | StopAsyncIteration) if known else False
        if not known or (ends and not stops) or data is None:
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
        module, _, short = name.rpartition(".")
        kind = self._scope.get(short, getattr(builtins, short, None))
        if module.partition(".")[0] not in _UNTOLD and module in sys.modules:
            kind = getattr(sys.modules[module], short, kind)
        return kind if isinstance(kind, type) and issubclass(kind, Exception | SystemExit) else None


def _done(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
    function(*arguments, **keywords)


def _later(wire: Any) -> Any:
    """Return an asynchronous generator of what the program's has made."""

    async def items() -> Any:
        for item in wire[1]:
            yield decode(item)

    return items()


def _made_error(kind: type[BaseException], arguments: tuple[Any, ...]) -> BaseException:
    """Return an error as it was made there, without the code of its class."""
    if kind.__module__ == "builtins":
        return kind(*arguments)
    error: BaseException = kind.__new__(kind, *arguments)
    error.args = arguments
    return error
