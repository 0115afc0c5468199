"""What the program's names are to the tests: a function, a class, an error, a value.

A function must return plain values. Only what the tests use as an object may be one: what they
make by a class of the program's (a name with a capital), or of which they ask what no plain value
has. See ``sandbox/inside/foreign.py`` for what such an object may answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .asserts import literal
from .collect import Collected, refused
from .names import BUILTINS
from .source import nodes_in

_PLAIN = frozenset(
    name for kind in (str, list, dict, set, tuple, int, float, bytes) for name in dir(kind)
)
_ORDER = ast.Eq | ast.NotEq | ast.Lt | ast.LtE | ast.Gt | ast.GtE
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
#: A class that holds no state, by the custom of the sets that have it.
_STATELESS = "Solution"


class Roles:
    """The roles of names.

    Args:
        tree: the tests.
        names: those of the program's.
    """

    def __init__(self, tree: ast.Module, names: Iterable[str]) -> None:
        self._names = frozenset(names) - BUILTINS
        self._nodes = list(nodes_in([tree]))
        self._errors = self._error_names()
        asked = self._asked_kinds()
        self.classes = {n for n in self._names - self._errors if _is_class_name(n) or n in asked}
        self._holders = self._held()

    def of(self) -> tuple[tuple[str, str], ...]:
        """Return (name, role) of those that are more than functions."""
        found = dict.fromkeys(self._errors, "error")
        found |= dict.fromkeys(self.classes, "class")
        found |= dict.fromkeys(self._values() - found.keys(), "value")
        found |= dict.fromkeys(self._object_makers() - found.keys(), "objects")
        for name in self._stepped() & found.keys():
            found[name] = "steps" if found[name] == "objects" else found[name]
        if any(map(_asks_for_none, self._nodes)):
            found |= dict.fromkeys(self._names - found.keys(), "maybe")
        return tuple(sorted(found.items()))

    def _error_names(self) -> set[str]:
        found: set[str] = set()
        for node in self._nodes:
            kinds: list[ast.AST] = []
            if isinstance(node, ast.ExceptHandler) and node.type:
                kinds = [node.type]
            elif isinstance(node, ast.Call) and node.args and _last(node.func) in (
                "raises", "assertRaises", "assertRaisesRegex",
            ):  # fmt: skip
                kinds = [node.args[0]]
            found |= {n.id for n in nodes_in(kinds) if isinstance(n, ast.Name)}
        return found & self._names

    def _asked_kinds(self) -> set[str]:
        """Return ``LRU`` of ``isinstance(c, LRU)``."""
        kinds = [node.args[1:] for node in self._nodes
                 if isinstance(node, ast.Call) and _last(node.func) in _ASK_KINDS]  # fmt: skip
        return {n.id for part in kinds for n in nodes_in(part) if isinstance(n, ast.Name)}

    def _held(self) -> dict[str, str]:
        """Return {variable: the name of the program's whose result it holds}."""
        held, others = {}, set()
        self._lists = set()  # of objects that the tests have made
        for node in self._nodes:
            pairs: list[tuple[ast.AST, ast.AST | None]] = []
            if isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                pairs = [(target, node.value) for target in targets]
            elif isinstance(node, ast.withitem) and node.optional_vars:
                pairs = [(node.optional_vars, node.context_expr)]
            elif isinstance(node, _FUNCTION):  # a fixture
                pairs = [(ast.Name(node.name), part.value) for part in nodes_in(node.body)
                         if isinstance(part, ast.Return | ast.Yield)]  # fmt: skip
            for target, value in pairs:
                maker = self._maker(value)
                if maker and (name := _variable(target)):
                    held[name] = maker
                elif isinstance(value, ast.List | ast.Tuple) and any(
                    self._maker(item) in self.classes - {_STATELESS} for item in value.elts
                ):
                    self._lists.add(_variable(target))
                else:
                    others.add(_variable(target))
        self._sometimes = others  # these hold something else as well
        return held

    def _maker(self, node: ast.AST | None) -> str:
        """Return ``Acc`` of ``Acc(1)``, if it is the program's."""
        name = (
            node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        )
        return name if name in self._names else ""

    def _object_makers(self) -> set[str]:
        found = set()
        for node in self._nodes:
            inner: ast.AST | None = None
            if isinstance(node, ast.Attribute):
                inner = node.value
            elif isinstance(node, ast.Call):
                inner = node.func
            if inner is not None and not isinstance(inner, ast.Constant):
                maker = self._maker(inner) or self._holders.get(_variable(inner), "")
                plain = isinstance(node, ast.Attribute) and node.attr in _PLAIN
                found |= set() if plain and not _in_capitals(maker) else {maker}
            if isinstance(node, ast.withitem):
                found.add(self._maker(node.context_expr))
            elif isinstance(node, _FUNCTION):
                found |= {self._maker(decorator) for decorator in node.decorator_list}
                found |= {
                    d.id for d in node.decorator_list if isinstance(d, ast.Name)
                } & self._names
        return found - {""}

    def _stepped(self) -> set[str]:
        """Return the makers of generators that the tests send to, or end."""
        return {
            self._holders.get(_variable(node.value), "")
            for node in self._nodes
            if isinstance(node, ast.Attribute) and node.attr in ("send", "throw", "close")
        }

    def _values(self) -> set[str]:
        """Return the names that are compared or looked into, and never called or handed on.

        One in capitals is a constant, if no other function is called with it than ``len`` and such.
        """
        called: set[str] = set()
        seen: set[str] = set()
        used: set[str] = set()
        for node in self._nodes:
            if isinstance(node, ast.Call):
                parts = [node.func, *(k.value for k in node.keywords)]
                parts += [] if getattr(node.func, "id", "") in _LOOK else node.args
                used |= {n.id for n in parts if isinstance(n, ast.Name)}
            if isinstance(node, ast.Call):
                called |= {n.id for n in (node.func, *node.args) if isinstance(n, ast.Name)}
                called |= {k.value.id for k in node.keywords if isinstance(k.value, ast.Name)}
            elif isinstance(node, ast.Compare):
                seen |= {n.id for n in (node.left, *node.comparators) if isinstance(n, ast.Name)}
            elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                seen.add(node.value.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                called.add(node.value.id)
        constants = {n for n in self._names if _in_capitals(n)} - used - self.classes
        return ((seen & self._names) - called) | constants

    # -- what is refused

    def refuse_comparisons(self) -> None:
        """Refuse what would let the program compare its own objects.

        Raises:
            SettingError: such a comparison.
        """
        for node in self._nodes:
            sides: list[ast.AST] = []
            if isinstance(node, ast.Compare) and any(isinstance(op, _ORDER) for op in node.ops):
                sides = [node.left, *node.comparators]
            elif isinstance(node, ast.Call) and _last(node.func) in _ASSERTIONS:
                sides = list(node.args[:2])
            for side in sides:
                others = [one for one in sides if one is not side]
                if self._is_object(side) and not (
                    self._is_class_constant(side) and all(literal(one)[0] for one in others)
                ):
                    raise refused(
                        f"{ast.unparse(node)[:80]!r} compares an object of the program's, so the "
                        "program would make its own verdict. Compare something plain of it"
                    )
            bases = node.bases if isinstance(node, ast.ClassDef) else ()
            if isinstance(node, ast.ClassDef) and self._names & {
                base.id for base in bases if isinstance(base, ast.Name)
            }:
                raise refused(f"class {node.name} derives from a class of the program's, which is "
                              "in another process")  # fmt: skip

    def _is_object(self, node: ast.AST) -> bool:
        if isinstance(node, ast.BinOp):
            return self._is_object(node.left) or self._is_object(node.right)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return any(map(self._is_object, node.elts))
        if isinstance(node, ast.Name) and node.id in self._lists:
            return True
        name = _variable(node)
        made = self._maker(node) or ("" if name in self._sometimes else self._holders.get(name, ""))
        if made in self.classes and made != _STATELESS:
            return True
        return self._is_class_constant(node)

    def _is_class_constant(self, node: ast.AST) -> bool:
        """Tell of ``C.LIMIT``: a plain value, or an object, which equals no plain one."""
        return (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
                and node.value.id in self.classes)  # fmt: skip

    def refuse_shared_state(self, tree: ast.Module, tests: list[Collected]) -> None:
        """Refuse tests that hand on state: what comes of one would depend on the others.

        Raises:
            SettingError: an object of the program's, or a variable, that several tests change.
        """
        shared = dict.fromkeys(self._shared_variables(tree), "")
        for name in shared:
            users = [t for t in tests if _mentions(t, name)]
            if len(users) > 1:
                raise refused(f"{name!r} is shared by {len(users)} tests, each of which may change "
                              "it: make it anew in each")  # fmt: skip

    def _shared_variables(self, tree: ast.Module) -> set[str]:
        found = {name for name, maker in self._holders.items()
                 if maker != _STATELESS and maker in self._makers_of_objects
                 and name in _stored_at_top(tree)}  # fmt: skip
        for node in tree.body:
            if isinstance(node, _FUNCTION) and node.name.startswith("test"):
                found |= {name for n in nodes_in(node.body) if isinstance(n, ast.Global)
                          for name in n.names}  # fmt: skip
            elif isinstance(node, _FUNCTION) and _is_shared_fixture(node):
                found |= (
                    {node.name} if self._holders.get(node.name, _STATELESS) != _STATELESS else set()
                )
            elif isinstance(node, ast.ClassDef):
                found |= self._shared_by_class(node)
        return found

    @property
    def _makers_of_objects(self) -> set[str]:
        return self.classes | self._object_makers()

    def _shared_by_class(self, node: ast.ClassDef) -> set[str]:
        """Return the attributes that ``setUpClass`` makes by the program: ``self.acc``."""
        found = set()
        for part in node.body:
            early = isinstance(part, _FUNCTION) and part.name in ("setUpClass", "setup_class")
            for inner in nodes_in([part]) if early or isinstance(part, ast.Assign) else ():
                if isinstance(inner, ast.Assign):
                    maker = self._maker(inner.value)
                    if maker in self._makers_of_objects - {_STATELESS}:
                        found |= {n.attr if isinstance(n, ast.Attribute) else _variable(n)
                                  for n in inner.targets}  # fmt: skip
        return found


#: What looks into a value, and calls nothing that it is given.
_LOOK = {"len", "sum", "list", "tuple", "set", "dict", "any", "all", "enumerate", "reversed"}
_ASK_KINDS = ("isinstance", "issubclass", "assertIsInstance", "assertNotIsInstance")
_ASSERTIONS = {"assertEqual", "assertEquals", "assertNotEqual", "assertLess", "assertGreater",
               "assertLessEqual", "assertGreaterEqual", "assertAlmostEqual"}  # fmt: skip


def _is_class_name(name: str) -> bool:
    return name[:1].isupper() and not _in_capitals(name)


def _in_capitals(name: str) -> bool:
    """Tell of ``PRIMES``, a constant, and of ``LRU``, a class perhaps."""
    return len(name) > 1 and name.isupper()


def _asks_for_none(node: ast.AST) -> bool:
    """``x is None``: all that the tests ask of an object may be whether there is one."""
    return isinstance(node, ast.Compare) and any(
        isinstance(o, ast.Is | ast.IsNot) for o in node.ops
    )


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _variable(node: ast.AST) -> str:
    """Return ``x`` of ``x``, ``self.x`` of ``self.x`` and ``cls.x``."""
    if isinstance(node, ast.Name):
        return node.id
    holder = node.value if isinstance(node, ast.Attribute) else None
    mine = isinstance(holder, ast.Name) and holder.id in ("self", "cls")
    return f"self.{node.attr}" if mine else ""  # type: ignore[attr-defined]


def _stored_at_top(tree: ast.Module) -> set[str]:
    nodes = (n for part in tree.body if not isinstance(part, _FUNCTION | ast.ClassDef)
             for n in nodes_in([part]))  # fmt: skip
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _is_shared_fixture(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(d, ast.Call) and any(k.arg == "scope" and "function" not in
               ast.unparse(k.value) for k in d.keywords) for d in node.decorator_list)  # fmt: skip


def _mentions(test: Collected, name: str) -> bool:
    arguments = test.node.args
    given = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return name in given or any(
        getattr(n, "id", "") == name
        or (isinstance(n, ast.Attribute) and n.attr == name and _variable(n).startswith("self."))
        for n in nodes_in(test.node.body)
    )
