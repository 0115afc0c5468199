"""Derive a grammar from how a chat template writes calls that are known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from ...errors import TokenizerError
from ...templates import ANSWER, LAST, ONE, PROSE, TOOLS, ChatTemplate, Way, alike
from ...thinking import aloud
from .grammar import Grammar, JsonGrammar, ObjectGrammar
from .scan import named_call
from .strict import read_value
from .tag_grammar import TagGrammar, ValueForm

PAIR = {"key_a": ONE, "key_b": LAST}
_A, _B = TOOLS[:2]
_OBJECT = re.compile(r'\{\s*"key_a":\s*"onevalue",\s*"key_b":\s*"lastvalue"\s*\}')
_AN_ID = re.compile(r"id00\dwxyz")

#: Values of each type, by which the framing of that type is found.
SAMPLES: dict[str, tuple[Any, ...]] = {
    "s": (ONE, "q\"u'o\\p", "a<b> & c", "d\ne"),
    "i": (70707,),
    "x": (2.25,),
    "b": (True,),
    "l": ([1, 2],),
    "o": ({"k": 7},),
    "z": (None,),
}

Spans = Callable[[str], list[tuple[int, int]]]


class Underivable(Exception):
    """No grammar of this kind frames the calls of a template; says why."""


class _Seams(NamedTuple):
    open: str
    between: str | None
    close: str
    after: str  # of every call, the last one too: no part of ``between`` and ``close``


def derived(chat: ChatTemplate, way: Way) -> Iterator[Callable[[], Grammar]]:
    """Yield what makes the grammars that may fit; each raises Underivable or TokenizerError."""
    yield lambda: _objects(chat, way)
    yield lambda: _json(chat, way)
    yield lambda: _tags(chat, way)


def _objects(chat: ChatTemplate, way: Way) -> ObjectGrammar:
    text = chat.turn([(_A, PAIR)], way)
    *_, value = _value_with_call(text)
    keys = _keys(value[0] if isinstance(value, list) else value)

    def spans(text: str) -> list[tuple[int, int]]:
        found, at = list[tuple[int, int]](), 0
        with suppress(Underivable):
            while at < len(text):
                start, at, _ = _value_with_call(text, at, TOOLS[len(found)])
                found.append((start, at))
        return found

    seams = _seams(chat, way, spans)
    close = seams.after + seams.close
    listed = isinstance(value, list)
    return ObjectGrammar(
        "JSON list" if listed else "JSON object",
        seams.open,
        None if listed or seams.between is None else seams.after + seams.between,
        close,
        tuple(chat.marks(seams.after)),
        _ends_of(chat),
        False,
        listed,
        *keys,
    )


def _value_with_call(text: str, at: int = 0, name: str = _A) -> tuple[int, int, Any]:
    """Return where the first JSON value with a call of this name stands, and the value."""
    last = text.find(name, at)
    for start in range(at, last):
        if text[start] in "[{":
            found = read_value(text, start)
            if found.fault is None and found.end > last:
                return start, found.end, found.value
    raise Underivable("no JSON value holds the name and the arguments")


def _keys(value: Any) -> tuple[str, str]:
    """Return the keys of name and arguments; ``""`` where the name itself is the key."""
    if not isinstance(value, dict):
        raise Underivable("a call is no JSON object")
    arguments = [k for k, v in value.items() if named_call(0, 0, "", v).arguments == PAIR]
    names = [key for key, item in value.items() if item == _A]
    if arguments == [_A]:
        return "", _A
    if len(names) != 1 or len(arguments) != 1:
        raise Underivable("a JSON object holds no name, or no arguments")
    return names[0], arguments[0]


def _json(chat: ChatTemplate, way: Way) -> JsonGrammar:
    text = chat.turn([(_A, PAIR)], way)
    start = _OBJECT.search(text)
    name = text.rfind(_A, 0, start.start()) if start else -1
    if start is None or name < 0:
        raise Underivable("no JSON holds the arguments, or no name stands before it")
    middle = text[name + len(_A) : start.start()]

    def spans(text: str) -> list[tuple[int, int]]:
        found = zip(_OBJECT.finditer(text), TOOLS, strict=False)
        return [(text.rfind(n, 0, m.start()), m.end()) for m, n in found]

    seams = _seams(chat, way, spans)
    close = seams.after + seams.close
    listed = close.lstrip(" }\n").startswith("]")
    style = "JSON list" if listed else "JSON object"
    return JsonGrammar(
        "name, JSON" if '"' not in middle else style,
        seams.open,
        None if seams.between is None else seams.after + seams.between,
        close,
        tuple(chat.marks(seams.after)),
        _ends_of(chat),
        _ids_come_late(seams.open + middle, close),
        middle,
    )


def _ends_of(chat: ChatTemplate) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (chat.ends.call, *chat.ends.answers))))


def _ids_come_late(before: str, behind: str) -> bool:
    return bool(_AN_ID.search(behind)) and not _AN_ID.search(before)


def _seams(chat: ChatTemplate, way: Way, spans: Spans) -> _Seams:
    """Return open, between and close by the renderings of one call and of two."""
    one = chat.turn([(_A, PAIR)], way)
    start, end = spans(one)[0]
    plain = chat.turn([], way, ANSWER).partition(ANSWER)[0]
    opening = one[len(chat.shared(plain, one[:start])) : start]
    rest, after, between = chat.body(one)[end:], "", None
    with suppress(TokenizerError, IndexError):
        # Words before the call show what is no part of its opening.
        said = chat.turn([(_A, PAIR)], way, PROSE)
        before = said[: spans(said)[0][0]] if PROSE in said else opening
        both = alike(opening[::-1], before[::-1])
        opening = opening[len(opening) - both :].lstrip()
    opening = aloud(opening).lstrip()  # an empty thought before the calls is no part of them
    with suppress(TokenizerError, ValueError):  # one call a message
        two = chat.turn([(_A, PAIR), (_B, PAIR)], way)
        (_, end), (start, _) = spans(two)[:2]
        after = chat.shared(rest, two[end:start])
        between = two[end + len(after) : start]
    return _Seams(opening, between, rest[len(after) :], after)


def _tags(chat: ChatTemplate, way: Way) -> TagGrammar:
    text = chat.turn([(_A, PAIR)], way)
    places = [text.find(word) for word in ("key_a", ONE, "key_b", LAST)]
    name = text.rfind(_A, 0, max(places[0], 0))
    if sorted({-1, *places}) != [-1, *places] or name < 0 or str(PAIR) in text:
        raise Underivable("names, keys and values do not stand in turn")
    first = text[name + len(_A) : places[0]]
    string = text[places[2] + len("key_b") : places[3]]

    def spans(text: str) -> list[tuple[int, int]]:
        found = zip(re.finditer(LAST, text), TOOLS, strict=False)
        return [(text.rfind(n, 0, m.start()), m.end()) for m, n in found]

    seams = _seams(chat, way, spans)
    close = seams.close
    forms = _forms(chat, way, first, string, close)
    none = chat.body(chat.turn([(_A, {})], way))
    empty = none[none.rfind(_A) + len(_A) :].removesuffix(close)
    style = "tags" if "<" in first else "marks" if "<" in string else "Python call"
    kept = {m for f in forms for m in chat.marks(f.end + f.next + close)}
    kept -= set(chat.marks(first))
    return TagGrammar(
        style,
        seams.open,
        seams.between,
        close,
        tuple(sorted(kept)),
        _ends_of(chat),
        _ids_come_late(seams.open + first, close),
        first,
        empty,
        forms,
        _quote(forms),
    )


def _quote(forms: tuple[ValueForm, ...]) -> str:
    """Return the mark that opens a string, beyond what opens any other value."""
    strings = [form.before for form in forms if "s" in form.types]
    others = [form.before for form in forms if form.types != {"s"}]
    pairs = ((s, o) for s in strings for o in others)
    return next((s[len(o) :] for s, o in pairs if s.startswith(o) and s != o), "")


def _forms(
    chat: ChatTemplate, way: Way, first: str, string: str, close: str
) -> tuple[ValueForm, ...]:
    """Return what frames the values of each type."""
    found: dict[tuple[str, str, str], set[str]] = {}
    escaped = False
    for kind, values in SAMPLES.items():
        forms = [_form(chat, way, kind, value, first, string, close) for value in values]
        if kind == "s" and None in forms:
            escaped = True  # strings are read like other values then
            continue
        for form in forms:
            if form is not None:
                found.setdefault(form, set()).add(kind)
    if not found or (escaped and not found.keys()):
        raise Underivable("no value is framed alike in all places")
    return tuple(ValueForm(*form, frozenset(kinds)) for form, kinds in found.items())


def _form(
    chat: ChatTemplate, way: Way, key: str, value: Any, first: str, string: str, close: str
) -> tuple[str, str, str] | None:
    """Return what frames a value: before it, before another argument, and at the end."""
    try:
        single = chat.body(chat.turn([(_A, {key: value})], way)).removesuffix(close)
        pair = chat.turn([(_A, {key: value, "w": LAST})], way)
    except TokenizerError:
        return None
    pair, head = pair[: pair.rfind("w" + string + LAST)], _A + first + key
    compact = json.dumps(value, separators=(",", ":"))
    spellings = [value] if key == "s" else [json.dumps(value), compact, str(value)]
    for spelling in spellings:
        alone, followed = (t.rpartition(head)[2].partition(spelling) for t in (single, pair))
        if alone[1] and followed[1]:
            return alone[0], followed[2], alone[2]
    return None
