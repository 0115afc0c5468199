"""What a response says itself: no frame of a chat, no further turn, no program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ..answer.limits import MAX_WINDOW
from .hinted import has_one
from .markers import MARKER
from .prose import has_value

_TOKENS = (
    r"(?:<\|(?:im_end|im_start|eot_id|end_of_text|endoftext|end|eom_id|user|assistant)\|>"
    r"|</s>|<end_of_turn>|<｜end▁of▁sentence｜>)"
)
_END = re.compile(_TOKENS)
_ENDINGS = ("<|", "</s>", "<end_of_turn>", "<｜")  # one of them is in each
_HEAD = re.compile(rf"(?:\s|{_TOKENS}|<\|[a-z_]{{1,30}}\|>|assistant\s*\n)+")
_RUNS = re.compile(r"[ \t]{3,}")
_CALCULATOR = re.compile(r"<<[^<>\n]{1,200}>>")  # GSM8K's notes: "9 * 2 = <<9*2=18>>18"
_NEXT_QUESTION = re.compile(
    r"\n[ \t]*+[#*>]{0,4}+[ \t]*+(?:(Question|Q|Human|User|问题)|Problem|题目)"
    r"\s*+\d{0,3}+\s*+[*]{0,2}+[:：]"
)
_FENCE = re.compile(r"`{3,}[ \t]*([A-Za-z+]*)")
_LANGUAGES = frozenset(  # what other fences hold may be the answer: "```latex", "```output"
    "python python3 py cpp c++ c java javascript js bash sh sage sympy matlab r julia".split()
)
_BEGINS = re.compile(
    r"[ \t3]*\n(?:[^`]{0,200}?\n)??[ \t]*(?:print\(|def |import |from |return |while |for )"
)
_FENCES = 2_000  # of a response: no honest one has a hundred
_SIGNS = 16  # percent signs that are looked at one by one
_INDENT = 40
_COMMENT = re.compile(
    r"\\begin\{verbatim\}.*?(?:\\end\{verbatim\}|\Z)|<!--.*?(?:-->|\Z)|^[ \t]*%[^\n]*",
    re.DOTALL | re.MULTILINE,
)


def own_words(text: str) -> str:
    """What was said aloud, without chat frame and following turns."""
    text = _without_runs(text)
    if "<" in text:
        head = _HEAD.match(text)
        text = text[head.end() :] if head else text
        end = _END.search(text) if has_one(_ENDINGS, text) else None
        text = text[: end.start()] if end else text
        text = _CALCULATOR.sub("", text) if "<<" in text else text
    return _first_answer(text)


def _without_runs(text: str) -> str:
    """``text`` with two spaces for each run of three or more, and of tabs."""
    if "\t" in text:
        return _RUNS.sub("  ", text)
    while "   " in text:  # a third of the time of the pattern; each turn shortens a run by a third
        text = text.replace("   ", "  ")
    return text


def _first_answer(text: str) -> str:
    """``text`` up to a next question that a model without an end token asks itself."""
    for question in islice(_NEXT_QUESTION.finditer(text, 1), 8):
        before = text[: question.start()]
        if question.group(1) and has_value(before):
            return before
        if "\\boxed" in before or "####" in before or MARKER.search(before[-MAX_WINDOW:]):
            return before
    return text


def without_programs(text: str) -> tuple[str, bool]:
    """``text`` without programs and comments: what they print or hold is not said.

    And whether nothing is said after the last program: the response was cut off there.
    """
    if _has_comment(text):
        text = _COMMENT.sub("\n", text)
    text = _last_fences(text)
    kept, at = [], 0
    for start, end in _programs(text):
        kept.append(text[at:start])
        at = end
    if not kept:
        return text, False
    return "\n".join([*kept, text[at:]]), not text[at:].strip()


def _last_fences(text: str) -> str:
    """``text``, or its end with so many fences as are looked at."""
    if text.count("```") <= _FENCES:
        return text
    at = len(text)
    for _ in range(_FENCES):
        at = text.rfind("```", 0, at)
    return text[at:]


def _programs(text: str) -> Iterator[tuple[int, int]]:
    """Where programs between fences stand; a fence that closes one opens none."""
    at = text.find("```")
    while at >= 0:
        fence = _FENCE.match(text, at)
        assert fence is not None
        name, after = fence[1].lower(), fence.end()
        closing = text.find("```", after)
        next_fence = _FENCE.match(text, closing) if closing >= 0 else None
        is_closed = next_fence is not None and not next_fence[1]
        bare = not name and (is_closed or closing < 0)
        if name in _LANGUAGES or (bare and _BEGINS.match(text, after)):
            end = closing if closing >= 0 else len(text)
            yield at, next_fence.end() if next_fence and is_closed else end
        if next_fence is not None and not is_closed:
            at = closing  # a fence with a name closes nothing
        else:
            at = text.find("```", next_fence.end()) if next_fence else -1


def _has_comment(text: str) -> bool:
    """Whether there may be a comment; most signs stand for percent."""
    at = text.find("%")
    for _ in range(_SIGNS):
        if at < 0:
            return "<!--" in text or "verbatim" in text
        if not text[max(0, at - _INDENT) : at].rpartition("\n")[2].strip(" \t"):
            return True
        at = text.find("%", at + 1)
    return True
