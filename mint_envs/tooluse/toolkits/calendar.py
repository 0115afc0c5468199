"""A calendar of one week, with a clock that stands still."""

from __future__ import annotations

import re
import zlib
from datetime import date, timedelta
from typing import Annotated, Any

import numpy as np

from .tools import ToolError, Toolkit, tool

_TOPICS = ("Review", "Interview", "Lunch", "Planning", "Budget talk", "Demo", "Training", "Call")
_PEOPLE = ("Ada", "Ben", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST_DAY = date(2031, 1, 6)  # a Monday
_OPENS, _CLOSES = 9 * 60, 17 * 60
_MAX_EVENTS, _MAX_TITLE = 200, 200
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_START = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}):([0-9]{2})")

Day = Annotated[str, "a date, YYYY-MM-DD"]
Start = Annotated[str, "YYYY-MM-DD HH:MM"]
EventId = Annotated[str, "the id of an event, for example ev-1234"]
Event = dict[str, Any]


class Calendar(Toolkit):
    """State: ``{"salt": int, "now": "YYYY-MM-DD HH:MM", "events": {id: {title, start, minutes}}}``.

    It is Monday, 08:00, and stays so. Events lie between 09:00 and 17:00 and never overlap. The
    id of an event follows from its title and the salt: an event that was moved, or made anew in
    another place, is the same.
    """

    name = "calendar"
    call_s = None

    def initial(self, rng: np.random.Generator) -> dict[str, Any]:
        monday = _FIRST_DAY + timedelta(weeks=int(rng.integers(50)))
        salt = int(rng.integers(10**6))
        events: dict[str, Event] = {}
        order = rng.permutation(len(_TOPICS) * len(_PEOPLE)).tolist()
        for day in range(5):
            at = _OPENS
            for _ in range(int(rng.integers(2, 5))):
                topic, person = divmod(order.pop(), len(_PEOPLE))
                at += 15 * int(rng.integers(0, 5))
                minutes = 15 * int(rng.integers(2, 6))
                if at + minutes > _CLOSES:  # a full day goes without its fourth
                    continue
                title = f"{_TOPICS[topic]} with {_PEOPLE[person]}"
                start = f"{monday + timedelta(days=day)} {_clock_time(at)}"
                events[_new_event_id(salt, events, title)] = {
                    "title": title, "start": start, "minutes": minutes,
                }  # fmt: skip
                at += minutes
        return {"salt": salt, "now": f"{monday} 08:00", "events": events}

    @tool
    def current_time(self) -> str:
        """Return the weekday, the date and the time that it is now."""
        now = str(self.state["now"])
        return f"{_DAYS[date.fromisoformat(now[:10]).weekday()]} {now}"

    @tool
    def list_events(self, day: Day) -> list[Event]:
        """Return the events of a day, in order of time."""
        return self._shown(self._of_day(_day(day)))

    @tool
    def find_events(
        self, text: Annotated[str, "part of a title, upper and lower case alike"]
    ) -> list[Event]:
        """Return the events whose title contains a text, in order of time."""
        wanted = text.casefold()
        return self._shown([i for i, e in self._events.items() if wanted in e["title"].casefold()])

    @tool
    def find_free_slot(self, day: Day, minutes: Annotated[int, "how long it must be free"]) -> str:
        """Return the earliest time of a day that is free for so long, between 09:00 and 17:00."""
        return self._free(_day(day), _length(minutes), _OPENS)

    @tool
    def create_event(
        self,
        title: Annotated[str, "a title that no other event has"],
        start: Start,
        minutes: Annotated[int, "5 to 480"],
    ) -> str:
        """Make an event and return its id. It must lie in the future, between 09:00 and 17:00, and
        overlap with no other."""
        if not title.strip() or len(title) > _MAX_TITLE:
            raise ToolError(f"a title has 1 to {_MAX_TITLE} characters")
        if any(event["title"] == title for event in self._events.values()):
            raise ToolError(f"there is an event {title!r} already")
        if len(self._events) >= _MAX_EVENTS:
            raise ToolError(f"the calendar is full: it holds {_MAX_EVENTS} events")
        begin = self._place(start, _length(minutes), "")
        id = _new_event_id(self.state["salt"], self._events, title)
        self._events[id] = {"title": title, "start": begin, "minutes": minutes}
        return id

    @tool
    def move_event(self, event_id: EventId, start: Start) -> None:
        """Give an event another start, by the rules of create_event; its length stays."""
        event = self._known(event_id)
        event["start"] = self._place(start, event["minutes"], event_id)

    @tool
    def change_length(self, event_id: EventId, minutes: Annotated[int, "5 to 480"]) -> None:
        """Give an event another length, by the rules of create_event; its start stays."""
        event = self._known(event_id)
        self._place(event["start"], _length(minutes), event_id)
        event["minutes"] = minutes

    @tool
    def cancel_event(self, event_id: EventId) -> None:
        """Remove an event."""
        self._known(event_id)
        del self._events[event_id]

    @property
    def _events(self) -> dict[str, Event]:
        events: dict[str, Event] = self.state["events"]
        return events

    def _known(self, id: str) -> Event:
        if id not in self._events:
            raise ToolError(f"there is no event {id[:80]!r}; find_events gives the ids")
        return self._events[id]

    def _shown(self, ids: list[str]) -> list[Event]:
        ordered = sorted(ids, key=lambda id: self._events[id]["start"])
        return [{"id": id, **self._events[id]} for id in ordered]

    def _of_day(self, day: str) -> list[str]:
        return [id for id, event in self._events.items() if event["start"].startswith(day)]

    def _place(self, start: str, minutes: int, moved: str) -> str:
        """Return ``start`` in the one way to write it, if an event fits there."""
        match = _START.fullmatch(start.strip())
        if not match or int(match[2]) > 23 or int(match[3]) > 59:
            raise ToolError(f"{start[:80]!r} is no time: write YYYY-MM-DD HH:MM")
        day, begin = _day(match[1]), 60 * int(match[2]) + int(match[3])
        if f"{day} {_clock_time(begin)}" <= self.state["now"]:
            raise ToolError(f"{start} is past: it is {self.current_time()}")
        if begin < _OPENS or begin + minutes > _CLOSES:
            raise ToolError("events lie between 09:00 and 17:00")
        for id in self._of_day(day):
            other = self._events[id]
            if id != moved and _overlap(begin, minutes, other):
                raise ToolError(
                    f"this overlaps with {other['title']!r} ({other['start'][11:]}, "
                    f"{other['minutes']} minutes). {self._advice(day, minutes, moved)}"
                )
        return f"{day} {_clock_time(begin)}"

    def _advice(self, day: str, minutes: int, moved: str) -> str:
        try:
            return f"The earliest free start of that day is {self._free(day, minutes, 0, moved)}."
        except ToolError:
            return "That day has no room for it."

    def _free(self, day: str, minutes: int, least: int, moved: str = "") -> str:
        begin = max(_OPENS, least)
        if day < self.state["now"][:10]:
            raise ToolError(f"{day} is past: it is {self.current_time()}")
        busy = [self._events[id] for id in self._of_day(day) if id != moved]
        for event in sorted(busy, key=lambda event: str(event["start"])):
            if _overlap(begin, minutes, event):
                begin = _minute(event["start"]) + event["minutes"]
        if begin + minutes > _CLOSES:
            raise ToolError(f"{day} has no {minutes} minutes free; try another day")
        return f"{day} {_clock_time(begin)}"


def _overlap(begin: int, minutes: int, event: Event) -> bool:
    other = _minute(event["start"])
    return begin < other + int(event["minutes"]) and other < begin + minutes


def _day(text: str) -> str:
    try:
        if _DAY.fullmatch(text.strip()):
            return date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        pass
    raise ToolError(f"{text[:80]!r} is no day: write YYYY-MM-DD")


def _length(minutes: int) -> int:
    if not 5 <= minutes <= 480:
        raise ToolError("a length is 5 to 480 minutes")
    return minutes


def _minute(start: str) -> int:
    return 60 * int(start[11:13]) + int(start[14:16])


def _clock_time(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def _new_event_id(salt: int, taken: dict[str, Event], title: str) -> str:
    number = zlib.crc32(f"{salt} {title}".encode(errors="replace"))
    while (id := f"ev-{1000 + number % 9000}") in taken:
        number += 1
    return id
