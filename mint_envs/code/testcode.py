"""Test code as text: asserts, ``check(candidate)``, pytest functions, unittest classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import SettingError
from .anew import SETTLE, mark
from .asserts import literal, value_test
from .cases import Plan, ValueTest
from .collect import Collected, collect, is_main_guard, refused
from .names import (
    BUILTINS,
    DEFINITION,
    TestCode,
    expression_names,
    global_names,
    method_only,
    root_of,
    uses_only,
)
from .packages import imported
from .roles import Roles
from .solution import assumed_names, definitions_in, without_solution
from .source import Source, names_in, nodes_in
from .values import shorten

_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def code_plan(tests: Mapping[str, Any]) -> Plan:
    """Return the plan of test code; every test in it is one of the plan's.

    Raises:
        SettingError: it is no test code, or not all of it can be run here.
    """
    code, entry = tests["code"], tests.get("entry_point") or ""
    code = "\n".join(code) if isinstance(code, list | tuple) else code
    prompt, setup = tests.get("prompt") or "", tests.get("setup") or ""
    if not all(isinstance(text, str) for text in (code, entry, prompt, setup)):
        raise SettingError("tests: 'code', 'entry_point', 'prompt' and 'setup' must be text")
    source = Source(without_solution(code))
    return _Reading(source, entry, definitions_in(prompt), setup, _before(prompt, entry)).plan()


class _Reading:
    """Test code on its way to a plan."""

    def __init__(self, source: Source, entry: str, prompt: str, setup: str, preamble: str) -> None:
        self._source, self._tree = source, source.tree
        self._setup = Source(setup)
        self._imports = tuple(sorted(imported([source.tree, self._setup.tree])))
        self._found = collect(source.tree)
        self._check = _check_function(source.tree)
        self._entry = entry or self._entry_of_check()
        self._prompt, self._preamble = prompt, preamble + _recursion_limit(source.tree)
        statements = [*self._setup.tree.body, *source.tree.body]
        defined = global_names(prompt).bound if prompt else frozenset()
        self._names = TestCode(f"{setup}\n{source.text}", statements, self._entry)
        free = set(self._names.free - defined) - {_first_name(self._entry)}
        self._assumed = assumed_names(free, source.tree, bool(self._entry))
        free -= self._assumed.keys()
        own = [self._entry] if self._entry else []
        self._stubs = (*own, *sorted(free))

    def plan(self) -> Plan:
        plain = self._plain_asserts()
        if plain and not self._setup.text.strip() and not self._assumed:
            return Plan("values", tuple(plain), self._preamble, imports=self._imports)
        return replace(self._split_plan(), imports=self._imports)

    # -- nothing but plain asserts

    def _plain_asserts(self) -> list[ValueTest]:
        """Return value tests if the code is nothing but plain asserts, else an empty list."""
        names = {_first_name(stub) for stub in self._stubs}
        statements = self._tree.body
        if self._check is not None:
            if any(self._tests_more(node) for node in statements):
                return []
            candidate = self._check.args.args[0].arg
            names, statements = {candidate}, self._check.body
        found = []
        for statement in statements:
            if _says_nothing(statement):
                continue
            test = self._assert_test(statement, names)
            if test is None:
                return []
            text = _renamed(test.text, names, self._entry) if self._check else test.text
            named = expression_names(text, _first_name(self._entry))
            found.append(replace(test, text=text, names=named))
        return found

    def _tests_more(self, node: ast.stmt) -> bool:
        """Whether a statement beside ``check`` does more than to define, and to call it."""
        defines = isinstance(node, ast.Import | ast.ImportFrom | DEFINITION)
        if defines and not any(node in (test.node, test.owner) for test in self._found):
            return False
        return not (_says_nothing(node) or _check_argument(node) == self._entry
                    or self._runs_found_tests(node))  # fmt: skip

    def _assert_test(self, node: ast.stmt, names: set[str]) -> ValueTest | None:
        if not isinstance(node, ast.Assert):
            return None
        test = value_test(
            node.test,
            lambda call: _closed_call(call, names) or (not self._entry and _python_call(call)),
        )
        return None if test is None else ValueTest(**test)

    # -- the rest: a split check

    def _split_plan(self) -> Plan:
        roles = Roles(ast.Module([*self._setup.tree.body, *self._tree.body], []), self._stubs)
        roles.refuse_comparisons()
        roles.refuse_shared_state(self._tree, self._found)
        mark(self._source, {*self._stubs, "candidate"})
        script = self._script()
        steps = [*script.steps, *self._check_steps(), *map(self._found_test, self._found)]
        if not steps:
            raise SettingError(
                f"tests: no assert, check() or test function in {shorten(self._source.text)!r}"
            )
        if not self._stubs and not any(step.names for step in (*script.late, *steps)):
            raise refused("none of them calls the program: each would pass, whatever it is")
        early = "\n".join(self._text(node) for node in script.early)
        setup = "\n".join([*self._assumed.values(), self._prompt, self._setup.text, early])
        return Plan(
            "split", tuple(steps), self._preamble, setup, self._stubs, script.late,
            roles=roles.of(), classes=self._own_classes(),
        )  # fmt: skip

    def _text(self, node: ast.stmt) -> str:
        """Return what a statement is to be: without what runs the tests, which is done apart."""
        if is_main_guard(node) and not self._is_active_guard(node):
            return "pass"
        if isinstance(node, ast.If) and is_main_guard(node):
            self._source.replace(node.test, "True")
        return self._source.of(node)

    def _own_classes(self) -> tuple[tuple[str, str], ...]:
        """Return the tests' own classes, whose objects cross by value, and their text."""
        tested = {test.owner for test in self._found}
        found = {}
        for text in (*self._assumed.values(), self._prompt, self._setup.text):
            for node in Source(text).tree.body:
                if isinstance(node, ast.ClassDef):
                    found[node.name] = ast.unparse(node)
        imports = "\n".join(self._source.of(n) for n in self._tree.body
                            if isinstance(n, ast.Import | ast.ImportFrom))  # fmt: skip
        for node in self._tree.body:
            if isinstance(node, ast.ClassDef) and node not in tested:
                found[node.name] = f"{imports}\n{self._source.of(node)}"
        return tuple(found.items())

    def _found_test(self, test: Collected) -> ValueTest:
        node = test.node
        if test.owner is None:
            text = f"{node.name}()" if test.plain else f"__run__({node.name!r})"
            return ValueTest(text, how="runs", names=self._names.of([node]))
        names = self._names.of([method_only(test.owner, node.name)], test.owner)
        return ValueTest(f"__run__({', '.join(map(repr, test.path))})", how="runs", names=names)

    def _check_steps(self) -> list[ValueTest]:
        """Beside a ``candidate`` that is ``max``, the ``max`` of the tests is the built-in."""
        check = self._check
        if check is None or any("check" in names_in([t.node]) for t in self._found):
            return []
        used = check.args.args[0].arg in names_in([check])
        return [ValueTest(f"check({stub_name(self._entry)})", how="runs",
                          names=() if used else self._names.of([check]))]  # fmt: skip

    def _entry_of_check(self) -> str:
        """Return what test code without ``entry_point`` checks: ``add``, if it says ``check(add)``.

        Raises:
            SettingError: there is a ``check(candidate)``, and nothing says what the candidate is.
        """
        if self._check is None:
            return ""
        places = [*self._tree.body, *(part for test in self._found for part in test.node.body)]
        places += [part for node in self._tree.body if is_main_guard(node) for part in node.body]  # type: ignore[attr-defined]
        checked = {name for node in places if (name := _check_argument(node))}
        if len(checked) != 1:
            raise SettingError(
                "tests: check(candidate) says nothing of what is tested: give 'entry_point', the "
                "name of the function"
            )
        return checked.pop()

    # -- statements beside the definitions

    def _script(self) -> _Script:
        """Cut what is no definition into what goes first, and steps that each pass or fail."""
        script = _Script()
        pending: list[ast.stmt] = []
        begun = False
        for node in self._tree.body:
            if self._runs_found_tests(node) or _check_argument(node) == self._entry != "":
                continue
            active = self._is_active(node)
            begun |= active
            if not begun or self._goes_first(node):
                script.early.append(node)
            elif active and self._is_test(node):
                script.steps.append(self._step([*pending, node]))
                pending = []
            else:
                pending.append(node)
        others = script.steps or self._found or self._check is not None
        if others and any(self._is_active(node) for node in pending):
            script.steps.append(self._step(pending))
        self._move_late(script)
        return script

    def _move_late(self, script: _Script) -> None:
        """Cut what comes first where it calls a name that may be the program's."""
        for index, node in enumerate(script.early):
            if not isinstance(node, DEFINITION) and self._names.of([node]):
                late = script.early[index:]
                script.late = tuple(self._step([part]) for part in late)
                del script.early[index:]
                return

    def _step(self, nodes: list[ast.stmt]) -> ValueTest:
        own = () if isinstance(nodes[0], DEFINITION) and len(nodes) == 1 else self._names.of(nodes)
        *before, test = (self._text(node) for node in nodes)
        test = test.removesuffix(SETTLE)  # which the end of a step does
        return ValueTest(test, how="runs", names=own, before="\n".join(before))

    def _goes_first(self, node: ast.stmt) -> bool:
        """Whether it does not matter when: definitions, and literals with a name of their own."""
        if isinstance(node, DEFINITION | ast.Import | ast.ImportFrom):
            return True
        return (isinstance(node, ast.Assign) and literal(node.value)[0]
                and not self._bound_twice(node))  # fmt: skip

    def _bound_twice(self, node: ast.Assign) -> bool:
        names = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        rest = [n for n in self._tree.body if n is not node and not isinstance(n, DEFINITION)]
        others = [n for part in rest for n in nodes_in([part])]
        return any(isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Store)
                   for n in others)  # fmt: skip

    def _is_active(self, node: ast.stmt) -> bool:
        """Whether a statement tests something, or calls the program."""
        if isinstance(node, DEFINITION | ast.Import | ast.ImportFrom) or _says_nothing(node):
            return False
        if is_main_guard(node):
            return self._is_active_guard(node)
        return self._is_test(node) or self._calls_program(node)

    def _is_active_guard(self, node: ast.stmt) -> bool:
        """Under pytest no ``if __name__ == "__main__"`` holds; it is run where it has all tests."""
        if self._found or self._check is not None:
            return False
        rest = [part for part in node.body if not _runs_tests(part)]  # type: ignore[attr-defined]
        return any(self._is_active(part) for part in rest)

    def _is_test(self, node: ast.stmt) -> bool:
        """Whether a statement asserts, by itself or by a function of the tests'."""
        return any(isinstance(n, ast.Assert | ast.Raise) for n in nodes_in([node])) or bool(
            _called_in(node) & self._asserting
        )

    def _calls_program(self, node: ast.stmt) -> bool:
        return bool(names_in([node]) & (set(self._stubs) | self._calling))

    @property
    def _asserting(self) -> set[str]:
        return self._reaching(lambda n: isinstance(n, ast.Assert | ast.Raise))

    @property
    def _calling(self) -> set[str]:
        return self._reaching(lambda n: isinstance(n, ast.Name) and n.id in self._stubs)

    def _reaching(self, does: Any) -> set[str]:
        """Return the functions of the tests' that do something, or call one that does."""
        functions = {n.name: n for n in self._tree.body if isinstance(n, _FUNCTION)}
        found = {name for name, node in functions.items() if any(map(does, nodes_in(node.body)))}
        while more := {name for name, node in functions.items()
                       if name not in found and _called_in(node) & found}:  # fmt: skip
            found |= more
        return found

    def _runs_found_tests(self, node: ast.stmt) -> bool:
        """``test_add()``, ``unittest.main()``: what is collected is run once."""
        names = {test.path[0] for test in self._found}
        if is_main_guard(node):
            return not self._is_active_guard(node)
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args:
            return call.func.id in names
        return _runs_tests(node)


