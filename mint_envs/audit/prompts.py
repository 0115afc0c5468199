"""What a prompt says about its own answer: worked examples of a function, a sum."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

_ARROW = re.compile(r"(?:==>|=>|==|->|➞|→|returns|should return)")
_BRACKETS = 50  # closing ones that are tried as the end of a call


def examples_in(prompt: str, entry: str) -> list[tuple[str, Any]]:
    """Return (call, value) for each example of ``entry`` that a prompt gives with a plain value.

    ``>>> f(1)`` with its value on the next line, and ``f(1) == 2`` or ``f(1) => 2`` on one.
    """
    if not entry.isidentifier():
        return []
    found: dict[str, Any] = {}
    lines = prompt.splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        for call, text in _example_pairs(line.strip(), following.strip(), entry):
            try:
                value = ast.literal_eval(text)
            except (SyntaxError, ValueError, TypeError, MemoryError):
                continue
            # ("a") may be meant as a tuple of one: it says nothing for certain.
            if not text.startswith("(") or isinstance(value, tuple):
                found.setdefault(ast.unparse(ast.parse(call, mode="eval")), value)
    return list(found.items())


def _example_pairs(line: str, following: str, entry: str) -> Iterator[tuple[str, str]]:
    start = line.find(f"{entry}(")
    if start < 0 or line[max(0, start - 4) : start].endswith("def "):
        return
    end = _end_of_call(line, start)
    if end < 0:
        return
    call, rest = line[start:end], line[end:].strip()
    if line.startswith(">>>") and not rest:
        yield call, following
    mark = _ARROW.match(rest)
    if mark:
        yield call, rest[mark.end() :].strip().rstrip(".,;")


def _end_of_call(line: str, start: int) -> int:
    """Return the place after a call with plain arguments that begins at ``start``; -1 if none."""
    places = [place + 1 for place in range(start, len(line)) if line[place] == ")"]
    return next((end for end in places[:_BRACKETS] if _literal_arguments(line[start:end])), -1)


def _literal_arguments(call: str) -> bool:
    """Whether the arguments of a call are plain values."""
    try:
        node = ast.parse(call, mode="eval").body
        arguments = node.args if isinstance(node, ast.Call) and not node.keywords else None
        return arguments is not None and all(_literal(a) for a in arguments)
    except SyntaxError:
        return False


def _literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return True
