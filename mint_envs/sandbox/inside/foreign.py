"""The program's names and objects as the tests hold them.

An object of the program's answers to its methods, and equals nothing: a program must not make the
verdict on itself. ``Program`` (``stubs.py``) carries what they are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

#: What plain values answer with yes or no: an object must not come in place of one and say yes.
_PREDICATES = frozenset(
    name
    for kind in (str, list, dict, set, tuple, int, float, bytes)
    for name in dir(kind)
    if name.startswith(("is", "startswith", "endswith"))
)


class CallFailed(BaseException):
    """The program's process ended or sent no plain value. No ``except Exception`` catches it."""


class HarnessFailed(BaseException):
    """The tests could not be carried out, whatever the program is."""


class Opaque:
    """An object in place of a plain value: it is not None, and has and equals nothing."""

    def __init__(self, wire: Any) -> None:
        self._wire = ["h", int(wire[1]), str(wire[2])]

    def __repr__(self) -> str:
        return "<an object of the program's>"


class ProgramObject:
    """An object of the program's.

    One that the tests have built themselves may also be asked what it contains and whether it is
    true. One that came as a result could stand in for a plain value: it gives values, which the
    tests compare, but says no plain yes.
    """

    __slots__ = ("_built", "_program", "_wire")

    def __init__(self, program: Any, wire: Any, built: bool = False) -> None:
        object.__setattr__(self, "_program", program)
        object.__setattr__(self, "_wire", ["h", int(wire[1]), str(wire[2])])
        object.__setattr__(self, "_built", built)

    def _do(self, what: str, *arguments: Any, **keywords: Any) -> Any:
        return self._program.call("." + what, (self, *arguments), keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (not self._built and name in _PREDICATES):
            raise AttributeError(f"no attribute {name!r} of an object of the program's")
        return self._do("get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._do("set", name, value)

    def __delattr__(self, name: str) -> None:
        self._do("delete", name)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._do("call", *arguments, **keywords)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ProgramObject) and other._wire != self._wire:
            return _refuse_verdict(self, other)
        return isinstance(other, ProgramObject)

    def __hash__(self) -> int:
        return 0  # so that a set and a dict compare them too

    def __lt__(self, other: object) -> bool:
        if isinstance(other, ProgramObject):
            _refuse_verdict(self, other)
        return NotImplemented

    __gt__ = __le__ = __ge__ = __lt__

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

    def __next__(self) -> Any:
        return self._do("next")

    def __iter__(self) -> Iterator[Any]:
        found = self._do("items")
        if not isinstance(found, list):
            raise CallFailed("an iterator without items")
        return iter(found)

    def __enter__(self) -> Any:
        entered = self._do("enter")
        self._program.settle()
        return entered

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        done = self._do("exit", kind is not None) is True
        return self._program.settle() and done


def _refuse_verdict(one: ProgramObject, other: ProgramObject) -> bool:
    """Return False: these are two. One that the tests have made nobody could compare for them."""
    if not (one._built or other._built):
        return False
    raise HarnessFailed(
        f"the tests compare objects of the program's ({one._wire[2][:40]}), so the program would "
        "make its own verdict"
    )


def _operation(name: str) -> Callable[..., Any]:
    """An operator between objects. With anything else it must make an object: no number."""

    def apply(self: ProgramObject, *others: Any) -> Any:
        result = self._do(name, *others)
        if name != "getitem" and any(not isinstance(other, ProgramObject) for other in others):
            return result if isinstance(result, ProgramObject) or result is None else NotImplemented
        return result

    return apply


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "neg", "pos",
              "invert", "abs", "getitem", "setitem", "delitem", "len"):  # fmt: skip
    setattr(ProgramObject, f"__{_name}__", _operation(_name))
for _name in ("and_", "or_", "xor"):
    setattr(ProgramObject, f"__{_name.rstrip('_')}__", _operation(_name))
for _name in ("add", "mul"):
    setattr(ProgramObject, f"__r{_name}__", _operation(f"r{_name}"))


#: What a request begins with where a result need not be plain, or may be any object but None, or
#: is a generator that the tests send to.
_MARKS = {"objects": "!", "maybe": "?", "steps": "!~"}


class _Foreign:
    """A name of the program's."""

    def __init__(self, program: Any, name: str, role: str) -> None:
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

    _program: Any
    _what: str

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        found = cls._program.call(cls._what, arguments, keywords)
        if type(found) is not ProgramObject:
            return found
        return cls._program.built(found)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return cls._program.call(".get", (cls, name), {})

    def __subclasscheck__(cls, value: Any) -> bool:
        return cls._program.call(".issubclass", (value, cls), {}) is True

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, ProgramObject) and value._do("isinstance", cls) is True


def is_foreign(value: Any) -> bool:
    return isinstance(value, _Foreign | _ForeignClass)


def stub(program: Any, name: str, role: str) -> Any:
    """Return what stands for a name of the program's in the tests."""
    if role == "error":
        return type(name, (Exception,), {})
    if role == "class":
        return _ForeignClass(name, (), {"_program": program, "_what": f"!{name}"})
    return _Foreign(program, name, role)
