"""Answers in words: names, yes and no, choice letters, times of day, dates."""

from __future__ import annotations

import re
from fractions import Fraction

from .tree import Text

_UNWRAP = re.compile(r"\\(?:text\w*|mathrm|mathbf|mbox|hbox|operatorname|emph)\s*\{([^{}]*)\}")
_CHOICE = re.compile(
    r"(?:(?:option|choice|answer|选项?|选择)\s*+:?\s*+)?"
    r"(?:\(([A-Z]|[a-e](?=\)$))\)|([A-Z])\s*[.:)]|([A-Z]))(?:$|(?<=[.:)])\s+"
    r"(?![-+*/^=<>\\,;&]|(?:and|or)\b)(?!.*(?:\b[A-J]\)|\b(?:or|and)\s+\(?[A-J]\b))\S.*)",
    re.DOTALL,
)
_NAMED_CHOICE = re.compile(r"(?:option|choice|选项?|选择)\s*+:?\s*+\(?([A-Za-z])\)?", re.IGNORECASE)
_TIME = re.compile(
    r"(\d{1,2})(?:\s*:\s*(\d\d))?(?:\s*:\s*(\d\d))?\s*([ap])\.?\s?m\.?", re.IGNORECASE
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = r"(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DATES = (
    re.compile(
        rf"(?P<month>{_MONTH})\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{{4}}))?"
    ),
    re.compile(
        rf"(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of )?(?P<month>{_MONTH})"
        r"(?:,?\s+(?P<year>\d{4}))?"
    ),
    re.compile(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"),
    re.compile(r"(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号]"),
)
_DROPPED = frozenset("a an the".split())
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_COUNTED = {word: value for value, word in enumerate(_SMALL)} | {
    word: 10 * value for value, word in enumerate(_TENS, 2)
}
_CHINESE = dict(zip("零一二三四五六七八九", range(10), strict=True)) | {"两": 2}
_UNIT_WORD = "(?:" + "|".join(_SMALL) + ")"
_BELOW_100 = rf"(?:(?:{'|'.join(_TENS)})(?: {_UNIT_WORD})?|{_UNIT_WORD})"
_BELOW_1000 = rf"(?:(?:(?:{_UNIT_WORD} )?hundred)(?: {_BELOW_100})?|{_BELOW_100})"
_SPELLED = re.compile(rf"(?:(?:{_BELOW_1000} )?(?:million|thousand) ?)*(?:{_BELOW_1000})?")
_NOUN = re.compile(
    r"(?!(?:half|halves|thirds?|quarters?|\w+ths?|dozens?|scores?|pairs?|times|squared|cubed|percents?|"
    r"point|over|of|or|and|to|more|less|fewer|\w+red|\w+llions?|thousands?)$)[a-z]{3,20}"
)
_MULTIPLES = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "百": 100,
    "千": 1000,
    "万": 10**4,
    "亿": 10**8,
}
_FEW = {"dozen": 12, "dozens": 12, "lakh": 10**5, "lakhs": 10**5, "crore": 10**7, "crores": 10**7}
_PARTS = {
    f"{ordinal}{s}": Fraction(1, part)
    for part, ordinal in enumerate(
        "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), 3
    )
    for s in ("", "s")
} | {"halves": Fraction(1, 2), "hundredths": Fraction(1, 100), "thousandths": Fraction(1, 1000)}
_POWERS = {"squared": 2, "cubed": 3}
_SAME = {
    "no solutions": "no solution",
    "no real solutions": "no real solution",
    "dne": "does not exist",
    "undefined": "does not exist",
    "divergent": "diverges",
    "convergent": "converges",
    "neither even nor odd": "neither",
    "correct": "true",
    "incorrect": "false",
    "对": "true",
    "错": "false",
    "是": "yes",
    "否": "no",
}


def unwrapped(text: str) -> str:
    """Return ``text`` without ``\\text{...}`` wrappers and braces."""
    if "\\" not in text and "{" not in text:
        return text
    plain = _UNWRAP.sub(r" \1 ", text).replace("{", " ").replace("}", " ")
    return " ".join(plain.split())


