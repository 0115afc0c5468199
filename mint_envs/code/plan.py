"""What is tested, and where: tests as users give them become a ``Plan``.

Only a plain call of the program is evaluated where the program can reach. Whatever else a test
does with the result (a comparison, ``isinstance``, a loop of asserts) is either done outside, on
the value, or runs as a *split check*: the tests in a process of their own, the program behind a
stub, and plain values between them.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..errors import SettingError
from .asserts import literal, value_test
from .stdio import COMPARE
from .values import EXACT, Tolerance, plain, shorten

_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class ValueTest:
    """A step and what its value must be.

    ``how`` is ``"equal"`` (to ``expected``), ``"true"`` or ``"false"`` (its truth value), or
    ``"runs"`` (a piece of test code must come to its end).
    """

    text: str
    expected: Any = True
    how: Literal["equal", "true", "false", "runs"] = "equal"
    tolerance: Tolerance = EXACT


@dataclass(frozen=True, slots=True)
class IoTest:
    """What goes in on stdin, what must come out on stdout, and how that is compared."""

    stdin: str
    stdout: str
    compare: str = "tokens"
    tolerance: Tolerance | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Tests made ready.

    Args:
        kind: ``"values"``, ``"split"`` or ``"main"`` (stdin and stdout).
        tests: ``ValueTest`` or ``IoTest``.
        preamble: what goes before the program (the imports and helpers of its prompt).
        setup: what the tests of a split check need first.
        stubs: names by which they call the program.
    """

    kind: Literal["values", "split", "main"]
    tests: tuple[Any, ...]
    preamble: str = ""
    setup: str = ""
    stubs: tuple[str, ...] = ()

    def some(self, count: int) -> Plan:
        """Return the plan with at most ``count`` tests, of as many expected values as there are.

        The first tests of a data set often expect one and the same, which a constant would pass.
        """
        if len(self.tests) <= count:
            return self
        seen: Counter[str] = Counter()
        rounds = []
        for index, test in enumerate(self.tests):
            key = test.stdout if isinstance(test, IoTest) else f"{test.how} {test.expected!r}"
            rounds.append((seen[key], index))
            seen[key] += 1
        chosen = sorted(index for _, index in sorted(rounds)[:count])
        return replace(self, tests=tuple(self.tests[index] for index in chosen))


def make_plan(tests: Any) -> Plan:
    """Return the plan of tests in any of the three forms.

    Args:
        tests: pairs of expression and expected value; dicts with ``stdin`` and ``stdout`` (and
            ``compare``, ``tolerance``); or one dict with ``code``, and ``entry_point`` (what is
            tested: ``f`` or ``Solution().f``), ``setup``, ``prompt`` where the code needs them.

    Raises:
        SettingError: they are none of these, there are none, or the verdict would be the
            program's own.
    """
    if isinstance(tests, Plan):
        return tests
    if isinstance(tests, Mapping) and "code" in tests:
        return _code_plan(tests)
    items = [tests] if isinstance(tests, Mapping) else tests
    if isinstance(items, str | bytes) or not isinstance(items, Sequence) or not items:
        raise SettingError(f"tests={shorten(repr(tests))}: {_FORMS}")
    if all(isinstance(item, Mapping) for item in items):
        return Plan("main", tuple(_io_test(item, i) for i, item in enumerate(items)))
    return _pair_plan([_pair(item, i) for i, item in enumerate(items)])


_FORMS = (
    'give a list of (expression, expected) pairs, a list of {"stdin": ..., "stdout": ...}, or '
    '{"code": test code, "entry_point": name}, with at least one test'
)


def _io_test(item: Mapping[str, Any], number: int) -> IoTest:
    stdin, stdout = item.get("stdin", ""), item.get("stdout")
    compare = item.get("compare", "tokens")
    if not isinstance(stdin, str) or not isinstance(stdout, str):
        raise SettingError(f"test {number}: 'stdin' and 'stdout' must be text; {_FORMS}")
    if compare not in COMPARE:
        raise SettingError(f"test {number}: compare={compare!r}, valid: {', '.join(COMPARE)}")
    room = item.get("tolerance")
    return IoTest(stdin, stdout, compare, None if room is None else Tolerance(room, room))


