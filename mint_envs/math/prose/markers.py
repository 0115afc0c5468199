"""Lines and phrases that announce an answer: ``#### 72``, "Answer: 72", "the answer is 72"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..answer.limits import MAX_ANSWER, MAX_WINDOW
from . import prose
from .cues import CORRECTION, is_supposed
from .found import Found
from .hinted import has_one
from .languages import ANNOUNCES, DENIES, may_announce
from .phrases import HAN

_HASHES = re.compile(
    r"^[ \t]*#{4}(?!#)[ \t:]*([^\n]*)|(?<=[^#\n])#{4}(?!#)[ \t:]*([^\n]*)", re.MULTILINE
)
_STRICT = re.compile(
    r"(?:^[ \t*_#>]*(?:the )?(?:final )?answer[ \t*_]*[:：]"
    r"|(?P<said>(?<!if )(?<!whether )(?<!that )\bthe (?:final |correct |right )?answer is"
    r"(?! (?:not|in)\b))\b:?)[ \t*_]*(?=\S)(?P<rest>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_AGAIN = re.compile(
    r"[*_\s]*(?:so |thus,? |therefore,? )?the (?:final |correct |right |numeric(?:al)? )?answer is"
    r"(?! (?:not|in)\b)\b:?[ \t*_]*(?=\S)",
    re.IGNORECASE,
)
_LATER = re.compile(  # after a box; "the answer is plausible" claims nothing
    rf"(?:{_STRICT.pattern})|答案(?:是|为|[:：])(?P<han>[^\n]*)", re.IGNORECASE | re.MULTILINE
)
_HEADING = re.compile(  # "#### Step 3: ..." in markdown
    r"(?:step|case|part|method|solution|problem|question|example|check|verif\w*|\d+\.\s|\d+\))",
    re.IGNORECASE,
)
MARKER = re.compile(
    r"(?:\banswers?\b(?:\s+(?:to|for)\s[^\n.:$]{1,60}?)?[ \t*_]{0,20}+"
    r"(?:\b(?:is|are|was|would be|should be|must be|will be|comes out to|equals)\b(?!\s+not\b)"
    r"[ \t*_:：]*"
    r"(?:therefore|thus|then|simply|just|now|equal to)?|[:：=]"
    r"|(?=\s{0,20}[*_]{0,20}+[ \t]{0,20}+\n))"
    r"|^[ \t*_]*(?:A|Ans|Result|Solution set)[ \t*_]*[:：]"
    r"|\b(?:correct|right|best)\s+(?:choice|option)\s+is\b|\bchoice is\b|\boption is\b"
    r"|\b(?:choose|pick|select|go with)\b(?=\s+(?:option|choice|answer)?\s*\(?[A-J]\b)"
    r"|(?:最终)?(?:答案|结果)[*_\s]*(?:应该)?(?:应?是|应?为|应?选|[:：])|答[:：]"
    r"|(?:故|应|因此|所以)选(?:择)?[:：]?)"
    r"[ \t]*[:：]?",
    re.IGNORECASE | re.MULTILINE,
)
_WORDS = ("answer", "choose", "pick", "select", "go with")
_OF_CHOICE = ("correct", "right", "best", "choice is", "option is")  # where one of these stands:
_CHOICE = ("choice", "option")
_LINE = re.compile(r"[ \t*_]*(?:a|ans|result|solution set)[ \t*_]*[:：]")
_ANY_LANGUAGE = re.compile(f"{MARKER.pattern}|{ANNOUNCES}", MARKER.flags)
_MARKS = 8  # markers from the end that may have no answer after them


def hashes(text: str) -> Found | None:
    if "####" not in text:
        return None
    skipped = max(0, len(text) - MAX_WINDOW * 5)
    marks = list(_HASHES.finditer(text[skipped:]))
    values = [((m.group(1) or m.group(2) or "").strip(), m) for m in marks]
    values = [(value, m) for value, m in values if _is_value(value)]
    if not values:
        return None
    answer, last = values[-1]
    if again := _AGAIN.match(answer):
        answer = prose.after_marker(answer[again.end() :])
    rivals: tuple[str, ...] = ()
    if len(values) > 1 and not last.string[values[-2][1].end() : last.start()].strip():
        rivals = (values[-2][0],)
    return Found(bare(answer), "hashes", rivals, end=skipped + last.end())


def _is_value(said: str) -> bool:
    return (prose.has_value(said) or said.isupper()) and not _HEADING.match(said)


def strict_marker(text: str) -> Found | None:
    """The last line "Answer: ..." or sentence "The answer is ..."."""
    skipped = max(0, len(text) - MAX_WINDOW)
    marks = list(_STRICT.finditer(text[skipped:]))
    if not marks:
        return None
    end = skipped + marks[-1].start("rest")
    return Found(_told(marks[-1]), "marker", _line_rivals(marks[-1].string, marks), end=end)


def _told(mark: re.Match[str]) -> str:
    """What a line or sentence announces: "Final Answer: The final answer is $5$." says it twice."""
    rest = mark["rest"] if mark["rest"] is not None else mark["han"]
    again = None if mark["said"] else _AGAIN.match(rest)
    if mark["said"] or again:
        return prose.after_marker(rest[again.end() :] if again else rest)
    return bare(prose.sentence(rest))


def later_marker(after: str) -> Found | None:
    """What ``after``, which follows a box, announces once more; None if it is no value."""
    if "answer" not in after.lower() and "答案" not in after:
        return None
    for mark in reversed(list(_LATER.finditer(after))):
        told = _told(mark)
        if _is_value(told) and len(told) < MAX_ANSWER:
            end = mark.end() - len(mark["rest"] or mark["han"] or "")
            return Found(told, "marker", end=end)
    return None


def _line_rivals(text: str, marks: list[re.Match[str]]) -> tuple[str, ...]:
    """The answer before the last, if it stands next to it and nothing says that it was wrong."""
    if len(marks) < 2:
        return ()
    before, last = marks[-2], marks[-1]
    between = text[before.end() : last.start()]
    if len(between) > 60 or between.count("\n") > 2 or CORRECTION.search(between):
        return ()
    earlier = prose.answer_of(before["rest"] if before.re is _STRICT else between)
    return (earlier,) if earlier and prose.has_value(earlier) else ()


def marker(text: str) -> Found | None:
    marks: list[re.Match[str]] = []
    foreign = may_announce(text)
    for match in _announcements(text, foreign):
        if is_supposed(text[max(0, match.start() - 60) : match.start()]):
            continue
        if (
            marks
            and not text[marks[-1].end() : match.start()].strip(" *_\n\"'“”the:#TAFinal").strip()
        ):
            marks[-1] = match  # "**Final Answer**: the answer is 5" is one marker
        else:
            marks.append(match)
    for _ in range(min(len(marks), _MARKS)):
        said = _after(text, marks[-1])
        answer = prose.after_marker(said)
        if answer and foreign and _denies(text[marks[-1].start() :][:MAX_ANSWER]):
            return Found("", "marker", reason="the answer is denied")
        if not answer and prose.is_divided(said):
            return Found("", "marker", reason="no single answer")
        if answer:
            rivals = _line_rivals(text, marks)
            return Found(answer, "marker", rivals, end=marks[-1].end())
        marks.pop()
    return None


def _denies(text: str) -> bool:
    return bool(DENIES.search(prose.sentence(text)))


def _announcements(text: str, foreign: bool) -> Iterator[re.Match[str]]:
    """The matches of ``MARKER``; it is tried only where one of its words stands, which is quick."""
    if foreign:
        yield from _ANY_LANGUAGE.finditer(text)
        return
    lower = text.lower()
    if len(lower) != len(text) or (not text.isascii() and HAN.search(text)):
        yield from MARKER.finditer(text)
        return
    end = 0
    for at in sorted(_places(lower)):
        match = MARKER.match(text, at) if at >= end else None
        if match:
            end = match.end()
            yield match


def _places(lower: str) -> Iterator[int]:
    """Where a word of ``MARKER`` stands, or a line that may begin with one."""
    by_choice = has_one(_CHOICE, lower)
    for word in (*_WORDS, *_OF_CHOICE) if by_choice else _WORDS:
        at = lower.find(word)
        while at >= 0:
            yield at
            at = lower.find(word, at + 1)
    at = 0 if ":" in lower or "：" in lower else -1
    while at >= 0:
        if _LINE.match(lower, at):
            yield at
        at = lower.find("\n", at) + 1 or -1


def _after(text: str, mark: re.Match[str]) -> str:
    """What follows a marker; one in ``\\text{The answer is } 5`` is in a text that ends with it."""
    said = text[mark.end() :][:MAX_ANSWER]
    before = text[: mark.start()]
    opened = before.rfind("\\text{")
    inside = opened >= 0 and "}" not in before[opened:]
    return said.lstrip().removeprefix("}") if inside else said


def bare(text: str) -> str:
    """``text`` without quotes, emphasis and a full stop."""
    return text.strip().strip("*_`\"' ").strip()
