"""Prompts with one instruction of IFBench or IF-RLVR, drawn from the seed with their answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .instructions import Instruction
from .kinds import SETS
from .makers import MAKERS, Scene
from .topics import REQUESTS, TOPICS, Topic

#: Kinds that no training prompt asks for unless ``kinds`` names them: about one in five, so that
#: ``split="test"`` measures what was learned for kinds never seen.
HELD_OUT = frozenset(
    (
        "count:person_names", "count:words_japanese", "ratio:overlap", "words:vowel",
        "words:last_first", "sentence:increment", "sentence:keyword", "format:parentheses",
        "format:thesis", "format:title_case", "custom:multiples", "repeat:repeat_span",
        "copy:copying_multiple", "keywords:palindrome", "keywords:start_end",
        "last_word:last_word_answer", "detectable_format:square_brackets", "count:count_unique",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """A drawn prompt; ``form`` is that of ``Maker``."""

    prompt: str
    request: str
    instruction: Instruction
    topic: Topic
    form: str
    answer: str


def kinds_of(instructions: str, split: str | None) -> list[str]:
    """Return the kinds of one of ``SETS`` that prompts of ``split`` ask for."""
    kinds = SETS[instructions]
    if split == "all":
        return list(kinds)
    return [kind for kind in kinds if (kind in HELD_OUT) == (split == "test")]


def draw_made(rng: np.random.Generator, kinds: Sequence[str]) -> Made:
    """Draw a kind, its arguments, its wording, and an answer that follows it."""
    topic = TOPICS[int(rng.integers(len(TOPICS)))]
    request = REQUESTS[int(rng.integers(len(REQUESTS)))].format(topic.name)
    scene = Scene(topic, request, rng)
    kind = str(scene.pick(kinds))
    maker = MAKERS[kind]
    given = maker.draw(scene)
    wording = str(scene.pick(maker.texts)).format(topic=topic.name, **given)
    prompt = wording if maker.form == "fixed" else f"{request} {wording}"
    answer = maker.write(scene, given)
    return Made(prompt, request, (kind, given), topic, maker.form, answer)
