"""Two texts that are one but for ``1/2`` in place of ``\\frac{1}{2}``, though none can be read."""

from __future__ import annotations

import re

_INSIDE = r"\{((?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+)\}"
_FRACTION = re.compile(rf"(?<!\d)\\[dt]?frac{_INSIDE}{_INSIDE}")
_LOOSE = re.compile(r"\s|\\left(?![a-z])|\\right(?![a-z])|\$")
_ATOM = re.compile(r"\\?[A-Za-z]+|\d+(?:\.\d+)?")
_AROUND = re.compile(rf"\(({_ATOM.pattern})\)(?=/)|(?<=/)\(({_ATOM.pattern})\)")
_ALONE = re.compile(r"(?<![\w^/}\\])\(([^()/]+/[^()/]+)\)(?![\^!])")  # (1/2)x, as 1/2x is read
_DEEPEST = 4
_LONGEST = 1_500  # characters of a text that is rewritten


def same_but_for_slashes(first: str, second: str) -> bool:
    """Whether the texts are one once their fractions are written in one way."""
    both = first + second
    if "frac" not in both or "/" not in both or len(both) > _LONGEST:
        return False
    return _slashed(first) == _slashed(second)


def _slashed(text: str) -> str:
    for _ in range(_DEEPEST):
        text, found = _FRACTION.subn(_with_a_slash, text)
        if not found:
            break
    return _ALONE.sub(r"\1", _AROUND.sub(r"\1\2", _LOOSE.sub("", text)))


def _with_a_slash(match: re.Match[str]) -> str:
    return "/".join(map(_in_round_brackets, match.groups()))


def _in_round_brackets(part: str) -> str:
    part = part.strip()
    return part if _ATOM.fullmatch(part) else f"({part})"
