"""What crosses between the halves of a split check besides plain values.

=============================  =====================================================
object of a class by value     ``["o", index]``, its attributes in a table beside
object that stays where it is  ``["h", number, its class]``
argument that is returned      ``["A", place]``
named tuple                    ``["N", class, fields, items]``
member of an ``Enum``          ``["E", class, name]``
``deque``, ``range``           ``["Q", items, maxlen]``, ``["R", start, stop, step]``
``Counter`` and its like       ``["C", class, [[key, value], ...], factory]``
generator of the program's     ``["g", number, first items]``, ``["y", items]`` of an async one
object that says nothing       ``["p", number, its class]``
coroutine of the program's     ``["w", number]``
function of the tests'         ``["k", number]``
name of the program's          ``["S", name]``
type that Python has           ``["T", name]``
array of numpy                 ``["a", dtype, shape, hex]``
date, time, path               ``["D", class, arguments]``
=============================  =====================================================

Nothing of it decides a test: the tests compare plain values, and objects of their own classes.
"""

from __future__ import annotations

import builtins
import collections
import functools
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from .wire import Unsupported, decode, encode

_DATES = {
    "date": ("year", "month", "day"),
    "datetime": ("year", "month", "day", "hour", "minute", "second", "microsecond"),
    "time": ("hour", "minute", "second", "microsecond"),
    "timedelta": ("days", "seconds", "microseconds"),
}
_PATHS = ("Path", "PosixPath", "PurePath", "PurePosixPath")
_DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|c8|c16)")


class MessageTable:
    """The objects of one message, each once, however often and in whatever circle they occur."""

    def __init__(self, members: list[Any]) -> None:
        self.members = list(members)
        self._places = {id(member): i for i, member in enumerate(self.members)}

    def place(self, value: Any) -> int:
        found = self._places.get(id(value))
        if found is None:
            found = self._places[id(value)] = len(self.members)
            self.members.append(value)
        return found

    def rows(self) -> list[Any]:
        """Return [class, [[attribute, value], ...]] of each; there may be more on the way."""
        return [
            [
                type(member).__name__,
                [[name, encode(value, 1)] for name, value in attributes(member)],
            ]
            for member in self.members
        ]