def _pair(item: Any, number: int) -> tuple[str, Any]:
    if isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 2:
        raise SettingError(f"test {number} is {shorten(repr(item))}: {_FORMS}")
    text, expected = item
    if not isinstance(text, str):
        raise SettingError(f"test {number}: the expression {text!r} is no text; {_FORMS}")
    return text.strip(), plain(expected, f"test {number} ({shorten(text, 40)})")


# -- (expression, expected) -----------------------------------------------------------------------


def _pair_plan(pairs: list[tuple[str, Any]]) -> Plan:
    tests = [_rewritten(text, expected) for text, expected in pairs]
    if all(_may_run_with_program(test) for test in tests):
        return Plan("values", tuple(tests))
    stubs: set[str] = set()
    modules: set[str] = set()
    for test in tests:
        free = _free_names(test.text)
        modules |= {name for name in free & sys.stdlib_module_names if f"{name}." in test.text}
        stubs |= _called_names(test.text, free - modules)
    setup = "\n".join(f"import {name}" for name in sorted(modules))
    return Plan("split", tuple(tests), setup=setup, stubs=tuple(sorted(stubs)))


def _rewritten(text: str, expected: Any) -> ValueTest:
    """Turn ``("f(2) == 4", True)`` into ``("f(2)", 4)``: the comparison is ours to make."""
    tree = _parsed(text)
    if expected is True and not _plain_call(tree):
        test = value_test(tree, lambda node: _plain_call(node) or isinstance(node, ast.Attribute))
        if test is not None and test.get("how") != "true":
            return ValueTest(**test)
    return ValueTest(text, expected)


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SettingError(f"the test {shorten(text)!r} is no Python expression: {error}") from None


def _may_run_with_program(test: ValueTest) -> bool:
    return test.how != "equal" or not _holds_bool(test.expected) or _plain_call(_parsed(test.text))


