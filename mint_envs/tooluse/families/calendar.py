"""Requests about the calendar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..toolkits.calendar import Calendar
from .common import NO_TOOL, FamilyEntry, Request, Step, in_turn, pick, pick_two

_NEW = ("Talk with Zoe", "Tea with Yuri", "Walk with Xenia", "Chat with Walter")
_WEEKDAYS = ("Tuesday", "Wednesday", "Thursday", "Friday")


def event_time(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    event = pick(rng, list(state["events"].values()))
    steps = in_turn(("find_events", {"text": event["title"]}))
    text = f"When does the event '{event['title']}' begin? Answer as YYYY-MM-DD HH:MM."
    return Request(text, steps, event["start"])


def create(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    day, minutes, title = _a_day(rng, state), _minutes(rng), pick(rng, _NEW)
    start = _free_start(rng, state, day, minutes)
    if start is None:
        return None
    steps = in_turn(("create_event", {"title": title, "start": start, "minutes": minutes}))
    return Request(f"Make an event '{title}' at {start} for {minutes} minutes.", steps)


def cancel_event(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    id, event = pick(rng, list(state["events"].items()))
    steps = in_turn(_find_event(event), ("cancel_event", {"event_id": id}))
    return Request(f"Cancel the event '{event['title']}'.", steps)


def create_early(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    day, minutes, title = _a_day(rng, state), _minutes(rng), pick(rng, _NEW)
    start = _earliest(state, day, minutes)
    if start is None:
        return None
    steps = in_turn(
        ("find_free_slot", {"day": day, "minutes": minutes}),
        ("create_event", {"title": title, "start": start, "minutes": minutes}),
    )
    text = f"Make an event '{title}' of {minutes} minutes as early as there is room on {day}."
    return Request(text, steps)


def create_on_weekday(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    number = int(rng.integers(4))
    day, minutes, title = _days(state)[number + 1], _minutes(rng), pick(rng, _NEW)
    start = _earliest(state, day, minutes)
    if start is None:
        return None
    steps = in_turn(
        ("current_time", {}),
        ("find_free_slot", {"day": day, "minutes": minutes}),
        ("create_event", {"title": title, "start": start, "minutes": minutes}),
    )
    text = (
        f"Make an event '{title}' of {minutes} minutes as early as there is room on "
        f"{_WEEKDAYS[number]} of this week."
    )
    return Request(text, steps)


def move_early(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    id, event = pick(rng, list(state["events"].items()))
    day = _another_day(rng, state, event)
    start = _earliest(state, day, event["minutes"])
    if start is None:
        return None
    steps = in_turn(
        _find_event(event),
        ("find_free_slot", {"day": day, "minutes": event["minutes"]}),
        ("move_event", {"event_id": id, "start": start}),
    )
    return Request(f"Move '{event['title']}' to the earliest time free on {day}.", steps)


def replace(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    (one, old), (two, new) = pick_two(rng, list(state["events"].items()))
    if new["minutes"] > old["minutes"]:
        return None
    steps = (
        (_find_event(old), _find_event(new)),
        (("cancel_event", {"event_id": one}),),
        (("move_event", {"event_id": two, "start": old["start"]}),),
    )
    text = (
        f"Cancel the event '{old['title']}', and move the event '{new['title']}' to the time at "
        "which it began."
    )
    return Request(text, steps)


def rearrange(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    (one, old), (two, other) = pick_two(rng, list(state["events"].items()))
    day = _another_day(rng, state, old)
    start = _earliest(state, day, other["minutes"])
    if start is None or other["start"].startswith(day):
        return None
    title = pick(rng, _NEW)
    steps = in_turn(
        _find_event(old),
        ("cancel_event", {"event_id": one}),
        _find_event(other),
        ("find_free_slot", {"day": day, "minutes": other["minutes"]}),
        ("move_event", {"event_id": two, "start": start}),
        ("create_event", {"title": title, "start": old["start"], "minutes": old["minutes"]}),
    )
    text = (
        f"Cancel the event '{old['title']}' and make an event '{title}' of the same length in its "
        f"place. Move the event '{other['title']}' to the earliest time free on {day}."
    )
    return Request(text, steps)


def move_where_taken(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    id, event = pick(rng, list(state["events"].items()))
    day = _another_day(rng, state, event)
    taken = pick(rng, [e for e in state["events"].values() if e["start"].startswith(day)])
    start = _earliest(state, day, event["minutes"])
    if start is None or int(taken["start"][11:13]) > 15:
        return None
    steps = in_turn(
        _find_event(event),
        ("move_event", {"event_id": id, "start": taken["start"]}),
        ("move_event", {"event_id": id, "start": start}),
    )
    text = (
        f"Move the event '{event['title']}' to {taken['start']}, or if that is taken to the "
        "earliest start of that day at which it fits."
    )
    return Request(text, steps)


def create_when(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    day, minutes, title = _a_day(rng, state), _minutes(rng), pick(rng, _NEW)
    start = _free_start(rng, state, day, minutes)
    if start is None:
        return None
    steps = in_turn(("create_event", {"title": title, "start": start, "minutes": minutes}))
    text = f"Make an event '{title}' of {minutes} minutes on {day}."
    return Request(text, steps, reply=f"At {start[11:]}.")


def _find_event(event: Mapping[str, Any]) -> Step:
    return "find_events", {"text": event["title"]}


def _minutes(rng: np.random.Generator) -> int:
    return 5 * int(rng.integers(4, 15))


def _days(state: Mapping[str, Any]) -> list[str]:
    return sorted({event["start"][:10] for event in state["events"].values()})


def _a_day(rng: np.random.Generator, state: Mapping[str, Any]) -> str:
    return pick(rng, _days(state))


def _another_day(
    rng: np.random.Generator, state: Mapping[str, Any], event: Mapping[str, Any]
) -> str:
    return pick(rng, [day for day in _days(state) if not event["start"].startswith(day)])


def _earliest(state: Mapping[str, Any], day: str, minutes: int) -> str | None:
    """Return what the tool for it says, or None where the day has no room."""
    kit = Calendar()
    kit.restore(state)
    result = kit.run("find_free_slot", {"day": day, "minutes": minutes})
    return result.text if result.ok else None


def _free_start(
    rng: np.random.Generator, state: Mapping[str, Any], day: str, minutes: int
) -> str | None:
    """Return a start at which an event of this length fits, by trying one."""
    minute = 5 * int(rng.integers(9 * 12, 17 * 12))
    start = f"{day} {minute // 60:02}:{minute % 60:02}"
    kit = Calendar()
    kit.restore(state)
    arguments = {"title": "?", "start": start, "minutes": minutes}
    return start if kit.run("create_event", arguments).ok else None


ENTRIES = (
    FamilyEntry(1, event_time),
    FamilyEntry(1, create),
    FamilyEntry(2, cancel_event),
    FamilyEntry(2, create_early),
    FamilyEntry(3, create_on_weekday),
    FamilyEntry(3, move_early),
    FamilyEntry(4, replace),
    FamilyEntry(6, rearrange),
    FamilyEntry(1, create_when, "ask"),
    FamilyEntry(3, move_where_taken, "recover"),
    *NO_TOOL,
)
