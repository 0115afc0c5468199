"""What stands beside a box belongs to the answer: ``-\\boxed{256}`` is -256.

Within a formula all that is written with the box counts, from the last ``=`` or arrow on; in a
sentence what touches the box, and a unit or multiplier after it. Other words are about the answer.
"""

from __future__ import annotations

import re

from ..answer.units import is_unit
from .phrases import NUMBER, OPERATING, SPELLED

_NEAR = 160  # characters on each side that are looked at
_CHOICE = re.compile(r"(?:\\text\w*\{|\\mathrm\{)?\s*(?:\([A-J]\)|[A-E])[.:)]?\s*\}?")
_PARAGRAPH = 2_000  # characters before a box in which its formula may open
_SIGNS = re.compile(r"\\(?:[\[(\])]|(?:begin|end)\{[a-z]+\*?\}|\$)|\$\$?")
_CLOSERS = ("$", "\\]", "\\)")
_DOLLARS = re.compile(r"\\\$|\$\$?")
_BRACKETS = ("\\[", "\\]", "\\(", "\\)", "\\begin{", "\\end{")
_CLOSING = re.compile(r"(?:[ \t]?(?:\$\$?|\\[\])]|\*\*))+")
_CUT_BEFORE = re.compile(
    r"=|\\(?:q?quad|text\w*\{[^{}]*\}|(?:Long)?[rR]ightarrow|implies|iff|therefore|to|approx|equiv"
    r"|in|colon|qquad|hline|bf|bm|mathbf|color\{\w*\}|displaystyle)(?![A-Za-z])|\\\\(?!\w)"
    r"|(?<!\d):|,(?!\\!)|[&：;≈≡∴⇒→∈\n]|\\[,;: ]|\*\*"
)
_CUT_AFTER = re.compile(
    r"=|\\(?:q?quad|(?:Long)?[rR]ightarrow|implies|iff|approx|equiv|blacksquare|square|Box|tag"
    r"|checkmark|qed|hfill|label|in|because|since|mid|colon)(?![A-Za-z])|\\\\|:(?!\s?\d)|(?<!\\),(?!(?:\\!)?\d)|(?<!\\);|[&≈≡⇒→\n]|\.(?!\d|\s*\})"
    r"|\*\*|\\end\{"
)
_SPACED = re.compile(r"(?:\s|\\[,;:!])+$")
_PART_OF = re.compile(r"(?:\\(?:[dtc]?frac|sqrt|binom|log_?)(?:\[[^\]]*\]|\{[^{}]*\})?|[\^_])\s*$")
_RELATION = r"(?:[<>≤≥≠]|\\(?:leq?|geq?|lt|gt|neq?|leqslant|geqslant)(?![A-Za-z]))"
_TOUCHES_BEFORE = re.compile(
    rf"(?:(?<![A-Za-z\\])(?:[A-Za-z]|\\[a-z]+)\s?{_RELATION}\s?|[-−]|\\pm\s?|[√π]|\d\s?[*/×·]\s?"
    r"|(?<![\w\\])\d{1,20}[.,:]?)$"
)
_TOUCHES_AFTER = re.compile(
    r"\^(?:\{[^{}]{1,20}\}|\\?\w+)|_(?:\{[^{}]{1,20}\}|\d+)|\s?\\?%|\s?°|\s?\\(?:pi|sqrt|cdot|times)"
    r"(?![A-Za-z])[^\n$.,]{0,20}|\s?[*/×·]\s?[\dA-Za-z(\\][^\n$,\s]{0,20}|\s?[-+−]\s?\d[^\n$,\s]{0,20}"
    r"|[π√]\S{0,10}|[.,:]?\d{1,20}|\s:\s?\d{1,20}|[A-Za-z]{1,3}\d{0,3}(?![A-Za-z])"
)
_TEXT = re.compile(r"(?:\\[,;: ]|[\s~])*\\(?:text\w*|mathrm|mbox)\{\s*([^{}]*)\}")
_WORDS = re.compile(
    r"(?:[ \t$]|\\[ ,;:]){0,3}(?:\\(?:text|mathrm)\{\s?)?\(?([A-Za-z]+(?:[ /][A-Za-z]+){0,3})"
)
_OR_BEFORE = re.compile(
    rf"(?:\$|\b[a-z]\s?=\s?)?({NUMBER.pattern}|\b(?:{SPELLED})\b"
    rf"|\\[a-z]+(?:\{{[^{{}}]*\}})*)[\s$\\)]{{0,4}}"
    r"(?:\\text\{\s*)?\b(?:or(?: else| maybe| possibly| perhaps)?|或)\b"
    r"[\s}$\\([*]{0,6}(?:[a-z]\s?=\s?)?$"
)
_OR = re.compile(r"\bor\b|或")
_COMPUTED = re.compile(r"(?:=|\+|-|\*|/|\b(?:of|in|out)|\\(?:cdot|times))\s*\$?\s*-?$")
_IS_PLAIN = re.compile(r"-?[\d.,]+|[A-Za-z]|\\[a-z]+")
_MEASURED = re.compile(r"[\d.,\s}πi)-]*[\d})πi]")  # what a unit may follow


