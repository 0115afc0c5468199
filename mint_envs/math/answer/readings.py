"""Other ways to read two answers that differ as they stand."""

from __future__ import annotations

from collections.abc import Iterator

from .names import is_name
from .places import CONSTANTS
from .renaming import renamed, shifted
from .said import Said
from .tree import Apply, Based, Group, Node, Num, Relation, Sym, changed, parts

_LARGEST = 120  # parts of both answers together: each reading is a comparison


def readings(
    gold: Node, answer: Node, texts: tuple[str, str], said: Said
) -> Iterator[tuple[Node, Node]]:
    """Yield pairs that say the same as ``gold`` and ``answer`` may: equal if one of them is."""
    if said.bases and (digits := _of_one_base(gold, answer, said)):
        yield digits
    if isinstance(gold, Num) or _size(gold) + _size(answer) > _LARGEST:
        return
    if said.letters is not None and (ordered := _in_order(gold, answer)):
        yield ordered
    for other in renamed(gold, answer, texts, said):
        yield gold, other
    for other in shifted(gold, answer, texts, said):
        yield gold, other
    if said.letters is not None and not said.based and _has(gold, "log") and not _has(gold, "ln"):
        yield changed(gold, _natural), changed(answer, _natural)


def has_letters(node: Node) -> bool:
    """Whether it matters what a question says: of letters, of a base."""
    if isinstance(node, Sym):
        return node.name not in CONSTANTS
    if isinstance(node, Based):
        return True
    if isinstance(node, Apply) and node.name == "log":
        return True
    return any(map(has_letters, parts(node)))


def _in_order(gold: Node, answer: Node) -> tuple[Node, Node] | None:
    """``1, 2, 3`` beside ``(x, y, z) = (1, 2, 3)``: letters that are asked for have an order."""
    if not isinstance(gold, Group) or gold.kind != "list" or not isinstance(answer, Relation):
        return None
    told = answer.sides[-1]
    tuples = all(isinstance(side, Group) and side.kind == "tuple" for side in answer.sides)
    return (Group("tuple", gold.items), told) if tuples and is_name(answer.sides[0]) else None


def _of_one_base(gold: Node, answer: Node, said: Said) -> tuple[Node, Node] | None:
    """``664`` beside ``664_7``, where the question asks for base 7."""
    for based, plain in ((gold, answer), (answer, gold)):
        if isinstance(based, Based) and isinstance(plain, Num) and based.base in said.bases:
            return based, Based(str(plain.value), based.base)
    return None


def _size(node: Node) -> int:
    return 1 + sum(map(_size, parts(node)))


def _natural(node: Node) -> Node | None:
    """``\\log`` as ``\\ln``, where neither question nor right answer gives a base."""
    if not isinstance(node, Apply) or node.name != "log":
        return None
    return Apply("ln", tuple(changed(arg, _natural) for arg in node.args))


def _has(node: Node, name: str) -> bool:
    if isinstance(node, Apply) and node.name == name:
        return True
    return any(_has(part, name) for part in parts(node))
