"""One form for all ways of writing a formula that change nothing.

``canon`` takes away brackets, order, the place of signs, ``+0``, ``1\\cdot`` and ``--``, and works
nothing out: ``2(x+1)`` and ``(1+x)\\cdot 2`` have one form, ``2x+2`` has another. A form is a tuple
that begins with what it is:

    ("n", value)   ("s", name)   ("+", *terms)   ("*", sign, factors above, factors below)
    ("^", base, exponent)   ("root", inside, degree)   ("rel", signs, *sides)
    ("set", *items)   ("unit", value, unit)   (name of a function or group, *arguments)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from .names import is_name
from .tree import Apply, Group, Interval, Matrix, Node, Num, Quantity, Relation, Sym

Form = tuple[Any, ...]

ZERO: Form = ("n", Fraction(0))
ONE: Form = ("n", Fraction(1))
_UNORDERED = ("set", "list", "union")
_CONSTANTS = {"pi", "e", "i", "inf"}


def canon(node: Node) -> Form:
    """Return the form of ``node``."""
    if isinstance(node, Num):
        return ("n", node.value)
    if isinstance(node, Sym):
        return ("s", node.name)
    if isinstance(node, Apply):
        args = [canon(arg) for arg in node.args]
        rule = _RULES.get(node.name)
        return rule(args) if rule else (node.name, *args)
    if isinstance(node, Relation):
        return _relation(node)
    if isinstance(node, Quantity):
        value = canon(node.value)
        return ("deg", value) if node.unit == "degree" else ("unit", value, ("s", node.unit))
    return _several(node)


def _several(node: Node) -> Form:
    if isinstance(node, Group):
        items = [canon(item) for item in node.items]
        if len(items) == 1 and node.kind in ("set", "list"):
            return items[0]  # {x} is x
        return ("set", *_ordered(items)) if node.kind in _UNORDERED else (node.kind, *items)
    if isinstance(node, Interval):
        kind = f"{'(' if node.low_open else '['}{')' if node.high_open else ']'}"
        return (kind, canon(node.low), canon(node.high))
    if isinstance(node, Matrix):
        return ("matrix", *(("tuple", *map(canon, row)) for row in node.rows))
    return ("s", repr(node))


def _relation(node: Relation) -> Form:
    sides = [_side(side) for side in node.sides]
    signs, back = " ".join(node.operators).replace(">", "<"), node.operators[0][0] == ">"
    if "<" not in signs:
        sides = _ordered(sides)
    elif back:
        sides.reverse()
    return ("rel", ("s", signs), *sides)


def _side(node: Node) -> Form:
    """A side of a relation; ``f(x)`` is one name."""
    return ("s", repr(node)) if isinstance(node, Apply) and is_name(node) else canon(node)


def _ordered(forms: Sequence[Form]) -> list[Form]:
    return sorted(forms, key=repr)


# -- sums and products


def _sum(terms: Sequence[Form]) -> Form:
    flat = [t for term in terms for t in (term[1:] if term[0] == "+" else (term,))]
    idle = [t for t in flat if t[0] == "*" and ZERO in t[2]]  # + 0x
    flat = [t for t in flat if t != ZERO and t not in idle]
    if len(flat) < 2:
        kept: Form = [*flat, *idle, ZERO][0]
        return kept
    return ("+", *sorted(flat, key=lambda term: repr(_unsigned(term))))


def _unsigned(term: Form) -> object:
    if term[0] == "n":
        return ("n", abs(term[1]))
    return term[2:] if term[0] == "*" else ((term,), ())


def negated(form: Form) -> Form:
    """Return ``-form``; a sum changes the sign of every term."""
    if form[0] == "n":
        return ("n", -form[1])
    if form[0] == "deg":
        return ("deg", negated(form[1]))
    if form[0] == "+":
        return _sum([negated(term) for term in form[1:]])
    if form[0] == "*":
        return ("*", -form[1], *form[2:]) if _is_numeric(form) else _made(-form[1], *form[2:])
    return _made(-1, (form,), ())


def _product(above: Sequence[Form], below: Sequence[Form] = ()) -> Form:
    sign = 1
    parts: tuple[list[Form], list[Form]] = ([], [])
    todo = [(factor, 0) for factor in above] + [(factor, 1) for factor in below]
    while todo:
        factor, place = todo.pop()
        if _begins_below_zero(factor) and (todo or parts[0] or parts[1]):
            factor, sign = negated(factor), -sign  # 4(n-5) and -4(5-n)
        factor = _as_quotient(factor)
        if factor[0] == "*":
            sign *= factor[1]
            todo += [(f, place) for f in factor[2]] + [(f, 1 - place) for f in factor[3]]
        elif factor != ONE:
            parts[place].append(factor)
    return _made(sign, tuple(_ordered(parts[0])), tuple(_ordered(parts[1])))


def _times(args: Sequence[Form]) -> Form:
    """A product; of numbers it is no number yet: ``6 \\cdot (-1)``."""
    args = [arg for arg in args if arg != ONE]
    if len(args) == 1:
        return args[0]
    found = _product(args)
    return _unreduced(found[1]) if found[0] == "n" and sum(map(_is_numeric, args)) > 1 else found


def _over(args: Sequence[Form]) -> Form:
    """A quotient; of fractions it is no number yet."""
    above, below = args
    if below == ONE:
        return above
    found = _product((above,), (below,))
    whole = all(arg[0] == "n" and arg[1].denominator == 1 for arg in args)
    return found if found[0] != "n" or whole else _unreduced(found[1])


def _is_numeric(form: Form) -> bool:
    return form[0] == "n" or (form[0] == "*" and all(part[0] == "n" for part in parts(form)))


def _unreduced(value: Fraction) -> Form:
    top, bottom = abs(value).as_integer_ratio()
    return ("*", -1 if value < 0 else 1, (("n", Fraction(top)),), (("n", Fraction(bottom)),))


def _begins_below_zero(form: Form) -> bool:
    return form[0] == "+" and form[1][0] in ("n", "*") and form[1][1] < 0


def _as_quotient(form: Form) -> Form:
    """``-3/4`` as a product, so that it may stand in one."""
    if form[0] != "n" or (form[1] >= 0 and form[1].denominator == 1):
        return form
    top, bottom = form[1].as_integer_ratio()
    below = (("n", Fraction(bottom)),) if bottom > 1 else ()
    return ("*", -1 if top < 0 else 1, (("n", Fraction(abs(top))),), below)


def _made(sign: int, above: tuple[Form, ...], below: tuple[Form, ...]) -> Form:
    """A product; a fraction in lowest terms is a number."""
    if len(above) < 2 and len(below) < 2 and all(f[0] == "n" for f in above + below):
        top, bottom = (part[0][1] if part else Fraction(1) for part in (above, below))
        if bottom and (top / bottom).denominator == bottom:
            return ("n", sign * top / bottom)
    if len(above) == 1 and not below and (sign == 1 or above[0][0] == "+"):
        return above[0] if sign == 1 else negated(above[0])
    return ("*", sign, above, below)


def _power(args: Sequence[Form]) -> Form:
    base, exponent = args
    value = exponent[1] if exponent[0] == "n" else Fraction(0)
    if value == 1:
        return base
    if value > 0 and value.numerator == 1:
        return ("root", base, ("n", 1 / value))
    return ("^", base, exponent)


_RULES: dict[str, Callable[[list[Form]], Form]] = {
    "+": _sum,
    "*": _times,
    "^": _power,
    "neg": lambda args: negated(args[0]),
    "/": _over,
}


# -- what a form is made of


def parts(form: Form) -> Sequence[Form]:
    if form[0] in ("n", "s"):
        return ()
    return (*form[2], *form[3]) if form[0] == "*" else form[1:]


def within(form: Form) -> Iterator[Form]:
    """``form`` and all that it is made of."""
    todo = [form]
    while todo:
        one = todo.pop()
        yield one
        todo += parts(one)


def letters(form: Form) -> set[str]:
    """The names of variables in ``form``."""
    return {one[1] for one in within(form) if one[0] == "s"} - _CONSTANTS


def alone(form: Form) -> set[str]:
    """The letters that are a side of a relation, and are not in its other sides."""
    sides = set(form[2:]) if form[0] == "rel" else set()
    return {
        side[1]
        for side in sides
        if side[0] == "s" and not any(side[1] in letters(other) for other in sides - {side})
    }


def bare(form: Form) -> Form:
    """``form`` without its unit or modulus."""
    return form[1] if form[0] in ("unit", "deg", "mod") else form


def without_names(goal: Form, form: Form) -> tuple[Form, Form]:
    """Both, without what only one has: the name in ``x = 3``, the unit in ``70^\\circ``."""
    if (goal[0] == "rel") != (form[0] == "rel"):
        goal, form = _value(goal), _value(form)
    if goal[0] == form[0] == "set" and not any(item[0] == "rel" for item in goal[1:]):
        items = [_value(item) if item[0] == "rel" else item for item in form[1:]]
        form = ("set", *_ordered(items))
    if form[0] == "n":
        return bare(goal), form
    return (goal, bare(form)) if goal[0] == "n" else (goal, form)


def _value(form: Form) -> Form:
    sides = form[2:] if form[0] == "rel" else ()
    values = [side for side in sides if side[0] != "s" or side[1] in _CONSTANTS]
    if len(values) == len(sides):
        return form
    return values[-1] if values else tuple(sides[-1])