_SIGNED_FORMULA = re.compile(r"(?<![-\w])[-−](?:\$\$?|\\[\[(])$")  # -$\boxed{256}$
_DIGITS_BEFORE = re.compile(r"(?<![\^_\w])\d+[.,]?$")
_DIGITS_AFTER = re.compile(r"(?:[.,]|,\\!)?\d")
_OPERATOR_BEFORE = re.compile(  # "half of \\boxed{5}"
    r"\b(?:minus|negative|twice|double|half of|(?<!\ba )root of|(?:square|cube|log) of|log"
    r"|(?:less|more|greater|fewer) than|between\s[^\s]{1,30}\sand|from\s[^\s]{1,30}\sto)"
    r"\s[$*]*(?:\\[(\[])?\s?$",
    re.IGNORECASE,
)
_BINDING = frozenset(  # the last words of both patterns
    "minus negative twice double of log than and to least most above below under over exceed"
    " exceeds".split()
)
_BOUND_BEFORE = re.compile(  # of "they need at least \\boxed{5} men" it is the answer
    r"\b(?:at (?:least|most)|(?:is|are|be) (?:up|close) to|above|below|under|over|exceeds?)"
    r"\s[$*]*(?:\\[(\[])?\s?$",
    re.IGNORECASE,
)
_SENTENCE_OVER = re.compile(r"[\s$*)\]\\]*(?:[.,;:!?]|$)")
_OPERAND_AFTER = re.compile(r"[ \t]?\$?[ \t]?\$[ \t]?\\(?:pi|cdot|times|sqrt|div|pm)(?![A-Za-z])")
_SHORT_UNITS = frozenset("cm km mm kg mg ml mL ft".split())
_MEASURES = ("square", "cubic", "sq", "per")


def statement(text: str, start: int, end: int, inside: str) -> str | None:
    """The answer that ``inside`` is with what stands beside the box; None: it is only a part."""
    if _CHOICE.fullmatch(inside.strip()):
        return inside
    before, after = text[max(0, start - _PARAGRAPH) : start], text[end : end + _NEAR]
    before = before.rpartition("\n\n")[2]
    opened = _opened(before)
    if _OPERAND_AFTER.match(after) or _is_bound(before[-60:], after):
        return None
    if opened is None:
        if _is_inside(before[-_NEAR:]):
            return None
        left, right = _touching(before, after)
    else:
        inner = _within(before[opened:], after)
        if inner is None:
            return None
        left, right = inner
        if not left and _SIGNED_FORMULA.search(before[max(0, opened - 9) : opened]):
            left = "-"
    return _joined(left, inside, right or _named(after, inside))


def _is_bound(before: str, after: str) -> bool:
    """Whether words make another value, or only a bound, of what is in the box."""
    word = before.rstrip("$*(\\[ \n").rpartition(" ")[2].lower()
    if word not in _BINDING:
        return False
    if _OPERATOR_BEFORE.search(before):
        return True
    return bool(_BOUND_BEFORE.search(before) and _SENTENCE_OVER.match(after))


def offered_before(text: str, start: int) -> str:
    """``5`` of "5 or \\boxed{6}"."""
    before = text[max(0, start - 80) : start]
    other = _OR_BEFORE.search(before) if _OR.search(before[-40:]) else None
    if other is None or _COMPUTED.search(before[: other.start()]):
        return ""  # "2x = 110 or x = \\boxed{55}", "13 + 15 or \\boxed{28}"
    return other.group(1).strip()


