"""Formats whose arguments are plain text between tags: Qwen3-Coder and GLM 4.5.

The text is not XML: nothing is unescaped. Where a value holds the tag that would close it, the
two cannot be told apart, and the message is refused rather than cut: what could be the rest of a
value must not be left over, and all calls of a message are framed alike, down to the white space.
So a value that spells a call is refused, unless it is spelled just as two calls would be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from .json_calls import Found
from .scan import Attempt, Reader, failed, starts, walk
from .strict import skip_space

_CHATML_ENDS = ("<|im_end|>", "<|im_start|>", "<|endoftext|>", "<tool_response>")
_CALL, _UNCALL = "<tool_call>", "</tool_call>"


class _Stopped(Exception):
    """The markup of a call does not go on as it must."""

    def __init__(self, kind: str, message: str, at: int) -> None:
        super().__init__(message)
        self.attempt = failed(0, at, kind, message)


def _wrong(text: str, at: int, wanted: str) -> _Stopped:
    """Return the error for ``at``, where ``wanted`` is missing: perhaps the text is cut there."""
    rest = text[at : at + 300]
    if not rest or (len(rest) < 300 and _may_be_cut(rest)):
        return _Stopped("truncated", f"the call is cut before {wanted}", len(text))
    return _Stopped("invalid_markup", f"{wanted} is missing", at)


def _may_be_cut(rest: str) -> bool:
    """Tell whether a rest of the text is the beginning of a tag."""
    return rest.startswith("<") and ">" not in rest and "\n" not in rest


def _keep_argument(arguments: dict[str, str], key: str, value: str, at: int) -> None:
    if key in arguments:
        raise _Stopped("duplicate_key", "a parameter stands twice", at)
    arguments[key] = value


class Seams:
    """The white space at each kind of place between tags; a message has one for each kind."""

    def __init__(self) -> None:
        self._found: dict[str, object] = {}
        self.uniform = True  # so far

    def space(self, kind: str, text: str, at: int) -> int:
        """Note the white space at ``at``; return where it ends."""
        end = skip_space(text, at)
        seam = text[at:end]
        if self._found.setdefault(kind, seam) != seam:
            self.uniform = False
        return end

    def note(self, kind: str, seam: object) -> None:
        """Note what else is alike in all calls of a message."""
        if self._found.setdefault(kind, seam) != seam:
            self.uniform = False

    def spaced(self, kind: str) -> bool:
        """Tell whether there are line breaks at this kind of place."""
        return "\n" in str(self._found.get(kind, ""))


def _whole_or_none(
    text: str, found: list[Attempt], seams: Seams, between: str, tags: tuple[str, ...]
) -> Iterator[Attempt]:
    """Return the attempts, or one bad one where a value may have been taken for a call."""
    good = [item for item in found if item.fault is None]
    if not good:
        return iter(found)
    rest = text[found[-1].end :]
    whole = (
        seams.uniform
        and all(item.fault is None or item.fault.kind == "truncated" for item in found)
        and all(text[one.end : two.start] == between for one, two in pairwise(good))
        and not ("<" in rest and any(tag in rest for tag in tags))
    )
    if whole:
        return iter(found)
    told = "the tags of a call do not go on as they began; perhaps a value holds some"
    return iter([failed(good[0].start, len(text), "invalid_markup", told)])


# -- Qwen3-Coder ----------------------------------------------------------------------------

_FUNCTION = re.compile(r"<function=([^<>\n]{1,256})>")
_PARAMETER = re.compile(r"<parameter=([^<>\n]{1,256})>")
_UNPARAMETER, _UNFUNCTION = "</parameter>", "</function>"


def qwen3_coder(text: str) -> Found:
    """``<tool_call><function=N><parameter=K>V</parameter></function></tool_call>``."""
    if "<" not in text:
        return iter(())
    reader = _Coder(text.rfind(_UNPARAMETER))
    readers: dict[str, Reader] = {_CALL: reader.block, "<function=": reader.function}
    found = list(walk(text, readers, _CHATML_ENDS))
    between = "\n" if reader.seams.spaced("function") else ""
    tags = ("<parameter=", _UNPARAMETER, _UNFUNCTION, _UNCALL)
    return _whole_or_none(text, found, reader.seams, between, tags)


class _Coder:
    """Reads one text. ``last_close``: where its last parameter closes (no search goes beyond)."""

    def __init__(self, last_close: int) -> None:
        self._last_close = last_close
        self.seams = Seams()

    def block(self, text: str, start: int, at: int) -> Attempt | None:
        """Read from ``<tool_call>`` on; words after it are prose."""
        before, at = at, skip_space(text, at)
        if text.startswith("<function=", at):
            self.seams.note("call", text[before:at])
            return self.function(text, start, at + len("<function="))
        if at >= len(text) or "<function=".startswith(text[at : at + 16]):
            return failed(start, len(text), "truncated", "the call is cut after its tag")
        if text.startswith(("{", _UNCALL), at):
            return failed(start, at, "invalid_markup", "<function=NAME> is missing")
        return None

    def function(self, text: str, start: int, at: int) -> Attempt:
        """Read from ``<function=`` on; the outer tag is often left out."""
        try:
            return self._read(text, start, at - len("<function="))
        except _Stopped as stopped:
            return stopped.attempt._replace(start=start)

    def _read(self, text: str, start: int, at: int) -> Attempt:
        head = _FUNCTION.match(text, at)
        if head is None:
            raise _wrong(text, at, "<function=NAME>")
        arguments: dict[str, str] = {}
        at = self.seams.space("function", text, head.end())
        while opened := _PARAMETER.match(text, at):
            value, at = self._value(text, opened.end())
            _keep_argument(arguments, opened[1], value, at)
            at = self.seams.space("parameter", text, at)
        if not text.startswith(_UNFUNCTION, at):
            raise _wrong(text, at, "</function>")
        end = at + len(_UNFUNCTION)
        close = skip_space(text, end)
        outer = text.startswith(_CALL, start)
        self.seams.note("outer", outer)
        if text.startswith(_UNCALL, close):  # the first of the two tags is often left out
            self.seams.note("end", text[end:close])
            end = close + len(_UNCALL)
        elif outer and close < len(text) and not text.startswith(_CHATML_ENDS, close):
            raise _wrong(text, close, "</tool_call>")
        return Attempt(start, end, head[1], arguments, untyped=True)

    def _value(self, text: str, at: int) -> tuple[str, int]:
        """Return the value from ``at`` and where its close tag ends.

        Exactly one newline after the open tag and one before the close tag is framing.
        """
        if at > self._last_close:
            rest = text[at : at + 4096]
            kind = "invalid_markup" if _UNFUNCTION in rest or _CALL in rest else "truncated"
            raise _Stopped(kind, "</parameter> is missing", at)
        close = text.index(_UNPARAMETER, at)
        value = text[at:close]
        if "<parameter=" in value:
            raise _Stopped("invalid_markup", "a parameter opens inside another", close)
        if value.strip("\n"):
            self.seams.note("value", (value[0] == "\n", value[-1] == "\n"))
        after = close + len(_UNPARAMETER)
        if value.startswith("\r\n") and value.endswith("\r\n") and len(value) > 2:
            return value[2:-2], after
        return value.removeprefix("\n").removesuffix("\n"), after


# -- GLM 4.5 --------------------------------------------------------------------------------

_GLM_ENDS = ("<|observation|>", "<|user|>", "<|endoftext|>")
_NAME = re.compile(r"\s*([^\s<>{}\[\]]{1,256})\s*")
_ARG = re.compile(r"<arg_key>([^<>\n]{1,256})</arg_key>(\s*)<arg_value>")
_UNVALUE = "</arg_value>"


def glm45(text: str) -> Found:
    """``<tool_call>name <arg_key>K</arg_key> <arg_value>V</arg_value> </tool_call>``."""
    if "<" not in text:
        return iter(())
    last_close, seams = text.rfind(_UNVALUE), Seams()

    def block(text: str, start: int, at: int) -> Attempt | None:
        try:
            return _glm_call(text, start, at, last_close, seams)
        except _Stopped as stopped:
            return stopped.attempt._replace(start=start)

    found = list(walk(text, {_CALL: block}, _GLM_ENDS))
    between = "\n" if seams.spaced("end") else ""
    tags = ("<arg_key>", "</arg_key>", "<arg_value>", _UNVALUE, _UNCALL)
    return _whole_or_none(text, found, seams, between, tags)


def _glm_call(text: str, start: int, at: int, last_close: int, seams: Seams) -> Attempt | None:
    name = _NAME.match(text, at)
    if name is None:
        at = skip_space(text, at)
        if starts(text, at, ("{", "[", _UNCALL, "<arg_key>")):
            raise _wrong(text, at, "the name of the tool")
        return None
    at = name.end()
    if not starts(text, at, ("<", "{")):
        return None  # words, not a name
    seams.note("end" if text.startswith(_UNCALL, at) else "name", text[name.end(1) : at])
    arguments: dict[str, str] = {}
    while opened := _ARG.match(text, at):
        close = text.find(_UNVALUE, opened.end()) if opened.end() <= last_close else -1
        if close < 0:
            raise _Stopped("truncated", "the call is cut inside a value", opened.end())
        value = text[opened.end() : close]
        after = close + len(_UNVALUE)
        at = skip_space(text, after)
        if "<arg_value>" in value:
            raise _Stopped("invalid_markup", "a value opens inside another", at)
        _keep_argument(arguments, opened[1], value, at)
        seams.note("key", opened[2])
        seams.note("end" if text.startswith(_UNCALL, at) else "value", text[after:at])
    if not text.startswith(_UNCALL, at):
        raise _wrong(text, at, "a pair of <arg_key> and <arg_value>, or </tool_call>,")
    return Attempt(start, at + len(_UNCALL), name[1], arguments, untyped=True)
