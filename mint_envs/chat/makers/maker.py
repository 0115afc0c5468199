"""How an instruction of a kind is made: its arguments, its wording, and texts that tell.

A maker writes a text that follows its instruction, and spoils it so that it just does not. The
first is the worked answer of a drawn prompt; both together try the checker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..topics import Topic

Drawn = dict[str, Any]


@dataclass(frozen=True)
class Scene:
    """A topic, a request about it, and what is drawn from one generator."""

    topic: Topic
    request: str
    rng: np.random.Generator

    @property
    def noun(self) -> str:
        return self.topic.name.removeprefix("the ")

    def pick(self, values: Sequence[Any]) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def some(self, count: int) -> list[str]:
        """Return ``count`` different sentences on the topic, at most six."""
        order = self.rng.permutation(len(self.topic.sentences))
        return [self.topic.sentences[int(i)] for i in order[:count]]

    def say(self, count: int = 3) -> str:
        return " ".join(self.some(count))


def _nothing(scene: Scene) -> Drawn:
    return {}


@dataclass(frozen=True, slots=True)
class Maker:
    """What makes prompts and texts of a kind.

    Args:
        texts: wordings; the arguments go into the braces.
        write: makes a text that follows, from (scene, arguments).
        spoil: makes one that just does not, from (scene, arguments, that text).
        draw: makes the arguments.
        form: what an answer is: "prose" about the topic; "words" on it, as their form allows; or
            "fixed" by the instruction, which is a question of its own or asks for a copy.
    """

    texts: tuple[str, ...]
    write: Callable[[Scene, Drawn], str]
    spoil: Callable[[Scene, Drawn, str], str]
    draw: Callable[[Scene], Drawn] = _nothing
    form: Literal["prose", "words", "fixed"] = "prose"


def lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def adds(more: str) -> Callable[[Scene, Drawn, str], str]:
    """Spoil by adding ``more``, with the arguments in its braces."""
    return lambda scene, given, text: f"{text}{more.format(**given)}"


def swaps(old: str, new: str) -> Callable[[Scene, Drawn, str], str]:
    """Spoil by putting ``new`` in place of the first ``old``."""
    return lambda scene, given, text: text.replace(old.format(**given), new.format(**given), 1)


def numbers(**ranges: tuple[int, int]) -> Callable[[Scene], Drawn]:
    """Draw each argument from its range."""
    return lambda scene: {name: scene.number(*ends) for name, ends in ranges.items()}


#: Words that no topic has, to be asked for.
RARE = (
    "amber copper velvet marble thunder ribbon lantern pepper saddle walnut basket canvas timber "
    "magnet blanket"
).split()


def rare_words(scene: Scene, count: int) -> list[str]:
    return [RARE[int(i)] for i in scene.rng.permutation(len(RARE))[:count]]
