"""Whether two scalars are the same, at the places where their letters have values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .limits import MAX_SAMPLED, Overworked, Unreadable
from .operations import is_real
from .places import (
    CONSTANTS,
    TWELFTHS,
    Place,
    Values,
    complex_places,
    large_numbers,
    primes,
    rare_places,
    real_places,
    small_numbers,
    whole_places,
    with_positive,
)
from .said import Said
from .tree import Apply, Node, Num, Sym
from .value import Evaluator, agree, rounds_to

_VALUELESS = frozenset(("inf", "\\ldots", "reals", "integers", "otherwise"))
_ROUNDING = frozenset(("floor", "ceil", "gcd", "lcm", "mod", "!", "!!", "binom"))
_STEPS = frozenset(("floor", "ceil"))
_WHOLE = frozenset("nkmj")  # that stand for whole numbers where such functions are
_ENOUGH = 2  # places where two formulas must have been compared
_RARELY = 3  # fewer than these, and more places are tried
_ENOUGH_WHOLE = 8
_LARGEST = 10**9  # of the constants whose multiples are tried
_SMALL = 16  # primes, and steps of a twelfth, that come first


def names_of_scalar(node: Node) -> frozenset[str]:
    """The letters and constants of a scalar."""
    if isinstance(node, Sym):
        return frozenset((node.name,))
    if isinstance(node, Apply):
        found = frozenset[str]().union(*map(names_of_scalar, node.args))
        return found - _bound(node)
    return frozenset()


def _bound(node: Apply) -> frozenset[str]:
    """The letter that a sum is over, which means nothing outside of it."""
    letter = node.args[0]
    return (
        frozenset((letter.name,)) if node.name == "sum" and isinstance(letter, Sym) else frozenset()
    )


class _Facts(NamedTuple):
    """A scalar, its letters and constants, and of the letters those that functions round."""

    node: Node
    names: frozenset[str]
    rounded: frozenset[str]
    stepped: frozenset[str]


class Scalars:
    """Compares scalars within the work of one verdict; ``doubt`` says what stood in the way."""

    def __init__(self, said: Said) -> None:
        self.evaluator = Evaluator()
        self.doubt = ""
        self._said = said
        self._sampled: Evaluator | None = None
        self._facts: dict[int, _Facts] = {}

    def agreeing(self, a: Node, b: Node) -> bool:
        first, second = self._facts_of(a), self._facts_of(b)
        names = first.names | second.names
        if names & _VALUELESS:
            return False
        self.evaluator.unfinished = False
        try:
            letters = names - CONSTANTS
            same = self._identical(first, second, names) if letters else self._equal(a, b)
        except Overworked:
            raise
        except Unreadable as error:
            self.doubt = str(error)
            return False
        if not same and (self.evaluator.unfinished or (self._sampled and self._sampled.unfinished)):
            self.doubt = "a sum that is not worked out"
        return same

    def _facts_of(self, node: Node) -> _Facts:
        found = self._facts.get(id(node))
        if found is None:  # the node is kept, so that no other can get its id
            rounded, stepped = _rounded(node), _rounded(node, _STEPS)
            found = _Facts(node, names_of_scalar(node), rounded - CONSTANTS, stepped - CONSTANTS)
            self._facts[id(node)] = found
        return found

    def _equal(self, a: Node, b: Node) -> bool:
        left, right = self.evaluator.value(a), self.evaluator.value(b)
        return agree(left, right) or rounds_to(left, b) or rounds_to(right, a)

    def _identical(self, first: _Facts, second: _Facts, names: frozenset[str]) -> bool:
        a, b, rounded = first.node, second.node, first.rounded | second.rounded
        whole = self._whole(names, rounded)
        if not rounded:  # what is the same for all numbers is so for whole ones
            if self._same_reals(a, b, names):
                return True
            if not whole:
                return False
        stepped = first.stepped | second.stepped
        kinds = {name: "stepped" if name in stepped else "below" for name in rounded}
        kinds |= {name: "prime" if name in self._said.primes else "whole" for name in whole}
        if not self._same_whole(a, b, names, kinds):
            return False
        return bool(whole) or self._same_reals(a, b, names)

    def _whole(self, letters: frozenset[str], rounded: frozenset[str]) -> frozenset[str]:
        said = ((self._said.whole | self._said.primes) & letters) - CONSTANTS
        return said | {name for name in rounded if name.partition("_")[0] in _WHOLE}

    # --- letters that are any number

    def _same_reals(self, a: Node, b: Node, names: frozenset[str]) -> bool:
        """Equal wherever both are real; if that is nearly nowhere, where they are complex."""
        if "i" in names:
            return self._compared(a, b, complex_places(names), names) >= _ENOUGH
        positive = self._said.positive & names
        count = self._compared(a, b, with_positive(real_places(names), positive), names)
        if 0 <= count < _RARELY:
            more = self._compared(a, b, with_positive(rare_places(), positive), names)
            count = more if more < 0 else count + more
        if 0 <= count < _ENOUGH:
            count = self._compared(a, b, complex_places(names), names)
        return count >= _ENOUGH

    def _compared(
        self,
        a: Node,
        b: Node,
        places: Iterable[Place],
        names: frozenset[str],
        evaluator: Evaluator | None = None,
    ) -> int:
        """Return at how many places ``a`` and ``b`` agree; -1 if they differ at one."""
        count, doubt = 0, ""
        value = (evaluator or self.evaluator).value
        for place in places:
            try:
                left, right = value(a, place), value(b, place)
            except Overworked:
                if count < _RARELY:
                    raise
                break  # sixty digits at three places are evidence enough
            except Unreadable as error:
                doubt = str(error)
                continue
            if not (is_real(left) and is_real(right)) and place.is_below(names):
                continue
            if not agree(left, right):
                self.doubt = ""
                return -1
            count += 1
        self.doubt = "" if count >= _ENOUGH else doubt
        return count

    # --- letters that are whole numbers

    def _same_whole(
        self, a: Node, b: Node, names: frozenset[str], kinds: Mapping[str, str]
    ) -> bool:
        """Equal at small whole numbers, then at large ones: at as many as there is work for."""
        if self._sampled is None:
            self._sampled = Evaluator(MAX_SAMPLED)
        real = "i" not in names
        first = whole_places(self._choices(kinds), real)
        before = self._sampled.work
        count = self._compared(a, b, first, names, self._sampled)
        if count >= 0:
            constants = tuple(sorted(_constants(a) | _constants(b)))
            rest = whole_places(self._choices(kinds, constants), real)
            each = (before - self._sampled.work) / len(first)
            stride = math.ceil(2 * each * len(rest) / max(self._sampled.work, 1)) or 1
            more = self._compared(a, b, rest[::stride], names, self._sampled)
            count = more if more < 0 else count + more
        if 0 <= count < _ENOUGH_WHOLE:
            self.doubt = "too few whole numbers at which both are defined"
        return count >= _ENOUGH_WHOLE

    def _choices(
        self, kinds: Mapping[str, str], constants: tuple[int, ...] | None = None
    ) -> tuple[tuple[str, Values], ...]:
        """The values of each letter: the small ones, or with ``constants`` the large ones."""
        return tuple((name, self._values(name, kinds[name], constants)) for name in sorted(kinds))

    def _values(self, name: str, kind: str, constants: tuple[int, ...] | None) -> Values:
        least = self._said.least.get(name, 1)
        if kind in ("prime", "stepped"):
            found = TWELFTHS if kind == "stepped" else primes(max(least, 2))
            return found[:_SMALL] if constants is None else found[_SMALL:]
        if constants is None:
            found = small_numbers(least, kind == "below" or name in self._said.below)
        else:
            found = large_numbers(constants, least)
        parity = self._said.parity.get(name)
        return found if parity is None else tuple(v for v in found if v % 2 == parity)


def _rounded(node: Node, functions: frozenset[str] = _ROUNDING) -> frozenset[str]:
    """The letters under ``functions``, and in powers of numbers below zero, as of ``-1``."""
    if not isinstance(node, Apply):
        return frozenset()
    if node.name in functions:
        return names_of_scalar(node)
    inner = frozenset[str]().union(*(_rounded(arg, functions) for arg in node.args)) - _bound(node)
    base = node.args[0]
    if node.name == "^" and isinstance(base, Num) and base.value < 0 and functions is _ROUNDING:
        return inner | names_of_scalar(node.args[1])
    return inner


def _constants(node: Node) -> set[int]:
    """The whole numbers in a formula that its steps may depend on."""
    if isinstance(node, Apply):
        return set().union(*map(_constants, node.args))
    if not isinstance(node, Num):
        return set()
    return {value for value in node.value.as_integer_ratio() if 2 <= value <= _LARGEST}
