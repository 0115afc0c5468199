"""Other finished forms of a right answer: what says the same, and is as far worked out.

Each takes the text of an answer and returns it written otherwise, or as it was where it has no
other form of the kind. Only what is plain to read is changed: a sum within brackets, a list
or a sentence stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

_BRACES = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
_FRACTION = re.compile(rf"(\d\s*)?\\[dt]?frac\s*{_BRACES}\s*{_BRACES}\s*(?=(.?))", re.DOTALL)
_SHORT = re.compile(r"\\[dt]?frac\s*([0-9])\s*([0-9])")
_ATOM = re.compile(r"[A-Za-z]|\d+|\\pi")
_WORDS = re.compile(r"\\(?:text|mbox|mathrm|begin)|(?<![\\A-Za-z])[A-Za-z]{4,}")
_NO_SUM = re.compile(r"\\(?:pm|mp|sum|int|approx|equiv|quad|cdots|ldots|left)|[,;:<>&\n$]|\\[lg]e")
_FACTORS = re.compile(r"(-?\d*)((?:\([^()]+\)(?:\^\{?\d\}?)?){2,})")
_FACTOR = re.compile(r"\([^()]+\)(?:\^\{?\d\}?)?")
_COEFFICIENT = re.compile(r"(\d+)\s?([A-Za-z]|\\pi|\\sqrt\{\w+\})")

#: One sign or command for another.
_SPELLINGS = (
    *(("\\pi", "π"), ("\\infty", "∞"), ("\\leq", "≤"), ("\\geq", "≥")),
    *(("\\le ", "≤"), ("\\ge ", "≥"), ("\\cdot", "\\times"), ("^{\\circ}", "°"), ("^\\circ", "°")),
    *(("\\begin{pmatrix}", "\\begin{bmatrix}"), ("\\end{pmatrix}", "\\end{bmatrix}")),
    *(("\\frac", "\\dfrac"), ("\\text{ ", "\\mathrm{ ")),
)


def slashed(answer: str) -> str:
    """``1/2`` for ``\\frac{1}{2}``; not in a mixed number, an exponent or under a function."""

    def put(match: re.Match[str]) -> str:
        whole, above, below, after = match.groups()
        before = answer[: match.start()].rstrip()
        if whole or "frac" in above + below or re.search(r"[\^{_A-Za-z]$", before):
            return match[0]
        ratio = f"{_unless_an_atom(above)}/{_unless_an_atom(below)}"
        return ratio if after in ("", *"+-=,)]}$.;<>&\\") and after != "\\" else f"({ratio})"

    return _FRACTION.sub(put, _SHORT.sub(r"\\frac{\1}{\2}", answer))


def _unless_an_atom(text: str) -> str:
    return text if _ATOM.fullmatch(text.strip()) else f"({text})"


def terms_turned(answer: str) -> str:
    """``b+a`` for ``a+b``: the last term of each side's sum first."""
    bare = answer.strip().strip("$").strip(" .")
    if _WORDS.search(bare) or _NO_SUM.search(bare):
        return answer
    sides = [_last_term_first(side) for side in bare.split("=")]
    return "=".join(sides) if sides != bare.split("=") else answer


def _last_term_first(side: str) -> str:
    terms = list(_top_terms(side))
    if len(terms) < 2:
        return side
    *rest, last = terms
    first = last.removeprefix("+").strip() if last.startswith("+") else last
    head = rest[0] if rest[0].startswith(("+", "-")) else f"+{rest[0]}"
    return "".join((first, head, *rest[1:]))


def _top_terms(side: str) -> Iterator[str]:
    """The terms of a sum with their signs, brackets whole."""
    depth, bars, start = 0, 0, 0
    for at, sign in enumerate(side):
        depth += (sign in "([{") - (sign in ")]}")
        bars += sign == "|"
        begins = sign in "+-" and side[start:at].strip() and side[:at].rstrip()[-1] not in "+-^_*/("
        if begins and not depth and bars % 2 == 0:
            yield side[start:at].strip()
            start = at
    yield side[start:].strip()


def factors_turned(answer: str) -> str:
    """``(x-2)(x+1)`` for ``(x+1)(x-2)``, ``x\\cdot 3`` for ``3x``."""
    bare = answer.strip().strip("$").replace(" ", "")
    if match := _FACTORS.fullmatch(bare):
        return match[1] + "".join(_FACTOR.findall(match[2])[::-1])
    if match := _COEFFICIENT.fullmatch(answer.strip().strip("$")):
        return f"{match[2]} \\cdot {match[1]}"
    return answer


def spelled(answer: str) -> str:
    """The same signs in other LaTeX, or in Unicode."""
    text = answer
    if not _WORDS.search(text):
        text = re.sub(r"\^\{(\w)\}", r"^\1", text)
        text = re.sub(r"(?<![\w.])0\.(?=\d)", ".", text)
    for old, new in _SPELLINGS:
        end = r"(?![A-Za-z])" if old[-1].isalpha() else ""
        text = re.sub(re.escape(old) + end, new.replace("\\", r"\\"), text)
    return text


FINISHED: Mapping[str, Callable[[str], str]] = {
    "/ for \\frac": slashed,
    "terms in another order": terms_turned,
    "factors in another order": factors_turned,
    "other spellings": spelled,
}