def _holds_bool(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_bool(item) for item in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return any(_holds_bool(item) for item in value)
    return isinstance(value, bool)


def _plain_call(node: ast.AST) -> bool:
    """``f(1)``, ``Solution().f(1)``, ``box.get(1)``: calls of names that are the program's."""
    name = _called(node)
    return name is not None and name not in _BUILTINS and name not in sys.stdlib_module_names


def _called(node: ast.AST) -> str | None:
    """Return the name at the root of a call: ``f`` of ``f(1)``, ``Box`` of ``Box(1).get(2)``."""
    if not isinstance(node, ast.Call):
        return None
    target: ast.AST = node.func
    while isinstance(target, ast.Attribute | ast.Call):
        target = target.value if isinstance(target, ast.Attribute) else target.func
    return target.id if isinstance(target, ast.Name) else None


def _called_names(text: str, free: set[str]) -> set[str]:
    """Return ``free``, the names of the program in an expression, if it only calls them.

    Raises:
        SettingError: it uses one in another way, so the program itself would make the verdict.
    """
    tree = _parsed(text)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in free and id(node) not in called:
            raise SettingError(
                f"the test ({shorten(text)!r}, True) is refused: {node.id!r} belongs to the "
                "program, so the program would make its own verdict. Give a plain call and the "
                "value that it must return."
            )
    return free


def _free_names(code: str) -> set[str]:
    """Return the names that a piece of code uses and does not define."""
    top = symtable.symtable(code, "tests", "exec")
    defined = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    used: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        used |= {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    return used - defined - _BUILTINS - {"__name__", "__file__"}


# -- test code ------------------------------------------------------------------------------------


def _code_plan(tests: Mapping[str, Any]) -> Plan:
    code, entry = tests["code"], tests.get("entry_point") or ""
    code = "\n".join(code) if isinstance(code, list | tuple) else code
    prompt, setup = tests.get("prompt") or "", tests.get("setup") or ""
    if not all(isinstance(text, str) for text in (code, entry, prompt, setup)):
        raise SettingError("tests: 'code', 'entry_point', 'prompt' and 'setup' must be text")
    tree = _module(code)
    entry = entry or _entry_of_check(tree)
    free = _free_names(f"{setup}\n{code}")
    stubs = (entry,) if entry else tuple(sorted(free))
    preamble = _before(prompt, entry)
    plain_tests = _plain_asserts(tree, stubs, entry)
    if plain_tests and not setup.strip():
        return Plan("values", tuple(plain_tests), preamble)
    first, steps = _steps(tree, entry)
    if not steps:
        raise SettingError(f"tests: no assert, check() or test function in {shorten(code)!r}")
    return Plan("split", tuple(steps), preamble, "\n".join([prompt, setup, first]), stubs)


def _module(code: str) -> ast.Module:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SettingError(f"tests: the test code does not compile: {error}") from None


def _before(prompt: str, entry: str) -> str:
    """Return the part of a prompt before the function that it asks for."""
    position = prompt.find(f"def {entry}(") if entry else -1
    return prompt[:position] if position > 0 else ""


def _plain_asserts(tree: ast.Module, stubs: Sequence[str], entry: str) -> list[ValueTest]:
    """Return value tests if the code is nothing but plain asserts, else an empty list."""
    names = {re.split(r"\W", stub, maxsplit=1)[0] for stub in stubs}  # Solution of Solution().f
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
        test = _assert_test(statement, names)
        if test is None:
            return []
        found.append(replace(test, text=_renamed(test.text, names, entry) if check else test.text))
    return found


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
    checked = [name for node in tree.body if (name := _checked(node))]
    if len(set(checked)) != 1:
        raise SettingError(
            "tests: check(candidate) says nothing of what is tested: give 'entry_point', the name "
            "of the function"
        )
    return checked[0]


def _checked(node: ast.stmt) -> str:
    """Return ``add`` of the statement ``check(add)``, else ``""``."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "check" and call.args):
        return ""
    return ast.unparse(call.args[0]) if isinstance(call.args[0], ast.Name | ast.Attribute) else ""


def _tests_more(node: ast.stmt, entry: str) -> bool:
    """Whether a statement beside ``check`` does more than to define, and to call it."""
    defines = isinstance(
        node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    ) and not _test_calls(node)
    return not (defines or _says_nothing(node) or _checked(node) == entry)


def _says_nothing(node: ast.stmt) -> bool:
    """Docstrings, ``METADATA = {...}``, ``pass``, ``assert True``: nothing that tests."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and bool(node.test.value)
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.Dict | ast.Constant) and literal(node.value)[0]
    return isinstance(node, ast.Pass)


def _assert_test(node: ast.stmt, names: set[str]) -> ValueTest | None:
    if not isinstance(node, ast.Assert):
        return None
    test = value_test(node.test, lambda call: _closed_call(call, names))
    return None if test is None else ValueTest(**test)


def _closed_call(node: ast.AST, names: set[str]) -> bool:
    """A call of the program with nothing of the tests' own in it, so it means the same there."""
    root = _called(node)
    if root is None or root not in names:
        return False
    return _free_names(ast.unparse(node)) == {root}


def _renamed(text: str, names: set[str], entry: str) -> str:
    (old,) = names
    return entry + text[len(old) :]


def _steps(tree: ast.Module, entry: str) -> tuple[str, list[ValueTest]]:
    """Cut test code into (what goes first, steps that each can pass or fail)."""
    first: list[str] = []
    steps: list[str] = []
    pending: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.Assert):
            steps.append("\n".join(map(ast.unparse, [*pending, node])))
            pending = []
        elif steps:
            pending.append(node)
        else:
            first.append(ast.unparse(node))
    rest = "\n".join([*first, *map(ast.unparse, pending)])
    if _check_function(tree) is not None:
        steps.append(f"check({stub_name(entry)})")
    steps += [call for node in tree.body for call in _test_calls(node)]
    return rest, [ValueTest(step, how="runs") for step in steps]


def stub_name(entry: str) -> str:
    """Return what tests call the program by: ``Solution().f`` is no name, so ``candidate``."""
    return entry if entry.isidentifier() else "candidate"


def _test_calls(node: ast.stmt) -> list[str]:
    """Return what runs the tests of a pytest function or a unittest class, one by one."""
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and not node.args.args:
        return [f"{node.name}()"]
    if isinstance(node, ast.ClassDef) and any("TestCase" in ast.unparse(b) for b in node.bases):
        methods = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
        return [f"{node.name}({m!r}).debug()" for m in methods if m.startswith("test")]
    return []
