"""Programs that are nearly the right one: one change in the syntax tree each.

Nothing is run here; mutants are graded in the sandbox like any program.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_COMPARED: dict[type[ast.cmpop], tuple[str, type[ast.cmpop]]] = {
    ast.Lt: ("boundary", ast.LtE),
    ast.LtE: ("boundary", ast.Lt),
    ast.Gt: ("boundary", ast.GtE),
    ast.GtE: ("boundary", ast.Gt),
    ast.Eq: ("operator", ast.NotEq),
    ast.NotEq: ("operator", ast.Eq),
    ast.In: ("operator", ast.NotIn),
    ast.NotIn: ("operator", ast.In),
    ast.Is: ("operator", ast.IsNot),
    ast.IsNot: ("operator", ast.Is),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.FloorDiv,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
#: Calls that give back something close to what they are given.
_DROPPED = {"abs", "sorted", "set", "reversed", "round", "list", "int"}
_DROPPED_METHODS = {"lower", "upper", "strip", "lstrip", "rstrip", "copy", "title", "capitalize"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed program: what kind of change, where, and what stood there."""

    kind: str
    line: int
    before: str
    after: str
    source: str


_WORK = 1_000_000  # characters of programs that are read to make the mutants of one


def mutants(source: str, most: int = 60, seed: int = 0) -> list[Mutant]:
    """Return at most ``most`` mutants of a program, the same on every call; [] if it is no Python.

    Of more, as many of each kind of change as there is room for.
    """
    try:
        tree = ast.parse(source)
        found = list(_every_mutant(tree, source, 2 * most))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    unique = list({mutant.source: mutant for mutant in found}.values())
    return sorted(_chosen(unique, most, random.Random(seed)), key=lambda m: (m.line, m.kind))


def _chosen(found: list[Mutant], most: int, rng: random.Random) -> list[Mutant]:
    rng.shuffle(found)
    rank: dict[str, int] = {}
    ranked = []
    for number, mutant in enumerate(found):
        rank[mutant.kind] = rank.get(mutant.kind, 0) + 1
        ranked.append((rank[mutant.kind], number, mutant))
    return [mutant for _, _, mutant in sorted(ranked, key=lambda row: row[:2])[:most]]


