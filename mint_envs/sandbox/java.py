"""Which file a program in Java belongs in, and which of its classes is run."""

from __future__ import annotations

import re

_ASIDE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"\"\".*?\"\"\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_PACKAGE = re.compile(r"\bpackage\s+([\w.]+)\s*;")
_TYPE = re.compile(r"(\bpublic\b[^;{}()]*?)?\b(?:class|interface|enum|record)\s+(\w+)|[{}]")
_MAIN = re.compile(r"\bvoid\s+main\s*\(")


def java_names(program: str) -> tuple[str, str]:
    """Return (file name, class to run) of a program: a contest takes a class of any name.

    A public class must be in the file of its name; run is the class at the top level that holds
    the first ``void main(``, or else the first class.
    """
    text = _ASIDE.sub(" ", program)
    found = _MAIN.search(text)
    start = found.start() if found else len(text)
    types = _top_types(text)
    file = next((name for name, public, _ in types if public), "Main")
    before = [name for name, _, place in types if place < start]
    main = (before[-1:] if found else before[:1]) or ["Main"]
    package = _PACKAGE.search(text)
    return f"{file}.java", f"{package[1]}.{main[0]}" if package else main[0]


def _top_types(text: str) -> list[tuple[str, bool, int]]:
    """Return (name, whether it is public, place) of the types that no other encloses."""
    depth, found = 0, []
    for match in _TYPE.finditer(text):
        if match[2] is None:
            depth += 1 if match[0] == "{" else -1
        elif depth == 0:
            found.append((match[2], match[1] is not None, match.start()))
    return found
