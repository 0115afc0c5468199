"""Labelled cases that ship: any verifier gets accuracy, false and missed rewards by kind.

``mint-envs bench TARGET --battery math`` and so on. All cases are ours; each label is known from
how its case was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...errors import did_you_mean, require
from ...records.cases import Saved
from . import code, instructions, mathematics, toolcalls
from .cases import Labelled

BATTERIES: Mapping[str, Callable[[], Iterator[Labelled]]] = {
    "math": mathematics.answer_cases,
    "code": code.program_cases,
    "toolcalls": toolcalls.call_cases,
    "instructions": instructions.instruction_cases,
}


def battery(name: str) -> list[Saved]:
    """Return the cases of a battery as labelled responses, each once.

    Raises:
        SettingError: there is no such battery.
    """
    require(name in BATTERIES, f"battery={name!r}: {did_you_mean(name, BATTERIES)}")
    found: dict[tuple[str, str], Saved] = {}
    for one in BATTERIES[name]():
        saved = Saved(len(found) + 1, (one.response,), float(one.right), one.row, kind=one.kind)
        found.setdefault((one.response, repr(one.row)), saved)
    return list(found.values())
