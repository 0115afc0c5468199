"""Find the answer in a response, in time linear in its length.

The places are tried in this order, and the first that is there decides, even if it is empty:

    tag       ``<answer>...</answer>``, the last one
    box       the last balanced ``\\boxed{...}``; boxes side by side are a list
    hashes    ``#### 72``, the last one
    marker    the last "Answer:", "the answer is", 答案 and the like
    whole     the response is nothing but an expression
    bold      the last ``**...**`` that holds a value
    sentence  the one value of the last sentence that has one (see ``prose``)

Thoughts (``mint_envs.thinking``) and what follows a chat end token are no part of the response.
With ``strict`` only tag, box, hashes and a line "Answer: ..." count.

An answer may have *rivals*: other answers offered beside it without saying which is meant. The
grader pays only if all are right. "Wait", "Actually" and the like between two answers make the
later one a correction, which has no rivals. The words are a heuristic; they are listed below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice

from ...thinking import spoken
from ..answer.limits import MAX_ANSWER, MAX_TEXT, MAX_WINDOW
from . import prose

_TOKENS = (
    r"(?:<\|(?:im_end|im_start|eot_id|end_of_text|endoftext|end|eom_id|user|assistant)\|>"
    r"|</s>|<end_of_turn>|<｜end▁of▁sentence｜>)"
)
_END = re.compile(_TOKENS)
_HEAD = re.compile(rf"(?:\s|{_TOKENS}|<\|[a-z_]{{1,30}}\|>|assistant\s*\n)+")
_RUNS = re.compile(r"[ \t]{3,}")
_CALCULATOR = re.compile(r"<<[^<>\n]{1,200}>>")  # GSM8K's notes: "9 * 2 = <<9*2=18>>18"
_NEXT_QUESTION = re.compile(
    r"\n[ \t]*(?:Question|Q|Problem|Human|User|问题|题目)\s*+\d{0,3}+\s*+[:：]"
)
_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*(\{)?|\\.|[{}]", re.DOTALL)
_BOXES = ("\\boxed", "\\fbox")
_BOX_LIMIT = 40  # boxes from the end that are looked at
_BRACE_LIMIT = 10_000
_GLUE = re.compile(
    r"(?:\s|[$,;.&{}()]|\\(?:text|mathrm|quad|qquad|[,;:! ()\[\]])|(?:and|or|or possibly|和|或)\b)*"
)
_HASHES = re.compile(
    r"^[ \t]*#{4}(?!#)[ \t:]*([^\n]*)|(?<=[^#\n])#{4}(?!#)[ \t:]*([^\n]*)", re.MULTILINE
)
_STRICT_LINE = re.compile(
    r"^[ \t*_#>]*(?:the )?(?:final )?answer[ \t*_]*[:：][ \t*_]*(?=\S)([^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_MARKER = re.compile(
    r"(?:\banswers?\b(?:\s+(?:to|for)\s[^\n.:$]{1,60}?)?[ \t*_]{0,20}+"
    r"(?:\b(?:is|are|was|would be|should be|must be|will be|comes out to|equals)\b(?!\s+not\b)"
    r"[ \t*_:：]*"
    r"(?:therefore|thus|then|simply|just|now|equal to)?|[:：=]"
    r"|(?=\s{0,20}[*_]{0,20}+[ \t]{0,20}+\n))"
    r"|^[ \t*_]*(?:A|Ans|Result|Solution set)[ \t*_]*[:：]"
    r"|\b(?:correct|right|best)\s+(?:choice|option)\s+is\b|\bchoice is\b|\boption is\b"
    r"|\b(?:choose|pick|select|go with)\b(?=\s+(?:option|choice|answer)?\s*\(?[A-J]\b)"
    r"|(?:最终)?(?:答案|结果)[*_\s]*(?:应该)?(?:应?是|应?为|应?选|[:：])|答[:：]"
    r"|(?:故|应|因此|所以)选(?:择)?[:：]?)"
    r"[ \t]*[:：]?",
    re.IGNORECASE | re.MULTILINE,
)
_MARKS = 8  # markers from the end that may have no answer after them
_CODE = re.compile(r"(?<!`)`([^`\n]{1,60})`(?!`)")  # `2`
# "w = 2 + 3 = **5**"
_LAST_BOLD = re.compile(r"=\s*\*\*[^*\n]{1,200}\*\*[.\s]*$")
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_CORRECTION = re.compile(
    r"\b(?:wait|oops|actually|mistake|sorry|recomput\w*|redo\w*|instead|hmm+|forgot|correct(?:ion|ing|ed)|"
    r"re-?check\w*|revis\w*|however|error|wrong|no,|scratch that|rather|missed|on second thought)\b"
    r"|更正|不对|错了|重新|等等|修正",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:cannot|can't|can not|could not|unable to) (?:decide|tell|determine|choose)|\bnot sure\b|"
    r"\b(?:unsure|either|maybe|perhaps|possibly|alternatively|or else|depending on)\b|"
    r"\bor it (?:could|might|may)\b|"
    r"不确定|或者|可能是|也可能",
    re.IGNORECASE,
)
_DENIED_BOX = re.compile(  # "not", right before a box: what is in it is denied
    r"(?:\b(?:not|never|cannot|rather than|instead of)|n['’]t|不是|不为|不等于|并非)"
    r"(?:\s+(?:be|is|it|the|a|correct|right|final|answer|equals?|to|exactly|simply|just)){0,5}"
    r"[\s$*_:：(]*(?:\\[(\[])?\s*$",
    re.IGNORECASE,
)
_DENIAL = 80  # characters before a box in which it is looked for
_OR_ELSE = re.compile(
    r"[^\d\n.]{0,30}\bor\s++(?:maybe|possibly|perhaps|it (?:could|might|may) be|else)?\s*+"
    r"(-?\\?[$\d][^\s,;]{0,40})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """An answer as written (``""``: none), where it was, its rivals, and why there is none."""

    answer: str
    where: str
    rivals: tuple[str, ...] = ()
    reason: str = ""

    @property
    def is_prose(self) -> bool:
        """Whether it comes from a sentence rather than from mathematics."""
        return self.where not in ("box", "gold")


_NOTHING = Found("", "none", reason="no answer found")


def find(response: str, strict: bool = False) -> Found:
    """Return the answer that ``response`` gives."""
    said = spoken(response)
    if not said and response.strip():
        return replace(_NOTHING, reason="nothing is said but thoughts")
    text = _own_words(said[-MAX_TEXT:])
    found = _tag(text) or _box(text) or _hashes(text)
    if found is None and strict:
        found = _strict_line(text)
    elif found is None:
        end = text[-MAX_WINDOW:]
        end = _CODE.sub(r"\1", end) if "`" in end else end
        found = _marker(end) or _whole(end) or _bold(end) or _sentence(end)
    if found is None or not found.answer.strip():
        return found or _NOTHING
    if len(found.answer) > MAX_ANSWER:
        return replace(found, answer=found.answer[:MAX_ANSWER], reason="the answer is too long")
    return found


def _own_words(text: str) -> str:
    """What was said, without chat frame and following turns."""
    text = _RUNS.sub("  ", text)
    if "<" in text:
        head = _HEAD.match(text)
        text = text[head.end() :] if head else text
        end = _END.search(text)
        text = text[: end.start()] if end else text
        text = _CALCULATOR.sub("", text) if "<<" in text else text
    return _first_answer(text)


def _first_answer(text: str) -> str:
    """``text`` up to a next question that a model without an end token asks itself."""
    for question in islice(_NEXT_QUESTION.finditer(text, 1), 8):
        before = text[: question.start()]
        if "\\boxed" in before or "####" in before or _MARKER.search(before[-MAX_WINDOW:]):
            return before
    return text


def _tag(text: str) -> Found | None:
    opened = text.rfind("<answer>")
    if opened < 0:
        return None
    inner = text[opened + len("<answer>") :].partition("</answer>")[0].strip()
    boxed = _box(inner)
    if boxed is not None:
        return replace(boxed, where="tag")
    if len(inner) > MAX_ANSWER:
        return Found("", "tag", reason="the answer is too long")
    marked = _marker(inner)
    return replace(marked or Found(_bare(prose.answer_of(inner)), ""), where="tag")


# --- boxes


def _box(text: str) -> Found | None:
    start = _nth_last_box(text)
    if start < 0:
        return None
    boxes = _boxes(text, start)
    if not boxes:
        return None
    boxes = _meant(text, boxes)
    if not boxes:
        return Found("", "box", reason="the answer is denied")
    if boxes[-1][2] is None:
        return Found("", "box", reason="the last box is cut off")
    group = _side_by_side(text, boxes)
    answers = list(dict.fromkeys(inner.strip() for _, _, inner in group if inner is not None))
    rivals = _box_rivals(text, boxes, group)
    if not any(answers):
        return Found("", "box", reason="the box is empty")
    return Found(", ".join(answers), "box", rivals)


def _meant(text: str, boxes: list[Box]) -> list[Box]:
    """The boxes up to the last one that is not denied: "It is not \\boxed{3}" gives no answer."""
    while boxes and _DENIED_BOX.search(text[max(0, boxes[-1][0] - _DENIAL) : boxes[-1][0]]):
        boxes = boxes[:-1]
    return boxes


def _nth_last_box(text: str) -> int:
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


Box = tuple[int, int, str | None]


def _boxes(text: str, start: int) -> list[Box]:
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


def _side_by_side(text: str, boxes: list[Box]) -> list[Box]:
    """The last box and those before it with nothing but "and" or a comma between."""
    group = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        gap = text[box[1] : group[0][0]]
        if box[2] is None or len(gap) > 80 or not _GLUE.fullmatch(gap):
            break
        group.insert(0, box)
    return group


def _box_rivals(text: str, boxes: list[Box], group: list[Box]) -> tuple[str, ...]:
    rivals: list[str] = []
    earlier = [box for box in boxes if box[1] <= group[0][0]]
    after = text[group[-1][1] :][:MAX_WINDOW]
    if earlier and earlier[-1][2] is not None:
        since = text[earlier[-1][1] :][:MAX_WINDOW]
        if _UNSURE.search(since) and not _CORRECTION.search(since):
            rivals.append(earlier[-1][2])
    if other := _OR_ELSE.match(after):
        rivals.append(other.group(1).strip("$. "))
    if cue := _CORRECTION.search(after):
        later = _marker(after[cue.start() :])
        rivals.extend([later.answer] if later and later.answer else [])
    return tuple(rivals)


# --- lines


def _hashes(text: str) -> Found | None:
    if "####" not in text:
        return None
    marks = list(_HASHES.finditer(text[-MAX_WINDOW * 5 :]))
    values = [((m.group(1) or m.group(2) or "").strip(), m) for m in marks]
    values = [(value, m) for value, m in values if prose.has_value(value) or value.isupper()]
    if not values:
        return None
    answer, last = values[-1]
    rivals: tuple[str, ...] = ()
    if len(values) > 1 and not last.string[values[-2][1].end() : last.start()].strip():
        rivals = (values[-2][0],)
    return Found(_bare(answer), "hashes", rivals)


def _strict_line(text: str) -> Found | None:
    lines = list(_STRICT_LINE.finditer(text[-MAX_WINDOW:]))
    if not lines:
        return None
    rivals = _line_rivals(lines[-1].string, lines)
    return Found(_bare(prose.sentence(lines[-1].group(1))), "marker", rivals)


def _line_rivals(text: str, marks: list[re.Match[str]]) -> tuple[str, ...]:
    """The answer before the last, if it stands next to it and nothing says that it was wrong."""
    if len(marks) < 2:
        return ()
    before, last = marks[-2], marks[-1]
    between = text[before.end() : last.start()]
    if len(between) > 60 or between.count("\n") > 2 or _CORRECTION.search(between):
        return ()
    earlier = prose.answer_of(before.group(1) if before.re is _STRICT_LINE else between)
    return (earlier,) if earlier and prose.has_value(earlier) else ()


def _marker(text: str) -> Found | None:
    marks: list[re.Match[str]] = []
    for match in _MARKER.finditer(text):
        if (
            marks
            and not text[marks[-1].end() : match.start()].strip(" *_\n\"'“”the:#TAFinal").strip()
        ):
            marks[-1] = match  # "**Final Answer**: the answer is 5" is one marker
        else:
            marks.append(match)
    for _ in range(min(len(marks), _MARKS)):
        answer = prose.after_marker(text[marks[-1].end() :][:MAX_ANSWER])
        if answer:
            return Found(answer, "marker", _line_rivals(text, marks))
        marks.pop()
    return None


def _whole(text: str) -> Found | None:
    text = text.strip()
    if "\n" in text or len(text) > 400:
        return None
    if prose.sentence(text) != text.rstrip(".!。 "):
        return None
    said = prose.without_reason(prose.without_lead(text))
    if (
        ("**" in said and _LAST_BOLD.search(said))
        or text.endswith("?")
        or (prose.has_value(text) and not prose.has_value(said))
    ):
        return None
    return Found(_bare(said), "whole") if prose.is_bare(said) else None


def _bold(text: str) -> Found | None:
    for match in reversed(_BOLD.findall(text)[-50:]):
        inner = match.strip()
        if prose.has_value(inner) and not inner.endswith(":") and prose.is_bare(inner):
            return Found(_bare(inner), "bold")
    return None


def _sentence(text: str) -> Found | None:
    answer = prose.conclusion(text)
    return Found(answer, "sentence") if answer else None


def _bare(text: str) -> str:
    """``text`` without quotes, emphasis and a full stop."""
    return text.strip().strip("*_`\"' ").strip()
