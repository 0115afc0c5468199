"""Kinds of instructions, by whose they are; each is a checker and its arguments."""

from __future__ import annotations

from .ifbench_counts import IFBENCH_COUNTS
from .ifbench_custom import IFBENCH_CUSTOM
from .ifbench_formats import IFBENCH_FORMATS
from .ifbench_words import IFBENCH_WORDS
from .ifeval import IFEVAL
from .ifrlvr import IFRLVR
from .kind import InstructionKind

IFBENCH = {**IFBENCH_COUNTS, **IFBENCH_WORDS, **IFBENCH_FORMATS, **IFBENCH_CUSTOM}

#: Whose kinds there are. No name is in two of them.
SETS: dict[str, dict[str, InstructionKind]] = {
    "ifeval": IFEVAL,
    "ifbench": IFBENCH,
    "ifrlvr": IFRLVR,
}
#: Every kind of instruction, by name.
KINDS: dict[str, InstructionKind] = {**IFEVAL, **IFBENCH, **IFRLVR}
