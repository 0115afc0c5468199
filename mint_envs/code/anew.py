"""When tests see what the program has changed in the arguments that they gave it.

In one process, ``assert f(l) == sorted(l)`` holds for an ``f`` that empties ``l`` and returns it.
So a change is shown to the tests only when the statement with the call has ended; and where a
later statement compares what was returned with the argument (``r = f(l)``, ``assert r == g(l)``),
only after that. Tests of changes in place (``f(l)``, ``assert l == [1, 2]``) see them.

In the text, ``__settle__()`` stands where changes are shown.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence

from .loops import mark_loop
from .names import BUILTINS
from .source import Source, names_in, nodes_in

SETTLE = "; __settle__()"
_SIMPLE = ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Assert
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def mark(source: Source, callees: set[str]) -> None:
    """Mark a module of tests; ``callees`` are the names by which it calls the program."""
    _mark_block(source, source.tree.body, callees, True)


def _clear_of_returns(tree: ast.AST) -> bool:
    """Whether nothing is returned: what a helper returns is compared by its caller."""
    left: list[ast.AST] = list(ast.iter_child_nodes(tree))
    while left:
        node = left.pop()
        if isinstance(node, ast.Return) and not _is_nothing(node.value):
            return False
        if isinstance(node, ast.stmt | ast.ExceptHandler) and not isinstance(
            node, _FUNCTION | ast.ClassDef | _SIMPLE
        ):
            left += ast.iter_child_nodes(node)
    return True


def _is_nothing(value: ast.expr | None) -> bool:
    return value is None or isinstance(value, ast.Constant)


def _mark_block(
    source: Source, block: Sequence[ast.stmt], callees: set[str], settles: bool
) -> None:
    quiet = _quiet(block, settles, callees)
    for index, node in enumerate(block):
        if isinstance(node, _FUNCTION):
            own = {a.arg for a in node.args.args[:1]} if node.name == "check" else set()
            _mark_block(source, node.body, callees | own, _clear_of_returns(node))
        elif isinstance(node, _SIMPLE):
            if index not in quiet and _calls(node):
                _settle_after(source, node, callees)
        else:
            if isinstance(node, ast.For):
                mark_loop(source, block[:index], node, callees)
            for part in (node, *getattr(node, "handlers", ())):
                for name in ("body", "orelse", "finalbody"):
                    _mark_block(source, getattr(part, name, []), callees, settles)


def _calls(node: ast.AST) -> bool:
    """Whether a statement may call the program with something that it could change."""
    return any(isinstance(n, ast.Call) and (n.args or n.keywords) for n in nodes_in([node]))


def _settle_after(source: Source, node: ast.stmt, callees: set[str]) -> None:
    clauses = _clauses(node)
    for index, clause in enumerate(clauses[:-1]):
        if isinstance(clause, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr):
            continue
        if not all(names_in([later]) & callees for later in clauses[index + 1 :]):
            source.surround(clause, "", " and __settle__()")
    source.surround(node, "", SETTLE)


def _clauses(node: ast.stmt) -> list[ast.expr]:
    """Return the parts of ``assert a and b``, each of which is tested by itself."""
    test = node.test if isinstance(node, ast.Assert) else None
    is_and = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
    return list(test.values) if is_and else []  # type: ignore[union-attr]


def _quiet(block: Sequence[ast.stmt], settles: bool, callees: set[str]) -> set[int]:
    """Return the statements after which nothing is shown yet: a result waits to be compared.

    Where it is returned (``settles`` is False), it waits for the caller.
    """
    quiet: set[int] = set()
    for index, node in enumerate(block):
        if not settles and not isinstance(node, ast.Expr):
            quiet.add(index)
        if not (isinstance(node, ast.Assign) and _may_call_program(node.value, callees)):
            continue
        results = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        given = {
            n.id
            for call in nodes_in([node.value]) if isinstance(call, ast.Call)
            for argument in (*call.args, *(k.value for k in call.keywords))
            for n in nodes_in([argument]) if isinstance(n, ast.Name)
        } - results  # fmt: skip
        last, in_place = index, False
        for later in range(index + 1, len(block)):
            mentioned = _mentioned(block[later])
            parts = list(map(_mentioned, _clauses(block[later]))) or [mentioned]
            in_place |= any(part & given and not part & results for part in parts)
            if any(part & given and part & results for part in parts):
                last = later
            elif isinstance(block[later], ast.Assign):
                stored = {n.id for n in ast.walk(block[later]) if isinstance(n, ast.Name)
                          and isinstance(n.ctx, ast.Store)}  # fmt: skip
                given |= stored if mentioned & given else set()
                results |= stored if mentioned & results and not mentioned & given else set()
        quiet |= set(range(index, last))
        if in_place and not settles:
            quiet.discard(index)
    return quiet


def _may_call_program(value: ast.expr, callees: set[str]) -> bool:
    """Whether a value may come of the program; ``sorted(l)`` and ``copy.copy(l)`` do not."""
    for call in nodes_in([value]):
        if not isinstance(call, ast.Call) or not (call.args or call.keywords):
            continue
        root = call.func
        while isinstance(root, ast.Attribute):
            root = root.value
        known = BUILTINS | sys.stdlib_module_names if root is not call.func else BUILTINS
        if not (isinstance(root, ast.Name) and root.id in known - callees):
            return True
    return bool(names_in([value]) & callees)


def _mentioned(node: ast.AST) -> set[str]:
    """Return the names in a statement; ``l[:k]``, ``range(k)`` mention ``k`` as a place alone."""
    found: set[str] = set()
    left = [node]
    while left:
        node_ = left.pop()
        if isinstance(node_, ast.Name):
            if isinstance(node_.ctx, ast.Load):
                found.add(node_.id)
        elif isinstance(node_, ast.Subscript):
            left.append(node_.value)
        elif not (isinstance(node_, ast.Call) and getattr(node_.func, "id", "") == "range"):
            left += [c for c in ast.iter_child_nodes(node_) if not isinstance(c, ast.Constant)]
    return found
