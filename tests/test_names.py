"""Names say whose they are: few are shared, no class is there twice, and rooms stay untangled."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import house

pytestmark = pytest.mark.quick

MOST_SHARED = 0.12  # of the functions and classes at the top level of a module
MOST_MODULES = 3  # that one name may stand in
#: The same word in five doors to libraries, as the docs show it: ``trl.rows``, ``verl.rows``.
DOCUMENTED = {"rows"}

#: Modules that are gone, and where what they held is now.
RETIRED = {
    "offline": "audit and bench",
    "adapters": "interop.mint",
    "show": "reports",
    "mix": "compose.mix",
    "processes": "executors.processes",
    "ray_executor": "executors.ray",
    "code.sandbox": "sandbox",
    "replay": "records.replay",
}


@pytest.fixture(scope="module")
def modules() -> dict[str, house.Module]:
    return house.read(house.HERE)


@pytest.fixture(scope="module")
def names(modules: dict[str, house.Module]) -> dict[str, Any]:
    return house.names(modules, "mint_envs")


def test_no_class_name_is_there_twice(names: dict[str, Any]) -> None:
    assert names["classes_twice"] == {}


def test_few_names_are_shared(names: dict[str, Any]) -> None:
    share = names["shared"] / names["functions_and_classes"]
    assert share <= MOST_SHARED, f"{share:.1%}, most of all {names['worst']}"


def test_no_name_is_in_many_modules(names: dict[str, Any]) -> None:
    many = {name: n for name, n in names["worst"].items() if n > MOST_MODULES}
    assert many.keys() == DOCUMENTED, many


def test_no_import_circle(modules: dict[str, house.Module]) -> None:
    """Nor with the imports inside functions and for type checkers."""
    assert house.circles(modules) == {"at_top": [], "of_all_imports": []}


@pytest.mark.parametrize("name", RETIRED)
def test_a_retired_module_is_gone(name: str, modules: dict[str, house.Module]) -> None:
    whole = f"mint_envs.{name}"
    left = [module for module in modules if module == whole or module.startswith(f"{whole}.")]
    assert not left, f"{whole} is {RETIRED[name]} now"


def test_the_wrappers_are_one_module(modules: dict[str, house.Module]) -> None:
    assert modules["mint_envs.wrappers"].path.name == "wrappers.py"
