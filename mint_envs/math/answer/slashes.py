r"""Texts that are one but for how fractions are written: ``1/2`` beside ``\frac{1}{2}``.

For answers that cannot be read, as a sentence with a formula in it. Each text is rewritten with
``\frac`` wherever a slash can mean but one fraction: below it is one factor, above it a product,
and what stands before and after is in a short list. ``1 1/2``, ``1/2x``, ``\sin x/2`` and ``a/b/c``
stay as they are, and brackets stay, but around a fraction alone. All else is compared sign by sign.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .lexer import GREEK
from .limits import MAX_ANSWER

_SIGN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:,\d{3}(?!\d))+|\d+(?:\.\d+)?|[A-Za-z]+|\S", re.DOTALL)
_DEEPEST = 40  # brackets within brackets
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_FRACTIONS = frozenset(("\\frac", "\\dfrac", "\\tfrac"))
_UNSEEN = frozenset(("\\left", "\\right", "\\displaystyle"))
_NAMES = frozenset(f"\\{name}" for name in GREEK) | {"\\pi"}
_FONTS = frozenset(("\\mathrm", "\\mathbf", "\\vec", "\\hat", "\\overline", "\\bar", "\\sqrt"))
_SLASHED = "(/"  # a round bracket around one fraction, written with a slash
_PAIRS = {"(": ")", "[": "]", "\\{": "\\}"}
_CLOSING = frozenset(_PAIRS.values())
_RELATIONS = frozenset(
    "= < > \\le \\leq \\ge \\geq \\approx \\to \\in \\cup & \\\\ , ; $ + -".split()
)
_BEFORE = _RELATIONS | _PAIRS.keys()
_AFTER = _RELATIONS | _CLOSING | {"."}
_RAISED = frozenset("^_")


@dataclass(frozen=True, slots=True)
class _Inner:
    """What stands in ``{}`` or ``()``, or a fraction (``"/"``) of two such parts."""

    bracket: str
    parts: tuple[_Part, ...]


_Part = str | _Inner


class _Unbalanced(Exception):
    """Braces that do not match, or too many of them."""


def same_but_for_slashes(first: str, second: str) -> bool:
    """Whether the texts are one once their fractions are written in one way."""
    both = first + second
    if "frac" not in both or "/" not in both or max(len(first), len(second)) > MAX_ANSWER:
        return False
    try:
        return _with_fractions(_nested(first)) == _with_fractions(_nested(second))
    except _Unbalanced:
        return False


# -- signs, and what stands in brackets


def _nested(text: str) -> tuple[_Part, ...]:
    """The signs of ``text``; what stands in braces, or in round brackets that match, is one."""
    open_: list[tuple[str, list[_Part]]] = [("", [])]
    for sign in _SIGN.findall(text):
        if sign == "{" or sign in _PAIRS:
            open_.append((sign, []))
        elif sign == "}":
            _close_brace(open_)
        elif sign in _CLOSING and open_[-1][0] in _PAIRS:
            _close(open_, sign)
        elif sign not in _UNSEEN:
            open_[-1][1].append(sign)
        if len(open_) > _DEEPEST:
            raise _Unbalanced
    _close_brackets(open_)
    if len(open_) > 1:
        raise _Unbalanced
    return tuple(open_[0][1])


def _close_brace(open_: list[tuple[str, list[_Part]]]) -> None:
    _close_brackets(open_)
    if len(open_) == 1:
        raise _Unbalanced
    _, inside = open_.pop()
    parts = open_[-1][1]
    raised = bool(parts) and parts[-1] in _RAISED and len(inside) == 1
    one = inside[0] if raised else ""  # of x^{2}
    parts.append(one if isinstance(one, str) and len(one) == 1 else _Inner("{", tuple(inside)))


def _close(open_: list[tuple[str, list[_Part]]], sign: str) -> None:
    """End a bracket; one that is no round pair, as of ``(0,1]``, is two signs."""
    opened, inside = open_.pop()
    if (opened, sign) == ("(", ")"):
        open_[-1][1].append(_Inner("(", tuple(inside)))
    else:
        open_[-1][1].extend((opened, *inside, sign))


def _close_brackets(open_: list[tuple[str, list[_Part]]]) -> None:
    """Take the brackets that nothing closes for signs."""
    while open_[-1][0] in _PAIRS:
        opened, inside = open_.pop()
        open_[-1][1].extend((opened, *inside))


# -- fractions


def _with_fractions(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """``parts`` with each fraction in one form; without dollars."""
    found = _slashes(_commands(tuple(map(_inside, parts))))
    kept = (_unless_around(found, at) for at in range(len(found)))
    return tuple(part for part in kept if part != "$")


def _inside(part: _Part) -> _Part:
    if isinstance(part, str):
        return part
    parts = _with_fractions(part.parts)
    slashed = part.bracket == "(" and _is_fraction(parts) and "/" in part.parts
    return _Inner(_SLASHED if slashed else part.bracket, parts)


def _is_fraction(parts: tuple[_Part, ...]) -> bool:
    return len(parts) == 1 and isinstance(parts[0], _Inner) and parts[0].bracket == "/"


def _fraction(above: tuple[_Part, ...], below: tuple[_Part, ...]) -> _Part:
    return _Inner("/", (_Inner("{", _bare(above)), _Inner("{", _bare(below))))


def _bare(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """What stands in brackets that are around all of ``parts``."""
    while len(parts) == 1 and isinstance(parts[0], _Inner) and parts[0].bracket != "/":
        parts = parts[0].parts
    return parts


def _commands(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """Each ``\\frac{1}{2}`` and ``\\frac12`` in one."""
    found: list[_Part] = []
    at = 0
    while at < len(parts):
        if parts[at] in _FRACTIONS:
            part, at = _command(parts, at + 1)
        else:
            part, at = parts[at], at + 1
        found.append(part)
    return tuple(found)


def _command(parts: tuple[_Part, ...], at: int) -> tuple[_Part, int]:
    """The fraction of a command whose arguments begin ``at``, and where they end."""
    first = parts[at] if at < len(parts) else ""
    if isinstance(first, str) and re.fullmatch(r"\d\d", first, re.ASCII):
        return _fraction((first[0],), (first[1],)), at + 1
    two = parts[at : at + 2]
    if len(two) == 2 and all(map(_is_argument, two)):
        return _fraction(two[:1], two[1:]), at + 2
    return "\\frac", at


def _is_argument(part: _Part) -> bool:
    if isinstance(part, _Inner):
        return part.bracket == "{"
    return part in _NAMES or re.fullmatch("[A-Za-z0-9]", part) is not None


def _slashes(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """Each ``a/b`` in one, where it can mean but one fraction."""
    found: list[_Part] = []
    at = 0
    while at < len(parts):
        ends = _factor(parts, at + 1) if parts[at] == "/" else 0
        begins = _product(found) if ends else 0
        below = parts[at + 1 : ends]
        if ends and begins < len(found) and _ends(parts, ends) and _begins(found, begins):
            found[begins:] = [_fraction(tuple(found[begins:]), below)]
            at = ends
        else:
            found.append(parts[at])
            at += 1
    return tuple(found)


def _factor(parts: tuple[_Part, ...] | list[_Part], at: int) -> int:
    """Where the factor that begins ``at`` ends; ``at`` if none does, 0 if it is none to divide by.

    A number, a letter, a root, a bracket, a fraction; any of them raised to a power.
    """
    if at >= len(parts):
        return 0
    part = parts[at]
    if isinstance(part, str):
        if part in _FONTS:
            at += 1
            if at >= len(parts) or not isinstance(parts[at], _Inner):
                return 0
        elif not (_NUMBER.fullmatch(part) or part in _NAMES or _is_letter(part)):
            return 0
    elif part.bracket == "{":
        return 0
    return _after_powers(parts, at + 1)


def _after_powers(parts: tuple[_Part, ...] | list[_Part], at: int) -> int:
    while at + 1 < len(parts) and parts[at] in _RAISED:
        raised = parts[at + 1]
        plain = isinstance(raised, str) and (raised in _NAMES or raised.isalnum())
        if not plain and not (isinstance(raised, _Inner) and raised.bracket == "{"):
            return 0
        at += 2
    return at


def _is_letter(sign: str) -> bool:
    return len(sign) == 1 and sign.isascii() and sign.isalpha()


def _product(parts: list[_Part]) -> int:
    """Where the product begins with which ``parts`` end; only its first factor may be a number."""
    start = _last_boundary(parts)
    at = start
    while at < len(parts):
        number = isinstance(parts[at], str) and str(parts[at])[0].isdigit()
        ends = _factor(parts, at)
        if not ends or (number and at > start):
            return len(parts)
        at = ends
    return start


def _last_boundary(parts: list[_Part]) -> int:
    """Where the last term begins."""
    at = len(parts)
    while at and not (isinstance(parts[at - 1], str) and parts[at - 1] in _BEFORE):
        at -= 1
    return at


def _begins(parts: list[_Part] | tuple[_Part, ...], at: int) -> bool:
    """Whether a fraction may begin ``at``: after nothing, or a sign of the list."""
    before = parts[at - 1] if at else "="
    if not isinstance(before, str) or before not in _BEFORE:
        return False
    raised = before in "+-" and at > 1 and parts[at - 2] in _RAISED
    return not raised


def _ends(parts: tuple[_Part, ...], at: int) -> bool:
    after = parts[at] if at < len(parts) else "="
    return isinstance(after, str) and after in _AFTER


def _unless_around(parts: tuple[_Part, ...], at: int) -> _Part:
    """``(1/2)`` is ``\\frac{1}{2}``; ``(\\frac{a}{p})``, if no factor follows, may be a symbol."""
    part = parts[at]
    if not isinstance(part, _Inner) or part.bracket not in ("(", _SLASHED):
        return part
    after = parts[at + 1] if at + 1 < len(parts) else "="
    if part.bracket == _SLASHED:
        plain = after not in ("^", "_", "!", "'", "/")
    else:
        plain = _is_fraction(part.parts) and _factor(parts, at + 1) > at + 1
    if plain and _begins(parts, at):
        return part.parts[0]
    return _Inner("(", part.parts)
