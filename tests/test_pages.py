"""The pages: each in the menu and reached by links, blocks that fit, pictures with words."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mint_envs.cli import COMMANDS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
ALL = [*PAGES, *sorted(ROOT.glob("*.md"))]
WIDEST = 100  # columns of a block: what fits the page on a laptop


def links(page: Path) -> Iterator[Path]:
    """The files of this repository that a page links to."""
    for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            yield (page.parent / target).resolve()


def blocks(text: str) -> Iterator[str]:
    fence = False
    for line in text.splitlines():
        if line.startswith("```"):
            fence = not fence
        elif fence:
            yield line


def test_each_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    named = set(re.findall(r": ([\w/.-]+\.md)", menu))
    assert {page.relative_to(DOCS).as_posix() for page in PAGES} <= named


def test_each_page_is_reached_from_the_first_by_links() -> None:
    seen: set[Path] = set()
    ahead = [DOCS / "index.md"]
    while ahead:
        page = ahead.pop()
        if page.suffix == ".md" and page not in seen and page.is_file():
            seen.add(page)
            ahead += links(page)
    assert set(PAGES) <= seen


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda page: page.name)
def test_no_link_from_the_repositorys_own_pages_is_dead(page: Path) -> None:
    assert [target.name for target in links(page) if not target.exists()] == []


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_fit_and_pictures_have_words(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [line for line in blocks(text) if len(line) > WIDEST] == []
    assert [words for words in re.findall(r"!\[([^]]*)\]\(", text) if len(words) < 10] == []


def test_the_page_of_commands_has_them_all() -> None:
    """It is drawn from their help, which is loaded when asked for."""
    spec = importlib.util.spec_from_file_location("docs_commands", DOCS / "commands.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    page = "\n".join(hook.commands())
    assert set(COMMANDS) <= set(re.findall(r"^## mint-envs (\w+)$", page, re.M))
    assert all(f"Usage: mint-envs {name} " in page for name in COMMANDS)
    assert "--steps" in page  # of mint-grpo
