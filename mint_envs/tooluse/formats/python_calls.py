"""Formats whose calls are Python: ``[f(a=1), g()]`` of Llama, and Gemma's ``tool_code`` fence."""

from __future__ import annotations

import re

from .json_calls import Found
from .literals import LiteralFault, LiteralReader
from .scan import Attempt, bare_calls, failed, starts, walk
from .strict import too_large

# What opens a list of calls, or a call. A tag of Llama 4 may stand before it.
_LIST = re.compile(r"\[\s*[^\W\d][\w.]{0,255}+\(")
_SINGLE = re.compile(r"[^\W\d][\w.]{0,255}+\(\s*(?:\)|[^\W\d]\w{0,255}+\s*=)")
_START, _ENDS = "<|python_start|>", ("<|python_end|>", "<|eot|>", "<|eot_id|>", "<|eom_id|>")


def llama_pythonic(text: str) -> Found:
    """``[f(a=1), g()]`` as the message; a single call may stand without its brackets."""
    return bare_calls(text, _pythonic_message)


_LFM2_START, _LFM2_END = "<|tool_call_start|>", "<|tool_call_end|>"


def lfm2(text: str) -> Found:
    """``<|tool_call_start|>[f(a=1), g()]<|tool_call_end|>``."""
    found: list[Attempt] = []
    for item in walk(text, {_LFM2_START: _lfm2_list}, ("<|im_end|>", "<|im_start|>")):
        inner = item.arguments
        found.extend(inner if isinstance(inner, list) else [item])
    return iter(found)


def _lfm2_list(text: str, start: int, at: int) -> Attempt:
    """Return an attempt that holds those of the list."""
    reader = LiteralReader(text, len(text))
    at = reader.space(at)
    if not text.startswith("[", at):
        cut = at >= len(text)
        kind, told = ("truncated", "the call is cut") if cut else ("invalid_python", "[ is missing")
        return failed(start, at, kind, told)
    calls, end = _call_list(text, reader, at)
    if any(call.fault for call in calls):
        return Attempt(start, end, "", calls)
    end = reader.space(end)
    if not starts(text, end, (_LFM2_END, _LFM2_START)):
        return failed(start, end, "invalid_python", "something follows the list of calls")
    return Attempt(start, end + len(_LFM2_END) * text.startswith(_LFM2_END, end), "", calls)


def _pythonic_message(text: str, at: int) -> tuple[list[Attempt], int]:
    if text.startswith(_START, at):
        at += len(_START)
    reader = LiteralReader(text, len(text))
    at = reader.space(at)
    if _LIST.match(text, at):
        calls, end = _call_list(text, reader, at)
        good = not any(call.fault for call in calls)
        if good and (text.startswith("[", end) or text.startswith((")", "]"), reader.space(end))):
            told = "something follows the list of calls"  # one bracket too many, or an expression
            return [failed(at, end, "invalid_python", told)], end
        return calls, end
    if _SINGLE.match(text, at):
        return _single_call(text, reader, at)
    return [], at


def _call_list(text: str, reader: LiteralReader, at: int) -> tuple[list[Attempt], int]:
    """Read ``[f(), g()]``. A list that breaks off is refused whole: its end is not known."""
    start, found = at, list[Attempt]()
    at = reader.space(at + 1)
    try:
        while not text.startswith("]", at):
            attempt = _literal_call(text, reader, at)
            found.append(attempt)
            at = reader.comma(attempt.end, "]")
    except LiteralFault as stopped:
        return [_bad_attempt(text, start, stopped)], stopped.at
    return found, at + 1


def _single_call(text: str, reader: LiteralReader, at: int) -> tuple[list[Attempt], int]:
    """Read ``f(a=1)``, where nothing else may stand in the message: ``f(x) is even`` is prose."""
    try:
        attempt = _literal_call(text, reader, at)
    except LiteralFault as stopped:
        return [_bad_attempt(text, at, stopped)], stopped.at
    rest = reader.space(attempt.end)
    alone = rest >= len(text) or text.startswith(_ENDS, rest)
    return ([attempt] if alone else []), attempt.end


def _literal_call(text: str, reader: LiteralReader, at: int) -> Attempt:
    name, arguments, end = reader.call(at)
    if fault := too_large(text[at:end]):
        return Attempt(at, end, name, None, fault)
    return Attempt(at, end, name, arguments)


def _bad_attempt(text: str, start: int, stopped: LiteralFault) -> Attempt:
    """Return the bad attempt; one that runs into the end of the turn was cut there."""
    fault = stopped.fault
    if fault.kind == "invalid_python" and text.startswith(_ENDS, stopped.at):
        fault = fault._replace(kind="truncated")
    return Attempt(start, max(start, stopped.at), "", None, fault)


# -- Gemma ----------------------------------------------------------------------------------

_FENCE = "```tool_code"
_PRINT = re.compile(r"print\(\s*(?=[^\W\d][\w.]{0,255}+\s*\()")
_GEMMA_ENDS = ("<end_of_turn>", "<start_of_turn>", "```tool_output")


def gemma_tool_code(text: str) -> Found:
    """Python calls, one a line or in a list, in a fence named ``tool_code``."""
    found: list[Attempt] = []
    for item in walk(text, {_FENCE: _whole_fence}, _GEMMA_ENDS):
        inner = item.arguments if isinstance(item, Attempt) else None
        found.extend(inner if isinstance(inner, list) else [item])
    return iter(found)


def _whole_fence(text: str, start: int, at: int) -> Attempt:
    """Return an attempt that holds those of the fence, since one fence may hold several calls."""
    reader = LiteralReader(text, len(text))
    found: list[Attempt] = []
    at = reader.space(at)
    try:
        while not text.startswith("```", at):
            if text.startswith("[", at):
                calls, at = _call_list(text, reader, at)
                found += calls
            else:
                found.append(_printed_call(text, reader, at))
                at = found[-1].end
            if found[-1].fault:
                return Attempt(start, at, "", found)
            at = reader.space(at)
    except LiteralFault as stopped:
        if at >= len(text) and found:  # a sampler that stops on the fence may leave it out
            return Attempt(start, at, "", found)
        return Attempt(start, stopped.at, "", [*found, _bad_attempt(text, at, stopped)])
    return Attempt(start, at + len("```"), "", found)


def _printed_call(text: str, reader: LiteralReader, at: int) -> Attempt:
    """Read a call, with ``print()`` round it as Gemma often writes; a tool may be called print."""
    inside = _PRINT.match(text, at)
    if inside is None:
        return _literal_call(text, reader, at)
    attempt = _literal_call(text, reader, inside.end())
    end = reader.space(attempt.end)
    if not text.startswith(")", end):
        raise LiteralFault(
            "truncated" if end >= len(text) else "invalid_python", ") is missing", end
        )
    return attempt._replace(start=at, end=end + 1)
