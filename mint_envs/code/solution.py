"""What tests take for granted: the module of the program, a prompt's helpers, usual names."""

from __future__ import annotations

import ast
import re
import sys

from ..errors import SettingError
from .names import DEFINITION
from .packages import ALIASES, FROM, NODES, SOLUTION
from .source import Source, nodes_in

_HINT = re.compile(rf"(import|from)\s+(\.|[\w.]*({'|'.join(sorted(SOLUTION))}))|patch|setattr")


def without_solution(code: str) -> str:
    """Return test code without imports of the program: ``from solution import f as g``."""
    if not _HINT.search(code):
        return code
    source = Source(code)
    modules = _take_imports(source)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in modules:
            source.replace(node, node.attr)
        elif isinstance(node, ast.Call):
            _refuse_patch(node)
    return source.of_all()


def _take_imports(source: Source) -> set[str]:
    """Take the imports of the program out; return the names that its module has got by them."""
    modules: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and _is_solution(node.module or "solution"):
            pairs = [(n.asname, n.name) for n in node.names if n.asname and n.asname != n.name]
            source.replace(node, "; ".join(f"{new} = {old}" for new, old in pairs) or "pass")
        elif isinstance(node, ast.Import) and all(_is_solution(n.name) for n in node.names):
            modules |= {n.asname or n.name for n in node.names}
            source.replace(node, "pass")
    return modules


def _refuse_patch(node: ast.Call) -> None:
    first = node.args[0] if node.args else None
    named = ast.unparse(node.func).rpartition(".")[2] in _PATCHES
    if named and isinstance(first, ast.Constant) and _is_solution(str(first.value).split(".")[0]):
        raise SettingError(f"tests: {ast.unparse(node)[:60]!r} changes the program from within")


_PATCHES = ("patch", "setattr", "object")


def _is_solution(module: str) -> bool:
    return module.rpartition(".")[2] in SOLUTION


def definitions_in(prompt: str) -> str:
    """Return what of a prompt is Python: the tests may need its helpers and classes."""
    for text in (prompt, f"{prompt.rstrip()}\n    pass\n"):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return text if any(isinstance(n, DEFINITION) for n in tree.body) else ""
    return ""


def assumed_names(free: set[str], tree: ast.AST, entry: bool) -> dict[str, str]:
    """Return {name: definition} of names that the usual harness has: they are not the program's."""
    modules = {n.value.id for n in nodes_in([tree])
               if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}  # fmt: skip
    found = {}
    for name in free:
        if name in NODES:
            found[name] = NODES[name]
        elif name in modules and name in ALIASES:
            found[name] = f"import {ALIASES[name]} as {name}"
        elif name in modules and _is_library(name):
            found[name] = f"import {name}"
    if entry or free - found.keys() - FROM.keys():
        found |= {name: f"from {FROM[name]} import {name}" for name in free & FROM.keys()}
    return found


def _is_library(name: str) -> bool:
    return name in sys.stdlib_module_names
