"""What the rest of the house must know of a family of problems, and the settings that all share.

A family is one folder with a ``family.py``, and one row in ``BUILT_IN``: registration,
the server, the trainer's defaults and worker processes read the record; nothing else names a
family.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from .errors import require
from .loading import imported

#: Names of presets: the MinT documents' defaults, and what a small model here learns from.
PRESETS = ("documents", "local")
MOST_SHOTS = 3


@dataclass(frozen=True, slots=True)
class Family:
    """The record of one family.

    Args:
        client_settings: names of settings that only choose among problems made here, or how they
            are shown and scored: a client of ``mint-envs serve`` may choose them. None is a path,
            a name on the hub, an address, a sandbox or a regular expression, and none is costly.
        presets: by name (``"documents"``, ``"local"``), defaults of the trainer that differ from
            its own: ``{"local": {"steps": 40, "env_settings": {...}}}``. Ours were run on three
            seeds (Math, Chat), two (ToolUse) or one (Code): docs/training.md.
        grader: ``"module:Class"`` of the form that POST /v1/grade/FOLDER takes; "" means none.
        forms: ``"module:NAMES"`` of the published data sets whose rows are read; "" means any.
        says_reward: the trainer says the mean reward on a line of its own, as the documents do.

    Raises:
        SettingError: a preset of another name.
    """

    client_settings: frozenset[str] = frozenset()
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    grader: str = ""
    forms: str = ""
    says_reward: bool = False

    def __post_init__(self) -> None:
        for name in self.presets:
            require(name in PRESETS, f"presets: {name!r} is none of {', '.join(PRESETS)}")


#: The ids that this package brings, and the task class of each. Beside the class, in its folder,
#: stands the record of the family: ``mint_envs/math/family.py``.
BUILT_IN = {
    "mint/Math-v0": "mint_envs.math.tasks:MathTask",
    "mint/Code-v0": "mint_envs.code.tasks:CodeTask",
    "mint/ToolUse-v0": "mint_envs.tooluse.tasks:ToolUseTask",
    "mint/Chat-v0": "mint_envs.chat.tasks:ChatTask",
    "mint/Mix-v0": "mint_envs.compose.mix:MixTask",
}


def record_of(id: str) -> Family:
    """Return the record of an id of this package; imports its folder."""
    folder = BUILT_IN[id].rpartition(".")[0]
    record: Family = imported(f"{folder}.family:FAMILY")
    return record


# -- settings that mean the same in every family ---------------------------------------------------

Dataset = Annotated[
    str | None,
    "rows to take problems from, instead of drawing them: a JSONL or Parquet file, or a Hugging "
    "Face name",
]
Split = Annotated[str | None, "'train', 'test' (one problem in ten, held out) or 'all'"]
Drop = Annotated[str | None, "file of problems to leave out, as `mint-envs audit` writes"]
Style = Annotated[Literal["completion", "chat"], "few-shot text to continue, or chat messages"]
Shots = Annotated[int, "worked examples before the question, 0 to 3"]
Level = Annotated[str, "difficulty of the problems that are drawn"]
SkipRefused = Annotated[bool, "leave out rows that are refused, with a warning, rather than stop"]
PartialCredit = Annotated[bool, "score the fraction that is right, not all or nothing"]


@dataclass(frozen=True, slots=True)
class CommonSettings:
    """Those of a task, checked; a family sets its own defaults, and leaves out what it lacks.

    Args:
        levels: names that ``level`` may have.

    Raises:
        SettingError: a value out of range.
    """

    dataset: str | None = None
    split: str | None = None
    drop: str | None = None
    style: str = "chat"
    shots: int = 0
    level: str = ""
    partial_credit: bool = False
    levels: Sequence[str] = ("",)

    def __post_init__(self) -> None:
        require(
            self.style in ("completion", "chat"), f"style={self.style!r}: 'completion' or 'chat'"
        )
        require(0 <= self.shots <= MOST_SHOTS, f"shots={self.shots} must be from 0 to {MOST_SHOTS}")
        require(
            self.level in self.levels,
            f"level={self.level!r} must be one of {', '.join(self.levels)}",
        )
        rows = self.dataset is not None  # they have splits of their own names
        require(
            rows or self.split in (None, "train", "test", "all"),
            f"split={self.split!r}: 'train', 'test' or 'all'",
        )
        require(self.drop is None or rows, f"drop={self.drop!r} needs dataset=...")
