"""The 29 kinds on which IF-RLVR trains (Pyatkin et al. 2025), beside IFEval's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ..counting import english_tokens, pieces, split_sentences, words_in
from .kind import (
    InstructionKind,
    related,
    some_count,
    some_letter,
    some_place,
    some_relation,
    some_text,
)

_DIVIDER = re.compile(r"\s?\*\*\*\s?")
#: Signs that are dots, or exclamation marks, of this or another script.
_DOTS = frozenset(".\u2024\u2025\u2026\u3002\ufe52\uff61\u06d4")
_CRIES = frozenset("!\u00a1\u01c3\u203c\u2049\u2755\u2757\u2762\ufe15\ufe57")
_SPACED_DIVIDER = re.compile(r"\s?(?:\*\*\*|\* \* \*)\s?")


def _occurrences(response: str, keyword: str) -> int:
    return response.lower().count(keyword.strip().lower())


def _same(response: str, wanted: str) -> bool:
    return response.strip().lower() == wanted.strip().lower()


# -- copies --------------------------------------------------------------------------------------


def _phrases(response: str, phrase: str, small_n: int) -> bool:
    """Return whether the phrase comes ``small_n`` times, each time with one other word within."""
    words = phrase.split()
    found = [one.split() for line in response.split("\n") for one in _spans(line, words)]
    return len(found) == small_n and all(_one_word_differs(one, words) for one in found)


def _spans(line: str, words: list[str]) -> Iterator[str]:
    """Yield what stands from the first of ``words`` to the next last one, in linear time."""
    first, last = f"{words[0]} ", f" {words[-1]}"
    begin = line.find(first)
    while begin >= 0 and (end := line.find(last, begin + len(first))) >= 0:
        yield line[begin : end + len(last)]
        begin = line.find(first, end + len(last))


def _one_word_differs(found: list[str], words: list[str]) -> bool:
    if len(found) != len(words):
        return False
    return sum(one != other for one, other in zip(found, words, strict=True)) == 1


def _copied(response: str, prompt_to_repeat: str) -> bool:
    return _same(response, prompt_to_repeat)


def _copied_often(response: str, prompt_to_repeat: str, N: int) -> bool:
    found = response.split("******")
    return len(found) == N and all(_same(one, prompt_to_repeat) for one in found)


def _span(response: str, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    return _same(response, prompt_to_repeat[int(n_start) : int(n_end)])


def _span_with_its_end(response: str, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    """The prompts say "and including"; the official checker leaves the last character out."""
    return _same(response, prompt_to_repeat[int(n_start) : int(n_end) + 1])


# -- words ---------------------------------------------------------------------------------------


def _no_neighbours(response: str) -> bool:
    """Return whether no word begins with the letter after that of the word before."""
    first = [word[0].lower() for word in response.split()]
    single = all(len(one) == 1 for one in first)  # the small form of a letter may be two
    return single and all(ord(after) - ord(one) != 1 for one, after in pairwise(first))


def _no_neighbour_letters(response: str) -> bool:
    """As above, with the letters that words begin with behind quotes and brackets."""
    letters = [[one for one in word.lower() if one.isalnum()] for word in response.split()]
    first = [word[0] for word in letters if word]
    return all(ord(after) - ord(one) != 1 for one, after in pairwise(first))


def _not_between_spaces(response: str, keyword: str) -> bool:
    return f" {keyword.strip()} " not in response


def _not_there(response: str, keyword: str) -> bool:
    """As above, wherever the word stands and however it is written."""
    word = re.escape(keyword.strip())
    return re.search(rf"(?<![^\W_]){word}(?![^\W_])", response, re.IGNORECASE) is None


def _lowercase_words(response: str, N: int) -> bool:
    return len(re.findall(r"\b[a-z]+\b", response)) <= N


def _letters_related(response: str, N: int, relation: str) -> bool:
    return related(len(re.findall("[a-zA-Z]", response)), relation, N)


def _unique_tokens(response: str) -> bool:
    tokens = english_tokens(response)
    return len(tokens) == len(set(tokens))


def _unique_small(response: str) -> bool:
    """Return whether no word comes again, large or small; punctuation may."""
    words = [word.lower() for word in words_in(response)]
    return bool(words) and len(words) == len(set(words))


def _palindrome(response: str) -> bool:
    return any(word == word[::-1] for word in response.split())


def _long_palindrome(response: str) -> bool:
    """Return whether a word of three letters or more reads the same from its end."""
    words = ("".join(filter(str.isalpha, word)).lower() for word in response.split())
    return any(len(word) > 2 and word == word[::-1] for word in words)


def _token_in_place(response: str, keyword: str, n: int, m: int) -> bool:
    found = split_sentences(response)
    tokens = english_tokens(found[int(n) - 1]) if n <= len(found) else []
    return m <= len(tokens) and tokens[int(m) - 1] == keyword.strip()


def _starts_as_it_ends(response: str) -> bool:
    tokens = english_tokens(response)
    return len(tokens) > 1 and tokens[0].lower() == tokens[-1].lower()


def _first_words(response: str, first_word: str) -> bool:
    found = split_sentences(response)
    return bool(found) and all(_same(one.split()[0], first_word) for one in found)


def _first_word(response: str, first_word: str) -> bool:
    return _same((response.split() or [""])[0], first_word)


def _last_words(response: str, last_word: str) -> bool:
    found = split_sentences(response)
    return bool(found) and all(_last_word(one, last_word) for one in found)


def _last_word(response: str, last_word: str) -> bool:
    last = re.sub(r"[^\w\s]", "", (response.split() or [""])[-1])
    return _same(last, last_word)


# -- layout --------------------------------------------------------------------------------------


def _hyphened(response: str) -> bool:
    """Return whether what hyphens divide are the sentences; so the official checker reads it."""
    sentences = split_sentences(response.replace("-", " "))
    return all(one == gold for one, gold in zip(response.split("-"), sentences, strict=False))


def _all_hyphened(response: str) -> bool:
    """As above, with two sentences or more, and none left over."""
    sentences = split_sentences(response.replace("-", " "))
    return len(sentences) > 1 and response.split("-") == sentences


def _bracketed(response: str) -> bool:
    return all(word[0] == "[" and word[-1] == "]" for word in response.split())


def _bigrams(response: str) -> bool:
    words = response.split()
    pairs = zip(words[::2], words[1::2], strict=False)
    return all(one.startswith("<<") and other.endswith(">>") for one, other in pairs)


def _only_bigrams(response: str) -> bool:
    """As above, with no word left over."""
    return len(response.split()) % 2 == 0 and _bigrams(response)


def _paragraphs(response: str) -> bool:
    found = pieces(response, "***")
    return found is not None and len(found) == 2


def _blank_lines(response: str) -> bool:
    found = pieces(response, "\n\n")
    return found is not None and len(found) == 2


def _composition(response: str, n_sent: int, n_words: int) -> bool:
    return _composed_of(_DIVIDER.split(response), n_sent, n_words, english_tokens)


def _composition_of_words(response: str, n_sent: int, n_words: int) -> bool:
    """As above; the divider may have spaces, as the prompt has, and a full stop is no word."""
    return _composed_of(_SPACED_DIVIDER.split(response), n_sent, n_words, words_in)


def _composed_of(found: list[str], n_sent: int, n_words: int, words_of: Any) -> bool:
    if len(found) != 3:
        return False
    sentences = [split_sentences(piece) for piece in found]
    return all(len(some) == n_sent for some in sentences) and all(
        len(words_of(one)) == n_words for some in sentences for one in some
    )


# -- the kinds -----------------------------------------------------------------------------------

_REPEATED = {"prompt_to_repeat": some_text}
_SPAN = {**_REPEATED, "n_start": some_count, "n_end": some_count}
_COPY = InstructionKind(_copied, _REPEATED, prompt="prompt_to_repeat")

IFRLVR: dict[str, InstructionKind] = {
    "copy:repeat_phrase": InstructionKind(_phrases, {"phrase": some_text, "small_n": some_place}),
    "copy:copy": _COPY,
    "new:copy_span_idx": InstructionKind(
        _span, _SPAN, trained=_span_with_its_end, prompt="prompt_to_repeat"
    ),
    "detectable_format:sentence_hyphens": InstructionKind(_hyphened, trained=_all_hyphened),
    "keywords:no_adjacent_consecutive": InstructionKind(
        _no_neighbours, trained=_no_neighbour_letters
    ),
    "detectable_format:square_brackets": InstructionKind(_bracketed),
    "keywords:word_once": InstructionKind(
        lambda response, keyword: _occurrences(response, keyword) == 1, {"keyword": some_text}
    ),
    "keywords:word_count_different_numbers": InstructionKind(
        lambda response, keyword, frequency, relation: related(
            _occurrences(response, keyword), relation, frequency
        ),
        {"keyword": some_text, "frequency": some_count, "relation": some_relation},
    ),
    "keywords:exclude_word_harder": InstructionKind(
        _not_there, {"keyword": some_text}, official=_not_between_spaces
    ),
    "paragraphs:paragraphs": InstructionKind(_paragraphs),
    "paragraphs:paragraphs2": InstructionKind(_blank_lines),
    "first_word:first_word_sent": InstructionKind(_first_words, {"first_word": some_text}),
    "first_word:first_word_answer": InstructionKind(_first_word, {"first_word": some_text}),
    "last_word:last_word_sent": InstructionKind(_last_words, {"last_word": some_text}),
    "last_word:last_word_answer": InstructionKind(_last_word, {"last_word": some_text}),
    "detectable_format:bigram_wrapping": InstructionKind(_bigrams, trained=_only_bigrams),
    "copy:copying_simple": _COPY,
    "copy:copying_multiple": InstructionKind(
        _copied_often, {**_REPEATED, "N": some_place}, prompt="prompt_to_repeat"
    ),
    "punctuation:punctuation_dot": InstructionKind(
        lambda response: not _DOTS & set(response), official=lambda response: "." not in response
    ),
    "punctuation:punctuation_exclamation": InstructionKind(
        lambda response: not _CRIES & set(response), official=lambda response: "!" not in response
    ),
    "count:lowercase_counting": InstructionKind(_lowercase_words, {"N": some_count}),
    "letters:letter_counting": InstructionKind(
        _letters_related, {"N": some_count, "relation": some_relation}
    ),
    "letters:letter_counting2": InstructionKind(
        lambda response, letter, let_frequency, let_relation: related(
            response.lower().count(letter.lower()), let_relation, let_frequency
        ),
        {"letter": some_letter, "let_frequency": some_count, "let_relation": some_relation},
    ),
    "count:counting_composition": InstructionKind(
        _composition, {"n_sent": some_place, "n_words": some_place}, trained=_composition_of_words
    ),
    "count:count_unique": InstructionKind(_unique_tokens, trained=_unique_small),
    "count:count_increment_word": InstructionKind(
        lambda response, keyword1, keyword2: (
            _occurrences(response, keyword1) == 1 and _occurrences(response, keyword2) == 2
        ),
        {"keyword1": some_text, "keyword2": some_text},
    ),
    "keywords:palindrome": InstructionKind(_palindrome, trained=_long_palindrome),
    "keywords:keyword_specific_position": InstructionKind(
        _token_in_place, {"keyword": some_text, "n": some_place, "m": some_place}
    ),
    "keywords:start_end": InstructionKind(_starts_as_it_ends),
}
