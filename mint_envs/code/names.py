"""Whose a name is: the tests', the program's, or Python's own.

A name that the tests use and do not define is the program's. With a built-in name (``max``) that
depends on the program: Python finds the module's own name first. But a program must not define
``len`` to pass ``assert len(f(3)) == 2``. So

- with an ``entry_point``, that alone is the program's, whatever it is called;
- without one, where a test, or anything that it uses, calls the program by another name, built-in
  names are the built-ins: they belong to the verdict;
- where it does not, a built-in name that it calls is the program's if the program's module
  defines it. Of several such names that have to do with one another (``len(max([1], [2]))``) any
  may be what is tested and the rest the verdict's: the test must hold for each of them alone,
  with the built-ins for the others. One that the program has not defined is no such name.

What a test uses are the functions and classes that it mentions, and every statement that mentions
a variable that it mentions. Statements of one test that share no variable have nothing to do with
one another.

``Names`` say this of one test: first the names that are the built-ins, then the groups of those
that may be the program's. Without any built-in name they are empty, and cost nothing.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
import symtable
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Names = tuple[tuple[str, ...], ...]

#: Those of every interpreter: ``site`` adds a few for people at a prompt.
BUILTINS = frozenset(dir(builtins)).difference(
    ("copyright", "credits", "exit", "help", "license", "quit", "_")
)
_IMPORT = ast.Import | ast.ImportFrom
DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_LEAVES = ast.Return | ast.Yield | ast.YieldFrom


@dataclass(frozen=True, slots=True)
class Globals:
    """The global names that a piece of code uses, and those that it binds."""

    used: frozenset[str]
    bound: frozenset[str]

    @property
    def free(self) -> frozenset[str]:
        """Used, not bound, and not Python's."""
        return self.used - self.bound - BUILTINS - {"__name__", "__file__", "__class__"}


