"""Derived formats with a name, and then key and value by turns: tags, ``f(a=1)``, marks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from .grammar import NAME, Fill, Grammar, Unread, framing_pattern
from .literals import LiteralFault, LiteralReader, read_literal
from .scan import Attempt
from .strict import read_value, read_whole
from .writers import as_json

KEY = r"([^\s<>{}()\[\]\"'|=:,]{1,128}?)"

#: A value whose end is not told by its own grammar is tried at so many ends.
_TRIES = 64

_BARE_KEY = re.compile(r"([{,]\s*+)([A-Za-z_]\w*+)\s*+:")
_WORD = re.compile(r"\b(?:None|True|False)\b")
_WORDS = {"None": "null", "True": "true", "False": "false"}


class ValueForm(NamedTuple):
    """What frames the values of some types: before them, before another key, at the end."""

    before: str
    next: str
    end: str
    types: frozenset[str]  # keys of ``SAMPLES``


@dataclass(frozen=True)
class TagGrammar(Grammar):
    """``name first key before value next key before value end``.

    ``empty``: what follows the name where there are no arguments. ``quote``: the mark round strings
    inside of values, ``""`` where there is none.
    """

    first: str = ""
    empty: str = ""
    forms: tuple[ValueForm, ...] = ()
    quote: str = ""

    exact = True  # strings stand there as they are: looser framing would find calls in them

    @property
    def plain(self) -> tuple[str, str] | None:
        """Marks, where there are some: brackets and quotes stand in any thought."""
        opening, closing = (self.first, self.open), (self.forms[0].end, self.close)
        return _marked(opening), _marked(closing)

    # -- reading ------------------------------------------------------------------------------

    def begins_core(self, text: str, at: int) -> bool:
        return self._head.match(text, at) is not None

    def core(self, text: str, at: int) -> Attempt | None:
        head = self._head.match(text, at)
        if head is None:
            if self.open:
                raise Unread("invalid_markup", "a name and arguments must follow", at)
            return None
        if head["empty"] is not None:
            return Attempt(at, head.end(), head[1], {}, untyped=self._untyped, python=True)
        arguments: dict[str, Any] = {}
        at, more = head.end(), True
        while more:
            key = self._key.match(text, at)
            if key is None:
                raise Unread("invalid_markup", "the name of an argument must follow", at)
            if key[1] in arguments:
                raise Unread("duplicate_key", "a parameter stands twice", at)
            arguments[key[1]], at, more = self._value(text, key.end(), self._forms_of(key[2]))
        return Attempt(0, at, head[1], arguments, untyped=self._untyped, python=True)

    @cached_property
    def _head(self) -> re.Pattern[str]:
        empty, first = (framing_pattern(t, True).pattern for t in (self.empty, self.first))
        return re.compile(f"{NAME}(?:(?P<empty>{empty}(?={self._follow.pattern}))|{first})")

    @cached_property
    def _key(self) -> re.Pattern[str]:
        befores = sorted({form.before for form in self.forms}, key=len, reverse=True)
        return re.compile(f"{KEY}({'|'.join(framing_pattern(b, True).pattern for b in befores)})")

    def _forms_of(self, before: str) -> tuple[ValueForm, ...]:
        return tuple(f for f in self.forms if framing_pattern(f.before, True).fullmatch(before))

    @cached_property
    def _untyped(self) -> bool:
        """True if strings and other values are framed alike: the schema tells them apart."""
        return any("s" in form.types and len(form.types) > 1 for form in self.forms)

    @cached_property
    def _follow(self) -> re.Pattern[str]:
        """What may follow the last value of a call: the close, another call, the end."""
        ways = [r"\s*+\Z"]
        if self.close.strip():
            ways.append(framing_pattern(self.close, True).pattern)
        if self.between:
            ways.append(framing_pattern(self.between, True).pattern + NAME)
        return re.compile("|".join(f"(?:{way})" for way in ways))

    def _value(self, text: str, at: int, forms: tuple[ValueForm, ...]) -> tuple[Any, int, bool]:
        """Return a value, where its framing ends, and whether another key follows."""
        if any("s" in form.types for form in forms):
            for end, after, more in self._ends(text, at, forms):
                return text[at:end], after, more
            raise self._no_end(text, at)
        for value, end in _read_here(text, at):
            if where := self._ends_at(text, end, forms):
                return value, *where
        for tries, (end, after, more) in enumerate(self._ends(text, at, forms)):
            value = unquoted(text[at:end], self.quote)
            if value is not _NOTHING:
                return value, after, more
            if tries > _TRIES:
                break
        raise self._no_end(text, at)

    def _no_end(self, text: str, at: int) -> Unread:
        cut = not any(mark in text[at:] for mark in self.marks)
        return Unread("invalid_markup", "a value does not end", len(text) if cut else at)

    def _ends(
        self, text: str, at: int, forms: tuple[ValueForm, ...]
    ) -> Iterator[tuple[int, int, bool]]:
        """Yield the places where a value may end: a key, a call or the end of the turn follows."""
        texts = {t for form in forms for t in (form.next, form.end)}
        longest = sorted(texts, key=len, reverse=True)
        either = re.compile("|".join(framing_pattern(t, True).pattern for t in longest))
        while found := either.search(text, at):
            if where := self._ends_at(text, found.start(), forms):
                yield found.start(), *where
            at = found.start() + 1
            if found.start() >= len(text):
                return

    def _ends_at(self, text: str, at: int, forms: tuple[ValueForm, ...]) -> tuple[int, bool] | None:
        """Return where the framing of a value that ends here does, and whether a key follows."""
        for form in forms:
            mark = framing_pattern(form.next, True).match(text, at)
            if mark and self._key.match(text, mark.end()):
                return mark.end(), True
        for form in forms:
            mark = framing_pattern(form.end, True).match(text, at)
            if mark and self._follow.match(text, mark.end()):
                return mark.end(), False
        return None

    # -- writing ------------------------------------------------------------------------------

    def written_core(self, name: str, arguments: dict[str, Any], fill: Fill) -> str:
        if not arguments:
            return name + fill(self.empty)
        pieces, forms = [name, fill(self.first)], [self._form_for(v) for v in arguments.values()]
        last = len(forms) - 1
        for place, ((key, value), form) in enumerate(zip(arguments.items(), forms, strict=True)):
            plain = isinstance(value, str) and "s" in form.types
            written = value if plain else as_json(value)
            pieces += [key, form.before, written, form.end if place == last else form.next]
        return "".join(pieces)

    def _form_for(self, value: Any) -> ValueForm:
        kind = type_of(value)
        fitting = [form for form in self.forms if kind in form.types]
        others = [form for form in self.forms if form.types != {"s"}]
        return [*fitting, *others, *self.forms][0]


def _marked(texts: tuple[str, ...]) -> str:
    """Return the first text with a mark in it, else the first that is not blank."""
    stripped = [text.strip() for text in texts]
    return next((t for t in stripped if "<" in t), "") or next(filter(None, stripped), "")


def type_of(value: Any) -> str:
    """Return the type of a value, as ``SAMPLES`` name it."""
    if value is None or isinstance(value, bool):
        return "z" if value is None else "b"
    kinds = ((str, "s"), (int, "i"), (float, "x"), (list | tuple, "l"))
    return next((kind for python, kind in kinds if isinstance(value, python)), "o")


def _read_here(text: str, at: int) -> Iterator[tuple[Any, int]]:
    """Yield what JSON and what Python read at a place, and where that ends."""
    found = read_value(text, at)
    if found.fault is None:
        yield found.value, found.end
    try:
        yield LiteralReader(text, len(text)).value(at, 0)
    except LiteralFault:
        return


_NOTHING = object()


def unquoted(raw: str, quote: str) -> Any:
    """Return the value of a text with bare keys, and strings between marks; else ``_NOTHING``."""
    pieces = raw.split(quote) if quote else [raw]
    for place, piece in enumerate(pieces):
        if place % 2:
            pieces[place] = as_json(piece)
        else:
            keyed = _BARE_KEY.sub(r'\1"\2":', piece)
            pieces[place] = _WORD.sub(lambda word: _WORDS[word[0]], keyed)
    found = read_whole("".join(pieces))
    return read_literal(raw, _NOTHING) if found.fault else found.value