class Crossing:
    """Writes and reads messages in one of the two processes.

    Args:
        class_of: returns the class here whose objects cross by value, of its name, or None.
        special: returns the wire form of what else this side knows, or raises ``Unsupported``.
        decoders: readers of the tags that this side alone knows.
    """

    def __init__(
        self, class_of: Callable[[str], type | None], special: Callable[[Any], Any],
        decoders: dict[str, Callable[[Any], Any]],
    ) -> None:  # fmt: skip
        from .wire import teach

        self._class_of, self._special = class_of, special
        self._table = MessageTable([])
        self._read: list[Any] = []
        teach(self._other, self._more_exact, {
            "o": lambda wire: self._read[wire[1]], "T": _builtin_type, "a": read_array, "D": _dated,
            "N": self._named_tuple, "E": self._member, "Q": _deque, "C": _mapping,
            "R": lambda wire: range(*map(int, wire[1:4])),
            **decoders,
        })  # fmt: skip

    def pack(
        self, value: Callable[[], Any], members: list[Any]
    ) -> tuple[Any, list[Any], list[Any]]:
        """Return the wire form that ``value()`` makes, the rows and the members of its table."""
        self._table = table = MessageTable(members)
        wire = value()
        return wire, table.rows() if table.members else [], table.members

    def unpack(self, wire: Any, rows: list[Any], members: list[Any]) -> tuple[Any, list[Any]]:
        """Return the value and the objects of a message; ``members`` are the first, if known."""
        if not rows:
            return decode(wire), []
        self._read = [*members, *(self._blank(row[0]) for row in rows[len(members) :])]
        for made, row in zip(self._read, rows, strict=True):
            for name, value in row[1]:
                object.__setattr__(made, str(name), decode(value))
        return decode(wire), self._read

    def _blank(self, name: Any) -> Any:
        found = self._class_of(name)
        if found is None:
            raise Unsupported(f"type {name}")
        made: Any = object.__new__(found)
        return made

    def _more_exact(self, value: Any, kind: type, depth: int) -> Any:
        """Return the wire form of what has a plain type for its base and is more than that."""
        if kind is range:
            return ["R", value.start, value.stop, value.step]
        if kind is collections.deque:
            return ["Q", [encode(item, depth) for item in value], value.maxlen]
        if kind in _MAPPINGS:
            factory = getattr(value, "default_factory", None)
            pairs = [[encode(k, depth), encode(v, depth)] for k, v in dict.items(value)]
            return ["C", kind.__name__, pairs, self._other(factory) if factory else None]
        if isinstance(value, tuple) and (fields := kind.__dict__.get("_fields")):
            return ["N", kind.__name__, list(fields), encode(tuple(value), depth)]
        if isinstance(value, _PLAIN) and self._class_of(kind.__name__) is kind:
            return self._member_wire(value, kind)
        return None

    def _member_wire(self, value: Any, kind: type) -> Any:
        if "_member_map_" not in vars(kind):  # a class of the tests' that derives from a list
            raise Unsupported(f"type {kind.__name__}")
        return ["E", kind.__name__, str(value.name)]

    def _member(self, wire: Any) -> Any:
        found = vars(self._class_of(wire[1]) or object).get("_member_map_", {})
        if wire[2] not in found:
            raise Unsupported(f"type {wire[1]}")
        return found[wire[2]]

    def _named_tuple(self, wire: Any) -> Any:
        _, name, fields, items = wire
        kind = self._class_of(str(name))
        if kind is None or list(getattr(kind, "_fields", ())) != fields:
            kind = _tuple_class(str(name), tuple(map(str, fields)))
        return tuple.__new__(kind, decode(items))

    def _other(self, value: Any) -> Any:
        kind = type(value)
        if kind.__module__ == "numpy":
            return _from_array(value)
        if isinstance(value, type) and vars(builtins).get(name := value.__name__) is value:
            return ["T", name]
        fields = _DATES.get(kind.__name__) if kind.__module__ == "datetime" else None
        if fields and getattr(value, "tzinfo", None) is None:
            return ["D", kind.__name__, [getattr(value, field) for field in fields]]
        if kind.__name__ in _PATHS and kind.__module__.startswith("pathlib"):
            return ["D", "Path", [str(value)]]
        if self._class_of(kind.__name__) is kind:
            if "_member_map_" in vars(kind):
                return self._member_wire(value, kind)
            return ["o", self._table.place(value)]
        return self._special(value)


def attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds: of ``__dict__`` and of ``__slots__``."""
    yield from getattr(value, "__dict__", {}).items()
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)


_PLAIN = (int, float, str, bytes, list, tuple, dict, set, frozenset)
_MAPPINGS = (collections.Counter, collections.OrderedDict, collections.defaultdict)


@functools.lru_cache(256)
def _tuple_class(name: str, fields: tuple[str, ...]) -> Any:
    return collections.namedtuple(name, fields)


def _deque(wire: Any) -> Any:
    return collections.deque(map(decode, wire[1]), wire[2])


def _mapping(wire: Any) -> Any:
    _, name, pairs, factory = wire
    items = {decode(key): decode(value) for key, value in pairs}
    if name == "defaultdict":
        makes = decode(factory)
        if not isinstance(makes, type | None):
            raise Unsupported("a factory that is no type")
        return collections.defaultdict(makes, items)
    return {"Counter": collections.Counter, "OrderedDict": collections.OrderedDict}[name](items)


def _builtin_type(wire: Any) -> type:
    found = getattr(builtins, str(wire[1]), None)
    if not isinstance(found, type):
        raise Unsupported("no type of Python's")
    return found


def _from_array(value: Any) -> Any:
    if not _DTYPE.fullmatch(value.dtype.str):
        return encode(value.tolist(), 1)
    return ["a", value.dtype.str, list(value.shape), value.tobytes().hex()]


def read_array(wire: Any) -> Any:
    _, kind, shape, data = wire
    if not (isinstance(kind, str) and _DTYPE.fullmatch(kind)):
        raise Unsupported("no array of numbers")
    import numpy

    made = numpy.frombuffer(bytearray.fromhex(data), numpy.dtype(kind))
    if math.prod(shape) != made.size:
        raise Unsupported("no array")
    return made.reshape(shape)


def _dated(wire: Any) -> Any:
    _, name, arguments = wire
    if name == "Path":
        import pathlib

        return pathlib.Path(str(arguments[0]))
    import datetime

    if name not in _DATES:
        raise Unsupported("no date")
    return getattr(datetime, name)(*map(int, arguments))