def global_names(code: str | ast.AST) -> Globals:
    if isinstance(code, ast.AST) and (found := _plain_names(code)) is not None:
        return found
    code = code if isinstance(code, str) else getattr(code, "text", "") or ast.unparse(code)
    top = symtable.symtable(code, "tests", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    used: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        symbols = [s for s in table.get_symbols() if s.is_global()]
        used |= {s.get_name() for s in symbols if s.is_referenced()}
        bound |= {s.get_name() for s in symbols if s.is_declared_global() and s.is_assigned()}
    return Globals(frozenset(used), frozenset(bound))


def _plain_names(node: ast.AST) -> Globals | None:
    """Return the names of calls and literals, which are seen at a glance; None of any other code.

    Of most tests that is all, and Python's own tables of names take many times as long.
    """
    used: set[str] = set()
    bound: set[str] = set()
    left = [node]
    while left:
        part = left.pop()
        if isinstance(part, ast.Name):
            (used if isinstance(part.ctx, ast.Load) else bound).add(part.id)
        elif not isinstance(part, _PLAIN):
            return None
        elif not isinstance(part, ast.Constant):
            left += ast.iter_child_nodes(part)
    return Globals(frozenset(used), frozenset(bound))


_PLAIN = (
    ast.Module, ast.Expr, ast.Assert, ast.Assign, ast.Call, ast.keyword, ast.Starred, ast.Constant,
    ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Attribute, ast.Subscript, ast.Slice, ast.Compare,
    ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.expr_context, ast.operator, ast.unaryop,
    ast.boolop, ast.cmpop,
)  # fmt: skip


def root_of(node: ast.AST) -> ast.Name | None:
    """Return the name at the root of a call: ``f`` of ``f(1)``, ``Box`` of ``Box(1).get(2)``."""
    if not isinstance(node, ast.Call):
        return None
    target: ast.AST = node.func
    while isinstance(target, ast.Attribute | ast.Call):
        target = target.value if isinstance(target, ast.Attribute) else target.func
    return target if isinstance(target, ast.Name) else None


def modules_in(tree: ast.AST) -> set[str]:
    """Return the library's modules that are used as such: ``copy.copy(x)``, not ``copy(x)``."""
    roots = (node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {n.id for n in roots if isinstance(n, ast.Name)} & sys.stdlib_module_names


def uses_only(node: ast.AST, name: str) -> bool:
    """Whether ``name`` is all that a call uses: ``max(1, 2)``, not ``max(f(1), 2)``."""
    return global_names(node).used == {name}


def expression_names(text: str, entry: str = "") -> Names:
    """Return the names of an expression, as the head of this file has them."""
    if BUILTINS.isdisjoint(re.findall(r"\w+", text)):
        return ()
    tree = ast.parse(text)
    used = global_names(tree).used
    python = (used & BUILTINS) - {entry}
    own = set() if entry or used - BUILTINS - modules_in(tree) else _meant_names([tree]) & python
    return _sorted_names(python - own, [own])


def _sorted_names(fixed: Iterable[str], groups: Iterable[Iterable[str]]) -> Names:
    named = tuple(tuple(sorted(group)) for group in groups if group)
    first = tuple(sorted(fixed))
    return (first, *named) if first or named else ()


def _meant_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return names that are called, and functions that are handed on; not types in passing."""
    found = set()
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Name) and not isinstance(getattr(builtins, node.id, None), type):
            found.add(node.id)
        elif (root := root_of(node)) is not None:
            found.add(root.id)
    return found


class TestCode:
    """Test code as statements that have names in common.

    Args:
        code: a module, what it sets up included.
        statements: of that module.
        entry: a built-in name that is the program's, if one is given.
    """

    __test__ = False  # pytest takes it for one of its own

    def __init__(self, code: str, statements: Sequence[ast.stmt], entry: str = "") -> None:
        whole = global_names(code)
        self.free = whole.free
        self.bound = whole.bound
        own = {entry} if entry else _meant_names(statements) - whole.bound
        self._python = whole.used & BUILTINS & own
        self._others = frozenset() if entry else whole.free
        self._kept: dict[frozenset[int], tuple[list[ast.stmt], Names]] = {}
        self._parts = [
            (node, global_names(node))
            for node in (statements if self._python else ())
            if not isinstance(node, _IMPORT)
        ]
        self._variables = {
            name
            for node, names in self._parts
            for name in names.bound
            if not isinstance(node, DEFINITION) or name != node.name
        }

    def of(self, roots: Sequence[ast.stmt], instead: ast.stmt | None = None) -> Names:
        """Return the names of a test. ``roots`` are its statements, or a part of ``instead``."""
        if not self._python:
            return ()
        found, used = self._reached(roots, instead)
        own = used & self._python
        if not own or used & self._others:
            return ()
        if len(found) == len(roots):
            return _sorted_names((), _related_names(_parts_in_turn(roots), own))
        key = frozenset(map(id, found))
        if key not in self._kept:
            self._kept[key] = found, _sorted_names((), [_meant_names(found) & own])
        return self._kept[key][1]

    def _reached(
        self, roots: Sequence[ast.stmt], instead: ast.stmt | None
    ) -> tuple[list[ast.stmt], set[str]]:
        """Return all that a test uses, and the names in there."""
        found = list(roots)
        used = set().union(*(_used_or_bound(global_names(node)) for node in roots))
        known = {id(instead), *map(id, roots)}
        left = [p for p in self._parts if id(p[0]) not in known]
        while new := [p for p in left if self._touches(p[1], used)]:
            known = {id(p) for p in new}
            left = [p for p in left if id(p) not in known]
            found += [node for node, _ in new]
            used = used.union(*(_used_or_bound(names) for _, names in new))
        return found, used

    def _touches(self, names: Globals, used: set[str]) -> bool:
        return bool(names.bound & used or names.used & used & self._variables)


def _used_or_bound(names: Globals) -> frozenset[str]:
    return names.used | names.bound


def method_only(node: ast.ClassDef, name: str) -> ast.ClassDef:
    """Return a class of tests with this one of them alone."""
    kept = [
        part
        for part in node.body
        if not (isinstance(part, ast.FunctionDef) and part.name.startswith("test"))
        or part.name == name
    ]
    trimmed = copy.copy(node)
    trimmed.body = kept
    return trimmed


def _parts_in_turn(roots: Sequence[ast.stmt]) -> list[ast.AST]:
    """Return the parts of a test that run one after the other, whatever came of those before."""
    body = list(roots)
    while len(body) == 1 and isinstance(body[0], ast.FunctionDef | ast.ClassDef):
        body = [part for part in body[0].body if not _is_text(part)]
    if any(isinstance(node, _LEAVES) for part in body for node in ast.walk(part)):
        return [_as_module(body)]
    return [piece for part in body for piece in _clauses(part)]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _as_module(body: Sequence[ast.stmt]) -> ast.Module:
    return ast.Module(list(body), [])


def _clauses(node: ast.stmt) -> list[ast.AST]:
    """Return the parts of ``assert a and b``."""
    if isinstance(node, ast.Assert) and isinstance(node.test, ast.BoolOp):
        return list(node.test.values) if isinstance(node.test.op, ast.And) else [node]
    return [node]


def _related_names(pieces: Sequence[ast.AST], own: set[str]) -> list[set[str]]:
    """Return the names of ``own`` that have to do with one another."""
    plain = BUILTINS - {name for piece in pieces for name in _stored(piece)}
    groups: list[tuple[set[str], set[str]]] = []
    for piece in pieces:
        links, names = _piece_variables(piece) - plain, _meant_names([piece]) & own
        for group in [group for group in groups if group[0] & links]:
            groups.remove(group)
            links, names = links | group[0], names | group[1]
        groups.append((links, names))
    return [names for _, names in groups]


def _stored(piece: ast.AST) -> set[str]:
    nodes = ast.walk(piece)
    return {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


def _piece_variables(piece: ast.AST) -> set[str]:
    """Return the names in a piece; ``self`` in ``self.assertEqual(...)`` says nothing."""
    nodes = list(ast.walk(piece))
    quiet = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr.startswith(("assert", "raises", "approx"))
    }
    names = {n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in quiet}
    return names | {node.name for node in nodes if isinstance(node, DEFINITION)}
