"""What an answer is called, and which letters it holds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .tree import Apply, Group, Node, Num, Quantity, Relation, Sym


def is_name(node: Node) -> bool:
    """A variable, ``f(x)``, or a point ``(x, y)``: what an answer may be called."""
    if isinstance(node, Sym):
        return node.name not in ("pi", "e", "i", "inf")
    if isinstance(node, Apply) and node.name == "*" and len(node.args) == 2:
        head, rest = node.args
        if isinstance(head, Apply) and head.name == "^":  # the inverse of f
            head = head.args[0]
        return isinstance(head, Sym) and (is_name(rest) or isinstance(rest, Num))
    if isinstance(node, Group) and node.kind in ("tuple", "ratio"):
        return all(map(is_name, node.items))
    if isinstance(node, Apply) and node.name == "^":
        return _is_inverse_matrix(*node.args)
    if isinstance(node, Apply) and node.name == "abs":
        return is_name(node.args[0])
    return False


def _is_inverse_matrix(base: Node, exponent: Node) -> bool:
    """``A^{-1}``: of a matrix; a small letter is a number."""
    minus_one = exponent == Apply("neg", (Num(Fraction(1)),)) or exponent == Num(Fraction(-1))
    return minus_one and isinstance(base, Sym) and base.name.isupper()


def variables(node: Node) -> set[str]:
    if isinstance(node, Apply):
        return set().union(*map(variables, node.args))
    return {node.name} if isinstance(node, Sym) and is_name(node) else set()


def is_label(node: Node) -> bool:
    return isinstance(node, Quantity) and isinstance(node.value, Sym)


def is_constant(node: Node) -> bool:
    if isinstance(node, Quantity):
        return is_constant(node.value)
    if isinstance(node, Apply):
        return all(map(is_constant, node.args))
    return isinstance(node, Num) or (isinstance(node, Sym) and node.name in ("pi", "e", "i"))


def is_fraction(node: Node) -> bool:
    """``5/16``: of whole numbers, in lowest terms."""
    if isinstance(node, Apply) and node.name == "neg":
        return is_fraction(node.args[0])
    if not (isinstance(node, Apply) and node.name == "/"):
        return False
    above, below = node.args
    if not (isinstance(above, Num) and isinstance(below, Num) and below.value):
        return False
    ratio = above.value / below.value
    return ratio.denominator == below.value and ratio.numerator == above.value


def is_worked(sides: Sequence[Node]) -> bool:
    """``x + y = 8 + 9 = 17``: an expression in several variables, put in, worked out."""
    head, *steps = sides
    if len(steps) < 2 or not isinstance(head, Apply):
        return False
    return len(variables(head)) > 1 and all(map(is_constant, steps))


def is_counter(sides: Sequence[Node]) -> bool:
    """``i = 3``: a variable of that name, and not the imaginary unit."""
    return len(sides) == 2 and sides[0] == Sym("i") and isinstance(sides[1], Num)


def is_called(sides: Sequence[Node]) -> bool:
    """Whether the first side only says what the others are the value of."""
    head = sides[0]
    return is_name(head) or is_label(head) or is_worked(sides) or is_counter(sides)


def is_asked(relation: Relation) -> bool:
    """``a + d = 2k``, ``z^3 = -1``: the value of a sum or power, which holds none of its letters.

    ``2x = 5`` is an equation that is not solved, and ``2x + z = 1`` is a plane.
    """
    head = relation.sides[0]
    value = relation.sides[-1]
    if relation.operators != ("=",) or not isinstance(head, Apply) or isinstance(value, Group):
        return False
    if head.name == "/":
        named = all(map(_is_segment, head.args))
    elif head.name == "^":
        named = isinstance(head.args[0], Sym) and isinstance(head.args[1], Num)
    else:
        named = head.name == "+" and all(isinstance(arg, Sym) for arg in head.args)
        named = named and len(set(head.args)) == len(head.args)
    inside = variables(head)
    return named and bool(inside) and not inside & variables(relation.sides[1])


def _is_segment(node: Node) -> bool:
    """``AB``: the length between two points."""
    if not isinstance(node, Apply) or node.name != "*" or len(node.args) != 2:
        return False
    return all(isinstance(arg, Sym) and arg.name.isupper() for arg in node.args)


def in_the_same_letter(a: Relation, b: Relation) -> Relation:
    """``f(z) = z`` as ``f(x) = x`` beside an ``f(x)``."""
    first, second = _argument(a), _argument(b)
    if first is None or second is None or first == second:
        return b
    if first[0] != second[0] or first[1].name in variables(b.sides[1]):
        return b
    sides = (a.sides[0], replaced(b.sides[1], second[1], first[1]))
    return Relation(sides, b.operators)


def _argument(relation: Relation) -> tuple[Node, Sym] | None:
    """``f`` and ``x`` of ``f(x) = ...``."""
    head = relation.sides[0]
    if len(relation.sides) != 2 or not is_name(head) or not isinstance(head, Apply):
        return None
    if head.name != "*" or not isinstance(head.args[1], Sym):
        return None
    return head.args[0], head.args[1]


def replaced(node: Node, old: Sym, new: Node) -> Node:
    """``node`` with something else in place of a letter."""
    if node == old:
        return new
    if isinstance(node, Apply):
        return Apply(node.name, tuple(replaced(arg, old, new) for arg in node.args))
    return node
