"""What a sentence ends with, where that is its answer though it is no single number.

After the last verb: an interval or a point, a date or a time, a number in words. Or, in bold, a
name. Each must be all that the sentence says there, so that nothing has to be chosen.
"""

from __future__ import annotations

import re

from ..answer.words import counted_things, is_plain_noun, special
from .phrases import COPULA, NOT

_BRACKETS = r"[(\[]\s*[^()\[\],A-Za-z]{1,40},[^()\[\],A-Za-z]{1,40}[)\]]"
_INTERVAL = re.compile(rf"(?:in\s+|the interval\s+)?({_BRACKETS}(?:\s*[∪∩]\s*{_BRACKETS}){{0,4}})")
_LIKELY = re.compile(  # cheaper than to look for the last verb of every sentence
    r"[)\]][\s.*]*$|\d\s?[ap]\.?m\b|\d[日号]|\d{4}-\d\d-"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)",
    re.IGNORECASE,
)
_TAIL = re.compile(r"\s+(?:of\s+[a-z]+|in total|in all|altogether|long|away|left)$")
_NAME = re.compile(  # and no other after it
    r"[^*]*\b(?:[Ss]o|[Tt]hus|[Hh]ence|[Tt]herefore|facing|heading),?\s"
    r"\*\*([A-Z][a-z]+)\*\*[^A-Z*]*$"
)
_COMPARED = re.compile(r"\b(?:or|than|either|unlike|except|if|instead)\b", re.IGNORECASE)
_DATES = ("date", "time")


def ending(said: str) -> str:
    """The interval, date or time that ``said`` ends with; ``""`` if there is none."""
    end = _after_verb(said) if _LIKELY.search(said[-40:]) else ""
    if not end or len(end) > 200:
        return ""
    if interval := _INTERVAL.fullmatch(end):
        return interval.group(1)
    known = special(end) if len(end) <= 40 else None
    return end if known is not None and known.kind in _DATES else ""


def in_words(said: str) -> str:
    """The number in words, or the name in bold, of a sentence without digits."""
    if NOT.search(said) or _COMPARED.search(said):
        return ""
    names = said.count("**") == 2 and _NAME.match(said)
    return names.group(1) if names else _spelled(said.replace("**", "").rstrip(" ."))


def _spelled(said: str) -> str:
    """``three bolts`` of "it takes three bolts of fiber in total"."""
    for _ in range(2):  # before the verb is looked for: "total" may be one
        said = _TAIL.sub("", said)
    end = _after_verb(said)
    found = counted_things(end.lower())
    return end if found and is_plain_noun(found[1]) and end.lower() != "one" else ""


def _after_verb(said: str) -> str:
    verbs = list(COPULA.finditer(said))
    return said[verbs[-1].end() :].strip(" *_.") if verbs else ""
