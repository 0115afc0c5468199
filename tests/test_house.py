"""What ``python -m benchmarks.house`` counts, on a small house and on this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import house, house_walks

F, MAIN, A = "def f(): ...\n", "def main(): ...\n", "class A: ...\n"
FILES = {
    "mint_envs/__init__.py": "from .a import f\n",
    "mint_envs/a.py": f"from .b import g\n{F}{MAIN}",
    "mint_envs/b.py": f"def g():\n    from .a import f\n{F}{MAIN}",
    "mint_envs/room/__init__.py": A,
    "mint_envs/room/a.py": f"from . import c\n{A}",
    "mint_envs/room/c.py": "try:\n    from .a import A\nexcept ImportError:\n    A = None\n",
    "mint_envs/room/d.py": "if TYPE_CHECKING:\n    from . import e\n",
    "mint_envs/room/e.py": "from ..room.d import TYPE_CHECKING\n",
    "trainers/__init__.py": "import mint_envs.a\n",
}


@pytest.fixture
def modules(tmp_path: Path) -> dict[str, house.Module]:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return house.read(tmp_path)


def test_names_that_two_modules_have(modules: dict[str, house.Module]) -> None:
    found = house.names(modules, "mint_envs")
    assert found["functions_and_classes"] == 5
    assert found["shared"] == 4
    assert found["worst"] == {"A": 2, "f": 2}
    assert found["classes_twice"] == {"A": 2}
    assert found["files_twice"] == {"a.py": 2}


def test_circles_by_what_closes_them(modules: dict[str, house.Module]) -> None:
    found = house.circles(modules)
    room = ["mint_envs.room.a", "mint_envs.room.c"]
    assert found["at_top"] == [room]
    lazy, typed = ["mint_envs.a", "mint_envs.b"], ["mint_envs.room.d", "mint_envs.room.e"]
    assert found["of_all_imports"] == [lazy, room, typed]


def test_a_large_knot_and_none() -> None:
    assert house.knots({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]
    assert house.knots({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []


def test_every_walk_of_this_house_can_be_taken(capsys: pytest.CaptureFixture[str]) -> None:
    house.main([])
    said = capsys.readouterr().out
    assert "not taken" not in said
    rows = said.partition("walks, warm")[2].splitlines()[1:]
    assert len(rows) == len(house_walks.WALKS)
    assert not [row for row in rows if row[42:49].strip() == "0"]


def test_a_folder_without_us_is_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds neither mint_envs nor trainers"):
        house.main(["--root", str(tmp_path)])