def _every_mutant(tree: ast.Module, source: str, least: int) -> Iterator[Mutant]:
    """Yield every mutant; of a very long program, some: each costs to read all of it again."""
    plain = ast.unparse(tree)
    changes = [
        (n, node, *change) for n, node in enumerate(_nodes(tree)) for change in _node_changes(node)
    ]
    room = max(least, _WORK // max(1, len(source)))
    if len(changes) > room:
        changes = random.Random(0).sample(changes, room)
    for number, node, kind, after in changes:
        changed = _Swap(number, after).visit(ast.parse(source))
        text = ast.unparse(ast.fix_missing_locations(changed))
        if text != plain:
            yield Mutant(
                kind, getattr(node, "lineno", 0), _node_line(node), _node_line(after), text
            )


def _node_line(node: ast.AST) -> str:
    return ast.unparse(node).split("\n")[0][:80]


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what may be changed: no annotations, no docstrings; in the order of ``_Swap``."""
    yield tree
    for child in _children(tree):
        yield from _nodes(child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not docstring:
                yield child


class _Swap(ast.NodeTransformer):
    """Puts ``after`` in the place of node number ``number``."""

    def __init__(self, number: int, after: ast.AST) -> None:
        self._left, self._after = number, after

    def visit(self, node: ast.AST) -> ast.AST:
        if self._left == 0:
            self._left = -1
            return self._after
        self._left -= 1
        chosen = set(map(id, _children(node)))
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, name, [self._inside(item, chosen) for item in value])
            else:
                setattr(node, name, self._inside(value, chosen))
        return node

    def _inside(self, value: object, chosen: set[int]) -> object:
        if self._left < 0 or id(value) not in chosen or not isinstance(value, ast.AST):
            return value
        return self.visit(value)


Change = tuple[str, ast.AST]


def _node_changes(node: ast.AST) -> Iterator[Change]:
    maker = _MAKERS.get(type(node))
    if maker is not None:
        yield from maker(node)
    if isinstance(node, ast.Assign | ast.AugAssign) or _bare_call(node):
        yield "statement dropped", ast.Pass()


def _bare_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _compare(node: ast.Compare) -> Iterator[Change]:
    for place, sign in enumerate(node.ops):
        kind, other = _COMPARED[type(sign)]
        signs = [*node.ops[:place], other(), *node.ops[place + 1 :]]
        yield kind, ast.Compare(node.left, signs, node.comparators)


def _binary(node: ast.BinOp) -> Iterator[Change]:
    other = _OPERATORS.get(type(node.op))
    if other is not None:
        yield "operator", ast.BinOp(node.left, other(), node.right)


def _augmented(node: ast.AugAssign) -> Iterator[Change]:
    other = _OPERATORS.get(type(node.op))
    if other is not None:
        yield "operator", ast.AugAssign(node.target, other(), node.value)


def _boolean(node: ast.BoolOp) -> Iterator[Change]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "operator", ast.BoolOp(other, node.values)
    for place in range(len(node.values)):
        rest = [*node.values[:place], *node.values[place + 1 :]]
        yield "condition dropped", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _unary(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield "operator", node.operand


def _constant_changes(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        yield "off by one", ast.Constant(value + 1)
        yield "off by one", ast.Constant(value - 1)
    elif isinstance(value, float):
        yield "constant", ast.Constant(value + 1.0)
    elif isinstance(value, str):
        yield "constant", ast.Constant(value + "x" if not value else "")


def _branch(node: ast.If) -> Iterator[Change]:
    yield "branch dropped", ast.If(ast.Constant(False), node.body, node.orelse)
    yield "branch dropped", ast.If(ast.Constant(True), node.body, node.orelse)


def _if_expression(node: ast.IfExp) -> Iterator[Change]:
    yield "branch dropped", node.body
    yield "branch dropped", node.orelse


def _call_changes(node: ast.Call) -> Iterator[Change]:
    function, arguments = node.func, node.args
    if isinstance(function, ast.Name):
        if function.id in _CALLS:
            yield "call", ast.Call(ast.Name(_CALLS[function.id]), arguments, node.keywords)
        if function.id in _DROPPED and len(arguments) == 1:
            yield "call dropped", arguments[0]
        if function.id == "range" and len(arguments) <= 2:
            yield from _range(arguments)
    elif isinstance(function, ast.Attribute) and function.attr in _DROPPED_METHODS:
        yield "call dropped", function.value
    for place, keyword in enumerate(node.keywords):
        rest = [*node.keywords[:place], *node.keywords[place + 1 :]]
        if keyword.arg in ("key", "reverse", "default"):
            yield "argument dropped", ast.Call(function, arguments, rest)


def _range(arguments: list[ast.expr]) -> Iterator[Change]:
    for sign in (ast.Add(), ast.Sub()):
        last = ast.BinOp(arguments[-1], sign, ast.Constant(1))
        yield "off by one", ast.Call(ast.Name("range"), [*arguments[:-1], last], [])


def _slice(node: ast.Slice) -> Iterator[Change]:
    if node.lower is not None:
        yield "boundary", ast.Slice(None, node.upper, node.step)
    if node.upper is not None:
        yield "boundary", ast.Slice(node.lower, None, node.step)


def _comprehension(node: ast.comprehension) -> Iterator[Change]:
    for place in range(len(node.ifs)):
        rest = [*node.ifs[:place], *node.ifs[place + 1 :]]
        yield "condition dropped", ast.comprehension(node.target, node.iter, rest, node.is_async)


def _jump(node: ast.AST) -> Iterator[Change]:
    yield "statement dropped", ast.Pass()


_MAKERS: dict[type[ast.AST], Callable[..., Iterator[Change]]] = {
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.AugAssign: _augmented,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.Constant: _constant_changes,
    ast.If: _branch,
    ast.IfExp: _if_expression,
    ast.Call: _call_changes,
    ast.Slice: _slice,
    ast.comprehension: _comprehension,
    ast.Break: _jump,
    ast.Continue: _jump,
}
