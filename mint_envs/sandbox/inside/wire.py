"""Plain values as tagged JSON: what crosses from a program to the outside.

Only data crosses, never a verdict, a class or code. A subclass of a plain type crosses as the
plain value that it holds, so an object that claims to equal everything is only what it is.

=================================  =========================================
``None``, ``bool``, small ``int``  themselves
``int`` beyond 2**53               ``["i", hex]``
``float``                          ``["f", hex]``
``complex``                        ``["c", hex, hex]``
``str``                            itself
``bytes``, ``bytearray``           ``["b", hex]``
``list``, ``tuple``                ``["l", items]``, ``["t", items]``
``set``, ``frozenset``             ``["s", items]``, ``["z", items]``
``dict``                           ``["d", [[key, value], ...]]``
``Decimal``, ``Fraction``          ``["n", text]``, ``["q", hex, hex]``
iterators (only where asked)       ``["x", items]``
=================================  =========================================

An array of numpy crosses as nested lists, a ``deque`` and a ``range`` as a list. The two halves of
a split check know more tags (``objects.py``); none of those is a value to anybody else.
"""

from __future__ import annotations

import collections
import importlib
import types
from collections.abc import Callable
from itertools import islice
from typing import Any

MAX_DEPTH = 100
MAX_ITEMS = 100_000
_SMALL = 1 << 53


class Unsupported(Exception):
    """A value that is no plain data."""


def encode(value: Any, depth: int = 0) -> Any:
    """Return the wire form of ``value``.

    Raises:
        Unsupported: it holds something that is not plain data, or nests too deep.
    """
    if value is None or value is True or value is False:
        return value
    if depth > MAX_DEPTH:
        raise Unsupported("nested too deep")
    kind = type(value)
    direct = _ENCODERS.get(kind)
    if direct is not None:
        return direct(value, depth)
    for more_exact in _exact:
        if (wire := more_exact(value, kind, depth + 1)) is not None:
            return wire
    for base, encoder in _BASES:
        if isinstance(value, base):
            return encoder(value, depth)
    return _encode_rare(value, kind, depth)


def _encode_rare(value: Any, kind: type, depth: int) -> Any:
    if kind.__module__ == "numpy" and hasattr(value, "tolist"):
        if _others and kind.__name__ == "ndarray":
            return _others[0](value)
        return encode(value.tolist(), depth + 1)
    exact = _NUMBERS.get((kind.__module__, kind.__name__))
    if exact is not None:
        return exact(value)
    for other in _others:
        return other(value)
    raise Unsupported(f"type {kind.__name__}")


def teach(
    other: Callable[[Any], Any], exact: Callable[[Any, type, int], Any],
    decoders: dict[str, Callable[[Any], Any]],
) -> None:  # fmt: skip
    """Let this process write what is no plain value by ``other``, and read more tags.

    ``exact`` writes what would else cross as a plain type that it derives from, or returns None.
    """
    _others[:], _exact[:] = [other], [exact]
    _DECODERS.update(decoders)
    _ENCODERS[float] = _json_float


def taught() -> tuple[Any, ...]:
    """Return what this process was taught, for ``teach_again``."""
    return _others[:], _exact[:], dict(_DECODERS), dict(_ENCODERS)


def teach_again(known: tuple[Any, ...]) -> None:
    """Forget what ``teach`` has said since ``taught``."""
    _others[:], _exact[:], decoders, encoders = known
    for table, before in ((_DECODERS, decoders), (_ENCODERS, encoders)):
        table.clear()
        table.update(before)


_others: list[Callable[[Any], Any]] = []
_exact: list[Callable[[Any, type, int], Any]] = []


NOT_PLAIN = object()


def plain_copy(value: Any, depth: int = 3) -> Any:
    """Return a copy of what JSON has as it is, else ``NOT_PLAIN``.

    Most results are numbers, words or lists of them. A copy, since a program may change a list that
    it has returned.
    """
    kind = type(value)
    if kind in _JSON:
        return value
    if kind is not list:
        return NOT_PLAIN
    items = value[:]
    kinds = set(map(type, items))
    if kinds <= _JSON:
        return items
    if depth == 0 or kinds != {list}:
        return NOT_PLAIN
    copies = [plain_copy(item, depth - 1) for item in items]
    return NOT_PLAIN if NOT_PLAIN in copies else copies


_JSON = {str, int, float, bool, type(None)}


def encode_any(value: Any, depth: int = 0) -> Any:
    """As ``encode``; an iterator at the top is read out, up to ``MAX_ITEMS`` items."""
    if isinstance(value, _ITERATORS):
        items = list(islice(value, MAX_ITEMS + 1))
        if len(items) > MAX_ITEMS:
            raise Unsupported("an iterator without end")
        return ["x", [encode(item, 1) for item in items]]
    return encode(value, depth)


