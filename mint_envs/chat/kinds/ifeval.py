"""The 25 kinds of IFEval (Zhou et al. 2023), by checkers of our own."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from .. import counting
from ..languages import is_language, may_be_language, some_language
from .kind import (
    InstructionKind,
    related,
    some_count,
    some_letter,
    some_relation,
    some_text,
    some_texts,
)

_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_FENCES = ("```json", "```Json", "```JSON", "```")
_POSTSCRIPTS = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s"}


def _keywords(response: str, keywords: Sequence[str]) -> bool:
    return all(re.search(re.escape(word), response, re.IGNORECASE) for word in keywords)


def _forbidden(response: str, forbidden_words: Sequence[str]) -> bool:
    return not any(
        re.search(rf"\b{re.escape(word)}\b", response, re.IGNORECASE) for word in forbidden_words
    )


def _forbidden_everywhere(response: str, forbidden_words: Sequence[str]) -> bool:
    """As above, with ``_`` no letter: ``_tea_`` is the word."""
    return _forbidden(response, forbidden_words) and _forbidden(
        response.replace("_", " "), forbidden_words
    )


def _keyword_frequency(response: str, keyword: str, relation: str, frequency: int) -> bool:
    found = re.findall(re.escape(keyword), response, re.IGNORECASE)
    return related(len(found), relation, frequency)


def _letter_frequency(response: str, letter: str, let_relation: str, let_frequency: int) -> bool:
    return related(response.lower().count(letter.lower()), let_relation, let_frequency)


def _number_words(response: str, relation: str, num_words: int) -> bool:
    return related(len(counting.words_in(response)), relation, num_words)


def _number_runs(response: str, relation: str, num_words: int) -> bool:
    return related(len(counting.runs_in(response)), relation, num_words)


def _number_sentences(response: str, relation: str, num_sentences: int) -> bool:
    return related(counting.sentences(response), relation, num_sentences)


def _number_paragraphs(response: str, num_paragraphs: int) -> bool:
    found = counting.pieces(response, "***")
    return found is not None and len(found) == num_paragraphs


def _nth_paragraph(response: str, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    """Return whether the nth paragraph begins so; a blank one is none."""
    full = "\n\n".join(piece for piece in response.split("\n\n") if piece.strip())
    return _nth_piece(full, num_paragraphs, nth_paragraph, first_word)


def _nth_piece(response: str, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    """As the official checker: the nth is counted with blank ones, their number without."""
    paragraphs = response.split("\n\n")
    count = sum(bool(piece.strip()) for piece in paragraphs)
    if count != num_paragraphs or not 1 <= nth_paragraph <= count:
        return False
    tokens = paragraphs[int(nth_paragraph) - 1].split()
    first = tokens[0].lstrip("'").lstrip('"') if tokens else ""
    return re.split("[.,?!'\"]", first)[0].lower() == first_word.lower() != ""


def _capital_words(response: str, capital_relation: str, capital_frequency: int) -> bool:
    return related(counting.capital_words(response), capital_relation, capital_frequency)


def _has_sections(response: str, section_spliter: str, num_sections: int) -> bool:
    found = re.findall(rf"{re.escape(section_spliter)}\s?\d+", response)
    return len(found) >= num_sections


def _is_json(response: str, **strictly: Any) -> bool:
    text = response.strip()
    for fence in _FENCES:
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip(), **strictly)
    except (ValueError, RecursionError):
        return False
    return True


def _is_strict_json(response: str) -> bool:
    """As above, as RFC 8259 has it: no NaN, no infinity; and no name twice in an object."""
    return _is_json(
        response,
        parse_constant=_refused,
        parse_float=_finite,
        object_pairs_hook=_no_name_twice,
    )


def _finite(number: str) -> float:
    return float(number) if math.isfinite(float(number)) else _refused(number)


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _no_name_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


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


# -- what satisfies a checker and holds nothing -------------------------------------------------


def _says(text: str) -> bool:
    """Return whether there is a letter or a digit."""
    return any(map(str.isalnum, text))


def _full_paragraphs(response: str, num_paragraphs: int) -> bool:
    return _number_paragraphs(response, num_paragraphs) and all(
        map(_says, counting.pieces(response, "***") or ())
    )


def _full_bullets(response: str, num_bullets: int) -> bool:
    lines = [line for line in response.split("\n") if counting.bullets(line)]
    return len(lines) == num_bullets and all(map(_says, lines))


def _full_highlights(response: str, num_highlights: int) -> bool:
    found = re.findall(r"\*([^\n*]+)\*", response)
    return sum(map(_says, found)) >= num_highlights


def _full_placeholders(response: str, num_placeholders: int) -> bool:
    return sum(map(_says, re.findall(r"\[([^\[\]\n]*)\]", response))) >= num_placeholders


def _full_title(response: str) -> bool:
    return any(map(_says, re.findall(r"<<([^\n<>]*)>>", response)))


def _different_sections(response: str, section_spliter: str, num_sections: int) -> bool:
    found = re.findall(rf"{re.escape(section_spliter)}\s?(\d+)", response)
    return len(set(map(int, found))) >= num_sections


def _full_postscript(response: str, postscript_marker: str) -> bool:
    pattern = _POSTSCRIPTS.get(postscript_marker, re.escape(postscript_marker.lower()))
    found = re.split(pattern, response.lower())
    return len(found) > 1 and _says(found[-1])


def _different_responses(response: str) -> bool:
    found = counting.pieces(response, "******") or []
    words = [tuple(counting.words_in(piece.lower())) for piece in found]
    return len(words) == 2 and words[0] != words[1] and all(words)


def _full_quotation(response: str) -> bool:
    return _quotation(response) and _says(response)


IFEVAL: dict[str, InstructionKind] = {
    "keywords:existence": InstructionKind(_keywords, {"keywords": some_texts}),
    "keywords:forbidden_words": InstructionKind(
        _forbidden_everywhere, {"forbidden_words": some_texts}, official=_forbidden
    ),
    "keywords:frequency": InstructionKind(
        _keyword_frequency,
        {"keyword": some_text, "relation": some_relation, "frequency": some_count},
    ),
    "keywords:letter_frequency": InstructionKind(
        _letter_frequency,
        {"letter": some_letter, "let_relation": some_relation, "let_frequency": some_count},
    ),
    "language:response_language": InstructionKind(
        is_language, {"language": some_language}, official=may_be_language
    ),
    "length_constraints:number_words": InstructionKind(
        _number_words,
        {"relation": some_relation, "num_words": some_count},
        official=_number_runs,
    ),
    "length_constraints:number_sentences": InstructionKind(
        _number_sentences, {"relation": some_relation, "num_sentences": some_count}
    ),
    "length_constraints:number_paragraphs": InstructionKind(
        _number_paragraphs, {"num_paragraphs": some_count}, trained=_full_paragraphs
    ),
    "length_constraints:nth_paragraph_first_word": InstructionKind(
        _nth_paragraph,
        {"num_paragraphs": some_count, "nth_paragraph": some_count, "first_word": some_text},
        official=_nth_piece,
    ),
    "change_case:english_capital": InstructionKind(str.isupper, {}),
    "change_case:english_lowercase": InstructionKind(str.islower, {}),
    "change_case:capital_word_frequency": InstructionKind(
        _capital_words, {"capital_relation": some_relation, "capital_frequency": some_count}
    ),
    "punctuation:no_comma": InstructionKind(lambda response: "," not in response, {}),
    "detectable_format:json_format": InstructionKind(_is_strict_json, official=_is_json),
    "detectable_format:title": InstructionKind(counting.has_title, {}, trained=_full_title),
    "detectable_format:number_bullet_lists": InstructionKind(
        lambda response, num_bullets: counting.bullets(response) == num_bullets,
        {"num_bullets": some_count},
        trained=_full_bullets,
    ),
    "detectable_format:number_highlighted_sections": InstructionKind(
        lambda response, num_highlights: counting.highlights(response) >= num_highlights,
        {"num_highlights": some_count},
        trained=_full_highlights,
    ),
    "detectable_format:multiple_sections": InstructionKind(
        _has_sections,
        {"section_spliter": some_text, "num_sections": some_count},
        trained=_different_sections,
    ),
    "detectable_format:constrained_response": InstructionKind(
        lambda response: any(answer in response for answer in _ANSWERS), {}
    ),
    "detectable_content:number_placeholders": InstructionKind(
        lambda response, num_placeholders: counting.placeholders(response) >= num_placeholders,
        {"num_placeholders": some_count},
        trained=_full_placeholders,
    ),
    "detectable_content:postscript": InstructionKind(
        _postscript, {"postscript_marker": some_text}, trained=_full_postscript
    ),
    "combination:repeat_prompt": InstructionKind(
        _repeat_prompt, {"prompt_to_repeat": some_text}, prompt="prompt_to_repeat"
    ),
    "combination:two_responses": InstructionKind(_two_responses, {}, trained=_different_responses),
    "startend:end_checker": InstructionKind(_ends_with, {"end_phrase": some_text}),
    "startend:quotation": InstructionKind(_quotation, {}, trained=_full_quotation),
}
