"""What tests and programs may import, and what the usual data sets take as imported."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable

from ..errors import SettingError
from ..sandbox import environment

#: The module that holds the program, by the names that tests give to it.
SOLUTION = frozenset(("solution", "solutions", "your_module", "main", "candidate", "submission"))
#: Names that tests use without an import, where their set's own harness has imported them.
ALIASES = {"np": "numpy", "pd": "pandas"}
_NAMES = {
    "typing": "Any Callable Dict FrozenSet Generator Iterable Iterator List Optional Sequence Set "
    "Tuple Type Union",
    "collections": "Counter OrderedDict defaultdict deque namedtuple",
    "math": "ceil floor gcd inf isclose isinf isnan nan pi sqrt",
    "itertools": "permutations combinations product chain accumulate",
    "functools": "reduce lru_cache partial cmp_to_key",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "datetime": "timedelta",
    "copy": "deepcopy",
}
FROM = {name: module for module, names in _NAMES.items() for name in names.split()}

NODES = {
    "ListNode": """\
class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next
""",
    "TreeNode": """\
class TreeNode:
    def __init__(self, val=0, left=None, right=None):
        self.val = val
        self.left = left
        self.right = right
""",
}


def refuse_missing(names: Iterable[str], python: str | None = None) -> None:
    """Refuse what imports a package that the sandbox does not have.

    Args:
        names: of packages that tests, their set-up or the reference import.
        python: the virtual environment that programs have.

    Raises:
        SettingError: names the first that is missing; or there is no such environment.
    """
    for name in missing_packages(names, python):
        raise SettingError(
            f"the package {name!r}, which the row's tests or reference import, is not in the "
            "sandbox: give python=FOLDER, a virtual environment that has it (mint-envs doctor "
            "--dataset names all that are missing), or leave the row out"
        )


def missing_packages(names: Iterable[str], python: str | None = None) -> list[str]:
    """Return those that programs cannot import: in an environment, or where none is given.

    Raises:
        SettingError, SandboxUnavailable: there is no such environment, or it does not answer.
    """
    found = environment(python) if python else None
    own = {"pytest", *SOLUTION, "__future__", *sys.stdlib_module_names}
    return sorted(
        name for name in set(names) - own if not (found.has(name) if found else _is_there(name))
    )


def _is_there(name: str) -> bool:
    return name == "numpy" and importlib.util.find_spec(name) is not None


def imported(trees: Iterable[ast.AST]) -> set[str]:
    """Return the top packages that code imports, but for those that it can do without."""
    found: set[str] = set()
    left = list(trees)
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Try) and node.handlers:
            left += [part for block in (node.orelse, node.finalbody) for part in block]
        elif isinstance(node, ast.stmt | ast.Module | ast.ExceptHandler):
            left += [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.stmt)]
    return found