def _opened(before: str) -> int | None:
    """Where the formula that is open at the end of ``before`` begins; None if none is open."""
    last = before.rfind("$")
    while last > 0 and before[last - 1] == "\\":
        last = before.rfind("$", 0, last)
    command = max(before.rfind(sign) for sign in _BRACKETS)
    if command > last:
        return _command_end(before, command)
    if last < 0:
        return None
    dollars = sum(sign != "\\$" for sign in _DOLLARS.findall(before))
    return last + 1 if dollars % 2 else None


def _command_end(before: str, at: int) -> int | None:
    """Where the formula begins that the command at ``at`` opens; None if it closes one."""
    sign = _SIGNS.match(before, at)
    if sign is None:  # "\\begin" of nothing
        return _opened(before[:at])
    return sign.end() if sign.group()[1] in "[(b" else None


def _touching(before: str, after: str) -> tuple[str, str]:
    """In a sentence: a sign or factor that touches the box."""
    left, right = _TOUCHES_BEFORE.search(before), _TOUCHES_AFTER.match(after)
    return (left.group() if left else ""), (right.group() if right else "")


def _within(left: str, right: str) -> tuple[str, str] | None:
    """In a formula: all from the last ``=`` to the next; None if the box is inside a command."""
    left = left[-_NEAR:]
    if left.rstrip()[-1:] in ("", "=") and right.startswith(_CLOSERS) and _is_closed(left):
        return "", ""
    right = right[: _first(_SIGNS, right)]
    if _depth(left) > 0:
        head, _, left = left.rpartition("{")
        if _PART_OF.search(head):
            return None
        right = right.partition("}")[0]
    cuts = list(_CUT_BEFORE.finditer(left))
    left = left[cuts[-1].end() :] if cuts else left
    left = left.removesuffix("\\")  # \\\\boxed: the backslash of a program's source is doubled
    right = _SPACED.sub("", right[: _first(_CUT_AFTER, right)])
    words = _TEXT.match(right)
    if words:
        right = _counted(words, right)
    return left.strip(), right.strip(" ,.;")


def _is_closed(left: str) -> bool:
    return "{" not in left or _depth(left) == 0


def _is_inside(left: str) -> bool:
    """Whether the box is in the braces of a root, a fraction or a power."""
    return _depth(left) > 0 and bool(_PART_OF.search(left.rpartition("{")[0]))


def _first(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return found.start() if found else len(text)


def _depth(text: str) -> int:
    """How many braces at the end of ``text`` are still open; the innermost one last."""
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth = depth + 1 if brace == "{" else max(0, depth - 1)
    return depth


def _named(after: str, inside: str) -> str:
    """A unit or multiplier in words after the box: ``\\boxed{5}`` million."""
    closed = _CLOSING.match(after)
    start = closed.end() if closed else 0
    said = _WORDS.match(after, start)
    if not said or not _MEASURED.fullmatch(inside.strip()):
        return ""
    if operating := OPERATING.match(after, said.start(1)):
        return rf" \text{{ {operating.group().strip()} }}"
    first = said.group(1).split()[0]
    if first == "unless":
        return rf" \text{{ {said.group(1)} }}"
    known = len(first) > 2 or first in _SHORT_UNITS
    return rf"\text{{ {first}}}" if known and is_unit(first) else ""


def _counted(words: re.Match[str], right: str) -> str:
    """What of ``right``, which begins with words in a formula, belongs to the answer."""
    said = words.group(1).strip()
    first = said.split(" ")[0]
    if first in ("or", "and") or OPERATING.match(f"{said} {right[words.end() :].strip()}"):
        return right
    return words.group() if is_unit(first) or first in _MEASURES else ""


def _joined(left: str, inside: str, right: str) -> str | None:
    if not left and not right:
        return inside
    if left in ("(", "[", "{", "\\{") and right in (")", "]", "}", "\\}"):
        return inside
    if left and right[:1] in (")", "]", "}"):
        return f"{left}{inside}{right}"
    if not left and right.lstrip().startswith("\\text"):
        return f"{inside}{right}"
    inside = inside.strip()
    if _DIGITS_BEFORE.search(left) or _DIGITS_AFTER.match(right):
        return None  # \\boxed{1}0: a part of a number
    if inside[0] == "\\" and right[:1].isalpha():
        right = f" {right}"
    plain = _IS_PLAIN.fullmatch(inside) and not (left and inside[0] == "-")
    space = " " if left[-1:].isalpha() else ""
    return f"{left}{space}{inside if plain else f'({inside})'}{right}"
