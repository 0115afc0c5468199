"""Whether two scalars are the same, at the places where their letters have values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from .limits import MAX_SAMPLED, Overworked, Unreadable
from .operations import is_real
from .places import (
    Place,
    complex_places,
    primes,
    real_places,
    twelfths,
    whole_numbers,
    whole_places,
)
from .said import Said
from .tree import Call, Node, Num, Sym
from .value import Evaluator, agree, rounds_to

_CONSTANTS = frozenset(("pi", "e", "i"))
_VALUELESS = frozenset(("inf", "\\ldots", "reals", "integers", "otherwise"))
_ROUNDING = frozenset(("floor", "ceil", "gcd", "lcm", "!", "!!", "binom"))
_WHOLE = frozenset("nkmj")  # that stand for whole numbers where such functions are
_ENOUGH = 2  # places where two formulas must have been compared
_RARELY = 3  # fewer than these, and more places are tried
_ENOUGH_WHOLE = 8


def names_of_scalar(node: Node) -> frozenset[str]:
    """The letters and constants of a scalar."""
    if isinstance(node, Sym):
        return frozenset((node.name,))
    if isinstance(node, Call):
        return frozenset().union(*map(names_of_scalar, node.args))
    return frozenset()


class Scalars:
    """Compares scalars within the work of one verdict; ``doubt`` says what stood in the way."""

    def __init__(self, said: Said) -> None:
        self.evaluator = Evaluator()
        self.doubt = ""
        self._said = said
        self._sampled: Evaluator | None = None
        self._names: dict[int, tuple[frozenset[str], Node]] = {}

    def agreeing(self, a: Node, b: Node) -> bool:
        names = self._names_of(a) | self._names_of(b)
        if names & _VALUELESS:
            return False
        try:
            if not names - _CONSTANTS:
                return self._equal(a, b)
            return self._identical(a, b, names)
        except Unreadable as error:
            self.doubt = str(error)
            return False

    def _names_of(self, node: Node) -> frozenset[str]:
        found = self._names.get(id(node))
        if found is None:  # the node is kept, so that no other can get its id
            found = self._names[id(node)] = (names_of_scalar(node), node)
        return found[0]

    def _equal(self, a: Node, b: Node) -> bool:
        left, right = self.evaluator.value(a), self.evaluator.value(b)
        return agree(left, right) or rounds_to(left, b) or rounds_to(right, a)

    def _identical(self, a: Node, b: Node, names: frozenset[str]) -> bool:
        letters = names - _CONSTANTS
        rounded = (_rounded(a) | _rounded(b)) & letters
        whole = self._whole(letters, rounded)
        if not (whole or rounded):
            return self._same_reals(a, b, names)
        if not self._same_whole(a, b, names, whole, rounded - whole):
            return False
        return bool(whole) or self._same_reals(a, b, names)

    def _whole(self, letters: frozenset[str], rounded: frozenset[str]) -> frozenset[str]:
        said = (self._said.whole | self._said.primes) & letters
        return said | {name for name in rounded if name.partition("_")[0] in _WHOLE}

    # --- letters that are any number

    def _same_reals(self, a: Node, b: Node, names: frozenset[str]) -> bool:
        """Equal wherever both are real; if that is nearly nowhere, where they are complex."""
        usual, rare = real_places(names, self._said.positive & names)
        if "i" in names:
            return self._compared(a, b, complex_places(names), self.evaluator) >= _ENOUGH
        count = self._compared(a, b, usual, self.evaluator)
        if 0 <= count < _RARELY:
            more = self._compared(a, b, rare, self.evaluator)
            count = more if more < 0 else count + more
        if 0 <= count < _ENOUGH:
            count = self._compared(a, b, complex_places(names), self.evaluator)
        return count >= _ENOUGH

    def _compared(self, a: Node, b: Node, places: Iterable[Place], evaluator: Evaluator) -> int:
        """Return at how many places ``a`` and ``b`` agree; -1 if they differ at one."""
        count, doubt = 0, ""
        for place in places:
            try:
                left, right = evaluator.value(a, place), evaluator.value(b, place)
            except Overworked:
                raise
            except Unreadable as error:
                doubt = str(error)
                continue
            if not place.real and place.below and not (is_real(left) and is_real(right)):
                continue
            if not agree(left, right):
                self.doubt = ""
                return -1
            count += 1
        self.doubt = "" if count >= _ENOUGH else doubt
        return count

    # --- letters that are whole numbers

    def _same_whole(
        self,
        a: Node,
        b: Node,
        names: frozenset[str],
        whole: frozenset[str],
        stepped: frozenset[str],
    ) -> bool:
        """Equal at whole numbers; letters that are only rounded take fractions too."""
        if self._sampled is None:
            self._sampled = Evaluator(MAX_SAMPLED)
        choices = self._choices(whole, sorted(_constants(a) | _constants(b)))
        choices |= {name: twelfths() for name in stepped}
        others = names - _CONSTANTS - frozenset(choices)
        places = whole_places(choices, others, real="i" not in names)
        count = self._compared(a, b, places, self._sampled)
        if 0 <= count < _ENOUGH_WHOLE:
            self.doubt = "too few whole numbers at which both are defined"
        return count >= _ENOUGH_WHOLE

    def _choices(
        self, whole: frozenset[str], constants: Sequence[int]
    ) -> dict[str, Sequence[Fraction]]:
        said = self._said
        found: dict[str, Sequence[Fraction]] = {}
        for name in whole:
            if name in said.primes:
                found[name] = primes(said.least.get(name, 2))
            else:
                found[name] = whole_numbers(constants, said.least.get(name, 1), name in said.below)
        return found


def _rounded(node: Node) -> frozenset[str]:
    """The letters under floor, ceiling, factorial and the like, and in powers of ``-1``."""
    if not isinstance(node, Call):
        return frozenset()
    if node.name in _ROUNDING:
        return names_of_scalar(node)
    inner = frozenset().union(*map(_rounded, node.args))
    base = node.args[0]
    if node.name == "^" and isinstance(base, Num) and base.value < 0:
        return inner | names_of_scalar(node.args[1])
    return inner


def _constants(node: Node) -> set[int]:
    """The whole numbers in a formula that its steps may depend on."""
    if isinstance(node, Call):
        return set().union(*map(_constants, node.args))
    if not isinstance(node, Num):
        return set()
    return {value for value in node.value.as_integer_ratio() if 2 <= abs(value) <= 1000}
