"""How the house stands: names, import circles, sizes and walks. ``python -m benchmarks.house``.

    python -m benchmarks.house                     # this tree
    python -m benchmarks.house --root OTHER        # the sizes and names of another one
    python -m benchmarks.house --json house.json

*Names* are functions and classes at the top level of a module; ``command``, ``main`` and
``__getattr__``, which have their form from elsewhere, are left out. *Import circles* are the groups
of modules of which each reaches each other (strongly connected components): by imports that run
when the module is imported, and by all of them, those inside functions and for type checkers too.
The root packages, which offer what stands below them, are in no circle, and a package that is
imported to get at a module of it does not count as imported. A *walk* is one warm call, traced by
``sys.setprofile`` in its own thread: calls of our functions, files that they stand in, and how
often the file changes from one call to the next.

Walks are found by names and commands that stay. One that cannot be taken says why.
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.house_walks import PACKAGES, walks

FROM_ELSEWHERE = {"command", "main", "__getattr__"}
LONG_FILE = 400
HERE = Path(__file__).parents[1]

Function = ast.FunctionDef | ast.AsyncFunctionDef
Graph = dict[str, set[str]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.house",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--root", type=Path, default=HERE, help="the folder that holds mint_envs")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    options = parser.parse_args(arguments)
    modules = read(options.root)
    told = {
        "names": names(modules, "mint_envs"),
        "circles": circles(modules),
        "sizes": sizes(modules),
        "walks": walks() if options.root.resolve() == HERE else [],
    }
    show(told)
    if options.json is not None:
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


# -- the modules ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Module:
    """A source file, read."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package that relative imports begin from."""
        is_package = self.path.name == "__init__.py"
        return self.name if is_package else self.name.rpartition(".")[0]


