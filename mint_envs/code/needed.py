"""Which packages the programs and tests of a data set import."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable

from .packages import SOLUTION
from .problems import CodeProblem

_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+(\w+)", re.MULTILINE)


def packages_of(problem: CodeProblem) -> set[str]:
    """Return the packages, beside Python's own, that its tests, set-up or reference import."""
    texts = (problem.reference, problem.plan.preamble)
    names = {name for text in texts for name in _IMPORT.findall(text)} | set(problem.plan.imports)
    return names - sys.stdlib_module_names - SOLUTION - {"pytest", "__future__"}


def packages_needed(problems: Iterable[CodeProblem]) -> Counter[str]:
    """Return for each package how many problems import it."""
    return Counter(name for problem in problems for name in packages_of(problem))
