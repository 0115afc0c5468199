"""What a question says of its letters: which are whole numbers, primes, positive.

Read from phrases ("integers $m$ and $n$", "$p$ is an odd prime", "$n \\ge 3$"), within the last
characters of the question. What is not said is not assumed: a letter that is passed over is
compared as any real number is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from .answer.lexer import GREEK
from .answer.said import NOTHING, Said

_LONGEST = 4_000  # characters of a question that are looked at

_SPAN = re.compile(r"\$\$?([^$]{1,300})\$|\\[(\[](.{1,300}?)\\[)\]]", re.DOTALL)
_WRAPPED = re.compile(r"\\(?:text\w*|mathrm|operatorname|mbox|begin|end)\s*\{[^{}]*\}")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_ALONE = re.compile(r"(?<![A-Za-z'\\])[B-HJ-Zb-z](?![A-Za-z'])")  # in prose "a" and "I" are words
_BASE = re.compile(r"\\?log\s*_|\\?\bl[ng](?![a-z])|\bbase\b|(?:common|natural) log", re.IGNORECASE)
_ODD_OR_EVEN = re.compile(r"\b(?:odd|even)\b", re.IGNORECASE)
_WRITTEN_IN = re.compile(  # "in base 7", and no number of the question that is
    r"\b(?:in|into|to|as an? (?:number in )?)\s?base[- ]\$?\s?(\d{1,2})(?!\d)", re.IGNORECASE
)
_PRIME = re.compile(r"\bprimes?\b", re.IGNORECASE)
_NOT_BELOW = re.compile(r"positive|natural|non-?negative|\bwhole\b|prime", re.IGNORECASE)

#: Letters, between signs of mathematics or one by one: ``$m$ and $n$``, ``$m, n$``, ``$n\ge 2$``.
_ONE = (
    r"(?:\$\s*[A-Za-z](?:\s*,\s*[A-Za-z]){0,6}\s*(?:(?:>|<|\\[gl]eq?|\\ne)[^$]{0,20})?\$"
    r"|(?<![A-Za-z\\$])[nkmjpq](?![A-Za-z]))"
)
_SOME = rf"{_ONE}(?:\s*(?:,\s*and|,|and)\s*{_ONE}){{0,6}}"
_KINDS = r"(?:integers?|whole numbers?|natural numbers?|(?:odd )?primes?(?: numbers?| integers?)?)"
_NAMED = re.compile(
    rf"(?<![a-z-])((?:[a-z-]{{1,15}}\s){{0,2}})({_KINDS}),?\s(?:(?:values? )?of )?({_SOME})",
    re.IGNORECASE,
)
_IS = re.compile(
    rf"({_SOME})\s+(?:is|are|be|denotes?|represents?)\s+(?:both\s+|all\s+)?"
    rf"((?:(?:an?|any|two|some|the|fixed|given|distinct|different|relatively|prime|coprime|arbitrary"
    rf"|positive|non-?negative|negative|odd|even)\s+){{0,4}})({_KINDS})(?![a-z])",
    re.IGNORECASE,
)
_IN_SET = re.compile(
    r"(?<![A-Za-z\\])([A-Za-z](?:\s?,\s?[A-Za-z]){0,4})\s{0,2}\\in\s*"
    r"\\(?:mathbb\s*\{?\s*([ZN])|(Z|N)(?![a-z]))"
)
_POSITIVE = re.compile(
    rf"positive\s+(?:real\s+)?(?:numbers?|constants?|reals?)\s+({_SOME})"
    rf"|({_SOME})\s+(?:is|are)\s+(?:both\s+|all\s+)?positive(?!\s+integer)",
    re.IGNORECASE,
)
_ALL_POSITIVE = re.compile(
    r"(?:all|the) (?:variables?|letters)(?: \w+){0,3} (?:are|represent|is|be) (?:all )?"
    r"(?:positive|non-?negative)",
    re.IGNORECASE,
)
_ABOVE = re.compile(
    r"(?<![A-Za-z\\\-+*/^\d|])(?<![-+*/^\d|]\s)([A-Za-z])\s*(>|\\gt|\\geq?(?:slant)?)\s*(\d{1,3})(?![\d./])"
)
_LETTER = re.compile(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])")


@lru_cache(1024)
def said_of(question: str) -> Said:
    """Return what ``question`` says of its letters; ``""`` says nothing."""
    if not question:
        return NOTHING
    text = question[-_LONGEST:].replace("\\(", "$").replace("\\)", "$")
    letters = frozenset(_letters(text))
    whole, below, prime, parity = _counted(text)
    least = {} if "cases}" in text else _least(text)
    return Said(
        letters=letters,
        whole=whole,
        below=below,
        primes=prime | ({"p"} & letters if _PRIME.search(text) and "p(" not in text else set()),
        positive=_positive(text, letters, least),
        least=least,
        parity=parity,
        bases=frozenset(map(int, _WRITTEN_IN.findall(text))),
        based=bool(_BASE.search(text)),
    )


def _letters(text: str) -> Iterator[str]:
    """Every letter that stands in a formula, and single ones in prose."""
    for match in _SPAN.finditer(text):
        span = _WRAPPED.sub(" ", match[1] or match[2])
        yield from (name for name in _COMMAND.findall(span) if name in GREEK)
        yield from re.findall(r"[A-Za-z]", _COMMAND.sub(" ", span))
    yield from _ALONE.findall(_SPAN.sub(" ", text))


def _counted(
    text: str,
) -> tuple[frozenset[str], frozenset[str], frozenset[str], dict[str, int]]:
    """The letters that are whole numbers, which may be below 1, are prime, are odd or even."""
    whole: set[str] = set()
    below: set[str] = set()
    prime: set[str] = set()
    parity: dict[str, int] = {}
    found = [match.groups() for match in _NAMED.finditer(text)]
    found += [(before, kind, some) for some, before, kind in map(_groups, _IS.finditer(text))]
    for before, kind, some in found:
        names = set(_LETTER.findall(some))
        if "prime" in kind.lower():
            prime |= names
            continue
        whole |= names
        if odd := _ODD_OR_EVEN.search(before):
            parity |= dict.fromkeys(names, int(odd.group().lower() == "odd"))
        below |= set() if _NOT_BELOW.search(before + kind) else names
    for match in _IN_SET.finditer(text):
        names = set(_LETTER.findall(match[1]))
        whole |= names
        below |= names if "Z" in (match[2], match[3]) else set()
    if _NOT_BELOW.search(text):  # it may be said elsewhere, and of these
        below = set()
    return frozenset(whole - prime), frozenset(below - prime), frozenset(prime), parity


def _groups(match: re.Match[str]) -> tuple[str, str, str]:
    some, before, kind = match.groups()
    return some, before, kind


def _least(text: str) -> dict[str, int]:
    """The least whole number that a letter may be: 3 of ``n \\ge 3`` and of ``n > 2``."""
    least = {m[1]: int(m[3]) + (m[2] in (">", "\\gt")) for m in _ABOVE.finditer(text)}
    if re.search(r"\bodd primes?\b", text, re.IGNORECASE):
        least.setdefault("p", 3)
    return least


def _positive(text: str, letters: frozenset[str], least: dict[str, int]) -> frozenset[str]:
    if _ALL_POSITIVE.search(text):
        return letters
    said = {n for m in _POSITIVE.finditer(text) for n in _LETTER.findall(m[1] or m[2])}
    return frozenset(said | least.keys())
