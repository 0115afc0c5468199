"""Which tests there are in test code: what pytest would collect, or the row is refused.

A test that is left out without a word pays wrong programs. So whatever looks like a test, and is
none by pytest's rules or cannot be run here, is an error with the reason.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import SettingError
from .source import nodes_in

_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_BLOCK = ast.If | ast.For | ast.While | ast.Try | ast.With
#: What the stand-in for pytest has (``sandbox/inside/pytest_like.py``).
_PYTEST = {"raises", "approx", "mark", "param", "fixture", "fail", "main"}
_FIXTURES = {"capsys", "monkeypatch", "tmp_path", "request"}
_AROUND = {"setup_function", "teardown_function", "setup_module", "teardown_module"}
#: What changes or watches the process of the program, which is another than the tests'.
_ELSEWHERE = {"setenv", "delenv", "chdir", "environ", "catch_warnings", "assertWarns",
              "assertWarnsRegex", "assertLogs", "assertNoLogs"}  # fmt: skip
_PATCHES = {"patch", "setattr", "object"}
#: What a patch of a library may be of: it is carried over to the program.
_CARRIED = {"builtins.input", "builtins.print", "sys.stdout", "sys.stdin", "sys.stderr"}
#: Marks and decorators by which a test may not be run, or may fail.
_MAYBE = {"skip", "skipif", "xfail", "skipIf", "skipUnless", "expectedFailure", "skipTest"}


@dataclass(frozen=True, slots=True)
class Collected:
    """A test: its path, its definition, the class that it is written in, and if it is bare.

    ``plain``: to call it by its name is all that pytest would do.
    """

    path: tuple[str, ...]
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: ast.ClassDef | None = None
    plain: bool = False


def collect(tree: ast.Module) -> list[Collected]:
    """Return the tests that pytest collects in a module.

    Raises:
        SettingError: something looks like a test, and would not be run.
    """
    _refuse_unknown(tree)
    found = _Module(tree).found()
    for test in found:
        _refuse_returned(test.node)
    return found


def refused(what: str) -> SettingError:
    return SettingError(f"tests: {what}")


def _refuse_unknown(tree: ast.Module) -> None:
    for node in nodes_in([tree]):
        if isinstance(node, ast.Attribute):
            _refuse_attribute(node)
        elif isinstance(node, ast.Call):
            _refuse_patch_of_library(node)
        elif isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple) and node.test.elts:
            raise refused(f"'assert {ast.unparse(node.test)[:60]}' holds always: a tuple is true")
        elif isinstance(node, ast.ImportFrom) and node.module == "pytest":
            for name in node.names:
                _refuse_pytest(name.name)
        elif isinstance(node, _FUNCTION) and node.name in ("pytest_generate_tests", "load_tests"):
            raise refused(f"{node.name}() makes tests that cannot be told by reading")


def _refuse_returned(node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Refuse a test that returns what it should assert: pytest takes no notice of that."""
    nodes = list(nodes_in(node.body))
    returned = [n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None]
    asserts = any(
        isinstance(n, ast.Assert | ast.Raise)
        or (isinstance(n, ast.Attribute) and re.match(r"assert|raises|fail", n.attr))
        or (isinstance(n, ast.Name) and re.match(r"assert|raises|fail|check|verify", n.id))
        for n in nodes
    )
    if not asserts and any(isinstance(v, ast.Compare | ast.BoolOp | ast.Call) for v in returned):
        raise refused(f"{node.name} returns its verdict, which nobody asks for: write assert")


def _refuse_attribute(node: ast.Attribute) -> None:
    if isinstance(node.value, ast.Name) and node.value.id == "pytest":
        _refuse_pytest(node.attr)
    if node.attr in _MAYBE:
        raise refused(
            f"{node.attr!r}: a test that may be left out, or may fail, says nothing of a program. "
            "Take the test or the mark away"
        )
    if node.attr in _ELSEWHERE:
        raise refused(f"{node.attr!r} is of the tests' process, and the program is in another")


