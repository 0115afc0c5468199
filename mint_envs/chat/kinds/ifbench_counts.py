"""IFBench's kinds ``count:`` and ``ratio:``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from ..counting import english_tokens, runs_in, split_sentences, words_in
from ..lexicon import CONJUNCTIONS, NAMES, PRONOUNS, STOP_WORDS
from .kind import InstructionKind, some_count, some_place, some_text
from .plain import trimmed, without_signs

Words = Callable[[str], Sequence[str]]

_JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_INTERROBANG = re.compile(r"\?!|!\?|\u203d")
_TIMES = (1, 2, 3, 5, 7)
_GRAM = 3


def _word_range(response: str, min_words: int, max_words: int, words_of: Words = words_in) -> bool:
    return min_words <= len(words_of(response)) <= max_words


def _unique_words(response: str, N: int) -> bool:
    return len({trimmed(word) for word in response.lower().split()} - {""}) >= N


def _conjunctions(response: str, small_n: int) -> bool:
    found = {trimmed(word).lower() for word in response.split()} & CONJUNCTIONS
    return len(found) >= small_n


def _spellings_of_conjunctions(response: str, small_n: int) -> bool:
    """As the official checker: ``and`` and ``And,`` are two."""
    found = {word for word in response.split() if trimmed(word).lower() in CONJUNCTIONS}
    return len(found) >= small_n


def _names(response: str, N: int) -> bool:
    return sum(re.search(rf"\b{name}\b", response) is not None for name in NAMES) >= N


def _numbers(response: str, N: int) -> bool:
    """Count runs of digits; ``1,000`` and ``3.5`` are one number each, as signs are left out."""
    return len(re.findall(r"\d+", without_signs(response))) == N


def _pronouns(response: str, N: int) -> bool:
    tokens = english_tokens(response.lower().replace("/", " "))
    return sum(token in PRONOUNS for token in tokens) >= N


def _every_sign(response: str) -> bool:
    """Return whether ``. , ! ? ; :`` are all there, beside an interrobang."""
    found = _INTERROBANG.search(response)
    if found is None:
        return False
    rest = response[: found.start()] + response[found.end() :]
    return all(sign in rest for sign in ".,!?;:")


def _keywords_counted(
    response: str, keyword1: str, keyword2: str, keyword3: str, keyword4: str, keyword5: str
) -> bool:
    text = response.lower()
    words = (keyword1, keyword2, keyword3, keyword4, keyword5)
    counts = [text.count(word.strip().lower()) for word in words]
    return counts == list(_TIMES)


def _japanese(response: str, N: int) -> bool:
    words = [trimmed(word) for word in response.split()][int(N) - 1 :: int(N)]
    return all(not word or word.isdigit() or _JAPANESE.search(word) for word in words)


def _japanese_there(response: str, N: int) -> bool:
    """As above; and an answer that is too short to have an Nth word does not follow."""
    return len(response.split()) >= N and _japanese(response, N)


def _stop_words(response: str, percentage: float, words_of: Words = words_in) -> bool:
    words = [word.lower() for word in words_of(response)]
    stops = sum(word in STOP_WORDS for word in words)
    return bool(words) and stops / len(words) * 100 <= percentage


def _ends(response: str) -> tuple[int, int, int]:
    """Return how many sentences end in ``.``, ``?`` and ``!``."""
    last = [sentence[-1] for sentence in split_sentences(response)]
    return last.count("."), last.count("?"), last.count("!")


def _two_to_one(response: str) -> bool:
    stated, asked, _ = _ends(response)
    return stated == 2 * asked


def _balanced(response: str) -> bool:
    return len(set(_ends(response))) == 1


def _overlap(response: str, reference_text: str, percentage: float) -> bool:
    """Compare the runs of three characters, each counted once."""
    grams, known = _grams(response), _grams(reference_text)
    if not grams:
        return False
    return abs(len(grams & known) / len(grams) * 100 - percentage) <= 2


def _grams(text: str) -> set[str]:
    return {text[i : i + _GRAM] for i in range(len(text) - _GRAM + 1)}


def _same_length(response: str) -> bool:
    """Return whether there are three sentences of one length; official: their words may recur."""
    found = split_sentences(response)
    return len(found) == 3 and len({len(sentence) for sentence in found}) == 1


def _same_length_other_words(response: str) -> bool:
    words = [{trimmed(word).lower() for word in one.split()} for one in split_sentences(response)]
    return _same_length(response) and sum(map(len, words)) == len(set().union(*words))


IFBENCH_COUNTS: dict[str, InstructionKind] = {
    "count:word_count_range": InstructionKind(
        _word_range,
        {"min_words": some_count, "max_words": some_count},
        official=partial(_word_range, words_of=runs_in),
    ),
    "count:unique_word_count": InstructionKind(_unique_words, {"N": some_count}),
    "count:conjunctions": InstructionKind(
        _conjunctions, {"small_n": some_count}, official=_spellings_of_conjunctions
    ),
    "count:person_names": InstructionKind(_names, {"N": some_count}),
    "count:numbers": InstructionKind(_numbers, {"N": some_count}),
    "count:pronouns": InstructionKind(_pronouns, {"N": some_count}),
    "count:punctuation": InstructionKind(_every_sign),
    "count:keywords_multiple": InstructionKind(
        _keywords_counted, {f"keyword{i}": some_text for i in range(1, 6)}
    ),
    "count:words_japanese": InstructionKind(_japanese, {"N": some_place}, trained=_japanese_there),
    "ratio:stop_words": InstructionKind(
        _stop_words, {"percentage": some_count}, official=partial(_stop_words, words_of=runs_in)
    ),
    "ratio:sentence_type": InstructionKind(
        _two_to_one, trained=lambda response: _ends(response)[1] > 0 and _two_to_one(response)
    ),
    "ratio:sentence_balance": InstructionKind(
        _balanced, trained=lambda response: _ends(response)[1] > 0 and _balanced(response)
    ),
    "ratio:overlap": InstructionKind(
        _overlap,
        {"reference_text": some_text, "percentage": some_count},
        prompt="reference_text",
    ),
    "ratio:sentence_words": InstructionKind(_same_length, trained=_same_length_other_words),
}
