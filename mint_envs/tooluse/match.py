"""The best one-to-one match between rows and columns of a table of values (Kuhn-Munkres)."""

from __future__ import annotations

import math
from collections.abc import Sequence


def best_match(values: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return (row, column) pairs whose values sum to the most, each row and column at most once.

    Args:
        values: a table of finite numbers from 0 up, R rows of C columns.

    Returns:
        min(R, C) pairs, ordered by row. Time is O(min(R, C)^2 * max(R, C)).
    """
    if not values or not values[0]:
        return []
    if len(values) > len(values[0]):
        turned = list(zip(*values, strict=True))
        return sorted((row, column) for column, row in best_match(turned))
    return _assign([[-value for value in row] for row in values])


def _assign(costs: list[list[float]]) -> list[tuple[int, int]]:
    """Return the cheapest match of every row. Rows and columns count from 1; 0 is the start."""
    width = len(costs[0])
    row_price = [0.0] * (len(costs) + 1)
    column_price = [0.0] * (width + 1)
    row_of = [0] * (width + 1)
    for row in range(1, len(costs) + 1):
        row_of[0] = row
        path = _cheapest_path(costs, row_price, column_price, row_of)
        column = path[0]
        came_from = path[1]
        while column:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    return sorted((row_of[c] - 1, c - 1) for c in range(1, width + 1) if row_of[c])


def _cheapest_path(
    costs: list[list[float]],
    row_price: list[float],
    column_price: list[float],
    row_of: list[int],
) -> tuple[int, list[int]]:
    """Grow a tree from column 0 to a free column; return it and the column before each."""
    width = len(costs[0])
    slack = [math.inf] * (width + 1)
    came_from = [0] * (width + 1)
    used = [False] * (width + 1)
    column = 0
    while row_of[column]:
        used[column] = True
        row = row_of[column]
        for c in range(1, width + 1):
            reduced = costs[row - 1][c - 1] - row_price[row] - column_price[c]
            if not used[c] and reduced < slack[c]:
                slack[c], came_from[c] = reduced, column
        nearest = min((c for c in range(1, width + 1) if not used[c]), key=lambda c: slack[c])
        step = slack[nearest]
        for c in range(width + 1):
            if used[c]:
                row_price[row_of[c]] += step
                column_price[c] -= step
            else:
                slack[c] -= step
        column = nearest
    return column, came_from
