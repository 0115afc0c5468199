"""What the rules for relations need of the comparer, which needs them: they meet here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .tree import Group, Node
from .value import Evaluator


class Comparing(Protocol):
    """Compares answers; ``doubt`` says what it could not decide."""

    evaluator: Evaluator
    doubt: str

    def same(self, a: Node, b: Node) -> bool: ...

    def same_scalar(self, a: Node, b: Node) -> bool: ...

    def same_all(self, a: Sequence[Node], b: Sequence[Node]) -> bool: ...

    def same_any_order(self, a: Sequence[Node], b: Sequence[Node]) -> bool: ...

    def members(self, group: Group) -> list[Node]: ...
