"""The examples of docs/interop.md, for the tests that run them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"


def examples(section: str) -> list[str]:
    """Return the Python blocks of a section, by its heading."""
    text = PAGE.read_text(encoding="utf-8")
    body = re.split(r"^## ", text, flags=re.M)
    found = next(part for part in body if part.startswith(section + "\n"))
    blocks = re.findall(r"^```python\n(.*?)^```", found, flags=re.M | re.S)
    assert blocks, section
    return blocks
