"""Put together an answer that follows given instructions: the proof that they do not contradict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from .instructions import Instruction
from .topics import PLACEHOLDERS, Topic

_EXTRA = (
    "You can ask me more about {}.",
    "I could talk about {} for hours.",
    "That is why so many people care about {}.",
)
_STARS, _MORE_STARS = "\n***\n", "\n******\n"

Wanted = Mapping[str, Mapping[str, Any]]


def candidates(topic: Topic, instructions: Sequence[Instruction]) -> Iterator[str]:
    """Yield answers of growing length; the instructions are all but built into each."""
    wanted = dict(instructions)
    stock = _stock(topic, wanted)
    for count in range(_pieces_wanted(wanted), len(stock) + 1):
        text = _laid_out(_marked(stock[:count], wanted), wanted)
        yield _framed(text, topic, stock[-1], wanted)


def _pieces_wanted(wanted: Wanted) -> int:
    """Return how many bullets, paragraphs, sections or answers there must be."""
    if "combination:two_responses" in wanted:
        return 2
    names = ("num_bullets", "num_paragraphs", "num_sections")
    numbers = [int(given.get(name, 1)) for given in wanted.values() for name in names]
    return max(numbers, default=1)


def _stock(topic: Topic, wanted: Wanted) -> list[str]:
    """Return the sentences that may be used, those with wanted words first."""
    forbidden = wanted.get("keywords:forbidden_words", {}).get("forbidden_words", ())
    needed = wanted.get("keywords:existence", {}).get("keywords", ())
    letters = wanted.get("keywords:letter_frequency", {})
    few = letters.get("let_relation") == "less than"
    everything = [*topic.sentences, *(text.format(topic.name) for text in _EXTRA)]
    stock = [text for text in everything if not _has_any(text, forbidden)]

    def order(text: str) -> tuple[bool, int]:
        rare = text.lower().count(letters["letter"]) if few else 0
        return not _has_any(text, needed), rare

    return sorted(stock, key=order)


def _has_any(text: str, words: Sequence[str]) -> bool:
    return any(re.search(rf"\b{word}\b", text, re.IGNORECASE) for word in words)


def _marked(chosen: list[str], wanted: Wanted) -> list[str]:
    """Highlight and capitalise words, and add places to be filled in."""
    highlights = wanted.get("detectable_format:number_highlighted_sections", {})
    capitals = wanted.get("change_case:capital_word_frequency", {})
    places = wanted.get("detectable_content:number_placeholders", {})
    for number in range(min(highlights.get("num_highlights", 0), len(chosen))):
        chosen[number] = re.sub(r"(\w+)\.$", r"*\1*.", chosen[number])
    for number in range(min(capitals.get("capital_frequency", 0), len(chosen))):
        chosen[number] = re.sub(r"^\w+", lambda m: m[0].upper(), chosen[number])
    return [*chosen, *PLACEHOLDERS[: places.get("num_placeholders", 0)]]


def _laid_out(chosen: list[str], wanted: Wanted) -> str:
    """Arrange the sentences as bullets, paragraphs, sections, two answers or JSON."""
    for kind, arguments in wanted.items():
        match kind:
            case "detectable_format:number_bullet_lists":
                pieces = _dealt(chosen, arguments["num_bullets"])
                return "\n".join(f"- {piece}" for piece in pieces)
            case "detectable_format:multiple_sections":
                pieces = _dealt(chosen, arguments["num_sections"])
                head = arguments["section_spliter"]
                return "\n".join(f"{head} {i}\n{piece}" for i, piece in enumerate(pieces, 1))
            case "length_constraints:number_paragraphs":
                return _STARS.join(_dealt(chosen, arguments["num_paragraphs"]))
            case "length_constraints:nth_paragraph_first_word":
                return _paragraphs(chosen, **arguments)
            case "combination:two_responses":
                return _MORE_STARS.join(_dealt(chosen, 2))
            case "detectable_format:json_format":
                return json.dumps({"answer": " ".join(chosen)})
    return " ".join(chosen)


def _dealt(chosen: Sequence[str], number: int) -> list[str]:
    """Deal the sentences out into ``number`` pieces, in order."""
    bounds = [len(chosen) * i // number for i in range(number + 1)]
    return [" ".join(chosen[a:b]) for a, b in pairwise(bounds)]


def _paragraphs(
    chosen: Sequence[str], num_paragraphs: int, nth_paragraph: int, first_word: str
) -> str:
    pieces = _dealt(chosen, num_paragraphs)
    rest = pieces[nth_paragraph - 1]
    pieces[nth_paragraph - 1] = f"{first_word.capitalize()} {rest[:1].lower()}{rest[1:]}"
    return "\n\n".join(pieces)


def _framed(text: str, topic: Topic, spare: str, wanted: Wanted) -> str:
    """Add title, ending and quotation marks, and set the case."""
    if "detectable_format:title" in wanted:
        text = f"<<{topic.name.title()}>>\n{text}"
    if "detectable_content:postscript" in wanted:
        text = f"{text}\nP.S. {spare}"
    if "startend:end_checker" in wanted:
        text = f"{text}\n{wanted['startend:end_checker']['end_phrase']}"
    if "startend:quotation" in wanted:
        text = f'"{text}"'
    if "combination:repeat_prompt" in wanted:
        text = f"{wanted['combination:repeat_prompt']['prompt_to_repeat']}\n{text}"
    if "change_case:english_capital" in wanted:
        return text.upper()
    return text.lower() if "change_case:english_lowercase" in wanted else text
