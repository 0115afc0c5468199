"""Whether what a program printed is right: our own rule, and those of published sets.

A rule sees two texts and says yes or no. Those of published sets do what their own graders do, as
far as that can be said in words; where one of them pays what nobody would call right, it says so.
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable, Sequence

from .values import Tolerance

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_ROOM = Tolerance(1e-6, 1e-6)

Rule = Callable[[str, str, Tolerance], bool]


def same_output(
    got: str, want: str, compare: str = "tokens", tolerance: Tolerance | None = None
) -> bool:
    """Return whether ``got`` is right by the rule ``compare``, a key of ``RULES``.

    ``tolerance`` is of ``"tokens"`` (1e-6, absolute or relative); other rules have their own.
    """
    return RULES[compare](got, want, tolerance or _ROOM)


def _tokens(got: str, want: str, room: Tolerance) -> bool:
    """The same words, however they are spaced.

    Where the wanted word is a number with a point or an exponent, a number near it will do.
    """
    words, wanted = got.split(), want.split()
    return len(words) == len(wanted) and all(
        word == other or (not _WHOLE.fullmatch(other) and _near(word, other, room))
        for word, other in zip(words, wanted, strict=True)
    )


def _exact(got: str, want: str, room: Tolerance) -> bool:
    """The same text, to the last space; only the end of the last line may be missing."""
    return got.removesuffix("\n") == want.removesuffix("\n")


def _near(word: str, wanted: str, room: Tolerance) -> bool:
    if not (_NUMBER.fullmatch(word) and _NUMBER.fullmatch(wanted)):
        return False
    value, target = float(word), float(wanted)
    most = max(room.absolute, room.relative * abs(target))
    return math.isfinite(value) and abs(value - target) <= most


# -- LiveCodeBench ---------------------------------------------------------------------------------


def _live_code_bench(got: str, want: str, room: Tolerance) -> bool:
    """As many lines, each the same but for spaces at its ends, or the same numbers exactly."""
    lines, wanted = _stripped_lines(got), _stripped_lines(want)
    return len(lines) == len(wanted) and all(
        line == other or _same_decimals(line, other)
        for line, other in zip(lines, wanted, strict=True)
    )


def _stripped_lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def _same_decimals(line: str, wanted: str) -> bool:
    try:
        return _decimals(line) == _decimals(wanted)
    except ArithmeticError:  # no number, or one that signals
        return False


def _decimals(line: str) -> list[decimal.Decimal]:
    return [decimal.Decimal(word) for word in line.split()]


def _lines(got: str, want: str, room: Tolerance) -> bool:
    """As many lines, each the same but for spaces at its ends."""
    return _stripped_lines(got) == _stripped_lines(want)


# -- APPS, TACO, Eurus -----------------------------------------------------------------------------


def _apps(got: str, want: str, room: Tolerance) -> bool:
    """The same lines; or lines that are numbers, near each other; or the same *sets* of words.

    The last forgives the order of lines, and of words in a line, and repeats of either: APPS says
    so for problems with several answers, and pays some wrong ones for it.
    """
    lines, wanted = got.splitlines(), _filled_lines(want)
    if _same_lines(lines, want) or [line for line in lines if line] == wanted:
        return True
    if _all_close(lines, wanted) or _all_close([line for line in lines if line], wanted):
        return True
    sets = [frozenset(line.split()) for line in lines if line.split()]
    return _same_sets(sets, [frozenset(line.split()) for line in wanted])


def _taco(got: str, want: str, room: Tolerance) -> bool:
    """The same text but for white space at its ends; of single letters or digits, the same set."""
    if got.strip() == want.strip():
        return True
    words = [frozenset(word) for word in got.split()]
    return _same_sets(words, [frozenset(line.split()) for line in _filled_lines(want)])


def _prime(got: str, want: str, room: Tolerance) -> bool:
    """The same lines; or lines that are numbers, not all of them whole, near each other."""
    lines, wanted = got.splitlines(), _filled_lines(want)
    if _same_lines(lines, want) or [line for line in lines if line] == wanted:
        return True
    filled = [line for line in lines if line]
    whole = all(_WHOLE.fullmatch(line.strip()) for line in [*filled, *wanted])
    return not whole and _all_close(filled, wanted)


def _same_lines(lines: Sequence[str], want: str) -> bool:
    return want.strip() in ("\n".join(lines).strip(), "\n".join(x.strip() for x in lines).strip())


def _filled_lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line]


def _all_close(lines: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether all lines are numbers, each as near as numpy's ``allclose`` has it."""
    try:
        pairs = [(float(a), float(b)) for a, b in zip(lines, wanted, strict=True)]
    except ValueError:
        return False
    return all(a == b or abs(a - b) <= 1e-8 + 1e-5 * abs(b) < math.inf for a, b in pairs)


def _same_sets(sets: Sequence[frozenset[str]], wanted: Sequence[frozenset[str]]) -> bool:
    if set(sets) == set(wanted):
        return True
    try:
        return _rounded(sets) == _rounded(wanted)
    except ValueError:
        return False


def _rounded(sets: Sequence[frozenset[str]]) -> set[frozenset[float]]:
    return {frozenset(round(float(word), 3) for word in words) for words in sets}


# -- CodeContests ----------------------------------------------------------------------------------


def _code_contests(got: str, want: str, room: Tolerance) -> bool:
    """The same words, in capitals or not; numbers within 1e-5, whole ones exactly."""
    words, wanted = got.lower().split(), want.lower().split()
    return len(words) == len(wanted) and all(
        word == other or _near_number(word, other)
        for word, other in zip(words, wanted, strict=True)
    )


def _near_number(word: str, wanted: str) -> bool:
    if _WHOLE.fullmatch(word) and _WHOLE.fullmatch(wanted):
        one, other = word.lstrip("+-0"), wanted.lstrip("+-0")
        return one == other and (not one or ("-" in word) == ("-" in wanted))
    return _near(word, wanted, Tolerance(absolute=1e-5))


#: By name: a row may say ``"compare": name``. "float" is the older name of "tokens".
RULES: dict[str, Rule] = {
    "tokens": _tokens,
    "float": _tokens,
    "exact": _exact,
    "lines": _lines,
    "livecodebench": _live_code_bench,
    "apps": _apps,
    "taco": _taco,
    "prime": _prime,
    "codecontests": _code_contests,
}
