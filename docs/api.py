"""Hook of mkdocs: the pages of the API, every public name from its docstring.

What is public is what ``__all__`` of these modules names, or what stands behind a colon here; else
the classes and functions that a module defines and whose names do not begin with ``_``. A name that
several modules offer is described once, at its first. Classes that are built when the library that
they are for is there are described from the source.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: The pages: file, title and modules.
PAGES = {
    "api/environments.md": (
        "API: environments, tasks, wrappers",
        (
            "mint_envs",
            "mint_envs.wrappers",
            "mint_envs.testing",
            "mint_envs.datasets:DatasetTask load_rows",
        ),
    ),
    "api/grading.md": (
        "API: grading",
        ("mint_envs.math", "mint_envs.code", "mint_envs.tooluse", "mint_envs.chat"),
    ),
    "api/running.md": (
        "API: sandbox, executors, policies, server, errors",
        (
            "mint_envs.sandbox",
            "mint_envs.executors",
            "mint_envs.policies",
            "mint_envs.evaluate",
            "mint_envs.serve",
            "mint_envs.client",
            "mint_envs.errors:MintEnvsError SettingError DatasetError IndexOutOfRange "
            "TokenizerError RewardError ContractError SandboxUnavailable Unmeasured GraderFault",
        ),
    ),
    "api/interop.md": (
        "API: other libraries",
        (
            "mint_envs.interop.shapes:TextTask TextEpisode TokenEpisode measured as_messages",
            "mint_envs.interop.trl",
            "mint_envs.interop.verifiers",
            "mint_envs.interop.tinker_cookbook",
            "mint_envs.interop.skyrl_gym",
            "mint_envs.interop.verl",
            "mint_envs.interop.openrlhf",
            "mint_envs.interop.openenv",
            "mint_envs.interop.atropos",
            "mint_envs.interop.nemo_gym",
            "mint_envs.interop.openreward",
            "mint_envs.interop.gymnasium",
        ),
    ),
    "api/trainers.md": (
        "API: the trainer",
        (
            "trainers",
            "trainers.grpo:train",
            "trainers.config:TrainConfig defaults_for",
            "trainers.backends",
        ),
    ),
}
ROOT = Path(__file__).parents[1]


class Public(NamedTuple):
    """A public name, where it is offered and where it is defined."""

    module: str
    name: str
    home: str  # the module that defines it
    value: Any  # the object; None if its module needs a library that is not here

    @property
    def path(self) -> str:
        """Return the path of the definition, as mkdocstrings wants it."""
        return f"{self.home}.{self.name}"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages, which are written nowhere."""
    from mkdocs.structure.files import File

    for page in PAGES:
        files.append(File.generated(config, page, content="\n".join(text_of(page))))
    return files


def text_of(page: str) -> Iterator[str]:
    """Return a page as Markdown with directives of mkdocstrings."""
    title, modules = PAGES[page]
    yield f"# {title}\n"
    seen = {one.path for other in PAGES if other < page for one in public_of(other)}
    for given in modules:
        module = given.partition(":")[0]
        own = [one for one in names_of(given) if one.path not in seen]
        if not own:
            continue
        yield f"\n## {module}\n\n{_first_paragraph(module)}\n"
        for one in own:
            seen.add(one.path)
            yield from _entry(one)


def public_of(page: str) -> list[Public]:
    """Return the public names of a page."""
    return [one for module in PAGES[page][1] for one in names_of(module)]


def names_of(module: str) -> list[Public]:
    """Return what a module offers, rooms apart."""
    module, _, chosen = module.partition(":")
    loaded = importlib.import_module(module)
    if module.startswith("mint_envs.interop.") and not chosen:
        names = getattr(loaded, "__all__", None) or _defined_in_source(module)
        return [Public(module, name, module, vars(loaded).get(name)) for name in names]
    found = []
    for name in chosen.split() or getattr(loaded, "__all__", None) or _defined(loaded):
        value = getattr(loaded, name)
        if not inspect.ismodule(value):
            found.append(Public(module, name, _home(value, name, module), value))
    return found


def _home(value: Any, name: str, module: str) -> str:
    """Return the module that defines a name; of a constant, the one that offers it."""
    home = getattr(value, "__module__", "")
    ours = home.startswith(("mint_envs", "trainers"))
    return home if ours and hasattr(importlib.import_module(home), name) else module


def _defined(loaded: Any) -> list[str]:
    return [
        name
        for name, value in vars(loaded).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == loaded.__name__
        and (inspect.isclass(value) or inspect.isfunction(value))
    ]  # fmt: skip


def _defined_in_source(module: str) -> list[str]:
    """Return top-level names, and the classes of ours that functions build."""
    tree = _parsed(module)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [node.name for node in tree.body if isinstance(node, kinds)]
    built = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    names += [node.name for node in built if node.name[:4] == "Mint" and ast.get_docstring(node)]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


def _parsed(module: str) -> ast.Module:
    return ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))


def _entry(one: Public) -> Iterator[str]:
    if inspect.isclass(one.value) or inspect.isroutine(one.value):
        yield f"\n::: {one.path}\n    options:\n      heading: {one.module}.{one.name}\n"
        if is_record(one.value):  # its fields, with the comments beside them
            yield "      show_source: true\n"
        return
    said = said_in_source(one) or said_of_constant(one)
    yield f"\n### `{one.module}.{one.name}` {{ #{one.path} }}\n\n{said}\n"


def is_record(value: Any) -> bool:
    """Return whether a class is little more than its fields."""
    return inspect.isclass(value) and (
        dataclasses.is_dataclass(value)
        or hasattr(value, "_fields")
        or hasattr(value, "model_fields")
    )


def said_in_source(one: Public) -> str:
    """Return the docstring of a class that is built within a function."""
    if not one.module.startswith("mint_envs.interop."):
        return ""
    for node in ast.walk(_parsed(one.module)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == one.name:
            return inspect.cleandoc(ast.get_docstring(node) or "")
    return ""


def said_of_constant(one: Public) -> str:
    """Return the comment over a constant (``#:``), wherever it is assigned."""
    for file in sorted((ROOT / one.module.partition(".")[0]).rglob("*.py")):
        pattern = rf"((?:^#: .*\n)+){re.escape(one.name)}\b.* = "
        if match := re.search(pattern, file.read_text(encoding="utf-8"), re.M):
            return " ".join(line.removeprefix("#:").strip() for line in match[1].splitlines())
    return ""


def _first_paragraph(module: str) -> str:
    path = ROOT / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    match = re.match(r'"""(.*?)(?:\n\n|""")', file.read_text(encoding="utf-8"), re.S)
    return " ".join(match[1].split()) if match else ""
