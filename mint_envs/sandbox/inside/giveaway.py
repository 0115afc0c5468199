"""What the arguments of a call give away of the answers to others.

Whoever is asked for the next prime of 2, 3 and 5 can read in the questions that 2 is followed by 3.
So what is asked and what is to be answered is made comparable here: 3 is 3.0, ``"3"`` and ``[3]``,
a list a tuple. A bool, None, what is empty and what is no plain data give nothing away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

#: Longer values are not looked into.
_SHORT = 16
#: What stands within a value gives something away only if it is no usual word or number.
_LONG_TEXT, _LARGE_NUMBER = 3, 1000
_WHOLE, _NUMBER = re.compile(r"[-+]?\d{1,4000}"), re.compile(r"[-+]?\d{1,15}\.\d{1,15}")


def telltales(values: Iterable[Any]) -> set[object]:
    """Return what arguments show, or what a program would gain by knowing what is wanted."""
    found: set[object] = set()
    for value in values:
        found.add(_telltale(value))
        found.update(part for inner in _inner_values(value) if _is_rare(part := _telltale(inner)))
    found.discard(None)
    return found


def _telltale(value: Any) -> object:
    """Return something to tell a value by, or None if it gives nothing away."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return _telltale_of_text(value.strip())
    if isinstance(value, float):
        return _whole_or_rounded(value)
    if isinstance(value, list | tuple):
        if len(value) == 1:
            return _telltale(value[0])
        return tuple(map(_inner_telltale, value)) or None
    if isinstance(value, set | frozenset):
        return tuple(sorted(map(repr, map(_inner_telltale, value)))) or None
    if isinstance(value, dict):
        return (
            tuple((_inner_telltale(key), _inner_telltale(item)) for key, item in value.items())
            or None
        )
    return value if isinstance(value, int | complex | bytes) else None


def _telltale_of_text(text: str) -> object:
    if _WHOLE.fullmatch(text):
        return int(text)
    return _whole_or_rounded(float(text)) if _NUMBER.fullmatch(text) else text or None


def _inner_telltale(value: Any) -> object:
    return value if isinstance(value, bool) else _telltale(value)


def _whole_or_rounded(value: float) -> object:
    return int(value) if value.is_integer() else float(f"{value:.6g}")


def _inner_values(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple | set | frozenset | dict) or len(value) > _SHORT:
        return []
    return [*value, *value.values()] if isinstance(value, dict) else list(value)


def _is_rare(mark: object) -> bool:
    if isinstance(mark, str | tuple):
        return len(mark) >= _LONG_TEXT
    return isinstance(mark, float) or (isinstance(mark, int) and abs(mark) >= _LARGE_NUMBER)
