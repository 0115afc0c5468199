"""Other ways to read two answers that differ as they stand."""

from __future__ import annotations

from collections.abc import Iterator

from .renaming import renamed
from .said import Said
from .tree import Apply, Node, Num, changed, parts

_LARGEST = 120  # parts of both answers together: each reading is a comparison


def readings(
    gold: Node, answer: Node, texts: tuple[str, str], said: Said
) -> Iterator[tuple[Node, Node]]:
    """Yield pairs that say the same as ``gold`` and ``answer`` may: equal if one of them is."""
    if isinstance(gold, Num) or _size(gold) + _size(answer) > _LARGEST:
        return
    for other in renamed(gold, answer, texts, said):
        yield gold, other
    if said.letters is not None and not said.based and _has(gold, "log") and not _has(gold, "ln"):
        yield changed(gold, _natural), changed(answer, _natural)


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
