"""Instructions whose being followed can be checked: the kinds of IFEval, our own checkers.

    grade_instructions("Tea is warm.", [("punctuation:no_comma", {})]).score   # 1.0

A kind is named, and its arguments are named, as in IFEval (Zhou et al. 2023). The verdict is the
"strict" one: what the response says aloud, as it stands. docs/chat.md lists what each kind asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import Reward
from ..errors import SettingError, did_you_mean
from ..thinking import spoken
from . import counting

Instruction = tuple[str, Mapping[str, Any]]

#: Kinds of IFEval that are left out, and why.
LEFT_OUT = {"language:response_language": "it needs language detection"}

_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_FENCES = ("```json", "```Json", "```JSON", "```")
_POSTSCRIPTS = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s"}


def grade_instructions(
    response: str, instructions: Sequence[Instruction], prompt: str = ""
) -> Reward:
    """Return the fraction of ``instructions`` that ``response`` follows.

    Args:
        response: any text; its thoughts (``mint_envs.thinking``) do not count. It is never
            evaluated, and the time is linear in its length.
        instructions: pairs (kind, arguments), e.g. ``("keywords:existence", {"keywords":
            ["tea"]})``. Arguments that are None count as not given.
        prompt: the request, for ``combination:repeat_prompt`` without ``prompt_to_repeat``.

    Returns:
        ``Reward`` with one part an instruction (1.0 or 0.0; a kind that comes again is named
        ``kind#2``) and ``metadata["followed"]``, a list of bools. A blank response follows none.

    Raises:
        SettingError: no instructions, an unknown kind, a missing or wrong argument.
    """
    return grade_said(spoken(response), instructions, prompt)


def grade_said(said: str, instructions: Sequence[Instruction], prompt: str = "") -> Reward:
    """Return ``grade_instructions`` of what was said, thoughts left out already."""
    checks = [_checker(kind, arguments, prompt) for kind, arguments in _checked_pairs(instructions)]
    blank = not said.strip()
    followed = [not blank and bool(check(said)) for check in checks]
    names = part_names([kind for kind, _ in instructions])
    parts = dict(zip(names, map(float, followed), strict=True))
    return Reward(sum(followed) / len(followed), parts, {"followed": followed})


def part_names(kinds: Sequence[str]) -> list[str]:
    """Return a name for each instruction, different ones for instructions of one kind."""
    names: list[str] = []
    for position, kind in enumerate(kinds):
        again = list(kinds[:position]).count(kind)
        names.append(f"{kind}#{again + 1}" if again else kind)
    return names


def check_instructions(instructions: Sequence[Instruction], prompt: str = "") -> None:
    """Raise SettingError if one of ``instructions`` could not be graded."""
    for kind, arguments in _checked_pairs(instructions):
        _checker(kind, arguments, prompt)


def _checked_pairs(instructions: Sequence[Instruction]) -> Sequence[Instruction]:
    if isinstance(instructions, str) or not instructions:
        raise SettingError(f"instructions={instructions!r}: give at least one (kind, arguments)")
    for item in instructions:
        if isinstance(item, str) or len(item) != 2 or not isinstance(item[1], Mapping | None):
            raise SettingError(f"instruction {item!r} must be a pair (kind, arguments)")
    return instructions


def _checker(kind: str, arguments: Mapping[str, Any] | None, prompt: str) -> Callable[[str], bool]:
    if kind in LEFT_OUT:
        raise SettingError(f"kind {kind!r} is left out: {LEFT_OUT[kind]}")
    if kind not in KINDS:
        raise SettingError(f"unknown kind {kind!r}. {did_you_mean(kind, KINDS)}")
    given = {key: value for key, value in (arguments or {}).items() if value is not None}
    if kind == "combination:repeat_prompt":
        given.setdefault("prompt_to_repeat", prompt)
    wanted = KINDS[kind].arguments
    for name in (*wanted, *given):
        if name not in given or name not in wanted:
            state = "needs" if name not in given else "has no"
            raise SettingError(f"{kind} {state} argument {name!r}; it takes {list(wanted)}")
        if problem := wanted[name](given[name]):
            raise SettingError(f"{kind}: {name}={given[name]!r} must be {problem}")
    return lambda response: KINDS[kind].follows(response, **given)


# -- arguments: each function returns what the value should be, or "" if it is ------------------


def _some_count(value: Any) -> str:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    return "" if whole and value >= 0 else "a whole number from 0 up"


def _relation(value: Any) -> str:
    return "" if value in ("at least", "less than") else "'at least' or 'less than'"


def _some_text(value: Any) -> str:
    return "" if isinstance(value, str) and value.strip() else "a text that is not blank"


def _letter(value: Any) -> str:
    return "" if isinstance(value, str) and len(value) == 1 else "one character"


def _some_texts(value: Any) -> str:
    many = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
    return "" if many and not any(map(_some_text, value)) else "a list of texts"


# -- the kinds ----------------------------------------------------------------------------------


def _related(count: int, relation: str, wanted: float) -> bool:
    return count >= wanted if relation == "at least" else count < wanted


def _keywords(response: str, keywords: Sequence[str]) -> bool:
    return all(re.search(re.escape(word), response, re.IGNORECASE) for word in keywords)


def _forbidden(response: str, forbidden_words: Sequence[str]) -> bool:
    return not any(
        re.search(rf"\b{re.escape(word)}\b", response, re.IGNORECASE) for word in forbidden_words
    )


def _keyword_frequency(response: str, keyword: str, relation: str, frequency: int) -> bool:
    found = re.findall(re.escape(keyword), response, re.IGNORECASE)
    return _related(len(found), relation, frequency)


def _letter_frequency(response: str, letter: str, let_relation: str, let_frequency: int) -> bool:
    return _related(response.lower().count(letter.lower()), let_relation, let_frequency)


def _number_words(response: str, relation: str, num_words: int) -> bool:
    return _related(len(counting.words_in(response)), relation, num_words)


def _number_sentences(response: str, relation: str, num_sentences: int) -> bool:
    return _related(counting.sentences(response), relation, num_sentences)


def _number_paragraphs(response: str, num_paragraphs: int) -> bool:
    found = counting.pieces(response, "***")
    return found is not None and len(found) == num_paragraphs


def _nth_paragraph(response: str, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    paragraphs = response.split("\n\n")
    count = sum(bool(piece.strip()) for piece in paragraphs)
    if count != num_paragraphs or not 1 <= nth_paragraph <= count:
        return False
    tokens = paragraphs[int(nth_paragraph) - 1].split()
    first = tokens[0].lstrip("'").lstrip('"') if tokens else ""
    return re.split("[.,?!'\"]", first)[0].lower() == first_word.lower() != ""


def _capital_words(response: str, capital_relation: str, capital_frequency: int) -> bool:
    return _related(counting.capital_words(response), capital_relation, capital_frequency)


def _has_sections(response: str, section_spliter: str, num_sections: int) -> bool:
    found = re.findall(rf"{re.escape(section_spliter)}\s?\d+", response)
    return len(found) >= num_sections


def _is_json(response: str) -> bool:
    text = response.strip()
    for fence in _FENCES:
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


def _postscript(response: str, postscript_marker: str) -> bool:
    pattern = _POSTSCRIPTS.get(postscript_marker, re.escape(postscript_marker.lower()))
    return re.search(pattern, response.lower()) is not None


def _repeat_prompt(response: str, prompt_to_repeat: str) -> bool:
    return response.strip().lower().startswith(prompt_to_repeat.strip().lower())


def _two_responses(response: str) -> bool:
    found = counting.pieces(response, "******")
    return found is not None and len(found) == 2 and found[0].strip() != found[1].strip()


def _ends_with(response: str, end_phrase: str) -> bool:
    return response.strip().strip('"').lower().endswith(end_phrase.strip().lower())


def _quotation(response: str) -> bool:
    text = response.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


@dataclass(frozen=True, slots=True)
class InstructionKind:
    """A kind of instruction: its checker, and what each argument must be."""

    follows: Callable[..., bool]
    arguments: Mapping[str, Callable[[Any], str]]


KINDS: dict[str, InstructionKind] = {
    "keywords:existence": InstructionKind(_keywords, {"keywords": _some_texts}),
    "keywords:forbidden_words": InstructionKind(_forbidden, {"forbidden_words": _some_texts}),
    "keywords:frequency": InstructionKind(
        _keyword_frequency,
        {"keyword": _some_text, "relation": _relation, "frequency": _some_count},
    ),
    "keywords:letter_frequency": InstructionKind(
        _letter_frequency,
        {"letter": _letter, "let_relation": _relation, "let_frequency": _some_count},
    ),
    "length_constraints:number_words": InstructionKind(
        _number_words, {"relation": _relation, "num_words": _some_count}
    ),
    "length_constraints:number_sentences": InstructionKind(
        _number_sentences, {"relation": _relation, "num_sentences": _some_count}
    ),
    "length_constraints:number_paragraphs": InstructionKind(
        _number_paragraphs, {"num_paragraphs": _some_count}
    ),
    "length_constraints:nth_paragraph_first_word": InstructionKind(
        _nth_paragraph,
        {"num_paragraphs": _some_count, "nth_paragraph": _some_count, "first_word": _some_text},
    ),
    "change_case:english_capital": InstructionKind(str.isupper, {}),
    "change_case:english_lowercase": InstructionKind(str.islower, {}),
    "change_case:capital_word_frequency": InstructionKind(
        _capital_words, {"capital_relation": _relation, "capital_frequency": _some_count}
    ),
    "punctuation:no_comma": InstructionKind(lambda response: "," not in response, {}),
    "detectable_format:json_format": InstructionKind(_is_json, {}),
    "detectable_format:title": InstructionKind(counting.has_title, {}),
    "detectable_format:number_bullet_lists": InstructionKind(
        lambda response, num_bullets: counting.bullets(response) == num_bullets,
        {"num_bullets": _some_count},
    ),
    "detectable_format:number_highlighted_sections": InstructionKind(
        lambda response, num_highlights: counting.highlights(response) >= num_highlights,
        {"num_highlights": _some_count},
    ),
    "detectable_format:multiple_sections": InstructionKind(
        _has_sections, {"section_spliter": _some_text, "num_sections": _some_count}
    ),
    "detectable_format:constrained_response": InstructionKind(
        lambda response: any(answer in response for answer in _ANSWERS), {}
    ),
    "detectable_content:number_placeholders": InstructionKind(
        lambda response, num_placeholders: counting.placeholders(response) >= num_placeholders,
        {"num_placeholders": _some_count},
    ),
    "detectable_content:postscript": InstructionKind(
        _postscript, {"postscript_marker": _some_text}
    ),
    "combination:repeat_prompt": InstructionKind(_repeat_prompt, {"prompt_to_repeat": _some_text}),
    "combination:two_responses": InstructionKind(_two_responses, {}),
    "startend:end_checker": InstructionKind(_ends_with, {"end_phrase": _some_text}),
    "startend:quotation": InstructionKind(_quotation, {}),
}