@dataclass
class _Script:
    """What goes first, what goes first and needs the program, and the steps."""

    def __post_init__(self) -> None:
        self.early: list[ast.stmt] = []
        self.late: tuple[ValueTest, ...] = ()
        self.steps: list[ValueTest] = []


def _runs_tests(node: ast.stmt) -> bool:
    text = ast.unparse(node) if isinstance(node, ast.Expr) else ""
    return bool(re.match(r"(sys\.exit\()?(unittest|pytest)\.main\(", text))


def _called_in(node: ast.AST) -> set[str]:
    return {n.func.id for n in nodes_in([node])
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}  # fmt: skip


def _before(prompt: str, entry: str) -> str:
    """Return the part of a prompt before the function that it asks for."""
    position = prompt.find(f"def {entry}(") if entry else -1
    return prompt[:position] if position > 0 else ""


def _recursion_limit(tree: ast.Module) -> str:
    """Return what gives the program, too, the depth that tests allow themselves."""
    depths = [
        node.args[0].value
        for node in nodes_in([tree])
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setrecursionlimit")
        and node.args and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, int)
    ]  # fmt: skip
    return f"__import__('sys').setrecursionlimit({max(depths)!r})\n" if depths else ""


def _first_name(entry: str) -> str:
    """Return ``Solution`` of ``Solution().f``."""
    return re.split(r"\W", entry, maxsplit=1)[0]


