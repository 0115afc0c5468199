"""The program in a response."""

from __future__ import annotations

import re

_FENCE = re.compile(r"(```+|~~~+)[ \t]*([\w+#.-]*)[ \t]*$")
_ONE_LINE = re.compile(r"```([^\n`]+)```")
_START = re.compile(r"^[ \t]*(?:def |class |import |from \w|async def |@\w)", re.MULTILINE)


def extract(response: str, whole: bool = False) -> str:
    """Return the program in ``response``, or ``""``.

    That is the last fenced block (any language tag; the fence of a response that was cut may be
    open), else the text from the first ``def``, ``class``, ``import`` or decorator on. Text in
    ``<think>`` does not count. Line ends, a byte-order mark and the indentation of the whole
    block are made regular.

    Args:
        whole: without a block, take the whole text rather than nothing: a script need not hold a
            ``def``.
    """
    text = _answer(response.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", ""))
    blocks = [block for block in _blocks(text) if block.strip()] or _ONE_LINE.findall(text)
    if blocks:
        return _dedent(blocks[-1])
    start = _START.search(text)
    if start:
        return _dedent(text[start.start() :])
    return _dedent(text) if whole else ""


def _answer(text: str) -> str:
    """Leave out what the model thought; a thought without an end leaves nothing."""
    text = text.rpartition("</think>")[2]
    return text.partition("<think>")[0]


def _blocks(text: str) -> list[str]:
    """Return the contents of all fenced blocks, the last even when its fence is not closed."""
    found: list[str] = []
    inside: list[str] | None = None
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.search(line)
        if inside is None:
            if mark:
                inside, fence = [], mark[1]
        elif not mark or mark[1][0] != fence[0] or len(mark[1]) < len(fence) or _quoted(line, mark):
            inside.append(line)
        else:
            if before := line[: mark.start()].rstrip():
                inside.append(before)
            found.append("\n".join(inside))
            inside = [] if mark[2] else None  # a tag: the old block was never closed
    if inside is not None:
        found.append("\n".join(inside))
    return found


def _quoted(line: str, mark: re.Match[str]) -> bool:
    """A fence with a tag after code on one line is part of the code (a string, a comment)."""
    return bool(mark[2]) and bool(line[: mark.start()].strip())


def _dedent(block: str) -> str:
    """Take off the indentation of the first line from every line that has it."""
    lines = block.strip("\n").rstrip().split("\n")
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    if margin:
        lines = [line[len(margin) :] if line.startswith(margin) else line for line in lines]
    return "\n".join(lines)
