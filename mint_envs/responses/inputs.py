"""Inputs like those of the tests, to tell whether two programs behave the same.

What a problem allows is known only from its tests, so new inputs keep what all of theirs share:
types, signs, sortedness, lengths that never vary, letters that occur. One argument is changed at
a time, so that what holds between arguments mostly still does.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..code.plan import Plan

_MOST_CALLS = 50


@dataclass(frozen=True)
class SampleCall:
    """A call that the tests make: the function, as they write it, and its arguments."""

    function: str
    arguments: tuple[Any, ...]

    @property
    def text(self) -> str:
        return f"{self.function}({', '.join(map(repr, self.arguments))})"


def calls_of(plan: Plan, entry: str = "") -> list[SampleCall]:
    """Return the calls of the program in its tests whose arguments are plain values."""
    texts = [plan.setup, *(test.text for test in plan.tests if hasattr(test, "text"))]
    found: dict[str, SampleCall] = {}
    for text in texts:
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            call = _sample_call(node, plan, entry)
            if call is not None:
                found.setdefault(call.text, call)
    return list(found.values())[:_MOST_CALLS]


def _sample_call(node: ast.AST, plan: Plan, entry: str) -> SampleCall | None:
    if not isinstance(node, ast.Call) or node.keywords or not node.args:
        return None
    name = ast.unparse(node.func)
    if plan.kind == "split":
        own = {n for test in plan.tests for group in test.names[1:] for n in group}
        if name not in (*plan.stubs, *own, "candidate"):
            return None
        name = entry or plan.stubs[0] if name == "candidate" else name
    try:
        return SampleCall(name, tuple(ast.literal_eval(argument) for argument in node.args))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def like(calls: Sequence[SampleCall], count: int = 60, seed: int = 0) -> list[SampleCall]:
    """Return up to ``count`` new calls that are like those of the tests."""
    rng = random.Random(seed)
    groups: dict[tuple[str, int], list[SampleCall]] = {}
    for call in calls:
        groups.setdefault((call.function, len(call.arguments)), []).append(call)
    found: dict[str, SampleCall] = {}
    known = {call.text for call in calls}
    for _ in range(count * 6):
        if len(found) >= count or not groups:
            break
        group = rng.choice(list(groups.values()))
        call = rng.choice(group)
        place = rng.randrange(len(call.arguments))
        pool = [other.arguments[place] for other in group]
        changed = _vary(call.arguments[place], pool, rng)
        arguments = (*call.arguments[:place], changed, *call.arguments[place + 1 :])
        made = SampleCall(call.function, copy.deepcopy(arguments))
        if made.text not in known and len(made.text) < 2000:
            found.setdefault(made.text, made)
    return list(found.values())


def _vary(value: Any, pool: Sequence[Any], rng: random.Random) -> Any:
    """Return a value like ``value``, in keeping with the others of its place."""
    same = [other for other in pool if type(other) is type(value)]
    maker = _MAKERS.get(type(value))
    return rng.choice(same) if maker is None else maker(value, same, rng)


def _an_int(value: int, pool: Sequence[int], rng: random.Random) -> int:
    low, high = min(pool), max(pool)
    made = rng.choice([value + 1, value - 1, rng.randint(low, high), rng.randint(low, high + 3)])
    return max(made, low) if low >= 0 else made


def _a_float(value: float, pool: Sequence[float], rng: random.Random) -> float:
    low, high = min(pool), max(pool)
    if not (abs(low) < 1e15 and abs(high) < 1e15):
        return value
    return round(rng.choice([rng.uniform(low, high), value + rng.choice([0.5, -0.5])]), 2)


def _a_bool(value: bool, pool: Sequence[bool], rng: random.Random) -> bool:
    return rng.choice(list(pool))


def _a_text(value: str, pool: Sequence[str], rng: random.Random) -> str:
    made = _another_text(value, pool, rng)
    lengths = {len(text) for text in pool}
    if (len(lengths) == 1 and len(pool) > 2 and len(made) not in lengths) or (
        not made and all(pool)
    ):
        return value
    return made


def _another_text(value: str, pool: Sequence[str], rng: random.Random) -> str:
    if any(" " in text for text in pool):
        words = [word for text in pool for word in text.split(" ")]
        return " ".join(_changed_items(value.split(" "), words, rng))
    letters = "".join(pool)
    if letters.isalpha():
        return "".join(_changed_items(list(value), list(letters), rng))
    if not any(c.isalnum() for c in letters):  # brackets and the like: whole ones, side by side
        return value + rng.choice(list(pool))
    # Dates, names of files, numbers: one letter or digit for another of its kind.
    places = [i for i, c in enumerate(value) if c.isalnum()]
    if not places:
        return rng.choice(list(pool))
    place = rng.choice(places)
    kind = [c for c in letters if _letter_class(c) == _letter_class(value[place])]
    return value[:place] + rng.choice(kind) + value[place + 1 :]


def _letter_class(letter: str) -> tuple[bool, bool]:
    return letter.isdigit(), letter.isupper()


def _changed_items(items: list[Any], pool: Sequence[Any], rng: random.Random) -> list[Any]:
    """Return ``items`` with one dropped, doubled, swapped, or another put in."""
    out = list(items)
    if not out:
        return [rng.choice(pool)] if pool else out
    place, other = rng.randrange(len(out)), rng.randrange(len(out))
    change = rng.randrange(4)
    if change == 0 and len(out) > 1:
        del out[place]
    elif change == 1:
        out.insert(place, out[other])
    elif change == 2:
        out[place], out[other] = out[other], out[place]
    else:
        out[place] = rng.choice(pool)
    return out


def _a_list(value: list[Any], pool: Sequence[list[Any]], rng: random.Random) -> list[Any]:
    everything = [item for other in pool for item in other]
    if value and rng.random() < 0.5:
        place = rng.randrange(len(value))
        changed = _vary(value[place], everything, rng)
        made = [*value[:place], changed, *value[place + 1 :]]
    else:
        made = _changed_items(value, everything, rng)
    return made if all(kept(made) for kept in _shared_traits(pool)) else value


def _shared_traits(pool: Sequence[list[Any]]) -> list[Callable[[list[Any]], bool]]:
    """Return what all lists of a place have in common, as tests of another one."""
    found: list[Callable[[list[Any]], bool]] = []
    lengths = {len(other) for other in pool}
    if 0 not in lengths:
        found.append(bool)
    if len(lengths) == 1 and len(pool) > 2:
        found.append(lambda made: len(made) in lengths)
    if len(pool) > 1 and all(map(_is_sorted, pool)):
        found.append(_is_sorted)
    if len(pool) > 1 and all(map(_is_unique, pool)):
        found.append(_is_unique)
    return found


def _is_sorted(items: list[Any]) -> bool:
    try:
        return all(a <= b for a, b in pairwise(items))
    except TypeError:
        return False


def _is_unique(items: list[Any]) -> bool:
    return len({repr(item) for item in items}) == len(items)


def _a_tuple(value: Any, pool: Sequence[Any], rng: random.Random) -> Any:
    if not value:
        return value
    place = rng.randrange(len(value))
    others = [other[place] for other in pool if len(other) > place]
    return (*value[:place], _vary(value[place], others, rng), *value[place + 1 :])


def _a_dict(value: dict[Any, Any], pool: Sequence[Any], rng: random.Random) -> dict[Any, Any]:
    made = dict(value)
    if not made:
        return made
    key = rng.choice(list(made))
    if len(made) > 1 and rng.random() < 0.3:
        del made[key]
    else:
        made[key] = _vary(made[key], [item for other in pool for item in other.values()], rng)
    return made


_MAKERS: dict[type, Callable[..., Any]] = {
    int: _an_int,
    float: _a_float,
    bool: _a_bool,
    str: _a_text,
    list: _a_list,
    tuple: _a_tuple,
    dict: _a_dict,
}
