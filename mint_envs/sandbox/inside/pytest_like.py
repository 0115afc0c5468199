"""What tests ask of pytest, in a sandbox that has none: fixtures, parameters, raises, approx.

Which tests there are was read outside (``code/collect.py``), which also refuses what is not here.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
import types
from collections.abc import Callable
from typing import Any

module: Any = types.ModuleType("pytest")


class Failed(BaseException):
    """What ``pytest.fail`` raises."""


def _fail(reason: str = "", **options: Any) -> None:
    raise Failed(reason)


class _Raises:
    """``with raises(ValueError, match="no") as told: ...``"""

    def __init__(self, expected: Any, match: str | None) -> None:
        self._expected, self._match = expected, match
        self.value: Any = None
        self.type: Any = None

    def __enter__(self) -> _Raises:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind is None:
            raise Failed(f"DID NOT RAISE {self._expected}")
        if not issubclass(kind, self._expected):
            return False
        self.value, self.type = error, kind
        if self._match is not None:
            self.match(self._match)
        return True

    def match(self, pattern: str) -> bool:
        if not re.search(pattern, str(self.value)):
            raise AssertionError(f"{pattern!r} does not match {str(self.value)!r}")
        return True


def _raises(expected: Any, *arguments: Any, match: str | None = None, **keywords: Any) -> Any:
    told = _Raises(expected, match)
    if not arguments:
        return told
    with told:
        arguments[0](*arguments[1:], **keywords)
    return told


class _Approx:
    """Equal to numbers nearby, alone or in a list, a tuple, a dict or an array."""

    def __init__(self, expected: Any, rel: Any, abs_: Any, nan_ok: bool) -> None:
        self._expected, self._options = expected, (rel, abs_, nan_ok)

    def __eq__(self, actual: object) -> bool:
        return _near(actual, self._expected, *self._options)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"approx({self._expected!r})"


def _near(actual: Any, expected: Any, rel: Any, abs_: Any, nan_ok: bool) -> bool:
    expected = expected.tolist() if hasattr(expected, "tolist") else expected
    actual = actual.tolist() if hasattr(actual, "tolist") else actual
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and actual.keys() == expected.keys()
            and all(_near(actual[k], v, rel, abs_, nan_ok) for k, v in expected.items())
        )
    if isinstance(expected, list | tuple):
        return (isinstance(actual, list | tuple) and len(actual) == len(expected)
                and all(_near(a, e, rel, abs_, nan_ok)
                        for a, e in zip(actual, expected, strict=True)))  # fmt: skip
    if isinstance(expected, bool) or not isinstance(expected, int | float | complex):
        return _decimal_near(actual, expected, rel, abs_)
    if isinstance(actual, bool) or not isinstance(actual, int | float | complex):
        return False
    if actual == expected or (nan_ok and actual != actual and expected != expected):
        return True
    default = rel is None and abs_ is not None
    room = max(1e-12 if abs_ is None else abs_,
               0 if default else (1e-6 if rel is None else rel) * abs(expected))  # fmt: skip
    return abs(expected) != float("inf") and bool(abs(actual - expected) <= room)


def _decimal_near(actual: Any, expected: Any, rel: Any, abs_: Any) -> bool:
    if type(expected).__name__ in ("Decimal", "Fraction") and type(actual) is type(expected):
        kind = type(expected)
        room = max(kind(str(abs_ or 1e-12)), kind(str(rel or 1e-6)) * abs(expected))
        return bool(abs(actual - expected) <= room)
    return bool(actual == expected)


def _approx(expected: Any, rel: Any = None, abs: Any = None, nan_ok: bool = False) -> _Approx:
    return _Approx(expected, rel, abs, nan_ok)


class _PytestMarks:
    """``mark.parametrize(...)`` and marks that say nothing to us: ``mark.slow``."""

    def __getattr__(self, name: str) -> Any:
        return functools.partial(_mark, name)


def _mark(name: str, *arguments: Any, **keywords: Any) -> Any:
    if len(arguments) == 1 and callable(arguments[0]) and not keywords:
        return arguments[0]

    def put(target: Any) -> Any:
        target.pytestmark = [*target.__dict__.get("pytestmark", []), (name, arguments, keywords)]
        return target

    return put


class _Values(tuple[Any, ...]):
    """``param(1, 2)``"""


def _param(*values: Any, **options: Any) -> _Values:
    return _Values(values)


def _fixture(function: Any = None, *, params: Any = (None,), autouse: bool = False,
             name: str = "", **options: Any) -> Any:  # fmt: skip
    def put(function: Any) -> Any:
        function._fixture = (list(params), autouse, name or function.__name__)
        return function

    return put if function is None else put(function)


module.__dict__.update(
    raises=_raises, approx=_approx, mark=_PytestMarks(), param=_param, fixture=_fixture, fail=_fail,
)  # fmt: skip


# -- running a test -------------------------------------------------------------------------------


def run(scope: dict[str, Any], *path: str) -> None:
    """Run the test at a path: ``test_f``, or a method of a class, with all its parameters."""
    *classes, name = path
    owner: Any = None
    for part in classes:
        owner = getattr(owner, part) if owner else scope[part]
    cases = sys.modules.get("unittest")
    if owner is not None and cases is not None and issubclass(owner, cases.TestCase):
        _run_unittest(scope, cases.TestSuite([owner(name)]))
        return
    plain = _plain_function(getattr(owner, name) if owner else scope[name])
    marks = [*getattr(owner, "pytestmark", []), *getattr(plain, "pytestmark", [])]
    choices = [_choices(arguments, keywords) for kind, arguments, keywords in marks
               if kind == "parametrize"]  # fmt: skip
    wanted = [name for kind, names, _ in marks if kind == "usefixtures" for name in names]
    for chosen in itertools.product(*choices):
        given = {key: value for part in chosen for key, value in part.items()}
        turn: int | None = 0
        while turn is not None:
            turn = _TestRun(scope, owner, name, given, wanted, turn).run()


def _run_unittest(scope: dict[str, Any], suite: Any) -> None:
    """Run one method, with what its class and its module set up."""
    nothing: Any = lambda: None  # noqa: E731
    scope.get("setUpModule", nothing)()
    try:
        suite.debug()
    finally:
        scope.get("tearDownModule", nothing)()


def _choices(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> list[dict[str, Any]]:
    names, rows = [*arguments, *(keywords[k] for k in ("argnames", "argvalues") if k in keywords)][
        :2
    ]
    names = [n.strip() for n in names.split(",") if n.strip()] if isinstance(names, str) else names
    found = []
    for row in rows:
        values = row if len(names) > 1 or isinstance(row, _Values) else (row,)
        found.append(dict(zip(names, values, strict=True)))
    return found


class _TestRun:
    """One run of a test, with fixtures made for it alone. ``turn`` counts their parameters."""

    def __init__(
        self, scope: dict[str, Any], owner: Any, name: str, given: dict[str, Any],
        wanted: list[str], turn: int,
    ) -> None:  # fmt: skip
        self._scope, self._owner, self._name = scope, owner, name
        self._given, self._wanted = dict(given), wanted
        self._turn, self._left, self._turns = turn, turn, 1
        self._undo: list[Callable[[], Any]] = []
        self._instance = owner() if owner else None

    def run(self) -> int | None:
        """Run it; return the next turn if the fixtures have more parameters."""
        holder = self._instance if self._owner else None
        test = getattr(holder, self._name) if self._owner else self._scope[self._name]
        try:
            self._set_up(test)
            for name in [*self._automatic(), *self._wanted]:
                self._value(name)
            _finish_coroutine(test(**{n: self._value(n) for n in _needed(test)}))
        finally:
            while self._undo:
                self._undo.pop()()
        return self._turn + 1 if self._turn + 1 < self._turns else None

    def _set_up(self, test: Any) -> None:
        pairs: list[tuple[Any, ...]]
        pairs = [(self._scope.get(f"{side}_module"), self._scope.get(f"{side}_function"))
                 for side in ("setup", "teardown")]  # fmt: skip
        if self._owner:
            pairs = [(pairs[i][0], *(getattr(self._instance, f"{side}_{part}", None)
                                     for part in ("class", "method")))
                     for i, side in enumerate(("setup", "teardown"))]  # fmt: skip
        self._undo += [functools.partial(_call_part, part, test) for part in pairs[1] if part]
        for part in pairs[0]:
            if part:
                _call_part(part, test)

    def _fixtures(self) -> dict[str, Any]:
        found = {}
        for holder in (
            self._scope,
            *(vars(c) for c in reversed(getattr(self._owner, "__mro__", ()))),
        ):
            for value in list(holder.values()):
                if isinstance(value, types.FunctionType) and hasattr(value, "_fixture"):
                    found[value._fixture[2]] = value
        return found

    def _automatic(self) -> list[str]:
        return [name for name, made in self._fixtures().items() if made._fixture[1]]

    def _value(self, name: str) -> Any:
        if name not in self._given:
            self._given[name] = self._make(name)
        return self._given[name]

    def _make(self, name: str) -> Any:
        function = self._fixtures().get(name)
        if function is None:
            return _BUILT_IN[name](self._undo)
        params = function._fixture[0]
        self._left, place = divmod(self._left, len(params))
        self._turns *= len(params)
        needed = [n for n in _needed(function) if n != "self"]
        if "request" in needed:
            self._given["request"] = types.SimpleNamespace(param=params[place])
        holder = (self._instance,) if "self" in _parameters(function) else ()
        made = function(*holder, **{n: self._value(n) for n in needed})
        if isinstance(made, types.GeneratorType):
            value = next(made)
            self._undo.append(lambda: next(made, None))
            return value
        return _finish_coroutine(made)


def _call_part(part: Any, test: Any) -> None:
    """Call ``setup_method(self)`` or ``setup_method(self, method)``."""
    part(test) if _parameters(part) else part()


def _plain_function(function: Any) -> Any:
    """Return what was written: without its object, and without what is around it."""
    function = getattr(function, "__func__", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _parameters(function: Any) -> list[str]:
    """Return the names of the parameters that are left to fill."""
    code = _plain_function(function).__code__
    names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return names[1:] if getattr(function, "__self__", None) is not None else names


def _needed(function: Any) -> list[str]:
    """Return the parameters that a test wants filled; mocks of ``patch`` fill the first."""
    plain = _plain_function(function)
    patched = sum(p.attribute_name is None and getattr(p.new, "name", "") == "DEFAULT"
                  for p in getattr(function, "patchings", ()))  # fmt: skip
    code = plain.__code__
    defaults = len(plain.__defaults__ or ())
    filled = {
        *code.co_varnames[code.co_argcount - defaults : code.co_argcount],
        *(plain.__kwdefaults__ or {}),
    }
    return [name for name in _parameters(function)[patched:] if name not in filled]


def _finish_coroutine(made: Any) -> Any:
    if not isinstance(made, types.CoroutineType):
        return made
    import asyncio

    return asyncio.run(made)


class _Captured:
    """``capsys``: what was printed since the last look."""

    def __init__(self, undo: list[Callable[[], Any]]) -> None:
        import io

        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = self._streams = io.StringIO(), io.StringIO()
        undo.append(lambda: vars(sys).update(stdout=before[0], stderr=before[1]))

    def readouterr(self) -> Any:
        import collections

        texts = [stream.getvalue() for stream in self._streams]
        for stream in self._streams:
            stream.seek(0)
            stream.truncate()
        return collections.namedtuple("CaptureResult", "out err")(*texts)


class _Monkey:
    """``monkeypatch``"""

    def __init__(self, undo: list[Callable[[], Any]]) -> None:
        self._undo = undo

    def setattr(self, target: Any, name: Any, value: Any = None, raising: bool = True) -> None:
        if isinstance(target, str):
            where, _, attribute = target.rpartition(".")
            target, name, value = __import__(where, fromlist=["_"]), attribute, name
        old = getattr(target, name, None)
        self._undo.append(lambda: setattr(target, name, old))
        setattr(target, name, value)

    def setitem(self, target: Any, name: Any, value: Any) -> None:
        old = dict(target)
        self._undo.append(lambda: (target.clear(), target.update(old)))
        target[name] = value


def _folder(undo: list[Callable[[], Any]]) -> Any:
    import pathlib
    import shutil
    import tempfile

    path = tempfile.mkdtemp()
    undo.append(lambda: shutil.rmtree(path, ignore_errors=True))
    return pathlib.Path(path)


#: Fixtures that pytest brings along; ``code/collect.py`` refuses others.
_BUILT_IN: dict[str, Callable[[list[Callable[[], Any]]], Any]] = {
    "capsys": _Captured, "monkeypatch": _Monkey, "tmp_path": _folder,
}  # fmt: skip
