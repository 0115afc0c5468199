"""Sums and products of matrices, worked out into one matrix as far as its cells are sums."""

from __future__ import annotations

from collections.abc import Sequence

from .limits import MAX_ITEMS, Unreadable
from .tree import Apply, Matrix, Node, Num, Sym

_LARGEST = 200  # products of cells


def matrix_sum(terms: Sequence[Node]) -> Node | None:
    """The sum of matrices of one shape; None if ``terms`` are no matrices."""
    if not all(isinstance(term, Matrix) for term in terms):
        return None
    rows = [term.rows for term in terms if isinstance(term, Matrix)]
    if len({tuple(map(len, one)) for one in rows}) != 1 or len(terms) > MAX_ITEMS:
        raise Unreadable("a sum of matrices of different shapes")
    cells = [
        [Apply("+", row) for row in zip(*lines, strict=True)] for lines in zip(*rows, strict=True)
    ]
    return Matrix(tuple(map(tuple, cells)))


def matrix_product(factors: Sequence[Node]) -> Node:
    """Numbers and matrices, multiplied in their order.

    Raises:
        Unreadable: a factor is neither, or the shapes do not fit.
    """
    scale = [one for one in factors if not isinstance(one, Matrix)]
    made: Matrix | None = None
    for one in factors:
        if isinstance(one, Matrix):
            made = one if made is None else _row_by_column(made, one)
    if made is None or not all(isinstance(one, Num | Sym | Apply) for one in scale):
        raise Unreadable("a product with a matrix")
    if not scale:
        return made
    return Matrix(tuple(tuple(Apply("*", (*scale, cell)) for cell in row) for row in made.rows))


def _row_by_column(left: Matrix, right: Matrix) -> Matrix:
    inner = len(right.rows)
    columns = list(zip(*right.rows, strict=True))
    if len(left.rows[0]) != inner or len(left.rows) * inner * len(columns) > _LARGEST:
        raise Unreadable("a product of matrices that do not fit")
    return Matrix(tuple(tuple(_dot(row, column) for column in columns) for row in left.rows))


def _dot(row: Sequence[Node], column: Sequence[Node]) -> Node:
    terms = tuple(Apply("*", pair) for pair in zip(row, column, strict=True))
    return terms[0] if len(terms) == 1 else Apply("+", terms)
