"""A format that was derived from a chat template: where names, keys and values stand in it.

A grammar is texts that frame calls: ``open core (between core)* close``. Names, ids and places
are holes in them. It reads a message in one pass, and refuses the whole where anything is left
over that looks like a part of a call: what was cut out of a value must not be run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

from ...templates import TOOLS
from .scan import Attempt, failed, named_call
from .strict import read_value
from .writers import Step, as_json

NAME = r"([^\s<>{}()\[\]\"'|=]{1,128}?)"

Fill = Callable[[str], str]

_PLACE = re.compile(r"(?<![\w\\])[012](?!\w)")
_ID = re.compile(r"id00\dwxyz")
_TOOL = "|".join(TOOLS)


@lru_cache(maxsize=256)
def framing_pattern(text: str, exact: bool) -> re.Pattern[str]:
    """Return the pattern of framing; every id in it is a group, ``exact``: space counts."""
    found = _PLACE.sub(r"\\d{1,9}+", re.escape(text if exact else text.strip()))
    found = _ID.sub(r"([\\w.:-]{0,64}+)", found)
    found = re.sub(_TOOL, r"[^\\s<>\"']{1,128}?", found)
    if exact:
        return re.compile(found)
    return re.compile(r"\s*+" + re.sub(r"(?:\\[ \n])+", lambda _: r"\s*+", found) + r"\s*+")


class Unread(Exception):
    """A call does not go on as it must. ``at``: where reading stopped."""

    def __init__(self, kind: str, message: str, at: int) -> None:
        super().__init__(message)
        self.kind, self.at = kind, at


@dataclass(frozen=True)
class Grammar:
    """What stands round the cores of calls.

    ``open``: before the first; ``between``: between two, None where a message has one call;
    ``close``: after the last. ``marks``: what may not be left over after the calls. ``ends``: what
    ends a turn. ``late_ids``: the id of a call stands behind its name.
    """

    style: str
    open: str
    between: str | None
    close: str
    marks: tuple[str, ...]
    ends: tuple[str, ...]
    late_ids: bool

    #: Whether space in framing counts.
    exact = False

    @property
    def plain(self) -> tuple[str, str] | None:
        """What opens and closes values, where strings stand in them as they are."""
        return None

    # -- reading ------------------------------------------------------------------------------

    def find(self, text: str) -> Iterator[Attempt]:
        """Return the attempts in a text, or one bad one for all of them."""
        start = self._start(text)
        if start is None:
            return iter(())
        try:
            return iter(self._calls(text, start))
        except Unread as stopped:
            kind = "truncated" if stopped.at >= len(text) else stopped.kind
            return iter([failed(start.start(), len(text), kind, str(stopped))])

    def _start(self, text: str) -> re.Match[str] | None:
        found = self._open_pattern.search(text) if self.open else self._bare_start(text)
        if found is None:
            return None
        ended = min((at for end in self.ends if (at := text.find(end)) >= 0), default=len(text))
        return found if found.start() <= ended else None

    def _bare_start(self, text: str) -> re.Match[str] | None:
        """Return where a format without an opening mark begins: at once, or behind words."""
        starts = [re.compile(r"\s*+").match(text)]
        if self.between and self.between.strip():
            starts += framing_pattern(self.between, True).finditer(text)
        return next((s for s in starts if s and self.begins_core(text, s.end())), None)

    def _calls(self, text: str, opened: re.Match[str]) -> list[Attempt]:
        """Return the calls; without an opening mark none is no fault."""
        found: list[Attempt] = []
        head: re.Match[str] | None = opened
        at, start = opened.end(), opened.start()
        while head is not None:
            core = self.core(text, at)
            if core is None:
                if found or self.open:
                    raise Unread("invalid_markup", "no call follows the opening mark", at)
                return []
            tail = self._tail(text, core.end)
            own = _first_id(tail) if self.late_ids else _last_id(head)
            at = tail.end()
            found.append(core._replace(start=start, end=at, id=core.id or own))
            start, head = at, tail if self._goes_on(text, tail) else None
        self._nothing_left(text, at)
        return found

    def _tail(self, text: str, at: int) -> re.Match[str]:
        """Return what stands behind a core: the way to the next one, else the close."""
        if self.between is not None:
            go = framing_pattern(self.between, self.exact).match(text, at)
            if go and self.begins_core(text, go.end()):
                return go
        done = framing_pattern(self.close, self.exact).match(text, at)
        if done is None:
            raise Unread("invalid_markup", "the call is not closed", at)
        return done

    def _goes_on(self, text: str, tail: re.Match[str]) -> bool:
        if self.between is None:
            return False
        go = framing_pattern(self.between, self.exact).match(text, tail.start())
        return go is not None and go.end() == tail.end() and self.begins_core(text, go.end())

    def _nothing_left(self, text: str, at: int) -> None:
        """Refuse all if a mark of the format stands behind the calls, or words where none may."""
        rest = text[at:]
        closed = self.marks or self.close.strip()
        if rest.strip() and not (closed or rest.lstrip().startswith(self.ends)):
            raise Unread("invalid_markup", "something follows the calls", at)
        if any(mark in rest for mark in self.marks):
            raise Unread("invalid_markup", "a part of a call is left over after the calls", at)

    @cached_property
    def _open_pattern(self) -> re.Pattern[str]:
        return re.compile(framing_pattern(self.open, self.exact).pattern.removeprefix(r"\s*+"))

    def begins_core(self, text: str, at: int) -> bool:
        """Tell whether a call may begin here."""
        raise NotImplementedError

    def core(self, text: str, at: int) -> Attempt | None:
        """Read name and arguments; None where no call begins here.

        Raises:
            Unread: one begins, and does not go on as it must.
        """
        raise NotImplementedError

    # -- writing ------------------------------------------------------------------------------

    def write(self, calls: Sequence[Step]) -> str:
        """Return the message that makes these calls."""
        if self.between is None and len(calls) > 1:
            calls = calls[:1]
        pieces = [self.open]
        for place, (name, arguments) in enumerate(calls):
            if place:
                pieces.append(self.between or "")
            pieces[-1] = _holes_filled(pieces[-1], name, place if not self.late_ids else place - 1)
            fill = partial(_holes_filled, name=name, place=place)
            pieces.append(self.written_core(name, dict(arguments), fill))
        return "".join([*pieces, _holes_filled(self.close, calls[-1][0], len(calls) - 1)])

    def written_core(self, name: str, arguments: dict[str, Any], fill: Fill) -> str:
        """Return name and arguments as a core; ``fill`` fills the holes of framing."""
        raise NotImplementedError


def _first_id(match: re.Match[str]) -> str:
    return next((group for group in match.groups() if group), "")


def _last_id(match: re.Match[str]) -> str:
    return next((group for group in reversed(match.groups()) if group), "")


def _holes_filled(text: str, name: str, place: int) -> str:
    """Return framing for one call: its name, its place and its id in place of those of a probe."""
    text = re.sub(_TOOL, lambda _: name, text)
    text = _ID.sub(lambda _: f"call{place:05d}", text)
    return _PLACE.sub(str(place), text)


@dataclass(frozen=True)
class JsonGrammar(Grammar):
    """A name and then a JSON object; what holds the two (an object, a list, tags) is framing.

    ``middle``: what stands between name and arguments.
    """

    middle: str = ""

    def begins_core(self, text: str, at: int) -> bool:
        return self._head.match(text, at) is not None

    def core(self, text: str, at: int) -> Attempt | None:
        head = self._head.match(text, at)
        if head is None:
            if self.open:  # without a mark an answer in words is no attempt at a call
                raise Unread("invalid_markup", "a name and a JSON object must follow", at)
            return None
        found = read_value(text, head.end())
        if found.fault:
            raise Unread(found.fault.kind, found.fault.message, found.end)
        return Attempt(at, found.end, head[1], found.value, id=_first_id_after(head))

    @cached_property
    def _head(self) -> re.Pattern[str]:
        return re.compile(f"{NAME}{framing_pattern(self.middle, False).pattern}(?={{)")

    def written_core(self, name: str, arguments: dict[str, Any], fill: Fill) -> str:
        return f"{name}{fill(self.middle)}{as_json(arguments)}"


@dataclass(frozen=True)
class ObjectGrammar(Grammar):
    """Calls as JSON objects, or a JSON list of them, which may hold more than name and arguments.

    ``name_key``: ``""`` where the name is itself the key of the arguments.
    """

    listed: bool = False
    name_key: str = "name"
    arguments_key: str = "arguments"

    def begins_core(self, text: str, at: int) -> bool:
        return text.startswith("[" if self.listed else "{", at)

    def core(self, text: str, at: int) -> Attempt | None:
        """Read an object, or a whole list: the calls of that are its arguments, for now."""
        if not self.begins_core(text, at):
            if self.open:
                raise Unread("invalid_markup", "a JSON value must follow the opening mark", at)
            return None
        found = read_value(text, at)
        if found.fault:
            raise Unread(found.fault.kind, found.fault.message, found.end)
        if not self.listed:
            return self._call(found.value, at, found.end)
        return Attempt(at, found.end, "", [self._call(v, at, found.end) for v in found.value])

    def _calls(self, text: str, opened: re.Match[str]) -> list[Attempt]:
        found = super()._calls(text, opened)
        if not self.listed:
            return found
        return [
            one._replace(start=all.start, end=all.end) for all in found for one in all.arguments
        ]

    def _call(self, value: Any, start: int, end: int) -> Attempt:
        if not isinstance(value, dict):
            return failed(start, end, "not_an_object", "a call is a JSON object")
        if not self.name_key:
            ((name, arguments),) = value.items() if len(value) == 1 else (("", None),)
        else:
            name, arguments = value.get(self.name_key), value.get(self.arguments_key)
        if not isinstance(name, str) or not name:
            return failed(start, end, "missing_name", "a call has a name, a string")
        own = next((str(v) for k, v in value.items() if k in _ID_KEYS), "")
        return named_call(start, end, name, arguments, own)

    def write(self, calls: Sequence[Step]) -> str:
        if not self.listed:
            return super().write(calls)
        listed = ", ".join(self.written_core(name, dict(given), str) for name, given in calls)
        return f"{self.open}[{listed}]{self.close}"

    def written_core(self, name: str, arguments: dict[str, Any], fill: Fill) -> str:
        if not self.name_key:
            return as_json({name: arguments})
        return as_json({self.name_key: name, self.arguments_key: arguments})


_ID_KEYS = frozenset(("id", "call_id", "tool_call_id"))


def _first_id_after(head: re.Match[str]) -> str:
    return next((group for group in head.groups()[1:] if group), "")
