"""Formats whose calls are JSON: Hermes, Llama 3, Mistral, DeepSeek, Kimi K2, harmony, OpenAI."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .scan import (
    Attempt,
    Reader,
    bare_calls,
    closed,
    failed,
    from_json,
    json_arguments,
    walk,
)
from .strict import read_value, read_whole, skip_space

Found = Iterator[Attempt]

_CHATML_ENDS = ("<|im_end|>", "<|im_start|>", "<|endoftext|>", "<tool_response>")


# -- Hermes (Qwen2.5, Qwen3) ----------------------------------------------------------------


def hermes(text: str) -> Found:
    """``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``, one block a call."""
    return walk(text, _HERMES, _CHATML_ENDS) if "<" in text else iter(())


def _hermes_block(text: str, start: int, at: int) -> Attempt | None:
    at = skip_space(text, at)
    if not text.startswith("{", at):
        return _no_object(text, start, at)
    attempt = from_json(start, read_value(text, at))
    return closed(text, attempt, _HERMES_CLOSE)


_HERMES_CLOSE = ("</tool_call>", "<tool_call>", *_CHATML_ENDS)
_HERMES: dict[str, Reader] = {"<tool_call>": _hermes_block}


def _no_object(text: str, start: int, at: int) -> Attempt | None:
    """A block without a JSON object: empty or another JSON value is a bad call, words are prose."""
    until = text.find("<tool_call>", at)
    until = len(text) if until < 0 else until
    close = text.find("</tool_call>", at, until)
    if close < 0 and at >= len(text):
        return failed(start, at, "truncated", "the call is cut after its tag")
    body = text[at : close if close >= 0 else until]
    end = close + len("</tool_call>") if close >= 0 else at + len(body)
    if not body.strip():
        return failed(start, end, "invalid_json", "the block is empty") if close >= 0 else None
    if read_whole(body).fault is None:
        return failed(start, end, "not_an_object", "a call is a JSON object")
    if close < 0 or "{" not in body:
        return None
    return failed(start, end, "invalid_json", "the block does not begin with a JSON object")


# -- Llama 3.1 and 3.2 ----------------------------------------------------------------------

_PYTHON_TAG = "<|python_tag|>"
_CALL_KEYS = frozenset({"name", "function", "parameters", "arguments"})


def llama3_json(text: str) -> Found:
    """``{"name": ..., "parameters": {...}}`` as the message, or after ``<|python_tag|>``."""
    return bare_calls(text, _llama_message)


def _llama_message(text: str, at: int) -> tuple[list[Attempt], int]:
    at, tagged = _after_python_tag(text, at)
    start = at
    found: list[Attempt] = []
    while text.startswith("{", at) or (tagged and not found):
        attempt = from_json(start, read_value(text, at))
        if not (tagged or found or _like_a_call(text, at, attempt)):
            break
        attempt = _no_extra_bracket(text, attempt)
        found.append(attempt)
        at = skip_space(text, attempt.end)
        if attempt.fault and attempt.fault.kind != "missing_name":
            break
        start = at = skip_space(text, at + 1) if text.startswith((";", ","), at) else at
    return found, at


def _after_python_tag(text: str, at: int) -> tuple[int, bool]:
    """Return where the call begins: after the tag, which may follow prose, else at ``at``."""
    if text.startswith("{", at):
        return at, False
    tag = text.find(_PYTHON_TAG, at)
    return (at, False) if tag < 0 else (skip_space(text, tag + len(_PYTHON_TAG)), True)


def _like_a_call(text: str, at: int, attempt: Attempt) -> bool:
    """Without a tag, an answer in JSON or words in braces are no attempt at a call."""
    if attempt.fault is None:
        return True
    if attempt.fault.kind != "missing_name":
        return text.startswith(('"', "'"), skip_space(text, at + 1))
    value = read_value(text, at).value
    return bool(_CALL_KEYS & set(value))


def _no_extra_bracket(text: str, attempt: Attempt) -> Attempt:
    """Prose may follow a call; one more closing bracket is a slip of the JSON itself."""
    at = skip_space(text, attempt.end)
    if attempt.fault is None and text.startswith(("}", "]"), at):
        return failed(attempt.start, at + 1, "invalid_json", "one bracket too many", attempt.name)
    return attempt


# -- Mistral --------------------------------------------------------------------------------

# The mark of the arguments is often left out: then they must begin at once.
_MISTRAL_NAME = re.compile(
    r"\s*([^\s\[\]{}]{1,256}+)\s*(?:(?:\[CALL_ID\]([^\[\]]{0,256}))?\[ARGS\]|(?=\{))"
)
_MISTRAL_CUT = re.compile(r"\s*[^\s\[\]{}]{0,256}\s*(?:\[[A-Z_]{0,8}\]?[^\[\]{}]{0,256})?")


def mistral(text: str) -> Found:
    """``[TOOL_CALLS] [{...}, ...]``, or from v11 on ``[TOOL_CALLS]name[ARGS]{...}``."""
    return _calls_in_lists(text, {"[TOOL_CALLS]": _mistral_call}, ("</s>", "[TOOL_RESULTS]"))


def granite33(text: str) -> Found:
    """``<|tool_call|>[{"name": ..., "arguments": {...}}, ...]``."""
    return _calls_in_lists(
        text, {"<|tool_call|>": _call_list}, ("<|end_of_text|>", "<|start_of_role|>")
    )


def _calls_in_lists(text: str, readers: dict[str, Reader], ends: tuple[str, ...]) -> Found:
    found: list[Attempt] = []
    for item in walk(text, readers, ends):
        found.extend(_elements(text, item))
    return iter(found)


def _mistral_call(text: str, start: int, at: int) -> Attempt | None:
    if match := _MISTRAL_NAME.match(text, at):
        attempt = json_arguments(text, start, match.end(), match[1], ())
        return _no_extra_bracket(text, attempt._replace(id=(match[2] or "").strip()))
    return _call_list(text, start, at)


def _call_list(text: str, start: int, at: int) -> Attempt:
    """Read a list of calls, or one call; ``_elements`` takes the list apart."""
    at = skip_space(text, at)
    if text.startswith("[", at):
        array = read_value(text, at)
        if array.fault:
            return Attempt(start, array.end, fault=array.fault)
        return _no_extra_bracket(text, Attempt(start, array.end, "", at))
    if text.startswith("{", at):
        return _no_extra_bracket(text, from_json(start, read_value(text, at)))
    cut = _MISTRAL_CUT.match(text, at)
    if cut and cut.end() == len(text):
        return failed(start, len(text), "truncated", "the call is cut before its arguments")
    return failed(start, at, "invalid_markup", "a list of calls, or name[ARGS]{...}, must follow")


def _elements(text: str, item: Attempt) -> list[Attempt]:
    """Return the calls of a JSON array that is known to be good, each with its own span."""
    if not isinstance(item.arguments, int):
        return [item]
    found, at = [], skip_space(text, item.arguments + 1)
    while at < item.end and text[at] != "]":
        element = from_json(at, read_value(text, at))
        found.append(element)
        at = skip_space(text, element.end)
        at = skip_space(text, at + 1) if text[at] == "," else at
    return found


# -- DeepSeek -------------------------------------------------------------------------------

_BEGIN, _SEP = "<\uff5ctool\u2581call\u2581begin\uff5c>", "<\uff5ctool\u2581sep\uff5c>"
_END = "<\uff5ctool\u2581call\u2581end\uff5c>"
_DEEPSEEK_ENDS = (
    "<\uff5ctool\u2581calls\u2581end\uff5c>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
)
_V3_HEAD = re.compile(rf"\s*function{_SEP}([^\n<]{{1,256}})\n```json\n")
_V31_HEAD = re.compile(rf"([^\n<]{{1,256}}){_SEP}")


def deepseek_v3(text: str) -> Found:
    """``<|tool call begin|>function<|tool sep|>name``, then the arguments in a JSON fence."""
    return walk(text, {_BEGIN: _deepseek_v3_call}, _DEEPSEEK_ENDS)


def _deepseek_v3_call(text: str, start: int, at: int) -> Attempt:
    head = _V3_HEAD.match(text, at)
    if head is None:
        return _headless(text, start, at, "function, the separator, a name and a JSON fence")
    close = ("```", _END, *_DEEPSEEK_ENDS)
    attempt = json_arguments(text, start, head.end(), head[1].strip(), close)
    at = skip_space(text, attempt.end)
    good = attempt.fault is None and text.startswith(_END, at)
    return attempt._replace(end=at + len(_END)) if good else attempt


def deepseek_v31(text: str) -> Found:
    """``<|tool call begin|>name<|tool sep|>{...}<|tool call end|>``."""
    return walk(text, {_BEGIN: _deepseek_v31_call}, _DEEPSEEK_ENDS)


def _deepseek_v31_call(text: str, start: int, at: int) -> Attempt:
    head = _V31_HEAD.match(text, at)
    if head is None:
        return _headless(text, start, at, "a name and the separator")
    close = (_END, _BEGIN, *_DEEPSEEK_ENDS)
    return json_arguments(text, start, head.end(), head[1].strip(), close)


def _headless(text: str, start: int, at: int, wanted: str) -> Attempt:
    """Return the fault of a call whose head is not there, or is cut by the end of the text."""
    if len(text) - at < 300 and "{" not in text[at:] and _END not in text[at:]:
        return failed(start, len(text), "truncated", "the call is cut before its arguments")
    return failed(start, at, "invalid_markup", f"{wanted} must follow the opening mark")


# -- Kimi K2 --------------------------------------------------------------------------------

_KIMI_HEAD = re.compile(
    r"\s*((?:functions\.)?([^\s<>:]{1,256})(?::\d{1,9})?)\s*<\|tool_call_argument_begin\|>"
)
_KIMI_ENDS = ("<|tool_calls_section_end|>", "<|im_end|>")
_KIMI_CLOSE = ("<|tool_call_end|>", "<|tool_call_begin|>", *_KIMI_ENDS)


def kimi_k2(text: str) -> Found:
    """``<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{...}<|tool_call_end|>``."""
    return walk(text, {"<|tool_call_begin|>": _kimi_call}, _KIMI_ENDS)


def _kimi_call(text: str, start: int, at: int) -> Attempt:
    head = _KIMI_HEAD.match(text, at)
    if head is None:
        return _headless(text, start, at, "functions.name:0 and the argument mark")
    attempt = json_arguments(text, start, head.end(), head[2], _KIMI_CLOSE)
    return attempt._replace(id=head[1])


# -- harmony (gpt-oss) ----------------------------------------------------------------------

_RECIPIENT = re.compile(r"\bto=([^\s<]{1,256})")
_HARMONY_CLOSE = ("<|call|>", "<|end|>", "<|return|>", "<|start|>")
_PEOPLE = frozenset({"all", "assistant", "user", "system", "developer"})


def harmony(text: str) -> Found:
    """``... to=functions.name<|constrain|>json<|message|>{...}<|call|>``."""
    header = 0

    def opened(text: str, start: int, at: int) -> None:
        nonlocal header
        header = at

    def message(text: str, start: int, at: int) -> Attempt | None:
        nonlocal header
        begin, header = header, at
        # A header is short; that keeps the search of many of them linear.
        to = _RECIPIENT.search(text, max(begin, start - 600), start)
        if to is None or to[1] in _PEOPLE:
            return None
        name = to[1].removeprefix("functions.")
        return json_arguments(text, begin, at, name, _HARMONY_CLOSE)

    closers: dict[str, Reader] = dict.fromkeys(_HARMONY_CLOSE, opened)
    return walk(text, {**closers, "<|message|>": message}, ())


# -- OpenAI message -------------------------------------------------------------------------


def openai_message(text: str) -> Found:
    """A whole assistant message as JSON. Every span is that of the message."""
    start = skip_space(text, 0)
    if not text.startswith("{", start):
        return
    found = read_whole(text)
    if found.fault:
        yield Attempt(start, found.end, fault=found.fault)
        return
    calls = found.value.get("tool_calls") or []
    if not isinstance(calls, list):
        yield failed(start, found.end, "not_an_object", "tool_calls is a list of objects")
        return
    for call in calls:
        yield from_json(start, found._replace(value=call))
