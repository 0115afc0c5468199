"""Makers of instructions, by kind; ``maker`` says what they are."""

from __future__ import annotations

from .ifbench_counting import COUNTING
from .ifbench_formatting import FORMATTING
from .ifbench_questions import QUESTIONS
from .ifbench_wording import WORDING
from .ifeval_making import IFEVAL_MAKING
from .ifrlvr_making import MAKING
from .maker import Maker, Scene

MAKERS: dict[str, Maker] = {
    **IFEVAL_MAKING, **COUNTING, **WORDING, **FORMATTING, **QUESTIONS, **MAKING,
}  # fmt: skip

__all__ = ["MAKERS", "Maker", "Scene"]