def special(text: str) -> Text | None:
    """Return ``text`` as a time, date or choice; None if it is none of them."""
    plain = unwrapped(text)
    if match := _CHOICE.fullmatch(plain):
        letter = match.group(1) or match.group(2) or match.group(3)
        return Text(letter.upper(), "choice")
    if len(plain) > 40:
        return None
    if match := _NAMED_CHOICE.fullmatch(plain):
        return Text(match.group(1).upper(), "choice")
    if plain == "DNE":
        return words(plain)
    if match := _TIME.fullmatch(plain):
        return _time(match)
    return _date(plain.lower())


def _time(match: re.Match[str]) -> Text:
    hour, minute, second, half = match.groups()
    hours = int(hour) % 12 + (12 if half in "pP" else 0)
    return Text(f"{hours}:{minute or '00'}" + (f":{second}" if second else ""), "time")


def _date(plain: str) -> Text | None:
    for pattern in _DATES:
        if match := pattern.fullmatch(plain):
            month = match["month"]
            number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1
            return Text(f"{match['year'] or ''}-{number}-{int(match['day'])}", "date")
    return None


def words(text: str) -> Text:
    """Return ``text`` as words: small letters, no punctuation, no articles."""
    plain = re.sub(r"[\"`*_.!?()]|\\", " ", unwrapped(text).lower())
    kept = [word for word in plain.split() if word not in _DROPPED] or plain.split()
    joined = " ".join(kept).replace(" - ", "-")
    return Text(_SAME.get(joined, joined))


def multiple(word: str) -> Fraction | None:
    """Return what ``word`` multiplies a number by (``"million"``, ``"tenths"``); or None."""
    word = word.lower()
    factor = _MULTIPLES.get(word) or _FEW.get(word) or _PARTS.get(word)
    return None if factor is None else Fraction(factor)


def power(word: str) -> int | None:
    """Return the power that ``word`` raises a number to: ``"squared"``; or None."""
    return _POWERS.get(word.lower())


def counted(text: str) -> int | None:
    """Return the whole number that ``text`` spells (``"twenty-one"``, ``"十二"``); or None."""
    parts = text.replace("-", " ").replace(" and ", " ").split()
    if parts and parts[0] in ("minus", "negative"):
        value = counted(" ".join(parts[1:]))
        return None if value is None else -value
    if not parts or len(parts) > 12:
        return None
    total, group = 0, 0
    for part in parts:
        if part in _COUNTED:
            group += _COUNTED[part]
        elif part == "hundred":
            group = 100 * max(group, 1)
        elif part in _MULTIPLES and part.isascii():
            total, group = total + max(group, 1) * _MULTIPLES[part], 0
        else:
            return _chinese(text)
    spelled = " ".join(parts)
    return total + group if _SPELLED.fullmatch(spelled) else None


def counted_things(text: str) -> tuple[int, str] | None:
    """Return (72, "degrees") of ``seventy-two degrees``, (3, "") of ``three``; or None."""
    parts = text.split()
    for count in range(min(len(parts), 12), 0, -1):
        value = counted(" ".join(parts[:count]))
        if value is not None:
            return value, " ".join(parts[count:])
    return None


def is_plain_noun(noun: str) -> bool:
    """Whether ``three <noun>`` is 3 of them, as "thirds", "dozen" and "point two" are not."""
    return not noun or bool(_NOUN.fullmatch(noun))


def _chinese(text: str) -> int | None:
    match = re.fullmatch("([二三四五六七八九]?)(十?)([零一二两三四五六七八九]?)", text)
    if not match or not text or (match[1] and not match[2]):
        return _CHINESE.get(text)
    tens = _CHINESE.get(match[1], 1) if match[2] else 0
    return 10 * tens + (_CHINESE[match[3]] if match[3] else 0)


def same_text(a: Text, b: Text) -> bool:
    """Whether two texts say the same: dates without a year agree with any, names in any case."""
    if a.kind == b.kind == "date":
        first, second = a.words.split("-"), b.words.split("-")
        return first[1:] == second[1:] and (first[0] == second[0] or not (first[0] and second[0]))
    if a.kind != b.kind:
        return {a.kind, b.kind} == {"choice", "words"} and a.words.lower() == b.words.lower()
    return a.words.replace(" ", "") == b.words.replace(" ", "")
