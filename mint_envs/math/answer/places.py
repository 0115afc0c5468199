"""Where two formulas are compared: real points, whole numbers, primes.

The draws are fixed by the names of the letters, so that a verdict is always the same. Two formulas
in real letters are compared around 1, between 0 and 1, below 0 and around 25, and where some
letters are below zero and some above; letters that stand for whole numbers from 1 to 60, at powers
and multiples, one more and one less; those under ``floor`` and the like that may be any number, at
steps of a twelfth too.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product

CONSTANTS = frozenset(("pi", "e", "i"))

#: (lowest value, what the draw is divided by): the first four tell most formulas apart.
_RANGES = ((2027, 4049), (1, 9001), (-11000, 4057), (20260, 1013))
#: More of them, in tenths, for formulas that are real at few: most within (-1, 1).
_RARE = (
    *((-10, -9), (-9, -7), (-7, -4), (-4, 0), (0, 4), (4, 7), (7, 9), (9, 10), (10, 20)),
    *((20, 50), (50, 90), (-30, -10), (-90, -30), (90, 200), (300, 400), (1000, 1100)),
)
_SIGNS = range(4, 12)  # places where the sign of a letter is a bit of its digest
_MIXED = 4  # of those that are used
_FIRST_RARE = 20
_DRAWS = 8081
_MOST = 130  # whole numbers that one letter stands for
_LARGEST = 5_000  # of the powers of constants
_FEW = {2: 7, 3: 4}  # of so many letters all of so many values meet each other
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83,
           89, 97, 101, 103, 107, 109, 113, 127, 131, 257, 997)  # fmt: skip
_POWERS = (64, 81, 100, 121, 125, 128, 216, 243, 256, 343, 512, 625, 729, 1000, 1024)
_TWELFTHS = (
    *(0, 6, 12, 24, -12, -6, 3, 4, 8, 9, 18, 30, 36, 60, -24, -3, -4, -8, -9, 1, 2, 5, 7, 10),
    *(11, 13, 15, 16, 20, 21, 23, 25, -1, -5, -7, -11, -13, -18, -30, -36, 42, 48, 72, 120),
)
_STRIDES = (1, 7, 11, 13, 17, 19, 23)

Values = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Values for letters.

    Args:
        value: of a letter; None if it has none.
        real: a part that has no real value has none at all.
        whole: some letters are whole numbers; values next to one are rounded to it.
    """

    value: Callable[[str], Fraction | None]
    real: bool = True
    whole: bool = False

    def is_below(self, names: frozenset[str]) -> bool:
        """Whether one of ``names`` is below zero."""
        return any((self.value(name) or 0) < 0 for name in names - CONSTANTS)


#: Where there are no letters.
NOWHERE = Place(lambda name: None, real=False)
#: The same, where values are to be real or not, next to whole numbers or not.
WITHOUT = {flags: Place(NOWHERE.value, *flags) for flags in product((True, False), repeat=2)}


# -- real numbers


@lru_cache(1 << 14)
def _drawn(number: int, name: str) -> Fraction:
    """The value of a letter at a place: each has its own."""
    draw = zlib.crc32(f"{name}:{number}".encode()) % _DRAWS
    if number >= _FIRST_RARE:
        low, high = _RARE[number - _FIRST_RARE]
        return (low + Fraction(1 + draw, _DRAWS + 12) * (high - low)) / 10
    if number in _SIGNS:
        return Fraction(2027 + draw, 4051) * (-1 if _digest(name) >> number & 1 else 1)
    low, scale = _RANGES[number]
    return Fraction(low + draw, scale)


@lru_cache(1 << 12)
def _digest(name: str) -> int:
    return zlib.crc32(name.encode()) << _SIGNS.start


def _above(number: int, name: str) -> Fraction:
    return abs(_drawn(number, name))


_REAL = tuple(Place(partial(_drawn, number)) for number in range(_FIRST_RARE + len(_RARE)))
_POSITIVE = tuple(Place(partial(_above, number)) for number in range(len(_REAL)))
_COMPLEX = tuple(Place(place.value, real=False) for place in _REAL)


