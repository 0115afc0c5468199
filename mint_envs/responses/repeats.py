"""Sentences that a policy says whatever it is asked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")
_LEAST_WORDS = 5


@dataclass(frozen=True, slots=True)
class Repeated:
    """What responses to different prompts have in common.

    Args:
        share: of the responses, those with a sentence that a response to another prompt has.
        sentence: the one that most prompts have, ``""`` if there is none.
        prompts: how many have it.
    """

    share: float
    sentence: str
    prompts: int


def repeated_sentences(responses: Iterable[tuple[Hashable, str]]) -> Repeated:
    """Return what pairs (prompt, response) repeat; sentences of five words or more count."""
    said = [(prompt, sentences_of(text)) for prompt, text in responses]
    prompts: dict[str, set[Hashable]] = defaultdict(set)
    for prompt, sentences in said:
        for sentence in sentences:
            prompts[sentence].add(prompt)
    if not prompts:
        return Repeated(0.0, "", 0)
    again = sum(any(len(prompts[one]) > 1 for one in sentences) for _, sentences in said)
    most = max(sorted(prompts), key=lambda one: len(prompts[one]))
    return Repeated(again / len(said), most, len(prompts[most]))


def sentences_of(text: str) -> set[str]:
    """Return the different sentences, in small letters and with single spaces."""
    plain = (" ".join(one.lower().split()) for one in _ENDS.split(text))
    return {one for one in plain if one.count(" ") + 1 >= _LEAST_WORDS}
