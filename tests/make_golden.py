"""Write the golden files anew, and say what moved.

    python -m tests.make_golden               # records and verdicts
    python -m tests.make_golden records       # prompts, problems, rewards of examples
    python -m tests.make_golden verdicts      # the same texts, with the rewards that they have now
    python -m tests.make_golden new-verdicts  # other texts: where problems moved, or cases came

docs/versioning.md says when this is right: in the commit that changes a prompt, a problem or a
verdict on purpose, with a message that says which; from 0.1.0 on with a line in CHANGELOG.md too.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # as under pytest: helpers import each other by name

import golden
import verdicts


def main() -> None:
    parser = argparse.ArgumentParser(
        prog=golden.AGAIN, description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=("records", "verdicts", "new-verdicts"))
    what = parser.parse_args().what
    if what in (None, "records"):
        write_records()
    if what != "records":
        write_verdicts(anew=what == "new-verdicts")


def write_records() -> None:
    texts: dict[str, dict[str, Any]] = {}
    for id, many in golden.CASES.items():
        rows = {}
        for settings in many:
            name = golden.name_of(settings)
            rows[name], texts.setdefault(id, {})[name] = golden.records(id, settings)
            tell(id, name, golden.kept(id).get(name), rows[name])
        rows[golden.SPREAD_NAME] = golden.spread(id)
        golden.file_of(id).write_text(json.dumps(rows, indent=0) + "\n", encoding="utf-8")
    golden.TEXTS.write_bytes(golden.packed(json.dumps(texts, sort_keys=True).encode()))


def tell(id: str, name: str, old: list[str] | None, new: list[str]) -> None:
    """Say how many records of a case moved, by field."""
    if old is None:
        print(f"{id} {name}: new")
        return
    for field, a, b in zip(golden.FIELDS, columns(old), columns(new), strict=True):
        moved = sum(was != now for was, now in zip(a, b, strict=True))
        if moved:
            print(f"{id} {name}: {field} changed for {moved} of {len(new)} seeds")


def columns(lines: list[str]) -> list[tuple[str, ...]]:
    return list(zip(*(line.split(" ") for line in lines), strict=True))


def write_verdicts(anew: bool) -> None:
    before = verdicts.kept()
    rows = verdicts.made() if anew or not before else verdicts.judged(before)
    was = {verdicts.name_of(row): row.reward for row in before}
    for row in rows:
        name = verdicts.name_of(row)
        if was.get(name, row.reward) != row.reward:
            print(f"was {was[name]}, is {row.reward}: {name[:300]}")
    verdicts.write(rows)
    print(f"{len(rows)} verdicts, {verdicts.PATH.stat().st_size} bytes")


if __name__ == "__main__":
    main()
