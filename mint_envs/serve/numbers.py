"""The numbers of several server processes as one: whichever is asked for /metrics adds them up.

Each process writes its own to a file of its own once a second; the file of one that has ended is
folded by the supervisor into that of all that have, so that what was counted stays counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

#: Of all processes that have ended: their numbers, and the names of their files.
_ENDED = "ended"

_Family = dict[str, Any]  # name, type, help, and samples: each its name, labels and value


class SharedNumbers:
    """What one process adds up, beside its own: collects as a registry does.

    Args:
        own: the file of this process. Those of the others lie beside it.
        registry: has the numbers of this process.
    """

    def __init__(self, own: Path, registry: CollectorRegistry) -> None:
        self._own, self._registry = own, registry

    def write(self) -> None:
        """Write the numbers of this process, for the others."""
        _write(self._own, {"families": _families(self._registry)})

    def collect(self) -> Iterator[Metric]:
        """Yield the sums: of this process as it is, of others as they were within a second."""
        yield from _summed([_families(self._registry), *_others(self._own)])


def fold(file: Path) -> None:
    """Add what an ended process has counted to what all that have ended have; drop its file.

    What it had at a time, such as open sessions, it has no more, and is left out.
    """
    ended = file.with_name(_ENDED)
    before, last = _read(ended), _read(file)
    counted = [one for one in last.get("families", []) if one["type"] != "gauge"]
    known = [_family(one) for one in _summed([before.get("families", []), counted])]
    _write(ended, {"families": known, "names": [*before.get("names", []), file.name]})
    file.unlink(missing_ok=True)


def _others(own: Path) -> list[list[_Family]]:
    """Return the numbers of all other processes, those that have ended as one."""
    found = {path.name: _read(path) for path in own.parent.iterdir() if path.suffix != ".new"}
    # Read after the files: one that is folded meanwhile is in it, and counts once.
    ended = _read(own.with_name(_ENDED))
    gone = {own.name, _ENDED, *ended.get("names", [])}
    living = [one for name, one in found.items() if name not in gone]
    return [one["families"] for one in [ended, *living] if one]


def _summed(processes: Iterable[list[_Family]]) -> list[Metric]:
    """Return the sum over processes, by family, name and labels."""
    families: dict[str, tuple[_Family, dict[Any, float]]] = {}
    for family in (one for families_ in processes for one in families_):
        _, sums = families.setdefault(family["name"], (family, {}))
        for name, labels, value in family["samples"]:
            key = name, tuple(labels.items())
            began = name.endswith("_created")  # a time: that of the first stands
            sums[key] = min(sums.get(key, value), value) if began else sums.get(key, 0.0) + value
    found = []
    for family, sums in families.values():
        metric = Metric(family["name"], family["help"], family["type"])
        for (name, labels), value in sums.items():
            metric.add_sample(name, dict(labels), value)
        found.append(metric)
    return found


def _families(registry: CollectorRegistry) -> list[_Family]:
    return [_family(metric) for metric in registry.collect()]


def _family(metric: Metric) -> _Family:
    samples = [[one.name, one.labels, one.value] for one in metric.samples]
    return {"name": metric.name, "type": metric.type, "help": metric.documentation,
            "samples": samples}  # fmt: skip


def _read(file: Path) -> dict[str, Any]:
    """Return what a file holds; nothing, if it is not there (any more)."""
    with suppress(FileNotFoundError):
        found: dict[str, Any] = json.loads(file.read_text())
        return found
    return {}


def _write(file: Path, content: dict[str, Any]) -> None:
    """Write a file whole; it is of this server's life only.

    Where there is no room for it, or no folder any more, numbers are missing and nothing else.
    """
    new = file.with_name(f"{file.name}.new")
    with suppress(OSError):
        new.write_text(json.dumps(content))
        os.replace(new, file)
