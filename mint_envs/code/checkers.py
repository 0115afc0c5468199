"""Checkers: programs of a row that say whether an output is right, where several are.

A checker runs as its own sandboxed program, after the candidate has ended, and never beside it. It
finds three files: what went in, what came out, and the answer of the row's authors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import SettingError, did_you_mean
from ..sandbox import Job, Limits, Outcome, language_name

#: What a checker may use: beside a candidate's own time, and as much as contests give it.
_LIMITS = Limits(cpu_s=10.0, memory=1 << 30)
_KEYS = {"code", "language", "manner", "files"}
_MANNERS = ("testlib", "number")
_INPUT, _OUTPUT, _ANSWER = "input.txt", "output.txt", "answer.txt"
#: testlib's exit codes: right; wrong, wrong by its form, something after the end, end too early.
_RIGHT, _WRONG = (0,), (1, 2, 4, 8)
_CRASH = re.compile(r"Exception|^\s*at |Error:|Error\b.*\(")


@dataclass(frozen=True, slots=True)
class Checker:
    """A program that judges an output.

    Args:
        code: its text.
        language: that it is in.
        manner: ``"testlib"``: called with input, output and answer, it ends with 0 for right, 1 or
            2 for wrong; ``"number"``: called with input, answer and output, it prints 1 for right
            and less for wrong.
        files: (name, text) of what it needs beside it, such as ``testlib.h``.
    """

    code: str
    language: str = "python"
    manner: str = "testlib"
    files: tuple[tuple[str, str], ...] = ()

    def job(self, stdin: str, printed: str, answer: str) -> Job:
        """Return the job that has it judge what was ``printed``."""
        names = (_INPUT, _OUTPUT, _ANSWER)
        if self.manner == "number":
            names = (_INPUT, _ANSWER, _OUTPUT)
        texts = ((_INPUT, stdin), (_OUTPUT, printed), (_ANSWER, answer))
        return Job(self.code, "main", arguments=names, files=(*self.files, *texts),
                   language=self.language, limits=_LIMITS)  # fmt: skip

    def verdict(self, outcome: Outcome) -> bool | None:
        """Return what it said; None if it failed, or said nothing that is understood."""
        if outcome.failure or outcome.limit:
            return None
        if self.manner == "number":
            return _number_said(outcome)
        if _crashed(outcome, self.language):
            return None
        if outcome.exit_code in _RIGHT:
            return True
        return False if outcome.exit_code in _WRONG else None


def _number_said(outcome: Outcome) -> bool | None:
    words = outcome.stdout[-200:].decode("utf-8", "replace").split()
    try:
        value = float(words[-1]) if words and not outcome.exit_code else math.nan
    except ValueError:
        return None
    return value >= 1.0 if 0.0 <= value <= 1.0 else None


def _crashed(outcome: Outcome, language: str) -> bool:
    """Whether it ended by an error of its own: most languages then end with 1, as for "wrong"."""
    kind, text = outcome.error(-1)
    if language == "python":
        return kind not in ("", "SystemExit")
    return kind == "CompileError" or (outcome.exit_code == 1 and bool(_CRASH.search(text)))


def read_checker(value: Any) -> Checker:
    """Return the checker of a row: its code, or a dict of ``code`` and the fields of ``Checker``.

    Raises:
        SettingError: it is not understood.
    """
    given: Any = {"code": value} if isinstance(value, str) else value
    if not isinstance(given, Mapping) or not isinstance(given.get("code"), str):
        raise SettingError(
            f"checker={value!r:.80}: give its code, or {{'code': ..., 'language': 'cpp'}}"
        )
    for key in given:
        if key not in _KEYS:
            raise SettingError(f"checker: {key!r}. {did_you_mean(str(key), _KEYS)}")
    code, files = given["code"], dict(given.get("files") or {})
    manner = given.get("manner") or "testlib"
    if manner not in _MANNERS:
        raise SettingError(f"checker: manner={manner!r}, valid: {', '.join(_MANNERS)}")
    if not code.strip() or not all(_is_file(*item) for item in files.items()):
        raise SettingError("checker: 'code' and every text of 'files' must be text, and not empty")
    if "testlib.h" in code and "testlib.h" not in files:
        raise SettingError(
            "checker: it includes testlib.h, which is not in its 'files': {'testlib.h': its text}"
        )
    language = given.get("language") or ("cpp" if "#include" in code else "python")
    return Checker(code, language_name(str(language)), manner, tuple(sorted(files.items())))


def _is_file(name: Any, text: Any) -> bool:
    plain = isinstance(name, str) and re.fullmatch(r"[\w.-]*\w", name) is not None
    return plain and name not in (_INPUT, _OUTPUT, _ANSWER) and isinstance(text, str)