def read(root: Path) -> dict[str, Module]:
    """Return every module of our packages, by name."""
    paths = [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
    if not paths:
        sys.exit(f"{root} holds neither {' nor '.join(PACKAGES)}")
    found = [_module(root, path) for path in paths]
    return {module.name: module for module in found}


def _module(root: Path, path: Path) -> Module:
    parts = path.relative_to(root).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text(encoding="utf-8")
    return Module(name, path, text, ast.parse(text))


# -- names ----------------------------------------------------------------------------------------


def names(modules: Mapping[str, Module], package: str) -> dict[str, Any]:
    """Count the names that more than one module of a package defines."""
    own = [m for m in modules.values() if m.name.partition(".")[0] == package]
    where: dict[str, list[str]] = defaultdict(list)
    classes: Counter[str] = Counter()
    for module in own:
        for node in module.tree.body:
            if isinstance(node, Function | ast.ClassDef) and node.name not in FROM_ELSEWHERE:
                where[node.name].append(module.name)
                classes[node.name] += isinstance(node, ast.ClassDef)
    total = sum(map(len, where.values()))
    shared = {name: len(set(there)) for name, there in where.items() if len(set(there)) > 1}
    files = Counter(m.path.name for m in own if m.path.name != "__init__.py")
    return {
        "package": package,
        "functions_and_classes": total,
        "shared": sum(len(where[name]) for name in shared),
        "worst": _most(shared, 12),
        "classes_twice": _most({k: n for k, n in classes.items() if n > 1}),
        "files_twice": _most({k: n for k, n in files.items() if n > 1}),
    }


def _most(counts: Mapping[str, int], most: int | None = None) -> dict[str, int]:
    """Return the counts, the largest first."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])


# -- imports --------------------------------------------------------------------------------------


def circles(modules: Mapping[str, Module]) -> dict[str, Any]:
    """Return the import circles, by what closes them."""
    at_top = knots(_graph(modules, lambda m: _at_top(m.tree.body)))
    every = knots(_graph(modules, lambda m: (n for n in ast.walk(m.tree) if _imports(n))))
    return {"at_top": at_top, "of_all_imports": every}


def _imports(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _graph(modules: Mapping[str, Module], lines: Callable[[Module], Iterable[ast.AST]]) -> Graph:
    """Return which modules each imports, by those of its lines that count."""
    return {
        name: {
            target
            for node in lines(module)
            for target in _targets(node, module, modules)
            if target in modules and target not in (name, *PACKAGES)
        }
        for name, module in modules.items()
    }


def _at_top(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that an import of the module runs, but not those of type checkers."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from _at_top([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            handled = [line for handler in node.handlers for line in handler.body]
            yield from _at_top([*node.body, *handled, *node.orelse, *node.finalbody])
        elif isinstance(node, ast.With):
            yield from _at_top(node.body)


def _targets(node: ast.AST, module: Module, modules: Mapping[str, Module]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom):
        parts = module.package.split(".")
        base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
        origin = ".".join(filter(None, [base, node.module or ""]))
        for name in node.names:
            below = f"{origin}.{name.name}"
            yield below if below in modules else origin


def knots(graph: Graph) -> list[list[str]]:
    """Return the groups of nodes of which each reaches each other (Tarjan), largest first."""
    found, index, low, stack = [], dict[str, int](), dict[str, int](), list[str]()

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted((knot for knot in found if len(knot) > 1), key=lambda knot: (-len(knot), knot))


# -- sizes ----------------------------------------------------------------------------------------


def sizes(modules: Mapping[str, Module]) -> dict[str, Any]:
    """Return the lines of functions and files."""
    lengths = sorted(
        (node.end_lineno or 0) - node.lineno + 1
        for module in modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, Function)
    )
    lines = {name: module.text.count("\n") for name, module in modules.items()}
    return {
        "modules": len(modules),
        "lines": sum(lines.values()),
        "functions": len(lengths),
        "function_median": statistics.median(lengths),
        "function_p90": lengths[int(len(lengths) * 0.9)],
        "function_longest": lengths[-1],
        "long_files": _most({name: count for name, count in lines.items() if count > LONG_FILE}),
    }


# -- what is printed ------------------------------------------------------------------------------


def show(told: Mapping[str, Any]) -> None:
    show_names(told["names"])
    show_circles(told["circles"])
    show_sizes(told["sizes"])
    show_walks(told["walks"])


def show_names(found: Mapping[str, Any]) -> None:
    total, shared = found["functions_and_classes"], found["shared"]
    print(f"names ({found['package']}, top level)")
    print(f"  functions and classes: {total:,}; of a name that another module has too: ", end="")
    print(f"{shared} ({shared / total:.1%})")
    for title, key in (
        ("in most modules", "worst"),
        ("classes twice or more", "classes_twice"),
        ("files twice or more", "files_twice"),
    ):
        counts = found[key]
        said = ", ".join(f"{name} {count}" for name, count in counts.items())
        print(f"  {title} ({len(counts)}): {said or 'none'}")


def show_circles(found: Mapping[str, Any]) -> None:
    for title, key in (
        ("import circles at the top level", "at_top"),
        ("with imports inside functions and for type checkers", "of_all_imports"),
    ):
        print(f"\n{title}: {len(found[key])}")
        for knot in found[key]:
            more = f" and {len(knot) - 6} more" if len(knot) > 6 else ""
            print(f"  {len(knot)}: {', '.join(knot[:6])}{more}")


def show_sizes(found: Mapping[str, Any]) -> None:
    print(f"\nsizes ({', '.join(PACKAGES)})")
    print(
        f"  {found['modules']} modules, {found['lines']:,} lines, {found['functions']:,} functions"
    )
    print(
        f"  lines of a function: median {found['function_median']:g}, 90 % up to "
        f"{found['function_p90']}, longest {found['function_longest']}"
    )
    long = ", ".join(f"{name} {count}" for name, count in found["long_files"].items())
    print(f"  files over {LONG_FILE} lines: {len(found['long_files'])} {long}")


def show_walks(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        print("\nwalks: none for another tree; run that tree's own python -m benchmarks.house")
        return
    print(f"\n{'walks, warm':<42}{'calls':>7}{'files':>7}{'switches':>10}")
    for one in found:
        figures = f"{one['calls']:>7,}{one['files']:>7}{one['switches']:>10}"
        print(f"{one['name']:<42}{figures}  {one['note']}".rstrip())


if __name__ == "__main__":
    main()
