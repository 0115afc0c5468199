"""The boxes of a response, and which of them are meant together."""

from __future__ import annotations

import re

_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*(\{)?|\\.|[{}]", re.DOTALL)
_BOXES = ("\\boxed", "\\fbox")
_BOX_LIMIT = 40  # boxes from the end that are looked at
_BRACE_LIMIT = 10_000
_GLUE = re.compile(
    r"(?:\s|[$,;.&{}()]|\\(?:text|mathrm|quad|qquad|[,;:! ()\[\]])|(?:and|or|or possibly|和|或)\b"
    r"|\((?:[a-h]|i{1,3}|[1-9])\)|(?<![A-Za-z\\])[A-Za-z](?:_\{?\w\}?)?\s?=)*"
)
_COUNTED = re.compile(  # "\\boxed{1} papers and \\boxed{2} bins"
    r"[\s$,}]*(?:\\text\{)?\s*(?:(?!(?:is|are|was|not|no|wrong|so|but|then|we|i|gives?|get|if|or)\b)"
    r"[A-Za-z]{1,12}\s+|\([a-e]\)\s+){1,4}and\s*\}?[\s$]*"
)
_NAME = re.compile(r"(?<![A-Za-z\\\d^_])([A-Za-z](?:_\{?\w\}?)?)\s?=\s?$")

_LABEL = re.compile(r"\(([a-h])\)[\s$:]*$")  # (a) \\boxed{5}

Box = tuple[int, int, str | None]


def nth_last_box(text: str) -> int:
    """Where the first of the last forty boxes begins; -1 if there is none."""
    ends = [text.rfind(box) for box in _BOXES]
    found = max(ends)
    for _ in range(_BOX_LIMIT):
        which = ends.index(max(ends))
        if ends[which] < 0:
            break
        found = ends[which]
        ends[which] = text.rfind(_BOXES[which], 0, found)
    return found


def outermost(text: str, start: int) -> list[Box]:
    """The outermost boxes as (start, end, inside); the inside of one that is cut off is None."""
    boxes: list[Box] = []
    opened: list[
        tuple[int, int]
    ] = []  # (start of a box, or -1 for a brace; where its inside starts)
    for count, match in enumerate(_BOX.finditer(text, start)):
        piece = match.group()
        if count > _BRACE_LIMIT:
            return [(start, len(text), None)]
        if piece == "{":
            opened.append((-1, match.end()))
        elif piece == "}":
            _close(text, opened, boxes, match.start())
        elif piece.endswith("{") and match.group(1):
            opened.append((match.start(), match.end()))
        elif match.group(1) is None and len(piece) > 2 and piece[1] in "bf" and not opened:
            boxes.append(_unbraced(text, match.start(), match.end()))
    cut = [begin for begin, _ in opened if begin >= 0]
    if cut and not (boxes and boxes[-1][0] > cut[-1]):
        boxes.append((cut[0], len(text), None))
    return boxes


def _close(text: str, opened: list[tuple[int, int]], boxes: list[Box], at: int) -> None:
    if not opened:
        return
    begin, inside = opened.pop()
    if begin >= 0:
        while boxes and boxes[-1][0] > begin:  # boxes within this one
            boxes.pop()
        boxes.append((begin, at + 1, text[inside:at]))


def _unbraced(text: str, start: int, at: int) -> Box:
    """``\\boxed 5``."""
    word = re.compile(r"[^\s$]{0,60}").match(text, at)
    assert word is not None
    return start, word.end(), word.group().rstrip(".,")


def side_by_side(text: str, boxes: list[Box]) -> list[Box]:
    """The last box and those before it with nothing but "and" or a comma between."""
    group = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        gap = text[box[1] : group[0][0]]
        glued = len(gap) <= 80 and (_GLUE.fullmatch(gap) or _COUNTED.fullmatch(gap))
        if box[2] is None or not glued:
            break
        group.insert(0, box)
    return group


def listed(text: str, group: list[Box]) -> str:
    """The boxes side by side as one answer: ``2, 3``, or ``x=2, y=3`` where they are named."""
    if len(group) == 1:
        return (group[0][2] or "").strip()
    told = [(_NAME.search(text[max(0, at - 12) : at]), said) for at, _, said in group if said]
    if not any(name for name, _ in told):
        told = [(_LABEL.search(text[max(0, at - 12) : at]), said) for at, _, said in group if said]
    names = {name.group(1) for name, _ in told if name}
    if len(names) == len(told) > 1:
        return ", ".join(f"{name.group(1)}={said}" for name, said in told if name)
    return ", ".join(dict.fromkeys(said.strip() for _, said in told))
