"""What a response says itself: no frame of a chat, no further turn, no program."""

from __future__ import annotations

import re
from itertools import islice

from ..answer.limits import MAX_WINDOW
from .markers import MARKER
from .prose import has_value

_TOKENS = (
    r"(?:<\|(?:im_end|im_start|eot_id|end_of_text|endoftext|end|eom_id|user|assistant)\|>"
    r"|</s>|<end_of_turn>|<｜end▁of▁sentence｜>)"
)
_END = re.compile(_TOKENS)
_HEAD = re.compile(rf"(?:\s|{_TOKENS}|<\|[a-z_]{{1,30}}\|>|assistant\s*\n)+")
_RUNS = re.compile(r"[ \t]{3,}")
_CALCULATOR = re.compile(r"<<[^<>\n]{1,200}>>")  # GSM8K's notes: "9 * 2 = <<9*2=18>>18"
_NEXT_QUESTION = re.compile(
    r"\n[ \t]*+[#*>]{0,4}+[ \t]*+(?:(Question|Q|Human|User|问题)|Problem|题目)"
    r"\s*+\d{0,3}+\s*+[*]{0,2}+[:：]"
)
_PROGRAM = re.compile(  # what other fences hold may be the answer: "```latex", "```output"
    r"(?<!`)```(?:[ \t]*"
    r"(?:python3?|py|cpp|c\+\+|c|java|javascript|js|bash|sh|sage|sympy|matlab|r|julia)\b"
    r"|[ \t]*\n(?:[^`]{0,200}?\n)??[ \t]*(?:print\(|def |import |from |return |while |for ))"
    r".*?(?:```|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_SIGNS = 16  # percent signs that are looked at one by one
_INDENT = 40
_COMMENT = re.compile(
    r"\\begin\{verbatim\}.*?(?:\\end\{verbatim\}|\Z)|<!--.*?(?:-->|\Z)|^[ \t]*%[^\n]*",
    re.DOTALL | re.MULTILINE,
)


def own_words(text: str) -> str:
    """What was said aloud, without chat frame and following turns."""
    if "   " in text or "\t" in text:
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
        if question.group(1) and has_value(before):
            return before
        if "\\boxed" in before or "####" in before or MARKER.search(before[-MAX_WINDOW:]):
            return before
    return text


def without_programs(text: str) -> str:
    """``text`` without programs and comments: what they print or hold is not said."""
    if _has_comment(text):
        text = _COMMENT.sub("\n", text)
    return _PROGRAM.sub("\n", text) if "```" in text else text


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


def ends_in_program(text: str) -> bool:
    """Whether nothing is said after the last program: the response was cut off there."""
    last = text.rfind("```")
    if last < 0:
        return False
    programs = list(_PROGRAM.finditer(text))
    return bool(programs) and not text[programs[-1].end() :].strip()
