"""What the end of a response states, where nothing announces it: its last sentence, or display."""

from __future__ import annotations

import re

from .cues import GIVES_UP, NUMBERED, PLANS, RESTATES
from .endings import in_words
from .hinted import hinted
from .languages import DENIES
from .phrases import ALIGNED, ASIDE, COPULA, ENUMERATOR, LONGEST, MATH, NOT, VERDICT_WORD
from .prose import SUPPOSED, has_value, inside, is_sum, sentence, stated, without_lead

_LEADS = re.compile(r"^\s*(?:(?:an?|the|on|facing|heading|pointing)\s+)*")
_SAYS_NO = re.compile(r"No,\s(?!I\b|that\b|this\b|wait\b|it\b|because\b)")
_CODE_LINE = re.compile(r"(?:return\b|print\(|def \w+\(|import \w|from \w+ import\b)")
_PROPERTY = hinted(
    r"\b(?:is|are)\s(?:an?\s)?(even|odd)(?:\s(?:function|number|integer))?$", "even, odd"
)
_MEMBERS = re.compile(r"(?:These|They) are\b", re.IGNORECASE)
_COUNT = re.compile(r"\b(?:contains?|has|have|are)\s\d+\s[a-z]+s$")


def conclusion(text: str) -> str:
    """The value of the last sentence that claims one; asides and offers of help are left out."""
    display = _last_display(text)
    if display:
        return display
    lines = [line.strip() for line in text.strip().split("\n") if line.strip()][-6:]
    for line in reversed(lines):
        if _CODE_LINE.match(line):
            return ""
        told = _told(ENUMERATOR.sub("", line, count=1)[-LONGEST:])
        if any(map(GIVES_UP.search, told)):
            return ""
        if told and (word := _verdict_word(told[-1])):
            return word
        told = [part for part in told if has_value(part) and has_value(NUMBERED.sub(" ", part))]
        if told:
            return _claimed(told[-1])
    return ""


def _told(line: str) -> list[str]:
    """The sentences of a line without asides, restated questions, and a question at its end."""
    told = [part for part in _sentences(line) if not ASIDE.match(part)]
    if line.endswith(("?", "？")):  # a question states nothing
        told = told[:-1]
    if len(told) > 1 and _MEMBERS.match(told[-1]) and _COUNT.search(told[-2]):
        told = told[:-1]  # "It has 9 elements. These are 3, 5, ..."
    return [part for part in told if not RESTATES.search(part)]


def _claimed(said: str) -> str:
    if is_sum(said) or PLANS.search(said) or DENIES.search(said) or SUPPOSED.search(said):
        return ""
    short = said.partition(", which ")[0]
    if short != said and not has_value(short) and (words := in_words(without_lead(short))):
        return words  # "there are two solutions, which means ..."
    return stated(without_lead(NUMBERED.sub(" ", said).strip("*_ ")))


def _verdict_word(said: str) -> str:
    """``true`` of "So the statement is true", ``Yes`` of "Yes, they are congruent"."""
    if NOT.search(said):
        return "No" if _SAYS_NO.match(said) else ""
    if has_value(said):
        return _property(said)
    if words := in_words(said):
        return words
    first = re.match(r"(?:Yes|No|True|False)\b(?=[,.;:!]|$)", said)
    if first:
        return first.group()
    last = list(COPULA.finditer(said))
    word = _LEADS.sub("", said[last[-1].end() :]) if last else ""
    return word if VERDICT_WORD.fullmatch(word) else _property(said)


def _property(said: str) -> str:
    """``even`` of "the function $f(x)$ is an even function"."""
    found = _PROPERTY.search(said)
    if not found or has_value(MATH.sub(" ", said)) or "=" in said:
        return ""
    return found.group(1)


def _last_display(text: str) -> str:
    """The displayed formula that ends ``text``, if one does; of aligned lines the last value."""
    tail = text.rstrip().rstrip(".")[-1500:]
    if aligned := ALIGNED.search(tail[-400:]):
        return aligned.group(1).strip()
    if not tail.endswith(("$$", "\\]")):
        return ""
    formulas = list(MATH.finditer(tail))
    if not formulas or formulas[-1].end() != len(tail):
        return ""
    lead = _sentences(tail[: formulas[-1].start()][-LONGEST:].rpartition("\n\n")[2])
    return "" if lead and ASIDE.match(lead[-1]) else inside(formulas[-1])


def _sentences(line: str) -> list[str]:
    pieces, rest = [], line
    while rest:
        first = sentence(rest)
        if not first:
            break
        pieces.append(first)
        at = rest.find(first) + len(first)
        rest = rest[at:].lstrip(".!?。！？ \t\"')*")
    return pieces
