"""Where two formulas are compared: real points, whole numbers, primes.

The draws are fixed by the names of the letters, so that a verdict is always the same. Two formulas
in real letters are compared around 1, between 0 and 1, below 0 and around 25, and where some
letters are below zero and some above; letters that stand for whole numbers from 1 to 60, at powers
and multiples, one more and one less; those under ``floor`` and the like that may be any number, at
steps of a twelfth too.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

#: (lowest value, what the draw is divided by): the first four tell most formulas apart.
_RANGES = ((2027, 4049), (1, 9001), (-11000, 4057), (20260, 1013))
#: More of them, for formulas that are real at few: within (-1, 1), around 5 and -7, around 100.
_RARE = ((1, 17000), (-8100, 8111), (4000, 13001), (-8090, 30011), (40100, 8111), (-60100, 8111),
         (200100, 2011), (2030, 30011))  # fmt: skip
_SIGNS = 8  # places where the sign of a letter is a bit of its digest
_MIXED = 4  # of those that are used
_CONSTANTS = frozenset(("pi", "e", "i"))
_MOST = 160  # whole numbers that one letter stands for
_LARGEST = 5_000
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83,
           89, 97, 101, 103, 107, 109, 113, 127, 131, 257, 997)  # fmt: skip
_POWERS = (64, 81, 100, 121, 125, 128, 216, 243, 256, 343, 512, 625, 729, 1000, 1024)
_TWELFTHS = (
    *(0, 6, 12, 24, -12, -6, 3, 4, 8, 9, 18, 30, 36, 60, -24, -3, -4, -8, -9, 1, 2, 5, 7, 10),
    *(11, 13, 15, 16, 20, 21, 23, 25, -1, -5, -7, -11, -13, -18, -30, -36, 42, 48, 72, 120),
)
_STEPS = (1, 7, 11, 13, 17, 19, 23)


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Values for letters.

    Args:
        values: of each letter.
        real: a part that has no real value has none at all.
        whole: some letters are whole numbers; values next to one are rounded to it.
    """

    values: Mapping[str, Fraction]
    real: bool = True
    whole: bool = False

    @property
    def below(self) -> bool:
        """Whether a letter is below zero."""
        return any(value < 0 for value in self.values.values())


#: Where there are no letters.
NOWHERE = Place({}, real=False)


def _drawn(name: str, number: int, low: int, scale: int) -> Fraction:
    return Fraction(low + zlib.crc32(f"{name}:{number}".encode()) % 8081, scale)


def _signed(name: str, bit: int) -> Fraction:
    sign = -1 if zlib.crc32(name.encode()) >> bit & 1 else 1
    return sign * _drawn(name, len(_RANGES) + bit, 2027, 4051)


@lru_cache(512)
def real_places(
    names: frozenset[str], positive: frozenset[str] = frozenset()
) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """Return the places for formulas in ``names``, and more where few of those are real.

    Two letters that are always of one sign would hide the difference of ``a/b`` and ``|a/b|``:
    of the places where the sign of each is a bit of its digest, those are taken that tell names
    apart.
    """
    names = names - _CONSTANTS
    digests = [zlib.crc32(name.encode()) for name in names]
    mixed = [bit for bit in range(_SIGNS) if len({digest >> bit & 1 for digest in digests}) == 2]
    usual = [{n: _drawn(n, at, *where) for n in names} for at, where in enumerate(_RANGES)]
    usual += [{n: _signed(n, bit) for n in names} for bit in mixed[:_MIXED]]
    rare = [{n: _drawn(n, 20 + at, *where) for n in names} for at, where in enumerate(_RARE)]
    return _of(usual, positive), _of(rare, positive)


def _of(draws: Sequence[dict[str, Fraction]], positive: frozenset[str]) -> tuple[Place, ...]:
    return tuple(
        Place({n: abs(value) if n in positive else value for n, value in draw.items()})
        for draw in draws
    )


@lru_cache(512)
def complex_places(names: frozenset[str]) -> tuple[Place, ...]:
    """Return the usual places, where values may be complex; all letters are positive at three."""
    usual, _ = real_places(names)
    return tuple(Place(place.values, real=False) for place in usual)


# -- whole numbers


def whole_numbers(constants: Sequence[int], least: int = 1, below: bool = False) -> list[Fraction]:
    """Return 1 to 60, then powers and multiples of ``constants``, one more and one less.

    ``below``: some that are not positive, too.
    """
    near = [m for c in constants for m in (c, 2 * c, 3 * c, 7 * c, c * c, c**3)]
    around = [value + step for value in (*near, *_POWERS) for step in (-1, 0, 1)]
    kept = [value for value in (*range(1, 61), *around) if least <= value <= _LARGEST]
    signed = [0, -1, -2, -3, -4, -5, -6, -9, -10, -25] if below else []
    return [Fraction(value) for value in dict.fromkeys((*signed, *kept))][:_MOST]


def primes(least: int = 2) -> list[Fraction]:
    return [Fraction(value) for value in _PRIMES if value >= least]


def twelfths() -> list[Fraction]:
    return [Fraction(value, 12) for value in _TWELFTHS]


def whole_places(
    choices: Mapping[str, Sequence[Fraction]], others: frozenset[str], real: bool
) -> Iterator[Place]:
    """Yield places where the letters of ``choices`` take their values, and ``others`` real ones.

    Of two or three letters all small values meet each other; of more, values that are far apart.
    """
    names = sorted(choices)
    usual, _ = real_places(others)
    for number, values in enumerate(_met([choices[name] for name in names])):
        drawn = usual[number % len(usual)].values
        yield Place({**drawn, **dict(zip(names, values, strict=True))}, real, whole=True)


def _met(choices: Sequence[Sequence[Fraction]]) -> Iterator[tuple[Fraction, ...]]:
    if len(choices) == 1:
        yield from ((value,) for value in choices[0])
        return
    few = {2: 7, 3: 4}.get(len(choices), 0)
    yield from product(*(values[:few] for values in choices)) if few else ()
    for number in range(1, 101):
        yield tuple(
            values[(number * _STEPS[at % len(_STEPS)] + at * at) % len(values)]
            for at, values in enumerate(choices)
        )
