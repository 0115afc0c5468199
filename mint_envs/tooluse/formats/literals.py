"""Python calls with literal arguments, ``f(a=1, b="x")``, read without running or compiling any.

Python's own parser is not used: it warns about escapes in model text (an error where warnings
are errors), differs between versions, and can be driven out of memory by nesting. This one reads
calls, strings, numbers, lists, tuples and dictionaries: what JSON can say.
"""

from __future__ import annotations

import math
import re
from typing import Any

from .strict import MAX_DEPTH, MAX_DIGITS, CallFault

_SPACE = re.compile(r"(?:[ \t\r\n\f]|#[^\n]*+)*+")
_NAME = re.compile(r"[^\W\d]\w*+(?:\.[^\W\d]\w*+)*+")
_NUMBER = re.compile(r"(?:\d[\d_]*+)?+(?:\.[\d_]*+)?+(?:[eE][+-]?\d++)?+")
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,256}+")
_STRING = re.compile(
    r"([rRuUbBfF]{0,2})"
    r'(?:"""((?:[^"\\]|\\.|"(?!""))*+)"""'
    r"|'''((?:[^'\\]|\\.|'(?!''))*+)'''"
    r'|"((?:[^"\\\n]|\\.)*+)"'
    r"|'((?:[^'\\\n]|\\.)*+)')",
    re.DOTALL,
)
_QUOTED = re.compile(r"[rRuUbBfF]{0,2}[\"']")
_TRIPLE = re.compile(r"[rRuUbBfF]{0,2}(?:\"\"\"|''')")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL
)
_PLAIN = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a",
    "\\": "\\", "'": "'", '"': '"', "\n": "",
}  # fmt: skip
_WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_CLOSE = {"[": "]", "(": ")", "{": "}"}


class LiteralFault(Exception):
    """The text is no call with literal arguments. ``at``: where reading stopped."""

    def __init__(self, kind: str, message: str, at: int) -> None:
        super().__init__(message)
        self.fault, self.at = CallFault(kind, message), at


