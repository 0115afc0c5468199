"""The program in a response."""

from __future__ import annotations

import re

from ..thinking import aloud

_TAG = re.compile(r"[\w+#.-]*")
_ONE_LINE = re.compile(r"```([^\n`]+)```")
_START = re.compile(r"^[ \t]*(?:def |class |import |from \w|async def |@\w)", re.MULTILINE)


def extract(response: str, whole: bool = False) -> str:
    """Return the program in ``response``, or ``""``.

    That is the last fenced block (any language tag; the fence of a response that was cut may be
    open), else the text from the first ``def``, ``class``, ``import`` or decorator on. Thoughts
    (``mint_envs.thinking``) do not count. Line ends, a byte-order mark and the indentation of the
    whole block are made regular.

    Args:
        whole: without a block, take the whole text rather than nothing: a script need not hold a
            ``def``.
    """
    text = aloud(response).replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")
    blocks = [block for block in _fenced_blocks(text) if block.strip()] or _ONE_LINE.findall(text)
    if blocks:
        return _dedent(blocks[-1])
    start = _START.search(text)
    if start:
        return _dedent(text[start.start() :])
    return _dedent(text) if whole else ""


def _fenced_blocks(text: str) -> list[str]:
    """Return the contents of all fenced blocks, the last even when its fence is not closed."""
    found: list[str] = []
    inside: list[str] | None = None
    fence = ""
    for line in text.split("\n"):
        before, mark, tag = _fence_at_end(line)
        if inside is None:
            if mark:
                inside, fence = [], mark
        elif not mark.startswith(fence) or (tag and before.strip()):  # in a string, a comment
            inside.append(line)
        else:
            if before.strip():
                inside.append(before.rstrip())
            found.append("\n".join(inside))
            inside = [] if tag else None  # a tag: the old block was never closed
    if inside is not None:
        found.append("\n".join(inside))
    return found


def _fence_at_end(line: str) -> tuple[str, str, str]:
    """Return (what is before, the fence, its tag) of a line that ends in a fence, else blanks."""
    for sign in "`~":
        before, mark, tag = line.rstrip().rpartition(sign * 3)
        if mark and _TAG.fullmatch(tag.strip(" \t")):
            text = before.rstrip(sign)
            return text, mark + before[len(text) :], tag.strip(" \t")
    return line, "", ""


def _dedent(block: str) -> str:
    """Take off the indentation of the first line from every line that has it."""
    lines = block.strip("\n").rstrip().split("\n")
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    if margin:
        lines = [line[len(margin) :] if line.startswith(margin) else line for line in lines]
    return "\n".join(lines)