def _check_function(tree: ast.Module) -> ast.FunctionDef | None:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "check" and len(node.args.args) == 1:
            return node
    return None


def _check_argument(node: ast.stmt) -> str:
    """Return ``add`` of the statement ``check(add)``, else ``""``."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not (isinstance(call, ast.Call) and getattr(call.func, "id", "") == "check" and call.args):
        return ""
    return ast.unparse(call.args[0]) if isinstance(call.args[0], ast.Name | ast.Attribute) else ""


def _says_nothing(node: ast.stmt) -> bool:
    """Docstrings, ``METADATA = {...}``, ``pass``, ``assert True``: nothing that tests."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and bool(node.test.value)
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.Dict | ast.Constant) and literal(node.value)[0]
    return isinstance(node, ast.Pass)


def _closed_call(node: ast.AST, names: set[str]) -> bool:
    """A call of the program with nothing of the tests' own in it, so it means the same there."""
    root = root_of(node)
    if root is None or root.id not in names:
        return False
    return global_names(node).used - BUILTINS <= {root.id}


def _python_call(node: ast.AST) -> bool:
    """A call that the program may have made its own: ``max(1, 2)``, ``list(filter(f, [1]))``.

    Functions cannot cross to a split check, and what ``list`` makes of an iterator is plain data.
    """
    if not isinstance(node, ast.Call):
        return False
    made = isinstance(node.func, ast.Name) and node.func.id in _MAKE_PLAIN and not node.keywords
    if made and len(node.args) == 1 and _lone_call(node.args[0]):
        return True
    return _lone_call(node)


_MAKE_PLAIN = ("list", "tuple", "set", "sorted")


def _lone_call(node: ast.AST) -> bool:
    root = root_of(node)
    return root is not None and root.id in BUILTINS and uses_only(node, root.id)


def _renamed(text: str, names: set[str], entry: str) -> str:
    (old,) = names
    return entry + text[len(old) :]


def stub_name(entry: str) -> str:
    """Return what tests call the program by: ``Solution().f`` is no name, so ``candidate``."""
    return entry if entry.isidentifier() and entry not in BUILTINS else "candidate"


__all__: Sequence[str] = ("code_plan", "stub_name")
