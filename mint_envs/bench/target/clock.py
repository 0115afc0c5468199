"""A clock that can be moved: what a reward reads of the time, if it reads it.

Put in place before the module under test is imported: ``from time import time`` gets it too.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

_moved = [0.0]


def move(seconds: float) -> None:
    """From now on the time is so many seconds later than it is."""
    _moved[0] = seconds


def install() -> None:
    """Let ``time`` and ``datetime`` tell the moved time."""
    real, real_ns = time.time, time.time_ns
    time.time = lambda: real() + _moved[0]
    time.time_ns = lambda: real_ns() + int(_moved[0] * 1e9)
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, _at(getattr(time, name), real))
    time.strftime = _clock_text(time.strftime)
    datetime.datetime = _MovedDatetime  # type: ignore[misc]
    datetime.date = _MovedDate  # type: ignore[misc]


def _at(of_seconds: Callable[..., Any], real: Callable[[], float]) -> Callable[..., Any]:
    def read(seconds: float | None = None) -> Any:
        return of_seconds(real() + _moved[0] if seconds is None else seconds)

    return read


def _clock_text(of_parts: Callable[..., str]) -> Callable[..., str]:
    def write(form: str, parts: Any = None) -> str:
        return of_parts(form, time.localtime() if parts is None else parts)

    return write


class _DateKind(type):
    """Any date is an instance, whoever made it."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.__mro__[1])


class _MovedDatetime(datetime.datetime, metaclass=_DateKind):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return datetime.datetime.__mro__[1].now(tz) + datetime.timedelta(seconds=_moved[0])  # type: ignore[attr-defined]

    @classmethod
    def today(cls) -> Any:
        return cls.now()

    @classmethod
    def utcnow(cls) -> Any:
        return cls.now(datetime.UTC).replace(tzinfo=None)


class _MovedDate(datetime.date, metaclass=_DateKind):
    @classmethod
    def today(cls) -> Any:
        return _MovedDatetime.now().date()
