"""What is counted in a text: words, sentences, capital words, brackets, titles.

Every function takes any string and takes time in proportion to its length, so that no response
can stall a reward.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_CLOSERS = "\"'\u201d\u2019)]}*_"
_OPENERS = "\"'\u201c\u2018([{*_"

#: Where a full stop seldom ends a sentence.
_ABBREVIATIONS = (
    "mr mrs ms dr prof rev gen col sgt capt lt st jr sr vs etc e.g i.e cf al approx dept est fig "
    "inc ltd co corp no vol pp ed u.s u.k u.n a.m p.m ph.d"
)
_NO_END = frozenset(_ABBREVIATIONS.split())
_CAPITAL_BREAKS = re.compile(r"\.\.\.|--|[\s,;:@#$%&?!\"()\[\]{}<>]")
_CLITIC = re.compile(r"(n't|'(?:s|m|d|ll|re|ve))$", re.IGNORECASE)


def words_in(text: str) -> list[str]:
    """Return the words: runs of letters, digits and ``_``."""
    return _WORD.findall(text)


def sentences(text: str) -> int:
    """Return the number of sentences.

    One ends at a word that ends in ``.``, ``!`` or ``?`` (quotes and brackets may follow), unless
    it is an abbreviation or an initial, or an ellipsis goes on in lower case. What is left after
    the last end counts as one if there is a word in it.
    """
    count, open_ = 0, False
    tokens = text.split()
    for token, after in zip(tokens, [*tokens[1:], ""], strict=False):
        open_ = open_ or _WORD.search(token) is not None
        if open_ and _ends_sentence(token.rstrip(_CLOSERS), after):
            count, open_ = count + 1, False
    return count + open_


def _ends_sentence(token: str, after: str) -> bool:
    if not token.endswith((".", "!", "?")):
        return False
    if token.endswith("..."):
        return not after[:1].islower()
    stem = token[:-1].lstrip(_OPENERS).lower()
    initial = len(stem) == 1 and stem.isalpha() and stem != "i"
    numbered = stem.isdigit() and after[:1].islower()
    return token[-1] != "." or not (initial or numbered or stem in _NO_END)


def capital_words(text: str) -> int:
    """Return the number of words all in capitals; ``I'm`` has one, ``DON'T`` two (DO and N'T)."""
    pieces = _CAPITAL_BREAKS.split(text.replace("\u2019", "'"))
    return sum(part.isupper() for piece in pieces for part in _CLITIC.split(piece))


def placeholders(text: str) -> int:
    """Return the number of ``[...]`` within a line."""
    count = 0
    for line in text.split("\n"):
        end = 0
        while (start := line.find("[", end)) >= 0 and (stop := line.find("]", start + 1)) >= 0:
            count, end = count + 1, stop + 1
    return count


def has_title(text: str) -> bool:
    """Return whether a line holds ``<<...>>`` with something in it."""
    for line in text.split("\n"):
        start, stop = line.find("<<"), line.rfind(">>")
        if 0 <= start < stop - 2 and line[start : stop + 2].lstrip("<").rstrip(">").strip():
            return True
    return False


def highlights(text: str) -> int:
    """Return the number of ``*...*`` within a line, each ``**...**`` counting as well."""
    single = re.findall(r"\*([^\n*]*)\*", text)
    double = re.findall(r"\*\*([^\n*]*)\*\*", text)
    return sum(bool(piece.strip()) for piece in single + double)


def bullets(text: str) -> int:
    """Return the number of lines that begin with ``-``, or with one ``*``."""
    stars = re.findall(r"^[^\S\n]*+\*[^*].*$", text, re.MULTILINE)
    dashes = re.findall(r"^[^\S\n]*+-", text, re.MULTILINE)
    return len(stars) + len(dashes)


def pieces(text: str, divider: str) -> list[str] | None:
    """Return what ``divider`` divides, without an empty beginning or end.

    ``None`` if there is an empty piece in the middle.
    """
    found = text.split(divider)
    middle = found[1:-1]
    if not all(piece.strip() for piece in middle):
        return None
    return [piece for piece in found if piece.strip()]
