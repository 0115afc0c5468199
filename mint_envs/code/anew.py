"""When tests see what the program has changed in the arguments that they gave it.

In one process, ``assert f(l) == sorted(l)`` holds for an ``f`` that empties ``l`` and returns it.
So a change is shown to the tests only when the statement with the call has ended; and where a
later statement compares what was returned with the argument (``r = f(l)``, ``assert r == g(l)``),
only after that. Tests of changes in place (``f(l)``, ``assert l == [1, 2]``) see them.

In the text, ``__settle__()`` stands where changes are shown, and ``__ahead__`` around a loop whose
calls can be made in one message.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Sequence

from .asserts import literal
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
                _mark_loop(source, node, callees, _literals_of_loop(source, block[:index], node))
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


# -- loops ----------------------------------------------------------------------------------------

_AGAIN = ("zip", "enumerate", "range", "reversed", "sorted")


def _mark_loop(source: Source, loop: ast.For, callees: set[str], plain: bool) -> None:
    """``for x, y in zip(xs, ys): assert f(x) == y``: the calls of ``f`` can be seen coming."""
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    calls = [
        node
        for node in nodes_in(loop.body)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name) and node.func.id in callees
    ]  # fmt: skip
    if len(calls) != 1 or calls[0].keywords or not calls[0].args:
        return
    if not _repeatable(loop.iter) or not all(_ready(a, targets) for a in calls[0].args):
        return
    bound = {n.id for n in nodes_in(loop.body) if isinstance(n, ast.Name)
             and isinstance(n.ctx, ast.Store)}  # fmt: skip
    if bound & targets:
        return
    if not _lists(source.tree) >= {n.id for n in nodes_in([loop.iter]) if isinstance(n, ast.Name)}:
        return
    target, call = ast.unparse(loop.target), calls[0]
    arguments = ", ".join(map(ast.unparse, call.args))
    name = ast.unparse(call.func)
    source.surround(
        loop.iter,
        f"__ahead__({name}, list(",
        f"), lambda _items_: [({arguments},) for {target} in _items_]{', True' if plain else ''})",
    )


def _literals_of_loop(source: Source, before: Sequence[ast.stmt], loop: ast.For) -> bool:
    """Whether a loop goes over literals that were made just before it and have no other use."""
    names = {n.id for n in nodes_in([loop.iter]) if isinstance(n, ast.Name)} - set(_AGAIN)
    made = {node.targets[0].id for node in before
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            and len(node.targets) == 1 and literal(node.value)[0]}  # fmt: skip
    if not names <= made:
        return False
    mentions = Counter(n.id for n in nodes_in([source.tree]) if isinstance(n, ast.Name))
    return all(mentions[name] == 2 for name in names)


def _lists(tree: ast.AST) -> set[str]:
    """Return the names that are bound to lists alone, and those of built-in functions."""
    lists: set[str] = set(_AGAIN)
    others: set[str] = set()
    for node in nodes_in([tree]):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            is_list = isinstance(node.value, ast.List | ast.Tuple | ast.ListComp | ast.Dict)
            (lists if is_list else others).add(node.targets[0].id)
    return lists - others


def _repeatable(node: ast.expr) -> bool:
    """Whether to look at all items first changes nothing: names, calls of ``zip`` and the like."""
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in _AGAIN and not node.keywords
        return known and all(map(_repeatable, node.args))
    if isinstance(node, ast.Call | ast.Name | ast.Constant):
        return True
    return isinstance(node, ast.List | ast.Tuple) and not any(
        isinstance(n, ast.Call | ast.NamedExpr | ast.Await) for n in nodes_in([node])
    )


def _ready(node: ast.expr, targets: set[str]) -> bool:
    if isinstance(node, ast.Starred):
        node = node.value
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in targets)
