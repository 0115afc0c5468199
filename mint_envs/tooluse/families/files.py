"""Requests about the file system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .common import NO_TOOL, FamilyEntry, Request, Step, in_turn, pick, pick_two


def read_text(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    path = pick(rng, list(_file_texts(state)))
    steps = ((("read_file", {"path": path}),),)
    return Request(f"What does the file {path} say?", steps, _file_texts(state)[path])


def write_text(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    path = f"{pick(rng, list(state['files']))}/new.txt"
    content = f"Ticket {rng.integers(1000, 10000)}"
    steps = ((("write_file", {"path": path, "content": content}),),)
    return Request(f"Write a file {path} with exactly this text: {content}", steps)


def move_text(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    path = pick(rng, list(_file_texts(state)))
    name = path.rpartition("/")[2]
    free = [folder for folder, entries in state["files"].items() if name not in entries]
    if not free:
        return None
    goal = f"{pick(rng, free)}/{name}"
    steps = ((("move", {"source": path, "destination": goal}),),)
    return Request(f"Move the file {path} to {goal}.", steps)


def copy_text(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    path = pick(rng, list(_file_texts(state)))
    goal = f"{pick(rng, list(state['files']))}/copy.txt"
    steps = (
        (("read_file", {"path": path}),),
        (("write_file", {"path": goal, "content": _file_texts(state)[path]}),),
    )
    return Request(f"Copy the file {path} to {goal}; leave the original as it is.", steps)


def find_and_delete(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    found = _unique_texts(state)
    if not found:
        return None
    path, text = pick(rng, found)
    steps = ((("search", {"text": text}),), (("delete", {"path": path}),))
    return Request(f"Find the file whose text is '{text}' and delete it.", steps)


def _file_texts(state: Mapping[str, Any]) -> dict[str, str]:
    return {
        f"{folder}/{name}": text
        for folder, entries in state["files"].items()
        for name, text in entries.items()
    }


def _unique_texts(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (path, text) of the files whose text no other file has."""
    items = list(_file_texts(state).items())
    return [(p, t) for p, t in items if [text for _, text in items].count(t) == 1]


def join_texts(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    steps_and_text = _join_two(rng, state)
    if steps_and_text is None:
        return None
    steps, text, _ = steps_and_text
    return Request(f"{text}.", steps)


def join_and_delete(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    steps_and_text = _join_two(rng, state)
    if steps_and_text is None:
        return None
    steps, text, paths = steps_and_text
    deletes: tuple[Step, ...] = tuple(("delete", {"path": path}) for path in paths)
    return Request(f"{text}; then delete both files.", (*steps, deletes))


def _join_two(
    rng: np.random.Generator, state: Mapping[str, Any]
) -> tuple[tuple[tuple[Step, ...], ...], str, tuple[str, str]] | None:
    texts = _file_texts(state)
    if len(texts) < 2:
        return None
    one, two = pick_two(rng, list(texts))
    goal = f"{pick(rng, list(state['files']))}/both.txt"
    steps: tuple[tuple[Step, ...], ...] = (
        (("read_file", {"path": one}), ("read_file", {"path": two})),
        (("write_file", {"path": goal, "content": f"{texts[one]}\n{texts[two]}"}),),
    )
    text = (
        f"Write a file {goal} of two lines, the first with the text of {one}, the second with the "
        f"text of {two}"
    )
    return steps, text, (one, two)


def find_and_file(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    found = _unique_texts(state)
    if not found:
        return None
    path, text = pick(rng, found)
    steps = (
        (("make_directory", {"path": "done"}), ("search", {"text": text})),
        (("move", {"source": path, "destination": "done/found.txt"}),),
    )
    request = (
        f"Make a directory done. Find the file whose text is '{text}', and move it there under the "
        "name found.txt."
    )
    return Request(request, steps)


def find_and_sort(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    found = _unique_texts(state)
    if len(found) < 2:
        return None
    (one, first), (two, second) = pick_two(rng, found)
    steps = in_turn(
        ("make_directory", {"path": "old"}),
        ("make_directory", {"path": "old/kept"}),
        ("search", {"text": first}),
        ("move", {"source": one, "destination": "old/kept/one.txt"}),
        ("search", {"text": second}),
        ("move", {"source": two, "destination": "old/two.txt"}),
    )
    request = (
        "Make a directory old, and a directory kept in it. Find two files: that with the text "
        f"'{first}' becomes old/kept/one.txt, that with the text '{second}' becomes old/two.txt."
    )
    return Request(request, steps)


def write_what(rng: np.random.Generator, state: Mapping[str, Any]) -> Request:
    path = f"{pick(rng, list(state['files']))}/memo.txt"
    content = f"Room {rng.integers(1000, 10000)}"
    steps = in_turn(("write_file", {"path": path, "content": content}))
    return Request(f"Write my memo to the file {path}.", steps, reply=f"The memo is: {content}")


def delete_folder_of_one(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    return _delete_folder(rng, state, 1)


def delete_folder_of_two(rng: np.random.Generator, state: Mapping[str, Any]) -> Request | None:
    return _delete_folder(rng, state, 2)


def _delete_folder(
    rng: np.random.Generator, state: Mapping[str, Any], count: int
) -> Request | None:
    folders = [folder for folder, entries in state["files"].items() if len(entries) == count]
    if not folders:
        return None
    folder = pick(rng, folders)
    deletes: list[Step] = [("delete", {"path": f"{folder}/{n}"}) for n in state["files"][folder]]
    steps = (
        *in_turn(("delete", {"path": folder}), ("list_directory", {"path": folder})),
        tuple(deletes),
        *in_turn(("delete", {"path": folder})),
    )
    return Request(f"Delete the directory {folder} with everything in it.", steps)


ENTRIES = (
    FamilyEntry(1, read_text),
    FamilyEntry(1, write_text),
    FamilyEntry(1, move_text),
    FamilyEntry(2, copy_text),
    FamilyEntry(2, find_and_delete),
    FamilyEntry(3, find_and_file),
    FamilyEntry(3, join_texts),
    FamilyEntry(5, join_and_delete),
    FamilyEntry(6, find_and_sort),
    FamilyEntry(1, write_what, "ask"),
    FamilyEntry(4, delete_folder_of_one, "recover"),
    FamilyEntry(5, delete_folder_of_two, "recover"),
    *NO_TOOL,
)
