"""Families of problems over the toolkits: what is asked, and the calls that do it.

Each family draws one request for a given state, so that request, calls and answer belong to one
another by construction. Where a state has no room for it, the family gives None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

#: One call: the tool's name and its arguments.
Step = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for; ``turns``: calls that do it; ``answer``: None if no question is asked."""

    text: str
    turns: tuple[tuple[Step, ...], ...]
    answer: str | None = None


Family = Callable[[np.random.Generator, Mapping[str, Any]], Request | None]


def pick(rng: np.random.Generator, items: list[str]) -> str:
    return items[int(rng.integers(len(items)))]


# -- calculator -------------------------------------------------------------------------------


def product(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    a, b, c = map(int, rng.integers(100, 1000, 3))
    sign = pick(rng, ["+", "-"])
    expression = f"{a} * {b} {sign} {c}"
    answer = a * b + (c if sign == "+" else -c)
    steps = ((("calculate", {"expression": expression}),),)
    return Request(f"What is {expression}?", steps, str(answer))


# -- key-value store --------------------------------------------------------------------------


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


# -- file system ------------------------------------------------------------------------------


def read_text(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    path = pick(rng, list(_texts(state)))
    steps = ((("read_file", {"path": path}),),)
    return Request(f"What does the file {path} say?", steps, _texts(state)[path])


def write_text(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    path = f"{pick(rng, list(state['files']))}/new.txt"
    content = f"Ticket {rng.integers(1000, 10000)}"
    steps = ((("write_file", {"path": path, "content": content}),),)
    return Request(f"Write a file {path} with exactly this text: {content}", steps)


def move_text(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    path = pick(rng, list(_texts(state)))
    name = path.rpartition("/")[2]
    free = [folder for folder, entries in state["files"].items() if name not in entries]
    if not free:
        return None
    goal = f"{pick(rng, free)}/{name}"
    steps = ((("move", {"source": path, "destination": goal}),),)
    return Request(f"Move the file {path} to {goal}.", steps)


def copy_text(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    path = pick(rng, list(_texts(state)))
    goal = f"{pick(rng, list(state['files']))}/copy.txt"
    steps = (
        (("read_file", {"path": path}),),
        (("write_file", {"path": goal, "content": _texts(state)[path]}),),
    )
    return Request(f"Copy the file {path} to {goal}; leave the original as it is.", steps)


def find_and_delete(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    texts = _texts(state)
    unique = [path for path, text in texts.items() if list(texts.values()).count(text) == 1]
    if not unique:
        return None
    path = pick(rng, unique)
    steps = ((("search", {"text": texts[path]}),), (("delete", {"path": path}),))
    return Request(f"Find the file whose text is '{texts[path]}' and delete it.", steps)


def _texts(state: Mapping[str, Any]) -> dict[str, str]:
    return {
        f"{folder}/{name}": text
        for folder, entries in state["files"].items()
        for name, text in entries.items()
    }


#: The families of each toolkit, with the number of calls that they need.
FAMILIES: dict[str, tuple[tuple[int, Family], ...]] = {
    "calculator": ((1, product),),
    "keyvalue": (
        (1, read_entry),
        (1, write_entry),
        (1, delete_entry),
        (2, copy_entry),
        (3, rename_entry),
        (4, swap_entries),
    ),
    "files": (
        (1, read_text),
        (1, write_text),
        (1, move_text),
        (2, copy_text),
        (2, find_and_delete),
    ),
}
