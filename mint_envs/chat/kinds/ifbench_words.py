"""IFBench's kinds ``words:`` and ``sentence:``."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise

from ..counting import english_tokens, split_sentences, syllables
from ..lexicon import NOT_VERBS, VERBS
from .kind import InstructionKind, some_count, some_place, some_text
from .plain import SIGNS, bare_words, full_lines, trimmed

_LETTERS = string.ascii_lowercase
_CLUSTER = re.compile("[bcdfghjklmnpqrstvwxyz]{2}")
_PRIMES = frozenset(n for n in range(2, 100) if all(n % i for i in range(2, int(n**0.5) + 1)))


def _alphabet(response: str) -> bool:
    """Return whether each word begins with the letter after that of the word before."""
    first = [word[0].lower() for word in bare_words(response)]
    if not first or first[0] not in _LETTERS:
        return False
    begin = _LETTERS.index(first[0])
    return all(letter == _LETTERS[(begin + i) % 26] for i, letter in enumerate(first))


def _three_vowels(response: str) -> bool:
    text = response.strip().lower()
    return "\n" not in text and len(set(text) & set("aeiou")) <= 3


def _clusters(response: str) -> bool:
    return all(_CLUSTER.search(word) for word in response.lower().split())


def _palindromes(response: str) -> bool:
    return len(list(_found_palindromes(response))) >= 10


def _different_palindromes(response: str) -> bool:
    return len(set(_found_palindromes(response))) >= 10


def _found_palindromes(response: str) -> Iterator[str]:
    return (word for word in bare_words(response.lower()) if len(word) > 4 and word == word[::-1])


def _prime_lengths(response: str) -> bool:
    return all(len(word) in _PRIMES for word in bare_words(response))


def _starts_with_verb(response: str) -> bool:
    """Return whether the first word is a verb that is known, or ends as they do."""
    tokens = english_tokens(response[:400])
    word = tokens[0].lower() if tokens else ""
    return word in VERBS or (len(word) > 4 and word.endswith("ing") and word not in NOT_VERBS)


def _repeats(response: str, small_n: int) -> bool:
    return max(Counter(bare_words(response.lower())).values(), default=0) <= small_n


def _syllables_alternate(response: str) -> bool:
    odd = [syllables(word) % 2 for word in bare_words(response.lower())]
    return all(one != after for one, after in pairwise(odd))


def _other_letters(response: str) -> bool:
    return all(one[0] != after[0] for one, after in pairwise(bare_words(response.lower())))


def _last_first(response: str) -> bool:
    """Return whether each sentence begins with the last word of the one before."""
    for one, after in pairwise(split_sentences(response)):
        last, first = one.rstrip(SIGNS + " ").split(), after.lstrip(SIGNS + " ").split()
        if not last or not first or last[-1].lower() != first[0].lower():
            return False
    return True


def _same_ends(response: str) -> bool:
    """Return whether each line ends with the word that it began with."""
    for line in full_lines(response):
        words = trimmed(line.strip().lower()).split()
        if words and words[0] != words[-1]:
            return False
    return True


def _same_ends_of_lines(response: str) -> bool:
    """As above; a line of one word is no paragraph that ends as it began."""
    return _same_ends(response) and all(len(line.split()) > 1 for line in full_lines(response))


def _word_in_place(response: str, keyword: str, n: int, m: int) -> bool:
    found = split_sentences(response)
    if len(found) < n:
        return False
    tokens = english_tokens(found[int(n) - 1])
    words = [token for token in tokens if any(map(str.isalnum, token))]
    return len(words) >= m and words[int(m) - 1].lower() == keyword.strip().lower()


def _second_and_last_but_one(response: str, keyword: str) -> bool:
    """Punctuation is a word here, but for one sign at the end; so the official checker counts."""
    tokens = english_tokens(response)
    if tokens and tokens[-1] in SIGNS:
        tokens.pop()
    return len(tokens) > 1 and tokens[1].lower() == tokens[-2].lower() == keyword.strip().lower()


def _alliteration(response: str) -> bool:
    lengths = [_alliterative(sentence) for sentence in split_sentences(response)]
    return all(one < after for one, after in pairwise(lengths))


def _alliterative(sentence: str) -> int:
    """Return how many words stand beside one with the same first letter."""
    stripped = (word.lstrip(SIGNS + " ") for word in sentence.lower().split())
    first = [word[0] for word in stripped if word]
    lengths = (len(list(run)) for _, run in groupby(first))
    return sum(length for length in lengths if length > 1)


def _increment(response: str, small_n: int) -> bool:
    lengths = [len(bare_words(sentence)) for sentence in split_sentences(response)]
    return all(after == one + small_n for one, after in pairwise(lengths))


def _keyword_in_sentence(response: str, word: str, N: int) -> bool:
    found = split_sentences(response)
    if not 1 <= N <= len(found):
        return False
    return re.search(rf"\b{re.escape(word)}\b", found[int(N) - 1], re.IGNORECASE) is not None


def _more_sentences(response: str, least: int = 2) -> bool:
    return len(split_sentences(response)) >= least


IFBENCH_WORDS: dict[str, InstructionKind] = {
    "words:alphabet": InstructionKind(_alphabet),
    "words:vowel": InstructionKind(_three_vowels),
    "words:consonants": InstructionKind(_clusters),
    "words:palindrome": InstructionKind(_palindromes, trained=_different_palindromes),
    "words:prime_lengths": InstructionKind(_prime_lengths),
    "words:start_verb": InstructionKind(_starts_with_verb),
    "words:repeats": InstructionKind(_repeats, {"small_n": some_count}),
    "words:odd_even_syllables": InstructionKind(_syllables_alternate),
    "words:no_consecutive": InstructionKind(_other_letters),
    "words:last_first": InstructionKind(_last_first),
    "words:paragraph_last_first": InstructionKind(_same_ends, trained=_same_ends_of_lines),
    "words:keywords_specific_position": InstructionKind(
        _word_in_place, {"keyword": some_text, "n": some_place, "m": some_place}
    ),
    "words:words_position": InstructionKind(_second_and_last_but_one, {"keyword": some_text}),
    "sentence:alliteration_increment": InstructionKind(
        _alliteration,
        trained=lambda response: _more_sentences(response) and _alliteration(response),
    ),
    "sentence:increment": InstructionKind(
        _increment,
        {"small_n": some_count},
        trained=lambda response, small_n: (
            _more_sentences(response) and _increment(response, small_n)
        ),
    ),
    "sentence:keyword": InstructionKind(_keyword_in_sentence, {"word": some_text, "N": some_place}),
}