def _refuse_patch_of_library(node: ast.Call) -> None:
    name = ast.unparse(node.func).rpartition(".")[2]
    if name not in _PATCHES or not node.args:
        return
    texts = [a.value if isinstance(a, ast.Constant) else ast.unparse(a) for a in node.args[:2]]
    first = str(texts[0])
    target = first if isinstance(node.args[0], ast.Constant) else ".".join(map(str, texts))
    library = target.partition(".")[0] in sys.stdlib_module_names
    if "." in target and library and target not in _CARRIED:
        raise refused(
            f"a patch of {target!r} would not reach the program, which is in another process"
        )


def _refuse_pytest(name: str) -> None:
    if name not in _PYTEST and name not in _MAYBE:
        raise refused(f"pytest.{name} cannot be used here; what can: {', '.join(sorted(_PYTEST))}")


class _Module:
    """The definitions of a module."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
        self._bases = {b.id for c in self._classes.values() for b in c.bases
                       if isinstance(b, ast.Name)}  # fmt: skip
        self._fixtures = _FIXTURES | {
            _fixture_name(node) for node in tree.body if isinstance(node, _FUNCTION)
        }

    def found(self) -> list[Collected]:
        tests: dict[tuple[str, ...], Collected] = {}
        for node in self._tree.body:
            if isinstance(node, _FUNCTION) and _named(node):
                tests[node.name,] = Collected((node.name,), node, None, self._plain(node))
            elif isinstance(node, ast.ClassDef):
                for test in self._of_class(node, ()):
                    tests[test.path] = test
            elif isinstance(node, _BLOCK) and not is_main_guard(node):
                _refuse_hidden(node)
            elif isinstance(node, ast.Assign):
                _refuse_assigned(node)
        return list(tests.values())

    def _plain(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether a test function takes nothing; refuses fixtures that nobody defines."""
        needed = _needed(node)
        known = self._fixtures | set(_parameters(node))
        for name in needed[_mocks(node) :]:
            if name not in known:
                raise refused(
                    f"{node.name}({name}): there is no fixture {name!r}. Define it, or give the "
                    "parameter a value"
                )
        functions = [n for n in self._tree.body if isinstance(n, _FUNCTION)]
        around = any(n.name in _AROUND for n in functions) or any(
            "autouse=True" in ast.unparse(d) for n in functions for d in n.decorator_list
        )
        return isinstance(node, ast.FunctionDef) and not (needed or node.decorator_list or around)

    def _of_class(self, node: ast.ClassDef, outer: tuple[str, ...]) -> Iterator[Collected]:
        methods = {method.name: (owner, method) for owner, method in self._methods(node)}
        tests = {name: pair for name, pair in methods.items() if _named(pair[1])}
        if not self._is_collected(node, bool(tests), bool(outer)) or _switched_off(node):
            return
        if tests and not self._is_unittest(node) and {"__init__", "__new__"} & methods.keys():
            raise refused(f"class {node.name} has tests and a constructor, so pytest leaves it out")
        self._refuse_unknown_bases(node)
        known = self._fixtures | {_fixture_name(m) for _, m in methods.values()}
        for name, (owner, method) in tests.items():
            _refuse_unfilled(node, method, known | set(_parameters(method, owner, node)))
            yield Collected((*outer, node.name, name), method, owner)
        for part in node.body:
            if isinstance(part, ast.ClassDef):
                yield from self._of_class(part, (*outer, node.name))

    def _is_collected(self, node: ast.ClassDef, has_tests: bool, inner: bool) -> bool:
        if self._is_unittest(node) or node.name.startswith("Test"):
            return True
        if has_tests and node.name not in self._bases and not inner:
            raise refused(f"class {node.name} has tests, and pytest collects classes that are "
                          "called Test... or derive from unittest.TestCase")  # fmt: skip
        return False

    def _methods(
        self, node: ast.ClassDef
    ) -> Iterator[tuple[ast.ClassDef, ast.FunctionDef | ast.AsyncFunctionDef]]:
        """Yield the methods of a class, those of its bases first."""
        for base in reversed(node.bases):
            if isinstance(base, ast.Name) and base.id in self._classes and base.id != node.name:
                yield from self._methods(self._classes[base.id])
        yield from ((node, part) for part in node.body if isinstance(part, _FUNCTION))

    def _is_unittest(self, node: ast.ClassDef) -> bool:
        return any(
            ast.unparse(base).rpartition(".")[2] in ("TestCase", "IsolatedAsyncioTestCase")
            or (isinstance(base, ast.Name) and base.id in self._classes and base.id != node.name
                and self._is_unittest(self._classes[base.id]))
            for base in node.bases
        )  # fmt: skip

    def _refuse_unknown_bases(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            name = ast.unparse(base)
            known = ("TestCase", "IsolatedAsyncioTestCase", "object", "ABC")
            if name not in self._classes and name.rpartition(".")[2] not in known:
                raise refused(f"class {node.name}({name}): tests that {name} may bring along are "
                              "not to be seen here")  # fmt: skip


def _refuse_unfilled(
    owner: ast.ClassDef, method: ast.FunctionDef | ast.AsyncFunctionDef, known: set[str]
) -> None:
    static = any(ast.unparse(d) == "staticmethod" for d in method.decorator_list)
    for wanted in _needed(method)[_mocks(method) :][0 if static else 1 :]:
        if wanted not in known:
            raise refused(f"{owner.name}.{method.name}({wanted}): there is no fixture {wanted!r}")


def _named(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return node.name.startswith("test") and not _fixture_name(node)


def _fixture_name(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the name of the fixture that a function is, else ``""``."""
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(call).rpartition(".")[2] == "fixture":
            named = [k.value for k in getattr(decorator, "keywords", ()) if k.arg == "name"]
            return str(getattr(named[0], "value", "")) if named else node.name
    return ""


def _needed(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the parameters without a value of their own."""
    places = [*node.args.posonlyargs, *node.args.args]
    required = places[: len(places) - len(node.args.defaults)]
    keywords = [
        a for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is None
    ]
    return [argument.arg for argument in (*required, *keywords)]


def _mocks(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many parameters ``@patch("name")`` fills."""
    count = 0
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = ast.unparse(call.func).rpartition("patch")[1:] if call else ("", "")
        if call and name[0] and name[1] in ("", ".object"):
            given = len(call.args) > (2 if name[1] else 1)
            count += not given and not any(k.arg in ("new", "new_callable") for k in call.keywords)
            count += any(k.arg == "new_callable" for k in call.keywords)
    return count


def _parameters(*nodes: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[str]:
    """Return the names that ``@pytest.mark.parametrize`` gives values to."""
    found: list[str] = []
    for node in nodes:
        for decorator in node.decorator_list:
            if not (
                isinstance(decorator, ast.Call) and "parametrize" in ast.unparse(decorator.func)
            ):
                continue
            if any(k.arg == "indirect" for k in decorator.keywords):
                raise refused(f"{node.name}: parametrize(indirect=...) cannot be run here")
            first = decorator.args[0] if decorator.args else decorator.keywords[0].value
            names = ast.literal_eval(first)
            names = names.split(",") if isinstance(names, str) else names
            found += [name.strip() for name in names]
    return found


def _switched_off(node: ast.ClassDef) -> bool:
    return any(ast.unparse(part) == "__test__ = False" for part in node.body)


def is_main_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).replace('"', "'") in (
        "__name__ == '__main__'",
        "'__main__' == __name__",
    )


def _refuse_hidden(block: ast.stmt) -> None:
    for node in nodes_in([block]):
        named = isinstance(node, _FUNCTION) and node.name.startswith("test")
        if named or (isinstance(node, ast.ClassDef) and node.name.startswith("Test")):
            raise refused(f"{node.name} is defined within another statement, so that nothing says "  # type: ignore[attr-defined]
                          "whether it is there")  # fmt: skip


def _refuse_assigned(node: ast.Assign) -> None:
    for target in node.targets:
        name = target.id if isinstance(target, ast.Name) else ""
        other = isinstance(node.value, ast.Name) and node.value.id.startswith("test")
        if name.startswith("test") and (isinstance(node.value, ast.Lambda) or other):
            raise refused(f"{name} = {ast.unparse(node.value)[:40]}: write it as a function")
