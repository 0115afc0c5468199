"""The format that a chat template speaks: learned from its renderings, and proved by round trip.

Messages with known calls are rendered; a reader is right if it gives back from every rendering
what was put in, or what the template prints alike. A known reader is taken before a derived
grammar, since it forgives what models really write. A template that neither reads is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ...errors import SettingError, TokenizerError
from ...templates import ONE, PROSE, TOOLS, TYPES, ChatTemplate, Way, free_template
from ...thinking import first_closed, thoughts
from .calls import parse_calls
from .derive import Underivable, derived
from .registry import FORMATS, Format
from .writers import Step

_A, _B, _C = TOOLS

#: What is put into the template. The hard cases are strings.
PROBES: dict[str, list[Step]] = {
    "one": [(_A, {"s": "plain"})],
    "none": [(_A, {})],
    "two": [(_A, {"s": "x"}), (_B, {"t": "y"})],
    "three": [(_A, {"s": "x"}), (_A, {"s": "y"}), (_C, {"b": True})],
    "empty": [(_A, {}), (_B, {})],
    "strings": [(_A, {
        "s": 'say "hi", it\'s', "t": "line\nnext\ttab", "u": "[a] {b} <c> (d), e=f",
        "v": "na\u00efve \u6771\u4eac \U0001f642", "w": "C:\\dir\\new",
    })],
    "lookalikes": [(_A, {"s": "5", "t": "true", "u": "null", "v": '{"a": 1}', "w": "[1]"})],
    "scalars": [(_A, {"b": True, "c": False, "i": 12345678901, "n": -3, "x": 2.5})],
    "nested": [(_A, {
        "l": [1, 2], "m": ["a", "b'c"], "o": {"d": {"n": 1}, "e": [], "k": 'v "q"'},
    })],
    "null": [(_A, {"z": None})],
    "nulls": [(_A, {"l": [True, None], "o": {"b": False, "k": None}})],
}  # fmt: skip
#: Without these nothing is known; a template may refuse the others (two calls, say).
_NEEDED = ("one", "none", "strings", "nested")
#: Answers that are no calls.
NO_CALLS = (
    "The answer is 42.",
    'Say f(a=1), {"name": "x", "arguments": {}}, <b>x</b> or [g(b=2)].',
)
_TABLE: tuple[dict[str, Any], ...] = tuple(
    {
        "name": name,
        "parameters": {"type": "object", "properties": {k: {"type": t} for k, t in TYPES.items()}},
    }
    for name in TOOLS
)

#: What a prompt, or its template, says of a format in words: for templates that print no calls, or
#: print them otherwise than they say.
SAID = (
    (r"<\|tool_list_start\|>", "lfm2"),  # LFM2
    (r"List of tools: \[", "lfm2"),  # LFM2.5
    (r"<\|tool_call\|> followed by a JSON list", "granite33"),  # Granite 3.1, 3.3
    (r"<tool_call>\s*\{['\"](?:name|arguments)", "hermes"),  # SmolLM3, Falcon-H1
    (r"\[func_name1\(\w+=", "llama_pythonic"),  # Llama 3.2 and 4, Gemma 3, ToolACE
    (r'\{"name": function name, "parameters":', "llama3_json"),  # Llama 4
)


@dataclass(frozen=True)
class Learned:
    """What a template speaks.

    ``how``: ``"known"``, ``"derived"``, or ``"told"``: known by name, since the template prints
    no calls, or none that can be read, and says in words how to write them. ``way``: how the
    template takes calls. ``outcomes``: by probe ``"exact"``, ``"alike"`` (the template prints
    other calls just so), or ``"unrendered"``.
    """

    format: Format
    how: str
    way: Way | None
    outcomes: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=64)
def learn(chat: ChatTemplate) -> Learned:
    """Return the format of a template.

    Raises:
        SettingError: none reads its calls; says why, and what to do.
    """
    faults: list[tuple[int, str]] = []
    opened = _opens_thought(chat)
    for way, reader, how in _readers(chat, faults):
        format = replace(reader, opened=opened)
        outcomes = proof(chat, way, format)
        bad = {k: v for k, v in outcomes.items() if v not in ("exact", "alike", "unrendered")}
        bad |= {k: v for k, v in outcomes.items() if v == "unrendered" and k in _NEEDED}
        if not bad:
            return Learned(format, how, way, tuple(outcomes.items()))
        if how == "derived":
            told = ", ".join(f"{probe} {outcome}" for probe, outcome in bad.items())
            faults.append((len(bad), f"{format.name}: {told}"))
    said = f"{chat.asked_with_tools}\n{chat.source}"
    for sign, name in SAID:
        if re.search(sign, said):
            return Learned(FORMATS[name], "told", None)
    raise SettingError(_refusal(chat, min(faults)[1] if faults else chat.why_silent))


def _readers(
    chat: ChatTemplate, faults: list[tuple[int, str]]
) -> Iterator[tuple[Way, Format, str]]:
    """Yield the formats that read one plain call: the known ones, then those derived."""
    probe = PROBES["one"]
    for way in chat.ways:
        for known in tuple(FORMATS.values()):
            if outcome(chat, way, known, probe) == "exact":
                yield way, known, "known"
    for way in chat.ways:
        for make in derived(chat, way):
            try:
                grammar = make()
            except (Underivable, TokenizerError) as error:
                faults.append((len(PROBES), str(error)))
                continue
            name = f"derived: {grammar.style}"
            yield way, Format(name, grammar.find, grammar.write, grammar.plain), "derived"


def _opens_thought(chat: ChatTemplate) -> bool:
    """Tell whether the template itself opens a thought for the model to close."""
    text = chat.asked
    return any(end == len(text) and first_closed(text[a:]) == 0 for a, end in thoughts(text))


def read_probe(format: Format, text: str) -> list[Step] | None:
    """Return the calls in a text, None if one of them is bad."""
    calls = parse_calls(text, format, _TABLE)
    if any(not call.ok for call in calls):
        return None
    return [(call.name, call.arguments or {}) for call in calls]


def outcome(
    chat: ChatTemplate, way: Way, format: Format, calls: Sequence[Step], words: str = ""
) -> str:
    """Return how calls come back from the template.

    ``exact``; ``alike``: others are printed just so, and no reader can tell; ``refused``;
    ``unread``: as if there were none; ``wrong``; ``unrendered``: the template refuses them.
    """
    try:
        text = chat.turn(calls, way, words)
    except TokenizerError:
        return "unrendered"
    if _A not in text and (calls or not text):
        return "unrendered"
    if words and calls and chat.ended_before(text, words, _A):
        return "unrendered"  # the words are a turn of their own
    first, last = (calls[0][0], calls[-1][0]) if len(calls) > 1 else ("", "")
    if last and last in text.partition(first)[2] and chat.ended_before(text, first, last):
        return "unrendered"  # and so are some calls
    found = read_probe(format, chat.body(text))
    if found is None:
        return "refused"
    if _same(found, calls):
        return "exact"
    if not found:
        return "unread"
    with suppress(TokenizerError):
        return "alike" if chat.turn(found, way, words) == text else "wrong"
    return "wrong"


def _same(found: Sequence[Step], calls: Sequence[Step]) -> bool:
    one, other = (json.dumps([list(c) for c in steps], sort_keys=True) for steps in (found, calls))
    return one == other


def proof(chat: ChatTemplate, way: Way, format: Format) -> dict[str, str]:
    """Return the outcome of every probe."""
    found = {name: outcome(chat, way, format, calls) for name, calls in PROBES.items()}
    found["words"] = outcome(chat, way, format, PROBES["one"], PROSE)
    for place, text in enumerate(NO_CALLS):
        found[f"no call {place}"] = outcome(chat, way, format, [], text)
    return found


def _refusal(chat: ChatTemplate, why: str) -> str:
    return (
        "the chat template takes tools, but how it writes calls cannot be read: "
        f"{why[:300].rstrip('.')}. {_shown(chat)}"
        f"Give format= (one of {', '.join(FORMATS)}), which is then explained in the "
        "prompt, or make a reader known with mint_envs.tooluse.register_format"
    )


def _shown(chat: ChatTemplate) -> str:
    for way in chat.ways:
        with suppress(TokenizerError):
            text = chat.turn([(_A, {"s": ONE, "l": [1, "a"]})], way)
            return f"It writes {_A}(s={ONE!r}, l=[1, 'a']) as {text[:600]!r}. "
    return ""


def format_of(template: str) -> str:
    """Return the name of the format in which a chat template writes calls, by its text.

    ``"hermes"`` for one that neither takes tools nor prints calls: that is what its model is told.

    Raises:
        SettingError: the template takes tools, and no format reads its calls.
    """
    return format_for(chat_template(template)).format.name


def chat_template(source: str) -> ChatTemplate:
    """Return a template that is no tokenizer's."""
    return free_template(source, (), (("bos_token", "<BOS>"), ("eos_token", "<EOS>")))


def format_for(chat: ChatTemplate) -> Learned:
    """Return what ``format="auto"`` takes; raises SettingError as ``learn`` does."""
    try:
        return learn(chat)
    except SettingError:
        if chat.lists_tools:
            raise
    return Learned(FORMATS["hermes"], "told", None)
