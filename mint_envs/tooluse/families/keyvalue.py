"""Requests about the key-value store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .common import NO_TOOL, FamilyEntry, Request, in_turn, pick


def read_entry(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    key = pick(rng, list(state["entries"]))
    steps = ((("get_value", {"key": key}),),)
    return Request(f"What is the value of the entry '{key}'?", steps, state["entries"][key])


def write_entry(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    key = pick(rng, [*state["entries"], "backup"])
    value = str(rng.integers(100, 1000))  # never a first value: those have a word in front
    steps = ((("set_value", {"key": key, "value": value}),),)
    return Request(f"Set the entry '{key}' to '{value}'.", steps)


def delete_entry(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    key = pick(rng, list(state["entries"]))
    return Request(f"Delete the entry '{key}'.", ((("delete_key", {"key": key}),),))


def copy_entry(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    key = pick(rng, list(state["entries"]))
    value = state["entries"][key]
    steps = (
        (("get_value", {"key": key}),),
        (("set_value", {"key": f"{key}_copy", "value": value}),),
    )
    return Request(f"Copy the value of the entry '{key}' to a new entry '{key}_copy'.", steps)


def rename_entry(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    key = pick(rng, list(state["entries"]))
    value = state["entries"][key]
    steps = (
        (("get_value", {"key": key}),),
        (("set_value", {"key": f"old_{key}", "value": value}), ("delete_key", {"key": key})),
    )
    return Request(f"Rename the entry '{key}' to 'old_{key}' and keep its value.", steps)


def swap_entries(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    entries = state["entries"]
    one = pick(rng, list(entries))
    others = [key for key in entries if entries[key] != entries[one]]
    if not others:
        return None
    two = pick(rng, others)
    steps = (
        (("get_value", {"key": one}), ("get_value", {"key": two})),
        (
            ("set_value", {"key": one, "value": entries[two]}),
            ("set_value", {"key": two, "value": entries[one]}),
        ),
    )
    return Request(f"Swap the values of the entries '{one}' and '{two}'.", steps)


def overwrite_entry(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    entries = state["entries"]
    one = pick(rng, list(entries))
    two = pick(rng, [key for key in entries if key != one])
    if entries[one] == entries[two]:
        return None
    steps = (
        (("get_value", {"key": one}), ("get_value", {"key": two})),
        (
            ("set_value", {"key": f"old_{one}", "value": entries[one]}),
            ("set_value", {"key": one, "value": entries[two]}),
            ("delete_key", {"key": two}),
        ),
    )
    text = (
        f"Give the entry '{one}' the value of the entry '{two}' and delete '{two}'; keep the old "
        f"value of '{one}' in a new entry 'old_{one}'."
    )
    return Request(text, steps)


def rotate_entries(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    entries = state["entries"]
    one, two, three = (list(entries)[i] for i in rng.permutation(len(entries))[:3])
    if len({entries[one], entries[two], entries[three]}) < 3:
        return None
    steps = (
        tuple(("get_value", {"key": key}) for key in (one, two, three)),
        (
            ("set_value", {"key": two, "value": entries[one]}),
            ("set_value", {"key": three, "value": entries[two]}),
            ("set_value", {"key": one, "value": entries[three]}),
        ),
    )
    text = (
        f"Pass three values on: '{two}' gets the value that '{one}' has now, '{three}' that of "
        f"'{two}', and '{one}' that of '{three}'."
    )
    return Request(text, steps)


def set_what(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    key, value = pick(rng, list(state["entries"])), f"new-{rng.integers(1000, 10000)}"
    steps = in_turn(("set_value", {"key": key, "value": value}))
    return Request(f"Give the entry '{key}' another value.", steps, reply=f"Make it '{value}'.")


def read_misnamed(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    key = pick(rng, list(state["entries"]))
    steps = in_turn(
        ("get_value", {"key": key.upper()}), ("list_keys", {}), ("get_value", {"key": key})
    )
    text = f"What is stored under '{key.upper()}', or whatever the case of its letters is?"
    return Request(text, steps, state["entries"][key])


ENTRIES = (
    FamilyEntry(1, read_entry),
    FamilyEntry(1, write_entry),
    FamilyEntry(1, delete_entry),
    FamilyEntry(2, copy_entry),
    FamilyEntry(3, rename_entry),
    FamilyEntry(4, swap_entries),
    FamilyEntry(5, overwrite_entry),
    FamilyEntry(6, rotate_entries),
    FamilyEntry(1, set_what, "ask"),
    FamilyEntry(3, read_misnamed, "recover"),
    *NO_TOOL,
)
