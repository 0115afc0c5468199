"""Letters that an answer may call as it likes: constants of integration, parameters, k of ``k pi``.

Renaming is one to one, and only for letters that stand neither in the question nor on the right
answer's left side. Without a question it is only for letters that are surely such: see ``_kind``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations

from .names import is_name
from .places import CONSTANTS
from .said import Said
from .tree import Apply, Group, Node, Num, Relation, Sym, changed, parts

_CONSTANTS = frozenset(("C", "c", "K"))
_SCALING = frozenset(("A", "B", "D"))  # constants too, where they are factors of e^x and the like
_GROWING = frozenset(("sin", "cos", "sinh", "cosh", "ln"))
_INTEGERS = frozenset("knm")
_PARAMETERS = frozenset(("s", "t", "r", "u", "v", "lambda", "mu", *_INTEGERS))
_DUMMIES = _CONSTANTS | _INTEGERS | frozenset(("j", "s", "t", "lambda", "mu"))
_VARIABLES = frozenset(("x", "y", "z", "t", "u", "v", "s", "r", "theta", "e", "i", "pi"))
_NUMBERED = re.compile(r"[CcK]_\d")
_PRODUCTS = frozenset(("*", "/", "neg", "^"))
_INTEGER = re.compile(
    r"([A-Za-z])\s*\\in\s*\\(?:mathbb\s*\{?\s*Z|Z(?![a-z]))"
    r"|([A-Za-z]) is (?:an |any )?(?:arbitrary )?integer|(?:integers?) ([A-Za-z])(?![A-Za-z])"
)
_MOST = 3  # letters


def renamed(gold: Node, answer: Node, texts: tuple[str, str], said: Said) -> Iterator[Node]:
    """Yield ``answer`` with letters of its own called as in ``gold``, in each way that is allowed.

    ``texts`` are those of both: what says that k is an integer is not in the trees.
    """
    names, others = _names(gold), _names(answer)
    both = set(filter(_NUMBERED.fullmatch, names & others))  # C_1 and C_2 may change places
    named, called = (
        names - _left(gold),
        others - _left(answer),
    )  # x of "x = k pi" is no letter of it
    mine, theirs = sorted(called - names | both), sorted(named - others | both)
    if not mine or len(mine) != len(theirs) or len(mine) > _MOST:
        return
    if any(name in _left(gold) for name in theirs) or any(name in _left(answer) for name in mine):
        return
    for order in permutations(theirs):
        pairs = dict(zip(mine, order, strict=True))
        if all(_allowed(a, b, (answer, gold), texts[::-1], said) for a, b in pairs.items()):
            yield changed(answer, lambda node, pairs=pairs: _other(node, pairs))  # type: ignore[misc]


def shifted(gold: Node, answer: Node, texts: tuple[str, str], said: Said) -> Iterator[Node]:
    """Yield ``answer`` with a free integer counted from elsewhere: ``3k-1`` beside ``3k+2``."""
    for name in sorted(_names(gold) & _names(answer) & _INTEGERS - (said.letters or set())):
        pairs = zip((gold, answer), texts, strict=True)
        if not all(_kind(name, tree, text) == "integer" for tree, text in pairs):
            continue
        for start, step in ((0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
            term = Apply("*", (Num(Fraction(step)), Sym(name)))
            yield _counted_as(answer, Sym(name), Apply("+", (term, Num(Fraction(start)))))


def _counted_as(node: Node, letter: Sym, value: Node) -> Node:
    """``node`` with ``value`` for a letter."""
    return changed(node, lambda part: value if part == letter else None)


def _other(node: Node, pairs: dict[str, str]) -> Node | None:
    return Sym(pairs[node.name]) if isinstance(node, Sym) and node.name in pairs else None


def _allowed(
    name: str, other: str, trees: tuple[Node, Node], texts: tuple[str, str], said: Said
) -> bool:
    kinds = _kind(name, trees[0], texts[0]), _kind(other, trees[1], texts[1])
    if name == other:
        return True
    if said.letters is None:
        return kinds[0] == kinds[1] != "" and not {name, other} & _SCALING
    if name in said.letters or other in said.letters:
        return False
    if kinds[0] == kinds[1] != "":
        return True
    # Where letters come that the question has not, it is in words: all of them mean something.
    rest = _names(trees[1]) - _left(trees[1]) - CONSTANTS - {other}
    return rest <= said.letters and all(map(_is_dummy, (name, other), trees))


def _kind(name: str, tree: Node, text: str) -> str:
    """What kind of free letter ``name`` surely is: ``""`` if it may be anything."""
    if name in _INTEGERS and (_turns(name, tree) or _is_integer(name, text)):
        return "integer"
    if _NUMBERED.fullmatch(name) or _is_integration_constant(name, tree):
        others = {one.partition("_")[0] for one in _names(tree)} - _CONSTANTS - _SCALING
        return "constant" if others <= _VARIABLES else ""
    repeated = isinstance(tree, Group) and tree.kind == "tuple" and _places(name, tree) > 1
    return "parameter" if repeated and name in _PARAMETERS and _names(tree) <= _PARAMETERS else ""


def _places(name: str, tree: Group) -> int:
    """In how many members a letter stands: two of ``(t, 2t)``, one of ``(m, n)``."""
    return sum(name in _names(item) for item in tree.items)


def _is_integer(name: str, text: str) -> bool:
    return any(name in match.groups() for match in _INTEGER.finditer(text))


def _turns(name: str, node: Node) -> bool:
    """Whether ``name`` is a factor beside pi, or in a sum that is, with no other letter."""
    inside = parts(node)
    if isinstance(node, Apply) and node.name in ("*", "/") and _names(node) == {name, "pi"}:
        return True
    return any(_turns(name, part) for part in inside)


def _is_integration_constant(name: str, tree: Node) -> bool:
    """Whether ``name`` is surely a constant of integration: ``x^2 + C``, ``A e^x``."""
    if name in _CONSTANTS and _is_added(name, tree):
        return True
    return name in _CONSTANTS | _SCALING and _scales(name, tree)


def _scales(name: str, node: Node) -> bool:
    """``C e^{2x}``, ``A \\cos x + B \\sin x``: a factor of a function of a variable."""
    if isinstance(node, Apply) and node.name == "*" and Sym(name) in node.args:
        return any(map(_is_growing, node.args))
    if isinstance(node, Relation) or (isinstance(node, Apply) and node.name in ("+", "neg")):
        return any(_scales(name, part) for part in parts(node))
    return False


def _is_growing(node: Node) -> bool:
    if not isinstance(node, Apply):
        return False
    if node.name == "^":
        return node.args[0] == Sym("e") and bool(_names(node.args[1]) & _VARIABLES)
    return node.name in _GROWING and bool(_names(node) & _VARIABLES)


def _is_added(name: str, node: Node) -> bool:
    """``x^2 + C``, also as the side of an equation."""
    if isinstance(node, Relation):
        return any(_is_added(name, side) for side in node.sides)
    return isinstance(node, Apply) and node.name == "+" and Sym(name) in node.args


def _is_dummy(name: str, tree: Node) -> bool:
    """Whether a letter that the question has not may be called otherwise: no unit, no choice."""
    known = name in _DUMMIES or bool(_NUMBERED.fullmatch(name)) or _runs(name, tree)
    return known and _is_in_formula(tree)


def _runs(name: str, tree: Node) -> bool:
    """Whether a tuple, or what a tuple of names is said to be, runs with this letter alone."""
    value = tree.sides[-1] if isinstance(tree, Relation) else tree
    if not isinstance(value, Group) or value.kind != "tuple":
        return False
    return _names(value) - CONSTANTS == {name} and _places(name, value) > 1


def _is_in_formula(node: Node) -> bool:
    """Whether there is a sum or a function: ``5m`` may be five metres, ``A, C`` two choices."""
    if isinstance(node, Relation):
        return any(map(_is_in_formula, node.sides))
    if isinstance(node, Group) and node.kind in ("tuple", "set"):
        return any(isinstance(item, Apply) and _names(item) for item in node.items)
    if isinstance(node, Apply) and node.name not in _PRODUCTS:
        return True
    return any(map(_is_in_formula, parts(node)))


def _left(node: Node) -> set[str]:
    """The letters on the left side of an equation, where that is a name."""
    if isinstance(node, Relation) and is_name(node.sides[0]):
        return _names(node.sides[0])
    if isinstance(node, Group):
        return set().union(*map(_left, node.items))
    return set()


def _names(node: Node) -> set[str]:
    if isinstance(node, Sym):
        return {node.name}
    return set().union(*map(_names, parts(node)))
