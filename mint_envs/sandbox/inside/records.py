"""What a job sends back: a line for each result."""

from __future__ import annotations

import json
import os
import sys
import types
from collections.abc import Callable
from typing import Any

FILE = "solution.py"
_MAX_ERROR = 300


class Records:
    """Writes one line of JSON for each result: ``[index, kind, payload]``."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def add(self, index: int, kind: str, payload: Any) -> None:
        data = json.dumps([index, kind, payload]).encode() + b"\n"
        while data:
            data = data[os.write(self._fd, data) :]

    def attempt(self, index: int, action: Callable[[], Any]) -> bool:
        """Record the value of ``action()``, or its error; of the program itself (-1) only that."""
        try:
            value = action()
            if index >= 0:
                self.add(index, "value", value)
        except BaseException as error:
            self.add(index, "error", describe_error(error))
            return False
        return True


def describe_error(error: BaseException) -> list[str]:
    """Return the error's type and its last traceback line within the program."""
    name = type(error).__name__
    try:
        text = str(error)[:_MAX_ERROR]
        line = _line_of(error)
        return [str(name), f"{name}: {text}" + (f" (line {line})" if line else "")]
    except BaseException:
        return [str(name), str(name)]


def _line_of(error: BaseException) -> int:
    line = getattr(error, "lineno", 0) if isinstance(error, SyntaxError) else 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line or 0


def module(name: str) -> dict[str, Any]:
    """Return the names of a new module that a program is to fill."""
    made = sys.modules[name] = types.ModuleType(name)
    sys.argv = [FILE]
    return made.__dict__


def execute(source: str, names: dict[str, Any]) -> None:
    """Run a program; this file's own ``__future__`` is not the program's."""
    exec(compile(source, FILE, "exec", dont_inherit=True), names)