@lru_cache(512)
def _usual(names: frozenset[str]) -> tuple[int, ...]:
    """The numbers of the places that tell formulas in ``names`` apart.

    Two letters that are always of one sign would hide the difference of ``a/b`` and ``|a/b|``:
    of the places with signs those are taken that tell names apart.
    """
    digests = [_digest(name) for name in names - CONSTANTS]
    mixed = [bit for bit in _SIGNS if len({digest >> bit & 1 for digest in digests}) == 2]
    return (0, 1, 2, 3, *mixed[:_MIXED])


def real_places(names: frozenset[str]) -> Sequence[Place]:
    return [_REAL[number] for number in _usual(names)]


def complex_places(names: frozenset[str]) -> Sequence[Place]:
    """Return the usual places, where values may be complex; all letters are positive at three."""
    return [_COMPLEX[number] for number in _usual(names)]


def rare_places() -> Sequence[Place]:
    """Return more places, for formulas that are real at few."""
    return _REAL[_FIRST_RARE:]


def with_positive(places: Sequence[Place], positive: frozenset[str]) -> Sequence[Place]:
    """Return ``places`` with all of the letters ``positive`` above zero."""
    return [_mixed(_REAL.index(place), positive) for place in places] if positive else places


@lru_cache(512)
def _mixed(number: int, positive: frozenset[str]) -> Place:
    def value(name: str) -> Fraction:
        return (_above if name in positive else _drawn)(number, name)

    return Place(value)


# -- whole numbers


@lru_cache(64)
def whole_numbers(name: str) -> tuple[Place, ...]:
    """Return the places where one letter is a whole number from -6 to 6, or a half."""
    return tuple(
        Place(lambda letter, half=half: Fraction(half, 2) if letter == name else None)  # type: ignore[misc]
        for half in range(-12, 13)
    )


@lru_cache(256)
def small_numbers(least: int = 1, below: bool = False) -> Values:
    """Return the whole numbers to 24; ``below``: some that are not positive, too."""
    signed = (0, -1, -2, -3, -4, -5, -6, -9, -10, -25) if below else ()
    return tuple(map(Fraction, (*signed, *range(least, max(25, least + 12)))))


@lru_cache(256)
def large_numbers(constants: tuple[int, ...], least: int = 1) -> Values:
    """Return 25 to 60, then powers and multiples of ``constants``, one more and one less."""
    near = [m for c in constants for m in (c, 2 * c, 3 * c, 7 * c)]
    near += [m for c in constants for m in (c * c, c**3) if m <= _LARGEST]
    around = [value + step for value in (*near, *_POWERS) for step in (-1, 0, 1)]
    kept = [value for value in (*range(25, 61), *around) if max(25, least) <= value]
    return tuple(map(Fraction, dict.fromkeys(kept)))[:_MOST]


@lru_cache(64)
def primes(least: int = 2) -> Values:
    return tuple(Fraction(value) for value in _PRIMES if value >= least)


TWELFTHS = tuple(Fraction(value, 12) for value in _TWELFTHS)


@lru_cache(256)
def whole_places(choices: tuple[tuple[str, Values], ...], real: bool) -> tuple[Place, ...]:
    """Return places where letters take the values of ``choices``, and all others real ones.

    Of two or three letters all small values meet each other; of more, values far apart.
    """
    names = [name for name, _ in choices]
    met = _met([values for _, values in choices])
    return tuple(
        _whole_place(dict(zip(names, values, strict=True)), number % len(_RANGES), real)
        for number, values in enumerate(met)
    )


def _whole_place(values: Mapping[str, Fraction], number: int, real: bool) -> Place:
    def value(name: str) -> Fraction:
        found = values.get(name)
        return _drawn(number, name) if found is None else found

    return Place(value, real, whole=True)


def _met(choices: Sequence[Values]) -> Iterator[Values]:
    if len(choices) == 1:
        yield from ((value,) for value in choices[0])
        return
    few = _FEW.get(len(choices), 0)
    yield from product(*(values[:few] for values in choices)) if few else ()
    for number in range(1, max(map(len, choices)) + 1):
        yield tuple(
            values[(number * _STRIDES[at % len(_STRIDES)] + at * at) % len(values)]
            for at, values in enumerate(choices)
        )
