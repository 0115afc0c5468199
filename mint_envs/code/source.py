"""Test code as text with marks: pieces of it, changed here and there, without writing it anew.

Tests of published sets hold megabytes of literals: to write those from their tree takes seconds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..errors import SettingError


class Source:
    """A module of test code, and what is to be changed in it.

    Raises:
        SettingError: it does not compile.
    """

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        try:
            self.tree = ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise SettingError(f"tests: the test code does not compile: {error}") from None
        self._bytes = self.text.encode("utf-8", "surrogatepass")
        self._starts = [0]
        for line in self._bytes.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._edits: dict[tuple[int, int], bytes] = {}
        for node in self.tree.body:
            node.text = self.of(node)  # type: ignore[attr-defined]

    def range(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node's text begins and ends, decorators included."""
        first = min([node, *getattr(node, "decorator_list", ())], key=lambda n: n.lineno)
        start = self._starts[first.lineno - 1] + first.col_offset - (first is not node)
        end = self._starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def replace(self, node: ast.AST, text: str) -> None:
        self._edits[self.range(node)] = text.encode()

    def surround(self, node: ast.AST, before: str, after: str) -> None:
        start, end = self.range(node)
        for place, text in ((start, before), (end, after)):
            self._edits[place, place] = self._edits.get((place, place), b"") + text.encode()

    def of(self, node: ast.AST) -> str:
        """Return the text of a node as it is to be."""
        return self._piece(*self.range(node))

    def of_all(self) -> str:
        return self._piece(0, len(self._bytes))

    def _piece(self, at: int, end: int) -> str:
        pieces = []
        for (start, stop), new in sorted(self._edits.items()):
            if at <= start and stop <= end:
                pieces += [self._bytes[at:start], new]
                at = stop
        return b"".join([*pieces, self._bytes[at:end]]).decode("utf-8", "surrogatepass")


def nodes_in(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Walk trees, without what is inside rows of literals."""
    left = list(nodes)
    while left:
        node = left.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.Constant | ast.expr_context):
                left.append(child)


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.id for node in nodes_in(nodes) if isinstance(node, ast.Name)}
