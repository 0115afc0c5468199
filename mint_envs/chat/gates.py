"""Gates: what an answer must be before its instructions count at all.

Instructions of form can be followed by an answer that says nothing ("no comma" by one word a
hundred times). A gate is 1 or 0 and multiplies the reward. Gates look for what no honest answer
is; they do not judge whether an answer is good (nor can they: that takes a judge).
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from .counting import sentences

_LETTERS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")

#: Words that hold English sentences together; honest prose is about half made of them.
_SMALL_WORDS = (
    "a about after again all also always an and any are as at be because been before but by can "
    "could do does each even every everyone few for from get give go good had has have he her "
    "here his how i if in into is it its just like made make makes many may me more most much "
    "must my need never no not of often on one only or other others our out over own people "
    "she should so some such than that the their them then there these they this those through "
    "to too two up us use very was way we were what when where which while who why will with "
    "without would you your yes it's don't i'm you're that's can't there's let's"
)
COMMON = frozenset(_SMALL_WORDS.split())
_HELPERS = "is are was were am be has have had does did can will would should could may might must"
_JOINTS = "and or but nor because if than"
_PLACES = "of for from with at by about into to"
_NEVER_AFTER = (
    ("a an the my your our their its every",
     f"a an the my your our their its every {_HELPERS} {_JOINTS} {_PLACES} been do as so in on "
     "i he she we they it you this that these those me us them", True),
    ("of from into", f"of for from with at by into to {_HELPERS} but nor because if than", False),
    ("for with at by about", f"of for from with at by into {_HELPERS} but nor because if than",
     False),
    ("and or but", "of and or but nor than", True),
    ("to", "of to is are but nor than", False),
    ("is are was were", "is are was were and does", False),
)  # fmt: skip
#: What never follows a word in English sentences, by the word; ``""`` where it ends none.
_NOT_AFTER: dict[str, frozenset[str]] = {
    word: frozenset((*others.split(), "") if goes_on else others.split())
    for words, others, goes_on in _NEVER_AFTER
    for word in words.split()
}
_ASKING = frozenset("is are was were".split())  # they begin questions
_MOST_BROKEN = 1 / 12  # of the places after these words
_STOPS = re.compile(r"[.!?]+|\n")
_PIECES = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|[^\s\w'\u2019-]+|[\d_]+")

#: Letters by their category that show nothing: fillers of Hangul, and the blank of Braille.
_UNSEEN = frozenset("\u115f\u1160\u3164\uffa0\u2800")
#: Categories of what is no sign by itself: marks, punctuation, spaces, controls, surrogates.
_NO_SIGNS = frozenset("MPZC")

_LEAST_WORDS = 4
_LEAST_COMMON = 0.1
_MOST_COMMON = 0.85
_MOST_OF_ONE_WORD = 0.25
_MOST_OF_ONE_SMALL_WORD = 0.4
_MOST_REPEATED = 0.4  # share of four-word runs that came before
_MOST_COPIED = 0.6  # share of four-word runs that are the prompt's
_MOST_OF_ITS_WORDS = 0.7  # share of words that are the prompt's, in any order
_LONGEST_WORD = 40
_LONGEST_SENTENCE = 80  # words


def failed_gate(
    response: str,
    prompt: str,
    topic: Sequence[str] = (),
    *,
    english: bool = True,
    max_words: int = 1000,
    least_words: int = _LEAST_WORDS,
) -> str:
    """Return the name of the first gate that ``response`` does not pass, or ``""``.

    Args:
        response: any text, without what it was asked to repeat.
        prompt: the prompt, for copies of it.
        topic: the answer must have one of these words, or a word that begins with one of more
            than three letters.
        english: whether the answer must read as English prose.
        max_words: length cap.
        least_words: fewer than these count as no answer.
    """
    words = [word.lower().replace("\u2019", "'") for word in _LETTERS.findall(response)]
    if len(words) < least_words:
        return "empty"
    if is_too_long(response, max_words):
        return "too long"
    if _repeats_itself(words):
        return "repetition"
    if _is_copy(words, _LETTERS.findall(prompt.lower().replace("\u2019", "'"))):
        return "copy of the prompt"
    if english and not _is_prose(response, words):
        return "no prose"
    if topic and not _on_topic(words, topic):
        return "off the topic"
    return ""


def is_too_long(text: str, max_words: int) -> bool:
    """Return whether ``text`` has more than ``max_words`` words, or more letters than those."""
    return len(text.split()) > max_words or len(text) > max_words * 12


def is_blank(text: str) -> bool:
    """Return whether ``text`` says nothing at all: no letter, digit or symbol beyond ASCII's."""
    return all(
        unicodedata.category(one)[0] in _NO_SIGNS or one in string.punctuation or one in _UNSEEN
        for one in text
    )


def is_broken(response: str) -> bool:
    """Return whether small words stand before what never follows them, or end sentences.

    ``Of pawn someone bishop the think`` is; of honest prose hardly one word in a hundred is.
    """
    places = broken = 0
    for sentence in _STOPS.split(response.lower()):
        pieces = [*_PIECES.findall(sentence), ""]
        for first, (word, after) in enumerate(pairwise(pieces)):
            if word in _NOT_AFTER and (first or word not in _ASKING):
                places += 1
                broken += after in _NOT_AFTER[word]
    return broken > _MOST_BROKEN * places


def _runs(words: Sequence[str], length: int = 4) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + length]) for i in range(len(words) - length + 1)]


def _known_share(words: Sequence[str], known: set[tuple[str, ...]]) -> float:
    """Return the share of the four-word runs of ``words`` that are known."""
    runs = _runs(words)
    return sum(run in known for run in runs) / len(runs) if runs else 0.0


def _is_copy(words: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether this is the prompt again: its runs of words, or its words in any order."""
    taken = (Counter(words) & Counter(asked)).total()
    return _known_share(
        words, set(_runs(asked))
    ) > _MOST_COPIED or taken > _MOST_OF_ITS_WORDS * len(words)


def _repeats_itself(words: Sequence[str]) -> bool:
    """Return whether the answer mostly says again what it has said."""
    counts = Counter(words)
    often = max(counts.values())
    telling = max((count for word, count in counts.items() if word not in COMMON), default=0)
    runs = _runs(words)
    again = len(runs) - len(set(runs))
    return (
        (often >= 4 and often > _MOST_OF_ONE_SMALL_WORD * len(words))
        or (telling >= 4 and telling > _MOST_OF_ONE_WORD * len(words))
        or (len(words) >= 4 and len(counts) * 2 <= min(len(words), 40))
        or (again >= 3 and again > _MOST_REPEATED * len(runs))
    )


def _on_topic(words: Sequence[str], topic: Sequence[str]) -> bool:
    stems = tuple(stem for stem in topic if len(stem) > 3)
    return any(word in topic or word.startswith(stems) for word in words)


def _is_prose(response: str, words: Sequence[str]) -> bool:
    """Return whether this has the marks of English sentences: small words, in an order."""
    common = sum(word in COMMON for word in words) / len(words)
    if not _LEAST_COMMON <= common <= _MOST_COMMON or max(map(len, words)) > _LONGEST_WORD:
        return False
    return len(words) <= _LONGEST_SENTENCE * max(1, sentences(response), response.count("\n"))
