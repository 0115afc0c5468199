"""Test code as text: asserts, ``check(candidate)``, pytest functions, unittest classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import SettingError
from .asserts import literal, value_test
from .cases import Plan, ValueTest
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
from .values import shorten


def code_plan(tests: Mapping[str, Any]) -> Plan:
    code, entry = tests["code"], tests.get("entry_point") or ""
    code = "\n".join(code) if isinstance(code, list | tuple) else code
    prompt, setup = tests.get("prompt") or "", tests.get("setup") or ""
    if not all(isinstance(text, str) for text in (code, entry, prompt, setup)):
        raise SettingError("tests: 'code', 'entry_point', 'prompt' and 'setup' must be text")
    tree = _module(code)
    entry = entry or _entry_of_check(tree)
    preamble = _before(prompt, entry)
    names = TestCode(f"{setup}\n{code}", [*_module(setup).body, *tree.body], entry)
    stubs = (entry,) if entry else tuple(sorted(names.free))
    plain_tests = _plain_asserts(tree, stubs, entry)
    if plain_tests and not setup.strip():
        return Plan("values", tuple(plain_tests), preamble)
    first, steps = _steps(tree, entry, names)
    if not steps:
        raise SettingError(f"tests: no assert, check() or test function in {shorten(code)!r}")
    early, late = _early(first, names)
    setup = "\n".join([prompt, setup, *map(ast.unparse, early)])
    return Plan("split", tuple(steps), preamble, setup, stubs, late)


def _early(first: list[ast.stmt], names: TestCode) -> tuple[list[ast.stmt], tuple[ValueTest, ...]]:
    """Cut what comes before the tests where it first calls a name that may be the program's."""
    for index, node in enumerate(first):
        if not isinstance(node, DEFINITION) and names.of([node]):
            return first[:index], tuple(_test_step([node], names) for node in first[index:])
    return first, ()


def _test_step(nodes: list[ast.stmt], names: TestCode) -> ValueTest:
    own = () if isinstance(nodes[0], DEFINITION) and len(nodes) == 1 else names.of(nodes)
    return ValueTest("\n".join(map(ast.unparse, nodes)), how="runs", names=own)


def _module(code: str) -> ast.Module:
    try:
        return _without_idle_pytest(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SettingError(f"tests: the test code does not compile: {error}") from None


def _without_idle_pytest(tree: ast.Module) -> ast.Module:
    """Leave out ``import pytest`` where nothing needs it: the sandbox has none."""
    if not any(isinstance(n, ast.Name) and n.id == "pytest" for n in ast.walk(tree)):
        tree.body = [node for node in tree.body if ast.unparse(node) != "import pytest"]
    return tree


def _before(prompt: str, entry: str) -> str:
    """Return the part of a prompt before the function that it asks for."""
    position = prompt.find(f"def {entry}(") if entry else -1
    return prompt[:position] if position > 0 else ""


def _plain_asserts(tree: ast.Module, stubs: Sequence[str], entry: str) -> list[ValueTest]:
    """Return value tests if the code is nothing but plain asserts, else an empty list."""
    names = {_first_name(stub) for stub in stubs}
    statements = tree.body
    check = _check_function(tree)
    if check is not None:
        if any(_tests_more(node, entry) for node in tree.body):
            return []
        names = {check.args.args[0].arg}
        statements = check.body
    found = []
    for statement in statements:
        if _says_nothing(statement):
            continue
        test = _assert_test(statement, names, entry)
        if test is None:
            return []
        text = _renamed(test.text, names, entry) if check else test.text
        found.append(replace(test, text=text, names=expression_names(text, _first_name(entry))))
    return found


def _first_name(entry: str) -> str:
    """Return ``Solution`` of ``Solution().f``."""
    return re.split(r"\W", entry, maxsplit=1)[0]


def _check_function(tree: ast.Module) -> ast.FunctionDef | None:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "check" and len(node.args.args) == 1:
            return node
    return None


def _entry_of_check(tree: ast.Module) -> str:
    """Return what test code without ``entry_point`` checks: ``add``, if it ends in ``check(add)``.

    Raises:
        SettingError: there is a ``check(candidate)``, and nothing says what the candidate is.
    """
    if _check_function(tree) is None:
        return ""
    checked = [name for node in tree.body if (name := _check_argument(node))]
    if len(set(checked)) != 1:
        raise SettingError(
            "tests: check(candidate) says nothing of what is tested: give 'entry_point', the name "
            "of the function"
        )
    return checked[0]


def _check_argument(node: ast.stmt) -> str:
    """Return ``add`` of the statement ``check(add)``, else ``""``."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "check" and call.args):
        return ""
    return ast.unparse(call.args[0]) if isinstance(call.args[0], ast.Name | ast.Attribute) else ""


def _tests_more(node: ast.stmt, entry: str) -> bool:
    """Whether a statement beside ``check`` does more than to define, and to call it."""
    defines = (
        isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.FunctionDef) and not _is_test(node))
        or (isinstance(node, ast.ClassDef) and not _test_methods(node))
    )
    return not (defines or _says_nothing(node) or _check_argument(node) == entry)


def _says_nothing(node: ast.stmt) -> bool:
    """Docstrings, ``METADATA = {...}``, ``pass``, ``assert True``: nothing that tests."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and bool(node.test.value)
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.Dict | ast.Constant) and literal(node.value)[0]
    return isinstance(node, ast.Pass)


