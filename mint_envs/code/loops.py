"""Loops of tests whose calls of the program can be seen coming, so that many make one message.

``for x, y in zip(xs, ys): assert f(x) == y`` becomes ``for x, y in __ahead__(f, list(zip(xs, ys)),
...)``. Only where the loop says what each result is compared with: where an answer is worked out
(``assert f(x) == x + 1``), the argument of a later call may be just that, and none is sent ahead.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ..sandbox.inside.foretold import ends_of_messages
from .asserts import literal
from .names import BUILTINS
from .source import Source, nodes_in

_AGAIN: dict[str, Callable[..., Iterable[Any]]] = {
    "zip": zip, "enumerate": enumerate, "range": range, "reversed": reversed, "sorted": sorted,
}  # fmt: skip
_MOST_ITEMS = 100_000


def mark_loop(source: Source, before: Sequence[ast.stmt], loop: ast.For, callees: set[str]) -> None:
    """Mark a loop if its calls can be seen coming; ``before``: what stands before it."""
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    call = _only_call(loop, callees)
    if call is None or not all(_ready(argument, targets) for argument in call.args):
        return
    stored = {n.id for n in nodes_in(loop.body) if isinstance(n, ast.Name)
              and isinstance(n.ctx, ast.Store)}  # fmt: skip
    names = {n.id for n in nodes_in([loop.iter]) if isinstance(n, ast.Name)}
    if stored & targets or not _repeatable(loop.iter) or not names <= _lists(source.tree):
        return
    wanted = _compared_with(loop, call, targets)
    if wanted is None:
        return
    ends = _known_ends(source, before, loop, call, wanted)
    told = "()" if ends else f"({''.join(f'{name}, ' for name in wanted)})"
    target, name = ast.unparse(loop.target), ast.unparse(call.func)
    arguments = ", ".join(map(ast.unparse, call.args))
    source.surround(
        loop.iter,
        f"__ahead__({name}, list(",
        f"), lambda _items_: ((({arguments},), {told}) for {target} in _items_), {ends})",
    )


#: What may leave out a call, or make another of it.
_CONDITIONS = (
    *(ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.TryStar, ast.Match, ast.With, ast.While, ast.For),
    *(ast.Break, ast.Continue, ast.Return, ast.Raise, ast.Lambda, ast.comprehension),
)


def _only_call(loop: ast.For, callees: set[str]) -> ast.Call | None:
    """Return the call of the program in a loop, if there is one with plain arguments.

    It is made in each round: nothing comes before it that may leave it out.
    """
    if any(isinstance(node, _CONDITIONS) for node in nodes_in(loop.body)):
        return None
    calls = [
        node
        for node in nodes_in(loop.body)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name) and node.func.id in callees
    ]  # fmt: skip
    return calls[0] if len(calls) == 1 and calls[0].args and not calls[0].keywords else None


def _compared_with(loop: ast.For, call: ast.Call, targets: set[str]) -> list[str] | None:
    """Return the targets of a loop with which results are compared; None if with anything else."""
    given = {n.id for n in nodes_in(call.args) if isinstance(n, ast.Name)}
    results = {
        target.id
        for node in nodes_in(loop.body) if isinstance(node, ast.Assign)
        and any(part is call for part in nodes_in([node.value]))
        for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    known = targets | results | BUILTINS
    found: set[str] = set()
    left: list[ast.AST] = list(loop.body)
    while left:
        node = left.pop()
        if node is call:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in given or node.id not in known:
                return None
            found |= {node.id} & targets
        elif isinstance(node, ast.Call):
            if not _leaves_results(node, call):
                return None
            left += [*node.args, *(keyword.value for keyword in node.keywords)]
        else:
            left += [node.test] if isinstance(node, ast.Assert) else ast.iter_child_nodes(node)
    return sorted(found)


def _leaves_results(node: ast.Call, call: ast.Call) -> bool:
    """Whether a call compares the program's result, or is ``list(y)`` or the like."""
    if isinstance(node.func, ast.Name) and node.func.id in BUILTINS:
        return True
    return any(part is call for part in nodes_in([*node.args, *node.keywords]))


# -- literals: where messages end is found once, here ----------------------------------------------


def _known_ends(
    source: Source, before: Sequence[ast.stmt], loop: ast.For, call: ast.Call, wanted: list[str]
) -> list[int] | None:
    """Return after which calls a message ends, if all of the loop is literals."""
    known = _literals_of_loop(source, before, loop)
    if known is None:
        return None
    try:
        rounds = [_bound(loop.target, item) for item in _value_of(loop.iter, known)]
        calls = [
            (list(_arguments_of(call, names)), [names[name] for name in wanted])
            for names in rounds
        ]  # fmt: skip
        return ends_of_messages(calls)
    except (TypeError, ValueError, LookupError, RecursionError):
        return None


def _literals_of_loop(
    source: Source, before: Sequence[ast.stmt], loop: ast.For
) -> dict[str, Any] | None:
    """Return the literals that a loop goes over, made just before it and with no other use."""
    names = {n.id for n in nodes_in([loop.iter]) if isinstance(n, ast.Name)} - _AGAIN.keys()
    made: dict[str, Any] = {}
    for node in before:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id in names:
                is_known, value = literal(node.value)
                made |= {target.id: value} if is_known else {}
    mentions = Counter(n.id for n in nodes_in([source.tree]) if isinstance(n, ast.Name))
    return made if all(name in made and mentions[name] == 2 for name in names) else None


def _value_of(node: ast.expr, known: dict[str, Any]) -> Any:
    """Return what a loop goes over; raises LookupError or ValueError if that is not known.

    Nor is what is very long.
    """
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        made = _AGAIN[node.func.id](*(_value_of(part, known) for part in node.args))
        found = list(islice(made, _MOST_ITEMS))
        if len(found) == _MOST_ITEMS:
            raise ValueError(ast.unparse(node))
        return found
    is_known, value = literal(node)
    if not is_known:
        raise ValueError(ast.unparse(node))
    return value


def _bound(target: ast.expr, item: Any) -> dict[str, Any]:
    """Return the names of a loop in one round."""
    if isinstance(target, ast.Name):
        return {target.id: item}
    if not isinstance(target, ast.Tuple | ast.List):
        raise ValueError(target)
    found: dict[str, Any] = {}
    for part, value in zip(target.elts, item, strict=True):
        found |= _bound(part, value)
    return found


def _arguments_of(call: ast.Call, names: dict[str, Any]) -> Iterator[Any]:
    for argument in call.args:
        if isinstance(argument, ast.Starred):
            yield from names[argument.value.id]  # type: ignore[attr-defined]
        else:
            yield argument.value if isinstance(argument, ast.Constant) else names[argument.id]  # type: ignore[attr-defined]


# -- what may be looked at before ------------------------------------------------------------------


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
