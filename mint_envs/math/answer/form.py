"""Whether an answer has come as far as the right one: how much of it is still to be done.

``left(form, goal)`` counts it by kinds. What counts is where a form of the question is further from
done than the right answer: there an answer must have come as far.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from .canon import ZERO, Form, alone, letters, parts, within

#: More operations, letters and calls than the right answer has are forgiven up to this.
_SLACK = 2
_SLACKENED = ("ops", "letters", "calls")
#: What no step calls for: ``+1-1``, ``2/2``, ``x/x``, ``2^0``.
_WASTE = frozenset("ops calls arithmetic uncollected cancel nested radicand".split())
_CALM = frozenset(("n", "rel", "unit", "deg", "set", "tuple", "[]", "()", "(]", "[)", "matrix"))
_FACTORS = 40  # of one form


def behind(mine: Mapping[str, int], theirs: Mapping[str, int], best: Mapping[str, int]) -> str:
    """Return in what an answer has not come as far as the right one, or ``""``.

    Args:
        mine: what is left to do in the answer.
        theirs: in the form that the question has.
        best: in the right answer.
    """
    for name in sorted({*theirs, *best, *mine}):
        more = _SLACK if name in _SLACKENED and (best[name] or best["letters"]) else 0
        if theirs[name] > best[name] and mine[name] > best[name] + more:
            return name
        allowed = max(best[name], theirs[name]) + (more if name == "ops" else 0)
        if name in _WASTE and mine[name] > allowed:
            return f"waste: {name}"
    return ""


def left(form: Form, goal: Form) -> Counter[str]:
    """Return what is left to do in ``form``, by kinds; less is further on."""
    found = Counter(unfactored=-len(_factors(form)), terms=len(form) if form[0] == "+" else 1)
    found["unsolved"] = form[0] == "rel" and not alone(form) & (alone(goal) or alone(form))
    todo = [form]
    while todo:
        one = todo.pop()
        todo += parts(one)
        rule = _RULES.get(one[0])
        if rule:
            found.update(rule(one))
        elif one[0] not in _CALM:
            found["calls"] += 1
    return found


def is_scaled(form: Form) -> bool:
    """``3(n - 6)``: a number times a sum."""
    return form[0] == "*" and not form[3] and [factor[0] for factor in form[2]] == ["+", "n"]


def is_notation(form: Form, equation: Form) -> bool:
    """Whether ``form`` is how numbers are written, and not what an equation says to work out.

    ``1.5\\cdot 10^3``, ``2:7``; ``2^{10}`` and ``5!`` unless their numbers are the equation's.
    """
    if form[0] == "ratio":
        return len(form) == 3 and all(f[0] == "n" for f in form[1:]) and _is_in_lowest_terms(form)
    if form[0] == "*" and _is_scientific(form[2], form[3]):
        return True
    power = form[2][0] if form[0] == "*" and len(form[2]) == 1 and not form[3] else form
    if power[0] not in ("^", "!") or any(part[0] != "n" for part in power[1:]):
        return False
    return not _whole_parts(power) <= _whole_parts(equation)


def _is_in_lowest_terms(ratio: Form) -> bool:
    first, second = (part[1] for part in ratio[1:])
    whole = first.denominator == second.denominator == 1
    return whole and math.gcd(int(first), int(second)) == 1


def _is_scientific(above: Sequence[Form], below: Sequence[Form]) -> bool:
    """A number from 1 to 10 as it stands, times one power of ten; ``1.5`` is 3 over 2 here."""
    powers = [f for f in above if f[0] == "^" and f[1] == ("n", 10) and f[2][0] == "n"]
    rest = [f for f in above if f not in powers]
    if len(powers) != 1 or powers[0][2][1] == 0 or len(rest) > 1 or len(below) > 1:
        return False
    if any(f[0] != "n" for f in (*rest, *below)) or ZERO in below:
        return False
    first, over = (side[0][1] if side else 1 for side in (rest, below))
    ends = 10**20 % int(over) == 0 and math.gcd(int(first), int(over)) == 1
    return ends and bool(1 <= first / over < 10)


def _whole_parts(form: Form) -> set[int]:
    """The whole numbers in ``form``, those of its fractions too."""
    found = [one[1] for one in within(form) if one[0] == "n"]
    return {part for value in found for part in (abs(value.numerator), value.denominator)}


def _factors(form: Form) -> list[Form]:
    """The factors with letters in them, each as often as it occurs."""
    if form[0] == "*":
        return [f for part in parts(form) for f in _factors(part)][:_FACTORS]
    if form[0] == "^" and form[2][0] == "n" and form[2][1] in range(2, 20):
        return (_factors(form[1]) * int(form[2][1]))[:_FACTORS]
    return [form] if letters(form) else []


# -- what is left, by kinds of operation


def _of_sum(form: Form) -> dict[str, int]:
    kinds = {_kind(term) for term in form[1:]}
    return {"ops": len(form) - 2, "uncollected": len(form) - 1 - len(kinds)}


def _kind(term: Form) -> object:
    """Terms of one kind can be added up: ``3x`` and ``x``, 1 and 2."""
    sides = term[2:] if term[0] == "*" else ((term,), ())
    return tuple(tuple(factor for factor in side if factor[0] != "n") for side in sides)


def _of_product(form: Form) -> dict[str, int]:
    above, below = form[2:]
    bases = [_bases(above), _bases(below)]
    roots = Counter(bool(letters(f)) for f in above if f[0] == "root")  # sqrt(3) sqrt(n): sqrt(3n)
    sums = [factor for factor in above if factor[0] == "+"]
    repeated = sum(len(side) - len(set(side)) for side in bases)
    return {
        "ops": max(len(above), 1) + len(below) - 1,
        "arithmetic": _arithmetic(above, below),
        "uncollected": repeated + sum(count - 1 for count in roots.values()),
        "cancel": len(set(bases[0]) & set(bases[1])),
        "brackets": len(sums) if len(above) > 1 else 0,
        "roots": -(len(roots) == 2),
        "nested": any(part[0] == "*" and part[3] for one in sums for part in one[1:]),
        "rootbelow": sum(factor[0] == "root" or factor == ("s", "i") for factor in below),
    }


def _bases(factors: Sequence[Form]) -> list[Form]:
    """What is multiplied, powers left out: ``x`` of ``x^2``."""
    return [f[1] if f[0] == "^" and f[2][0] == "n" else f for f in factors if f[0] != "n"]


def _arithmetic(above: Sequence[Form], below: Sequence[Form]) -> int:
    """Numbers that could be multiplied or divided."""
    numbers = [[int(f[1]) for f in side if f[0] == "n"] for side in (above, below)]
    reducible = all(numbers) and math.gcd(*map(math.prod, numbers)) > 1
    return sum(len(side) > 1 for side in numbers) + reducible


def _of_power(form: Form) -> dict[str, int]:
    base, exponent = form[1:]
    power = exponent[1] if exponent[0] == "n" else Fraction(0)
    small = 0 < abs(power) < 40 and power.denominator == 1
    return {
        "ops": 1,
        "arithmetic": power == 0 == exponent[-1] or (base[0] == "n" and small),
        "uncollected": base[0] in ("^", "*", "root"),
        "brackets": base[0] == "+" and power > 1,
        "negative": power < 0,
        "calls": base == ("s", "i"),
    }


def _of_root(form: Form) -> dict[str, int]:
    degree = form[2][1] if form[2][0] == "n" else Fraction(0)
    return {"ops": 1, "roots": 1, "radicand": _reducible(form[1], degree)}


def _reducible(inside: Form, degree: Fraction) -> bool:
    """Whether something can be taken out of a root."""
    if inside[0] == "*":
        return bool(inside[3]) or any(_reducible(factor, degree) for factor in inside[2])
    if inside[0] == "n":
        square = degree == 2 and any(inside[1] % k**2 == 0 for k in range(2, 100))
        return inside[1].denominator > 1 or square
    return inside[0] == "^" and inside[2][0] == "n" and bool(inside[2][1] >= degree > 0)


_RULES: dict[str, Callable[[Form], Mapping[str, int]]] = {
    "+": _of_sum,
    "*": _of_product,
    "^": _of_power,
    "root": _of_root,
    "s": lambda _: {"letters": 1},
}