def encode_outward(value: Any) -> Any:
    """Return the wire form of a value for the verdict outside, whatever this process was taught."""
    others, exact, _ENCODERS[float] = _others[:], _exact[:], _float
    _others.clear()
    _exact.clear()
    try:
        return encode_any(value)
    finally:
        _others[:], _exact[:], _ENCODERS[float] = others, exact, _json_float


def encode_each(arguments: Any) -> Any:
    """Return the wire form of the arguments of a call, each of which may be an iterator."""
    return ["l", [encode_any(argument, 1) for argument in arguments]]


def decode(wire: Any) -> Any:
    """Return the plain value of a wire form; iterators become iterators over a list.

    Raises:
        Unsupported, ValueError, TypeError, IndexError: it is none.
    """
    if not isinstance(wire, list):
        return wire
    decoder = _DECODERS.get(wire[0])
    if decoder is None:
        raise Unsupported(f"tag {wire[0]!r}")
    return decoder(wire)


def _int(value: Any, depth: int) -> Any:
    value = int.__add__(value, 0)
    return value if -_SMALL < value < _SMALL else ["i", hex(value)]


def _json_float(value: Any, depth: int) -> Any:
    """JSON has a float to the last bit; the verdict outside wants it in full."""
    return value


def _float(value: Any, depth: int) -> Any:
    return ["f", float.hex(float.__add__(value, 0.0))]


def _str(value: Any, depth: int) -> Any:
    return str.__str__(value)


def _encode_list(value: Any, depth: int) -> Any:
    items = list.__getitem__(value, _ALL)
    kinds = set(map(type, items))
    if kinds <= _AS_THEY_ARE or (kinds == {int} and -_SMALL < min(items) <= max(items) < _SMALL):
        return ["l", items]
    return ["l", [encode(item, depth + 1) for item in items]]


_ALL = slice(None)
_AS_THEY_ARE = {str, bool, type(None)}


def _tuple(value: Any, depth: int) -> Any:
    return ["t", [encode(item, depth + 1) for item in tuple.__iter__(value)]]


def _set(value: Any, depth: int) -> Any:
    return ["s", [encode(item, depth + 1) for item in set.__iter__(value)]]


def _frozenset(value: Any, depth: int) -> Any:
    return ["z", [encode(item, depth + 1) for item in frozenset.__iter__(value)]]


def _dict(value: Any, depth: int) -> Any:
    depth += 1
    return ["d", [[encode(key, depth), encode(item, depth)] for key, item in dict.items(value)]]


def _complex(value: Any, depth: int) -> Any:
    value = complex.__add__(value, 0)
    return ["c", float.hex(value.real), float.hex(value.imag)]


def _bytes(value: Any, depth: int) -> Any:
    return ["b", bytes.hex(value)]


def _bytearray(value: Any, depth: int) -> Any:
    return ["b", bytearray.hex(value)]


def _series(value: Any, depth: int) -> Any:
    return ["l", [encode(item, depth + 1) for item in value]]


_BASES: list[tuple[type, Callable[[Any, int], Any]]] = [
    (int, _int),
    (float, _float),
    (str, _str),
    (list, _encode_list),
    (tuple, _tuple),
    (dict, _dict),
    (set, _set),
    (frozenset, _frozenset),
    (complex, _complex),
    (bytes, _bytes),
    (bytearray, _bytearray),
    (collections.deque, _series),
    (range, _series),
]
_ENCODERS = dict(_BASES[:-2])

#: By name, since few programs use them and an import makes every fork dearer.
_NUMBERS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("decimal", "Decimal"): lambda value: ["n", str(value)],
    ("fractions", "Fraction"): lambda value: ["q", hex(value.numerator), hex(value.denominator)],
}

_ITERATORS: Any = (types.GeneratorType, map, filter, zip, enumerate, reversed, type(iter([])),
              type({}.keys()), type({}.values()), type({}.items()))  # fmt: skip

_DECODERS: dict[Any, Callable[[Any], Any]] = {
    "i": lambda w: int(w[1], 16),
    "f": lambda w: float.fromhex(w[1]),
    "c": lambda w: complex(float.fromhex(w[1]), float.fromhex(w[2])),
    "b": lambda w: bytes.fromhex(w[1]),
    "l": lambda w: [decode(item) for item in w[1]],
    "t": lambda w: tuple(decode(item) for item in w[1]),
    "s": lambda w: {decode(item) for item in w[1]},
    "z": lambda w: frozenset(decode(item) for item in w[1]),
    "d": lambda w: {decode(key): decode(value) for key, value in w[1]},
    "n": lambda w: importlib.import_module("decimal").Decimal(w[1]),
    "q": lambda w: importlib.import_module("fractions").Fraction(int(w[1], 16), int(w[2], 16)),
    "x": lambda w: iter([decode(item) for item in w[1]]),
}