def _assert_test(node: ast.stmt, names: set[str], entry: str) -> ValueTest | None:
    if not isinstance(node, ast.Assert):
        return None
    test = value_test(
        node.test, lambda call: _closed_call(call, names) or (not entry and _python_call(call))
    )
    return None if test is None else ValueTest(**test)


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


def _steps(tree: ast.Module, entry: str, names: TestCode) -> tuple[list[ast.stmt], list[ValueTest]]:
    """Cut test code into (what goes first, steps that each can pass or fail)."""
    first: list[ast.stmt] = []
    steps: list[ValueTest] = []
    pending: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.Assert):
            steps.append(_test_step([*pending, node], names))
            pending = []
        else:
            (pending if steps else first).append(node)
    first += pending
    check = _check_function(tree)
    if check is not None:
        first = [node for node in first if _check_argument(node) != entry]
        steps.append(_check_step(check, entry, names))
    return first, steps + [step for node in tree.body for step in _test_calls(node, names)]


def _check_step(check: ast.FunctionDef, entry: str, names: TestCode) -> ValueTest:
    """Beside a ``candidate`` that is ``max``, the ``max`` of the tests is the built-in."""
    candidate = check.args.args[0].arg
    used = any(isinstance(node, ast.Name) and node.id == candidate for node in ast.walk(check))
    return ValueTest(
        f"check({stub_name(entry)})", how="runs", names=() if used else names.of([check])
    )


def stub_name(entry: str) -> str:
    """Return what tests call the program by: ``Solution().f`` is no name, so ``candidate``."""
    return entry if entry.isidentifier() and entry not in BUILTINS else "candidate"


def _test_calls(node: ast.stmt, names: TestCode) -> list[ValueTest]:
    """Return what runs the tests of a function or a class, one by one."""
    if isinstance(node, ast.FunctionDef):
        parts = [(f"{node.name}()", names.of([node]))] if _is_test(node) else []
    elif isinstance(node, ast.ClassDef):
        parts = [
            (_call_of_method(node, name), names.of([method_only(node, name)], node))
            for name in _test_methods(node)
        ]
    else:
        parts = []
    return [ValueTest(text, how="runs", names=own) for text, own in parts]


def _is_test(node: ast.FunctionDef) -> bool:
    return node.name.startswith("test") and not node.args.args


def _test_methods(node: ast.ClassDef) -> list[str]:
    return [name for name in _methods(node) if name.startswith("test")] if _tests(node) else []


def _tests(node: ast.ClassDef) -> bool:
    """A unittest class, or a class that pytest would collect."""
    return _is_unittest(node) or (node.name.startswith("Test") and "__init__" not in _methods(node))


def _is_unittest(node: ast.ClassDef) -> bool:
    return any("TestCase" in ast.unparse(base) for base in node.bases)


def _methods(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}


def _call_of_method(node: ast.ClassDef, name: str) -> str:
    if _is_unittest(node):
        return f"{node.name}({name!r}).debug()"
    before = _methods(node).get("setup_method")
    if before is None:
        return f"{node.name}().{name}()"
    told = f"case.{name}" if len(before.args.args) > 1 else ""
    return f"case = {node.name}()\ncase.setup_method({told})\ncase.{name}()"
