"""What changed: the difference of two states, and the verdict on a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core import Reward
from ..values import same_json

#: The way to a leaf: the keys and positions that lead to it.
Path = tuple[str | int, ...]


class _Absent:
    """Stands for a leaf that is not there."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


def copied(state: Any) -> Any:
    """Return a copy of plain values: several times as fast as ``copy.deepcopy``."""
    if isinstance(state, dict):
        return {key: copied(value) for key, value in state.items()}
    return [copied(value) for value in state] if isinstance(state, list) else state


def leaves(state: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield (path, value) of every leaf. Empty lists and dictionaries are leaves too."""
    if isinstance(state, dict | Mapping) and state:  # the first is the quick one to tell
        for key, value in state.items():
            yield from leaves(value, (*path, key))
    elif isinstance(state, list) and state:
        for place, value in enumerate(state):
            yield from leaves(value, (*path, place))
    else:
        yield path, state


def diff(before: Any, after: Any) -> dict[Path, tuple[Any, Any]]:
    """Return ``{path: (old, new)}`` for every leaf that differs; ``ABSENT`` where there is none.

    Args:
        before, after: plain values: dicts, lists and what JSON has.
    """
    return _changed_paths(dict(leaves(before)), dict(leaves(after)))


def _changed_paths(old: dict[Path, Any], new: dict[Path, Any]) -> dict[Path, tuple[Any, Any]]:
    pairs = {path: (old.get(path, ABSENT), new.get(path, ABSENT)) for path in {**old, **new}}
    return {path: pair for path, pair in pairs.items() if not same_json(*pair)}


def grade_state(before: Any, wanted: Any, after: Any, *, partial_credit: bool = True) -> Reward:
    """Return how far the change from ``before`` to ``after`` is the one that was wanted.

    The score is the fraction of the wanted changes that were made, less the other changes that
    were made as a fraction of the wanted ones, and not below 0. 1.0 means that ``after`` is
    ``wanted``. Doing nothing earns nothing, unless nothing was to be changed.

    Args:
        before, wanted, after: states, dictionaries of plain values.
        partial_credit: False gives 1 for exactly the wanted state, else 0.

    Returns:
        ``Reward`` with ``parts`` ``changed`` and ``untouched``, and ``metadata`` ``wanted``,
        ``matched`` and ``collateral``: numbers of leaves.
    """
    first, target, last = (dict(leaves(state)) for state in (before, wanted, after))
    goal, made = _changed_paths(first, target), _changed_paths(first, last)
    matched = sum(path in made and same_json(goal[path][1], made[path][1]) for path in goal)
    missed = _changed_paths(target, last)
    collateral = sum(path not in goal for path in made)
    count = max(len(goal), 1)
    changed = matched / count if goal else 1.0
    untouched = max(0.0, 1.0 - collateral / count)
    score = max(0.0, changed - collateral / count) if partial_credit else float(not missed)
    return Reward(
        score,
        parts={"changed": changed, "untouched": untouched},
        metadata={"wanted": len(goal), "matched": matched, "collateral": collateral},
    )
