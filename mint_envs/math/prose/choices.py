"""A choice that a sentence makes: "for sure D, it can't be A or B"."""

from __future__ import annotations

import re

from .found import Found

_CHOICE_LETTER = r"[*(\[]{0,3}([A-J])[*)\]]{0,3}"
_SURELY = (
    r"(?:(?:for sure|definitely|clearly|certainly|surely|obviously|most likely|probably|option"
    r"|choice|letter|a (?:letra|alternativa)|la (?:lettre|opción|option)|l['’]option|вариант)"
    r"\b[\s:]*)*"
)
#: After a marker: the letter, and words about it.
_CHOICE_SAID = re.compile(
    rf"[\s*_:：]*{_SURELY}{_CHOICE_LETTER}(?=[\s*_]*$|[\s]*(?:입니다|이다|です|だ|है|।|。|，|不|而)"
    r"|[.,;]?\s+(?:because|since|as|so|it|they|and not|not|non|nicht|no|não|не|chứ|và không)\b"
    r"|[,;]\s+(?:for|the|which|while|but|neither)\b)"
)
_OTHER_LETTER = re.compile(r"(?<![A-Za-z])[A-J](?![A-Za-z'’])")
_EXCLUDES = re.compile(
    r"\b(?:not|non|no|neither|nor|cannot|wrong|incorrect|false|ruled out|too \w+|eliminat\w+"
    r"|exclud\w+|nicht|não|не|ne|hors)\b|n['’]t\b|不|没|错|ではな|아니|नहीं|ليس|không",
    re.IGNORECASE,
)
_CHOICE_CLAUSE = re.compile(r"[.,;，。]|\bbut\b|\band\b(?! not\b)")
_UNDECIDED = re.compile(r"\b(?:or|maybe|perhaps|possibly|either)\b|或|也可能", re.IGNORECASE)
_LETTER_FIRST = re.compile(
    rf"\s*{_CHOICE_LETTER}\s?(?:[.)](?=\s+(?:[A-Z]|it\b|the\b))|[。，]|(?=不是))"
)
_CHOICE_LAST = re.compile(
    r"\b(?:so|therefore|thus|hence|think|believe|conclude|guess|say)\b[^.\n]{0,40}"
    r"\b(?:it['’]s|it is|it must be|answer is|(?:option|choice)(?: is)?)\s+"
    rf"{_CHOICE_LETTER}[\s.!]*$",
    re.IGNORECASE,
)
_NEXT_WORDS = r"(?:(?!and\b|or\b)[a-z]{2,20} ?){1,5}"
_OPTION = re.compile(rf"{_CHOICE_LETTER}[.)]\s{_NEXT_WORDS}\.?")  # "A. sunlight."
_ALONE = re.compile(r"[*(]{0,3}([A-E])[*)]{0,3}\.?")
_ENDS_IN_PROSE = re.compile(r"[a-z.:,]\s*\n\s*\n\s*\Z")
_CHOICE_LENGTH = 300


def choice_of(said: str) -> str:
    """The letter that a statement begins with, if it names others only to exclude them."""
    found = _CHOICE_SAID.match(said)
    if found is None or not _only_excludes(said[found.end() :]):
        return ""
    return found.group(1)


def chosen(text: str) -> Found | None:
    """``D`` of "D. It cannot be A", ``B`` of "It's not A, therefore I think it's B"."""
    text = text.strip()
    if alone := _ALONE.fullmatch(text, max(text.rfind("\n") + 1, len(text) - 8)):
        before = text[: alone.start()]
        return Found(alone.group(1), "sentence") if _ENDS_IN_PROSE.search(before[-40:]) else None
    if len(text) > _CHOICE_LENGTH or "\n" in text:
        return None
    if option := _OPTION.fullmatch(text):
        return Found(option.group(1), "sentence")
    first = _LETTER_FIRST.match(text)
    if first and _OTHER_LETTER.search(text, first.end()) and _only_excludes(text[first.end() :]):
        return Found(first.group(1), "sentence")
    last = _CHOICE_LAST.search(text)
    if last and last.group(1).isupper() and not _UNDECIDED.search(last.group()):
        return Found(last.group(1), "sentence")
    return None


def _only_excludes(rest: str) -> bool:
    """Whether every clause of ``rest`` that names a letter excludes it."""
    named = [clause for clause in _CHOICE_CLAUSE.split(rest) if _OTHER_LETTER.search(clause)]
    if not named:
        return not _UNDECIDED.search(rest[:20])
    return all(map(_EXCLUDES.search, named))
