"""The reference of the API: every public name is on a page, and says what it takes and raises."""

from __future__ import annotations

import importlib.util
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

import mint_envs
import trainers

DOCS = Path(__file__).parents[1] / "docs"


def load_hook(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


api = load_hook("api")
PUBLIC = {one.path: one for page in api.PAGES for one in api.public_of(page)}
CALLS = {path: one.value for path, one in PUBLIC.items() if callable(one.value)}


def test_every_public_name_is_on_one_page() -> None:
    pages = "\n".join("\n".join(api.text_of(page)) for page in api.PAGES)
    for path, one in PUBLIC.items():
        described = pages.count(f"::: {path}\n") + pages.count(f"{{ #{path} }}")
        assert described == 1, f"{path} is described {described} times"
        assert one.value is not None or api.said_in_source(one), path
    for name in (*mint_envs.__all__, *trainers.__all__):
        module = mint_envs if name in mint_envs.__all__ else trainers
        value = getattr(module, name)
        offered = any(one.value is value for one in PUBLIC.values())
        assert offered or f"## {getattr(value, '__name__', '')}\n" in pages, name


def test_every_constant_is_explained() -> None:
    for path, one in PUBLIC.items():
        if one.value is not None and path not in CALLS:
            assert api.said_of_constant(one), f"{path} has no comment that begins with #:"


@pytest.mark.parametrize("path", sorted(CALLS))
def test_what_is_called_says_what_it_takes_and_raises(path: str) -> None:
    value = CALLS[path]
    said = doc_of(value)
    assert said.strip(), "no docstring"
    missing = [name for name in parameters_of(value) if not re.search(rf"\b{name}\b", said)]
    assert not missing, f"the docstring says nothing of {missing}"
    if inspect.isroutine(value):
        source = textwrap.dedent(inspect.getsource(value))
        body = source.rpartition('"""')[2]
        if re.search(r"^\s*(raise |require\()", body, re.M):
            assert re.search(r"Raises?\b", said), "it raises, and does not say what"


def doc_of(value: Any) -> str:
    return (inspect.getdoc(value) or "") + (
        (inspect.getdoc(value.__init__) or "") if inspect.isclass(value) else ""
    )


def parameters_of(value: Any) -> list[str]:
    """Return the parameters that need words.

    Not those of errors; of records, which are shown with their comments; nor settings of tasks,
    which have help texts, on another page.
    """
    if inspect.isclass(value) and issubclass(value, (BaseException, mint_envs.Task)):
        return []
    if api.is_record(value):
        return []
    try:
        found = inspect.signature(value).parameters.values()
    except ValueError:
        return []
    return [
        one.name
        for one in found
        if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) and one.name != "env"
    ]
