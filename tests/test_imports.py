"""The import is light, and rooms import only what stands below them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mint_envs
from mint_envs.family import BUILT_IN

pytestmark = pytest.mark.quick

HEAVY = {
    "torch", "transformers", "tokenizers", "mint", "tinker", "sympy", "datasets", "hypothesis",
    "pyarrow", "matplotlib", "pydantic", "rich", "huggingface_hub", "trainers", "benchmarks",
    "jsonschema", "httpx", "jinja2", "tenacity", "ray", "fastapi", "uvicorn",
}  # fmt: skip

PACKAGE = Path(mint_envs.__file__).parent
TRAINERS = PACKAGE.parent / "trainers"

FAMILIES = {task.split(".")[1] for task in BUILT_IN.values()} - {"compose"}
CORE = {"core", "errors", "process_local", "children"}
GROUND = {*CORE, "problems"}
#: What a room may import of the others: the core for families, families for what builds on them.
ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "core": {"errors"},
    "process_local": set(),
    "children": set(),
    "problems": CORE,
    "loading": {"errors"},
    "atomic": set(),
    "jsonl": {"errors", "atomic"},
    "family": {"errors", "loading"},
    "forms": set(),
    "thinking": set(),
    "completions": {"errors", "process_local"},
    # Inside a function: what asks over HTTP is loaded when a policy does.
    "policies": {*CORE, "completions"},
    "hub": set(),
    "datasets": {*GROUND, "hub", "jsonl"},
    "pass_rates": {*GROUND, "jsonl"},
    "spaces": set(),
    "tokenizers": {*CORE, "hub"},
    "rendering": {"errors"},
    "templates": {"errors", "rendering"},
    "tokens": {*CORE, "tokenizers", "rendering", "templates"},
    # Inside a function: the faults of what asks over HTTP.
    "token_policy": {*CORE, "completions", "policies", "tokens"},
    "sandbox": {"errors", "process_local", "sandbox"},
    # Inside a function: the sandbox of a worker process gets one worker.
    "executors": {*GROUND, "executors", "sandbox", "family"},
    "printable": set(),
    "env": {*GROUND, "spaces", "tokens", "executors", "thinking", "printable"},
    "vector": {*CORE, "spaces", "tokens", "env", "executors"},
    "plugins": set(),
    "registration": {
        *CORE,
        "spaces",
        "tokens",
        "env",
        "vector",
        "interop.mint",
        "family",
        "loading",
        "plugins",
    },
    "compose": {
        *GROUND,
        "pass_rates",
        "family",
        "env",
        "jsonl",
        "registration",
        "compose",
        "__version__",
    },
    "wrappers": {"compose", "registration"},
    "responses": {*GROUND, "code", "responses"},
    "records": {
        *GROUND,
        "atomic",
        "jsonl",
        "datasets",
        "registration",
        "compose",
        "wrappers",
        "responses",
        "records",
    },
    **{family: {*CORE, "datasets", "family", "forms", "thinking", family} for family in FAMILIES},
}
ROOMS["chat"] |= {"atomic", "completions"}
ROOMS["code"].add("sandbox")
ROOMS["tooluse"] |= {"sandbox", "templates"}
#: Rooms that stand on top, and may import all of mint_envs.
TOP = {
    "testing", "interop", "bench", "audit", "evaluate", "reports", "serve", "client",
    "cli", "commands", "__init__", "__main__",
}  # fmt: skip

#: Foreign packages, and the rooms that may import them; elsewhere inside functions only, or never.
GYMNASIUM = {
    "env", "vector", "spaces", "registration", "testing", "cli", "__init__", "interop", "serve",
    "bench", "compose", "plugins",
}  # fmt: skip
LAZY = {
    "torch", "transformers", "mint", "tinker", "datasets", "huggingface_hub", "pyarrow", "mcp",
    "ray",
}  # fmt: skip
#: The tool that runs programs is the one place where a family uses another's room, when called.
EXCEPTIONS = {("python.py", "mint_envs.sandbox")}
NEVER = {"trainers", "benchmarks", "tests"}


def modules_after(statement: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{statement}\n"
         "print(*{name.split('.')[0] for name in sys.modules})"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import mint_envs",
        "import mint_envs.testing",
        "from mint_envs.math import grade",
        "from mint_envs.tooluse import parse_calls",
        "from mint_envs.chat import grade_instructions",
    ],
)
def test_the_import_is_light(statement: str) -> None:
    assert modules_after(statement) & HEAVY == set()


def test_an_episode_is_light() -> None:
    """Nothing heavy comes in by the back door when an environment is used."""
    play = (
        "import mint_envs; env = mint_envs.make('mint/Math-v0'); env.reset(); env.step([50, 258])"
    )
    assert modules_after(play) & HEAVY <= {"sympy"}


@pytest.mark.parametrize(
    "path", sorted(TRAINERS.rglob("*.py")), ids=lambda p: str(p.relative_to(TRAINERS))
)
def test_only_backends_know_models(path: Path) -> None:
    if "backends" in path.relative_to(TRAINERS).parts:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names]
    names += [
        n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level
    ]
    assert {name.split(".")[0] for name in names} & {*LAZY, "peft"} == set()


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imports_of(path: Path) -> list[tuple[str, bool]]:
    """Return (module, whether at the top level) of every import; ours as ``mint_envs.x``."""
    package = ["mint_envs", *path.relative_to(PACKAGE).parent.parts]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(name.name, id(node) in top) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, [base, node.module or ""]))
            names = (
                [f"{module}.{n.name}" for n in node.names] if module == "mint_envs" else [module]
            )
            found += [(name, id(node) in top) for name in names]
    return found


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_who_may_import_whom(path: Path) -> None:
    room = room_of(path)
    assert room in ROOMS or room in TOP, f"a new room: say what {room} may import"
    for module, at_top in imports_of(path):
        first, *rest = module.split(".")
        assert first not in NEVER, module
        assert first not in LAZY or not at_top, f"import {module} where it is used"
        assert first != "gymnasium" or room in GYMNASIUM, module
        if first == "mint_envs" and rest and room in ROOMS:
            allowed = {rest[0], ".".join(rest[:2])} & ROOMS[room]
            assert allowed, f"{room} may not import {module}"
