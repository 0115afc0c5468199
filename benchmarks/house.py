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
import asyncio
import contextlib
import functools
import importlib.util
import io
import itertools
import json
import os
import runpy
import statistics
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGES = ("mint_envs", "trainers")
FROM_ELSEWHERE = {"command", "main", "__getattr__"}
LONG_FILE = 400
HERE = Path(__file__).parents[1]
_SCORE = "/v1/score"

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


# -- walks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Walk:
    """What one warm call passes through, or why it could not be taken."""

    name: str
    calls: int = 0
    files: int = 0
    switches: int = 0
    note: str = ""


Call = tuple[str, str]
Action = Callable[[], object]


def traced(action: Action) -> list[Call]:
    """Return the calls that ``action`` makes."""
    with tracing() as found:
        action()
    return found


@contextlib.contextmanager
def tracing() -> Iterator[list[Call]]:
    """Note (file, function) of every call of ours in this thread."""
    found: list[Call] = []
    places = _places()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(places):
            found.append((frame.f_code.co_filename, frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


@functools.cache
def _places() -> tuple[str, ...]:
    """Return the folders of our packages as they are imported: installed ones, or this tree's."""
    specs = [importlib.util.find_spec(package) for package in PACKAGES]
    return tuple(f"{Path(spec.origin).parent}{os.sep}" for spec in specs if spec and spec.origin)


def walk(name: str, action: Action, before: Action = lambda: None) -> Walk:
    """Trace the third call of ``action``; ``before`` is called before each, untraced."""
    for _ in range(2):
        before()
        action()
    before()
    return summed(name, traced(action))


def summed(name: str, calls: Sequence[Call], note: str = "") -> Walk:
    files = [file for file, _ in calls]
    switches = sum(a != b for a, b in itertools.pairwise(files))
    return Walk(name, len(calls), len(set(files)), switches, note)


def walks() -> list[dict[str, Any]]:
    """Take every walk; one whose names are gone, or that fails, says so and stops no other."""
    found = []
    for name, take in WALKS.items():
        try:
            found.append(take(name))
        except Exception as error:
            found.append(Walk(name, note=f"not taken: {type(error).__name__}: {error}"))
    return [asdict(one) for one in found]


def _step(name: str, id: str, text: str | None = None, **settings: Any) -> Walk:
    """One ``env.step``; ``text``: None for the first message of the first worked example."""
    import mint_envs

    env: Any = mint_envs.make(id, **settings)
    inner = env.unwrapped
    env.reset(seed=0)
    if text is None:
        example = next(iter(inner.task.examples(inner.problem)))
        text = example if isinstance(example, str) else example[0]
    act = [*inner.codec.encode_response(text), inner.codec.eos_token_id]
    return walk(name, lambda: env.step(act), lambda: env.reset(seed=0))


def _grade(name: str, gold: str, response: str) -> Walk:
    from mint_envs.math import grade

    return walk(name, lambda: grade(gold, response, sympy=False))


def _row(name: str) -> Walk:
    import mint_envs

    row = {"question": "What is 36 times 2?", "answer": "36 * 2 = 72.\n#### 72"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
        task = type(mint_envs.make("mint/Math-v0").unwrapped.task)  # type: ignore[attr-defined]
        return walk(name, lambda: task(dataset=str(path)).problem(0))


def _command(package: str, *words: str) -> list[Call]:
    """Trace a command of ours, as ``python -m`` runs it, in this process."""
    argv = sys.argv
    sys.argv = [package, *words]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return traced(functools.partial(_run_main, package))
    finally:
        sys.argv = argv


def _run_main(package: str) -> None:
    """Run ``python -m package``; that it ends with an exit status is as it should be."""
    with contextlib.suppress(SystemExit), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it may have been imported before
        runpy.run_module(package, run_name="__main__", alter_sys=False)


def _training_step(name: str) -> Walk:
    """Two steps less one: what starts and ends a run falls away."""
    with tempfile.TemporaryDirectory() as folder:
        runs = [_training(f"{folder}/{number}", steps) for number, steps in enumerate((1, 1, 2))]
    once, twice = Counter(runs[1]), Counter(runs[2])
    step = twice - once
    if not step:
        return Walk(name, note=f"not taken: `mint-grpo --backend bandit` made {len(runs[2])} calls")
    files = {file for file, _ in step}
    switches = summed("", runs[2]).switches - summed("", runs[1]).switches
    return Walk(name, sum(step.values()), len(files), switches, "two steps less one")


def _training(folder: str, steps: int) -> list[Call]:
    words = ["mint/Math-v0", "--backend", "bandit", "--batch", "4", "--group", "4"]
    words += ["--max-tokens", "3", "--eval-every", "0", "--run-dir", folder]
    return _command("trainers", *words, "--steps", str(steps))


def _bench(name: str) -> Walk:
    words = ["bench", "mint/Math-v0", "--only", "right", "--problems", "4"]
    _command("mint_envs", *words)
    calls = _command("mint_envs", *words)
    return summed(name, calls, f"mint-envs {' '.join(words)}")


def _post(name: str) -> Walk:
    """One item to ``score``, with no socket: the application is called as a server calls it."""
    from mint_envs.serve import Settings, make_app

    app: Any = make_app(Settings(offers=("mint/Math-v0",)), _Here())
    body = json.dumps({"env": "mint/Math-v0", "items": [{"seed": 0, "response": "148"}]})

    async def requests() -> tuple[list[Call], dict[str, Any], int]:
        _, schema = await _ask(app, "GET", "/openapi.json")
        for _ in range(2):
            await _ask(app, "POST", _SCORE, body)
        with tracing() as found:
            status, _ = await _ask(app, "POST", _SCORE, body)
        return found, json.loads(schema), status

    calls, schema, status = asyncio.run(requests())
    if status != 200:
        return Walk(name, note=f"not taken: status {status}")
    operation = schema["paths"][_SCORE]["post"]["operationId"]  # begins with the function's name
    last = [function.rpartition(".")[2] for _, function in calls]
    at = next((i for i, one in enumerate(last) if operation.startswith(f"{one}_v1")), None)
    return summed(name, calls, f"{at} calls before the route")


async def _ask(app: Any, method: str, path: str, body: str = "") -> tuple[int, bytes]:
    """Call an application as a server does; return the status and the body of its answer."""
    parts = [{"type": "http.request", "body": body.encode(), "more_body": False}]
    answer: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return parts.pop() if parts else await asyncio.Future()

    async def send(message: dict[str, Any]) -> None:
        answer.append(message)

    headers = {"host": "127.0.0.1", "content-type": "application/json"}
    headers["content-length"] = str(len(body))
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
    }  # fmt: skip
    await app(scope, receive, send)
    return answer[0]["status"], b"".join(one.get("body", b"") for one in answer)


class _Here:
    """An executor that does the work at once and in this thread, so that it is traced too."""

    slots = 1

    def submit(self, function: Callable[[Any, Any], Any], task: Any, item: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(task, item))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        pass


Take = Callable[[str], Walk]
WALKS: dict[str, Take] = {
    "env.step on a sum": lambda name: _step(name, "mint/Math-v0", "148"),
    "grade a box": lambda name: _grade(name, "72", r"It is \boxed{72}."),
    "grade a sentence": lambda name: _grade(name, "72", "So the answer is 72."),
    "grade an interval against an inequality": lambda name: _grade(
        name, r"(-\infty, -2] \cup [3, \infty)", r"\boxed{x \le -2 \text{ or } x \ge 3}"
    ),
    "env.step, code (parent side)": lambda name: _step(name, "mint/Code-v0", level="easy"),
    "env.step, one tool call": lambda name: _step(name, "mint/ToolUse-v0", toolkit="keyvalue"),
    "env.step, chat": lambda name: _step(name, "mint/Chat-v0", level="easy"),
    "a JSONL row to a problem": _row,
    "one training step, 4 x 4, bandit": _training_step,
    "POST of one item to score": _post,
    "bench (parent side)": _bench,
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
