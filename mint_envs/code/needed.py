"""Which packages the programs and tests of a data set import."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable

from .packages import SOLUTION, imported
from .problems import CodeProblem


def packages_of(problem: CodeProblem) -> set[str]:
    """Return the packages, beside Python's own, that its tests, set-up or reference import."""
    texts = (problem.reference, problem.plan.preamble)
    trees = [tree for text in texts if (tree := _parsed_program(text)) is not None]
    names = imported(trees) | set(problem.plan.imports)
    return names - sys.stdlib_module_names - SOLUTION - {"pytest", "__future__"}


def _parsed_program(text: str) -> ast.Module | None:
    """Return the tree of a program, or None of one in another language."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def packages_needed(problems: Iterable[CodeProblem]) -> Counter[str]:
    """Return for each package how many problems import it."""
    return Counter(name for problem in problems for name in packages_of(problem))
