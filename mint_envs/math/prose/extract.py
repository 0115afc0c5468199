"""Find the answer in a response, in time linear in its length.

A response makes its claim in one of these places, and the last claim is the one that is meant:

    tag       ``<answer>...</answer>``
    box       a balanced ``\\boxed{...}``, with what stands beside it (see ``beside``); boxes side
              by side are a list
    hashes    ``#### 72``
    marker    "Answer:", "the answer is", 答案 and the like

Only where there is none of them, and not with ``strict``, is the answer looked for in

    whole     a response that is nothing but an expression
    bold      the last ``**...**`` that holds a value
    sentence  the one value of the last sentence that has one (see ``conclusion``)

With ``strict`` a marker is a line "Answer: ..." or a sentence "The answer is ...". Thoughts
(``mint_envs.thinking``), programs, and what follows a chat end token or a next question are no part
of it (``turns``).

An answer may have *rivals*: other answers offered beside it without saying which is meant. The
grader pays only if all are right. "Wait", "Actually" and the like between two answers make the
later one a correction, which has no rivals; the words are in ``cues``.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ...thinking import spoken
from ..answer.limits import MAX_ANSWER, MAX_TEXT, MAX_WINDOW
from . import prose
from .beside import offered_before, statement
from .boxes import Box, listed, nth_last_box, outermost, side_by_side
from .choices import chosen
from .conclusion import conclusion
from .cues import CORRECTION, UNSURE, corrected, is_denied
from .found import Found
from .hinted import has_one
from .markers import bare, hashes, later_marker, marker, strict_marker
from .phrases import THEREFORE
from .turns import own_words, without_programs

_CODE = re.compile(r"(?<!`)`([^`\n]{1,60})`(?!`)")  # `2`
# "w = 2 + 3 = **5**"
_LAST_BOLD = re.compile(r"=\s*\*\*[^*\n]{1,200}\*\*[.\s]*$")
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_OR_ELSE = re.compile(
    r"[^\d\n.]{0,30}\b(?:or|maybe|perhaps|possibly|alternatively)(?:\s|\s?\}[\s$]?)\s*+"
    r"(?:maybe|possibly|perhaps|it (?:could|might|may) be|else)?\s*+"
    r"(-?\\?[$\d][^\s,;]{0,40})",
    re.IGNORECASE,
)
_OF_ELSE = ("or", "OR", "Or", "aybe", "erhaps", "ossibly", "lternatively")
_MORE = re.compile(
    r"[ \t$]{0,3}(?:and|to|[-–,;]|\\text\{\s?and\s?\})\s?\$?(-?\d[\d.]*)\$?\s*(?:\.?\s*$|\.\s|\n)"
)
_ALREADY = re.compile(r"(?:^|[.:\n]\s|\b(?:is|are) )\$?(-?\d[\d.]*)\$?\s?(?:,|and)\s?[$\s]{0,2}$")
_ROOT_BEFORE = re.compile(r"(?<![A-Za-z\\])([A-Za-z])_\{?\w\}?\s?=\s?$")
_ROOT_AFTER = re.compile(  # \\boxed{6}$ and $x_2 = -6$
    r"[\s$,;]{0,6}(?:\\?(?:quad|text\{)?\s?(?:and|or)\s?\}?)?[\s$]{0,4}([A-Za-z])_\{?\w\}?\s?=\s?"
    r"([^\s$,;=]{1,40})"
)
_OBJECT = 400  # characters at the end in which an object of JSON is looked for
_FIELD = re.compile(
    r"\"(?:final[_ ]?)?answer\"\s*:\s*\"?((?:[^\"{}\n\\]|\\.){1,200}?)\"?\s*\}\s*(?:```\s*)?$",
    re.IGNORECASE,
)
_BY_TWELVE = re.compile(r"(?:/|÷|\\div|divided by)\s?(?:12|twelve)\b")
_NOTHING = Found("", "none", reason="no answer found")


def find(response: str, strict: bool = False) -> Found:
    """Return the answer that ``response`` gives."""
    said = spoken(response)
    if not said and response.strip():
        return replace(_NOTHING, reason="nothing is said but thoughts")
    text, cut_off = without_programs(own_words(said[-MAX_TEXT:]))
    found = _announced(text, strict)
    if found is None and not strict and not cut_off:
        end = _last_words(text)
        found = chosen(end) or _whole(end) or _bold(end) or _sentence(end)
        found = _in_dozens(found, end) if found else None
    if found is None or not found.answer.strip():
        return found or _NOTHING
    if len(found.answer) > MAX_ANSWER:
        return replace(found, answer=found.answer[:MAX_ANSWER], reason="the answer is too long")
    return found


def _last_words(text: str) -> str:
    end = text[-MAX_WINDOW:]
    return _CODE.sub(r"\1", end) if "`" in end else end


def _announced(text: str, strict: bool) -> Found | None:
    """The last claim that a tag, a box, hashes or a marker makes, if it is not withdrawn."""
    found = max(
        (claim for claim in (_tag(text), _box(text), hashes(text), _field(text)) if claim),
        key=lambda claim: claim.end,
        default=None,
    )
    if found is None:
        text = text if strict else _last_words(text)
        found = strict_marker(text) if strict else marker(text)
    elif later := later_marker(text[found.end :][:MAX_WINDOW]):
        found = replace(later, end=found.end + later.end)
    return None if found is None else _unless_withdrawn(found, text[found.end :])


def _unless_withdrawn(found: Found, after: str) -> Found:
    """``found``, or what ``after`` corrects it to."""
    value = corrected(after)
    if value is None:
        return found
    if not value:
        return replace(found, answer="", reason="the answer is withdrawn")
    return Found(bare(value), found.where)


def _tag(text: str) -> Found | None:
    """The last ``<answer>``; one that is not closed counts only if none is closed."""
    closed = text.rfind("</answer>")
    opened = text.rfind("<answer>", 0, closed if closed >= 0 else len(text))
    if opened < 0:
        return None
    start = opened + len("<answer>")
    end = closed if closed >= 0 else len(text)
    inner = text[start:end].strip()
    return replace(_in_tag(inner), where="tag", end=end)


def _in_tag(inner: str) -> Found:
    boxed = _box(inner)
    if boxed is not None:
        return boxed
    if len(inner) > MAX_ANSWER:
        return Found("", "tag", reason="the answer is too long")
    return marker(inner) or Found(bare(prose.answer_of(inner)), "")


def _field(text: str) -> Found | None:
    """The field ``answer`` of an object of JSON that ends the response."""
    tail = text[-_OBJECT:]
    found = _FIELD.search(tail) if '"' in tail and "}" in tail[-12:] else None
    return None if found is None else Found(bare(found.group(1)), "marker", end=len(text))


# --- boxes


def _box(text: str) -> Found | None:
    start = nth_last_box(text)
    if start < 0:
        return None
    all_boxes = outermost(text, start)
    if not all_boxes:
        return None
    boxes = _meant(text, all_boxes)
    if not boxes:
        return Found("", "box", reason="the answer is denied", end=all_boxes[-1][1])
    if boxes[-1][2] is None:
        return Found("", "box", reason="the last box is cut off", end=len(text))
    return _claimed(text, boxes)


def _claimed(text: str, boxes: list[Box]) -> Found:
    """What the last box says, with those side by side with it."""
    group = side_by_side(text, boxes)
    end = group[-1][1]
    answer = listed(text, group)
    if not answer.strip():
        return Found("", "box", reason="the box is empty", end=end)
    said = statement(text, group[0][0], end, answer)
    if said is None:
        return Found("", "box", reason="the box is only a part of the formula", end=end)
    return Found(said, "box", _box_rivals(text, boxes, group), end=end)


def _meant(text: str, boxes: list[Box]) -> list[Box]:
    """The boxes up to the last one that is not denied: "It is not \\boxed{3}" gives no answer."""
    denied: set[str | None] = set()
    while boxes and (boxes[-1][2] in denied or is_denied(text, *boxes[-1][:2])):
        denied.add(boxes[-1][2])
        boxes = boxes[:-1]
    return boxes


def _box_rivals(text: str, boxes: list[Box], group: list[Box]) -> tuple[str, ...]:
    rivals = [offered_before(text, group[0][0])]
    earlier = [box for box in boxes if box[1] <= group[0][0]]
    if earlier and earlier[-1][2] is not None:
        since = text[earlier[-1][1] :][:MAX_WINDOW]
        if UNSURE.search(since) and not CORRECTION.search(since):
            rivals.append(earlier[-1][2])
    after = text[group[-1][1] :][:80]
    if has_one(_OF_ELSE, after) and (other := _OR_ELSE.match(text[group[-1][1] :][:MAX_WINDOW])):
        said = other.group(1)
        if re.search(r"[\d\\]", said):  # "(or else $J$ would ...)"
            rivals.append(said.strip("$. ") if "(" in said else said.strip("$.) "))
    if more := _MORE.match(after):
        rivals.append(more.group(1))
    before = text[max(0, group[0][0] - 40) : group[0][0]]
    if before.rstrip("$ \n").endswith((",", "and")) and (more := _ALREADY.search(before)):
        rivals.append(more.group(1))
    rivals.append(_other_root(before, after))
    return tuple(filter(None, rivals))


def _other_root(before: str, after: str) -> str:
    """``-6`` of "$x_1 = \\boxed{6}$, $x_2 = -6$"."""
    root = _ROOT_BEFORE.search(before) if "=" in before[-2:] else None
    other = _ROOT_AFTER.match(after) if root else None
    if not root or not other or root.group(1) != other.group(1):
        return ""
    return "" if "\\boxed" in other.group(2) else other.group(2).rstrip(".")


# --- without an announcement


def _whole(text: str) -> Found | None:
    text = text.strip()
    if "\n" in text or len(text) > 400:
        return None
    if prose.sentence(text) != text.rstrip(".!。 "):
        return None
    said = prose.without_reason(prose.without_lead(text))
    if _concludes(text, said):
        return None
    if (
        ("**" in said and _LAST_BOLD.search(said))
        or text.endswith("?")
        or (prose.has_value(text) and not prose.has_value(said))
    ):
        return None
    if not prose.is_bare(said):
        return None
    return Found(prose.last_matrix(said.strip("$ .")) or bare(said), "whole")


def _concludes(text: str, said: str) -> bool:
    """Whether what was left out comes to a value: "x = 3 or x = -3, but x > 0, so x = 3"."""
    rest = text[text.find(said) + len(said) :]
    so = THEREFORE.search(rest)
    return so is not None and prose.has_value(rest[so.end() :])


def _bold(text: str) -> Found | None:
    for match in reversed(_BOLD.findall(text)[-50:]):
        inner = match.strip()
        if prose.has_value(inner) and not inner.endswith(":") and prose.is_bare(inner):
            return Found(bare(inner), "bold")
    return None


def _sentence(text: str) -> Found | None:
    answer = conclusion(text)
    return Found(answer, "sentence") if answer else None


def _in_dozens(found: Found, text: str) -> Found:
    """``7`` of "84/12 = 7 dozen": where it is divided by 12, dozens are what is counted."""
    if found.answer.endswith(("dozen", "dozens")) and _BY_TWELVE.search(text):
        return replace(found, answer=found.answer.rpartition("doz")[0])
    return found
