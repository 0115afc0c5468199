"""Formats whose arguments are plain text between tags: Qwen3-Coder and GLM 4.5.

The text is not XML: nothing is unescaped. Where a value holds the tag that would close it, the
two cannot be told apart, and the call is refused rather than cut.
"""

from __future__ import annotations

import re

from .json_calls import Found
from .scan import Attempt, failed, starts, walk
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


# -- Qwen3-Coder ----------------------------------------------------------------------------

_FUNCTION = re.compile(r"<function=([^<>\n]{1,256})>")
_PARAMETER = re.compile(r"<parameter=([^<>\n]{1,256})>")
_UNPARAMETER, _UNFUNCTION = "</parameter>", "</function>"


def qwen3_coder(text: str) -> Found:
    """``<tool_call><function=N><parameter=K>V</parameter></function></tool_call>``."""
    reader = _Coder(text.rfind(_UNPARAMETER))
    return walk(text, {_CALL: reader.block, "<function=": reader.function}, _CHATML_ENDS)


class _Coder:
    """Reads one text. ``last_close``: where its last parameter closes (no search goes beyond)."""

    def __init__(self, last_close: int) -> None:
        self._last_close = last_close

    def block(self, text: str, start: int, at: int) -> Attempt | None:
        """Read from ``<tool_call>`` on; words after it are prose."""
        at = skip_space(text, at)
        if text.startswith("<function=", at):
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
        at = skip_space(text, head.end())
        while opened := _PARAMETER.match(text, at):
            value, at = self._value(text, opened.end())
            _keep_argument(arguments, opened[1], value, at)
            at = skip_space(text, at)
        if not text.startswith(_UNFUNCTION, at):
            raise _wrong(text, at, "</function>")
        end = at + len(_UNFUNCTION)
        close = skip_space(text, end)
        if text.startswith(_CALL, start) and text.startswith(_UNCALL, close):
            end = close + len(_UNCALL)
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
        return value.removeprefix("\n").removesuffix("\n"), close + len(_UNPARAMETER)


# -- GLM 4.5 --------------------------------------------------------------------------------

_GLM_ENDS = ("<|observation|>", "<|user|>", "<|endoftext|>")
_NAME = re.compile(r"\s*([^\s<>{}\[\]]{1,256})\s*")
_ARG = re.compile(r"<arg_key>([^<>\n]{1,256})</arg_key>\s*<arg_value>")
_UNVALUE = "</arg_value>"


def glm45(text: str) -> Found:
    """``<tool_call>name <arg_key>K</arg_key> <arg_value>V</arg_value> </tool_call>``."""
    last_close = text.rfind(_UNVALUE)

    def block(text: str, start: int, at: int) -> Attempt | None:
        try:
            return _glm_call(text, start, at, last_close)
        except _Stopped as stopped:
            return stopped.attempt._replace(start=start)

    return walk(text, {_CALL: block}, _GLM_ENDS)


def _glm_call(text: str, start: int, at: int, last_close: int) -> Attempt | None:
    name = _NAME.match(text, at)
    if name is None:
        at = skip_space(text, at)
        if starts(text, at, ("{", "[", _UNCALL, "<arg_key>")):
            raise _wrong(text, at, "the name of the tool")
        return None
    at = name.end()
    if not starts(text, at, ("<", "{")):
        return None  # words, not a name
    arguments: dict[str, str] = {}
    while opened := _ARG.match(text, at):
        close = text.find(_UNVALUE, opened.end()) if opened.end() <= last_close else -1
        if close < 0:
            raise _Stopped("truncated", "the call is cut inside a value", opened.end())
        value = text[opened.end() : close]
        at = skip_space(text, close + len(_UNVALUE))
        if "<arg_value>" in value:
            raise _Stopped("invalid_markup", "a value opens inside another", at)
        _keep_argument(arguments, opened[1], value, at)
    if not text.startswith(_UNCALL, at):
        raise _wrong(text, at, "a pair of <arg_key> and <arg_value>, or </tool_call>,")
    return Attempt(start, at + len(_UNCALL), name[1], arguments, untyped=True)