class LiteralReader:
    """Reads ``text`` up to ``end``. Methods take a place and return (what was read, next place)."""

    def __init__(self, text: str, end: int) -> None:
        self._text, self._end = text, end

    def space(self, at: int) -> int:
        match = _SPACE.match(self._text, at, self._end)
        return at if match is None else match.end()

    def call(self, at: int) -> tuple[str, dict[str, Any], int]:
        """Read ``name(key=value, ...)``; return (name, arguments, end)."""
        name = _NAME.match(self._text, at, self._end)
        if name is None:
            raise self._unexpected(at, "the name of a tool")
        at = self._expect("(", self.space(name.end()))
        arguments: dict[str, Any] = {}
        while not self._here(")", at):
            key, value, at = self._argument(at)
            if key in arguments:
                raise LiteralFault("duplicate_key", f"{key} is given twice", at)
            arguments[key] = value
            at = self.comma(at, ")")
        return name[0], arguments, at + 1

    def _argument(self, at: int) -> tuple[str, Any, int]:
        key = _NAME.match(self._text, at, self._end)
        after = self.space(key.end()) if key else at
        if key is None or not self._here("=", after):
            raise self._positional(at)
        value, at = self.value(self.space(after + 1), 0)
        return key[0], value, at

    def _positional(self, at: int) -> LiteralFault:
        fault = LiteralFault("positional_argument", "write every argument as name=value", at)
        try:
            self.value(at, 0)
        except LiteralFault as other:
            return other if other.fault.kind != "invalid_python" else fault
        return fault

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        """Read one literal."""
        if depth > MAX_DEPTH:
            raise LiteralFault("too_deep", f"more than {MAX_DEPTH} levels of nesting", at)
        if _QUOTED.match(self._text, at, self._end):
            return self._strings(at)
        first = self._text[at : at + 1] if at < self._end else ""
        if first in ("[", "("):
            return self._sequence(first, at, depth)
        if first == "{":
            return self._mapping(at, depth)
        if first in ("+", "-") or first.isdecimal() or first == ".":
            return self._number(at)
        return self._word(at)

    def _word(self, at: int) -> tuple[Any, int]:
        name = _NAME.match(self._text, at, self._end)
        if name is None:
            raise self._unexpected(at, "a value")
        if name.end() == self._end:
            raise self._cut()
        if name[0] not in _WORDS or self._here("(", self.space(name.end())):
            raise LiteralFault("not_a_literal", f"{name[0][:80]} is not a literal", at)
        return _WORDS[name[0]], name.end()

    def _number(self, at: int) -> tuple[int | float, int]:
        start, negative = at, False
        while self._text[at : at + 1] in ("+", "-") and at < self._end:
            negative ^= self._text[at] == "-"
            at = self.space(at + 1)
        if match := _HEX.match(self._text, at, self._end):
            return self._signed(int(match[0], 16), negative), match.end()
        match = _NUMBER.match(self._text, at, self._end)
        digits = "" if match is None else match[0]
        if match is None or not digits.strip("._"):
            raise (
                self._cut()
                if at >= self._end
                else LiteralFault(
                    "not_a_literal", "a sign stands before what is not a number", start
                )
            )
        if match.end() < self._end and _NAME.match(self._text, match.end(), self._end):
            raise LiteralFault("invalid_python", "a number runs into a name", start)
        return self._signed(_to_number(digits, start), negative), match.end()

    @staticmethod
    def _signed(number: int | float, negative: bool) -> int | float:
        return -number if negative else number

    def _strings(self, at: int) -> tuple[str, int]:
        """Read a string, or several that stand side by side."""
        pieces = []
        while _QUOTED.match(self._text, at, self._end):
            match = _STRING.match(self._text, at, self._end)
            if match is None:
                raise self._open_string(at)
            prefix = match[1].lower()
            if prefix not in ("", "r", "u"):
                raise LiteralFault("not_a_literal", "only plain strings are literals here", at)
            body = next(group for group in match.groups()[1:] if group is not None)
            pieces.append(body if prefix == "r" else _ESCAPE.sub(_unescape, body))
            end, at = match.end(), self.space(match.end())
        text = "".join(pieces)
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise LiteralFault("invalid_python", "a string holds half of a surrogate pair", end)
        return text, end

    def _open_string(self, at: int) -> LiteralFault:
        newline = self._text.find("\n", at, self._end)
        if newline >= 0 and not _TRIPLE.match(self._text, at, self._end):
            return LiteralFault("invalid_python", "a string is not closed", newline)
        return self._cut()

    def _sequence(self, first: str, at: int, depth: int) -> tuple[Any, int]:
        items, close, commas = [], _CLOSE[first], 0
        at = self.space(at + 1)
        while not self._here(close, at):
            item, at = self.value(at, depth + 1)
            items.append(item)
            before = at = self.space(at)
            at = self.comma(at, close)
            commas += at > before
        grouped = first == "(" and len(items) == 1 and not commas  # (1) is 1
        return (items[0] if grouped else items), at + 1

    def _mapping(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = self.space(at + 1)
        while not self._here("}", at):
            key, at = self.value(at, depth + 1)
            if not isinstance(key, str):
                raise LiteralFault("not_a_literal", "keys must be strings", at)
            if key in found:
                raise LiteralFault("duplicate_key", "a key stands twice in one dict", at)
            at = self._expect(":", self.space(at))
            found[key], at = self.value(at, depth + 1)
            at = self.comma(at, "}")
        return found, at + 1

    def comma(self, at: int, close: str) -> int:
        """Return the place of the next item, or of ``close``."""
        at = self.space(at)
        if self._here(",", at):
            return self.space(at + 1)
        if self._here(close, at):
            return at
        kind = "not_a_literal" if at < self._end and self._text[at] in "+-*/%|&^.([<>=:" else ""
        raise self._unexpected(at, f"a comma or {close}", kind)

    def _expect(self, mark: str, at: int) -> int:
        if not self._here(mark, at):
            raise self._unexpected(at, mark)
        return self.space(at + len(mark))

    def _here(self, mark: str, at: int) -> bool:
        return self._text.startswith(mark, at, self._end)

    def _unexpected(self, at: int, wanted: str, kind: str = "") -> LiteralFault:
        if at >= self._end:
            return self._cut()
        return LiteralFault(kind or "invalid_python", f"{wanted} is missing", at)

    def _cut(self) -> LiteralFault:
        return LiteralFault("truncated", "the call is cut before its end", self._end)


def read_literal(text: str, otherwise: Any) -> Any:
    """Return the value of a text that is one literal, or ``otherwise``."""
    reader = LiteralReader(text, len(text))
    try:
        value, at = reader.value(reader.space(0), 0)
    except LiteralFault:
        return otherwise
    return value if reader.space(at) == len(text) else otherwise


def _to_number(digits: str, at: int) -> int | float:
    plain = digits.replace("_", "")
    if len(plain) > MAX_DIGITS:
        raise LiteralFault("invalid_python", f"a number has more than {MAX_DIGITS} digits", at)
    if "." not in plain and "e" not in plain.lower():
        if len(plain) > 1 and plain.startswith("0") and plain.strip("0"):
            raise LiteralFault("invalid_python", "a number begins with 0", at)
        return int(plain)
    number = float(plain)
    if not math.isfinite(number):
        raise LiteralFault("invalid_python", "a number is too large", at)
    return number


def _unescape(match: re.Match[str]) -> str:
    two, four, eight, octal, other = match.groups()
    code = two or four or eight
    if code:
        return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else match[0]
    if octal:
        return chr(int(octal, 8))
    return _PLAIN.get(other, match[0])  # an unknown escape stays as it is, as in Python
