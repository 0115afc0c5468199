"""IFBench's kinds ``format:``."""

from __future__ import annotations

import re
from itertools import pairwise

from ..counting import english_tokens, is_emoji, split_sentences
from .kind import InstructionKind, some_text
from .plain import SIGNS, bare_words, full_lines, trimmed, without_signs

_OPEN = {"(": ")", "[": "]", "{": "}"}
_LEVELS = 5
_QUOTE_LEVELS = 3
_ABC = re.compile(r"\W*a\W*b\W*c", re.IGNORECASE)
_THESIS = re.compile(r"<(?:i|em)>")
_THESIS_END = re.compile(r"</(?:i|em)>")
_TEMPLATE = ("My Answer:", "My Conclusion:", "Future Outlook:")
#: Quotation marks at the ends of an answer do not end it, nor do digits.
_AFTER_QUOTE = "0123456789" + SIGNS.replace('"', "")
_QUOTED = re.compile(r'"[^"]*"')


def _nested(response: str) -> bool:
    """Return whether brackets five levels deep were closed at their deepest, without a mistake."""
    waiting: list[str] = []
    deepest = 0
    for sign in response:
        if sign in _OPEN:
            waiting.append(_OPEN[sign])
            deepest = max(deepest, len(waiting))
        elif waiting and sign == waiting[-1]:
            waiting.pop()
            if deepest >= _LEVELS:
                return True
        elif sign in ")]}":
            waiting, deepest = [], 0
    return False


def _quotes(response: str) -> bool:
    """Return whether quotes were closed three levels above the deepest; they must alternate."""
    waiting: list[str] = []
    deepest = 0
    for sign in re.findall("[\"']", response):
        if waiting and sign == waiting[-1]:
            waiting.pop()
            if deepest - len(waiting) >= _QUOTE_LEVELS:
                return True
        else:
            waiting.append(sign)
            deepest = max(deepest, len(waiting))
    return False


_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")


def _quotes_no_apostrophes(response: str) -> bool:
    """As above, with ``don't`` no quotation."""
    return _quotes(_APOSTROPHE.sub("", response))


def _option(response: str, options: str) -> bool:
    """Return whether the answer is one of the options, ``a/b``, ``a or b`` or ``a, b``."""
    sign = next((sign for sign in ("/", "or") if sign in options), ",")
    choices = [choice.strip() for choice in options.split(sign)]
    if _ABC.match(options):
        return response in choices
    return trimmed(response).lower() in [trimmed(choice).lower() for choice in choices]


def _word_a_line(response: str) -> bool:
    lines = [line for line in without_signs(response).strip().split("\n") if line]
    return len(lines) == len(bare_words(response))


def _emoji_everywhere(response: str) -> bool:
    """Return whether sentences end in an emoji, which may also stand behind the full stop."""
    found = [without_signs(sentence).strip() for sentence in split_sentences(response)]
    for sentence, after in zip(found, [*found[1:], ""], strict=False):
        if not sentence:
            return False
        ends = any(map(is_emoji, sentence[-2:]))
        if not ends and not (after and is_emoji(after[0])):
            return False
    return bool(found)


def _stairs(response: str) -> bool:
    indents = [len(line) - len(line.lstrip(" ")) for line in full_lines(response)]
    return all(one < after for one, after in pairwise(indents))


def _stairs_of_lines(response: str) -> bool:
    return _stairs(response) and len(full_lines(response)) > 1


def _explained(response: str) -> bool:
    """Return whether no two quotes stand side by side, and none ends the answer."""
    text = "".join(response.replace("'\"'", "").split())
    return '""' not in text and not text.strip(_AFTER_QUOTE).endswith('"')


def _list_with(response: str, sep: str) -> bool:
    return response.count(sep) >= 2


def _lines_with(response: str, sep: str) -> bool:
    """As above, each at the beginning of a line."""
    return sum(line.strip().startswith(sep) for line in response.split("\n")) >= 2


def _thesis(response: str) -> bool:
    begin = _THESIS.search(response)
    end = _THESIS_END.search(response, begin.end()) if begin else None
    if begin is None or end is None:
        return False
    return bool(response[begin.end() : end.start()].strip() and response[end.end() :].strip())


def _sub_bullets(response: str) -> bool:
    return all("-" in piece for piece in response.split("*")[1:])


def _lines_of_sub_bullets(response: str) -> bool:
    """Return whether each line with ``*`` has a line with ``-`` below it, and there is one."""
    marks = [line.strip()[:1] for line in full_lines(response)]
    kinds = [mark for mark in marks if mark in ("*", "-")]
    has_own = all(
        after == "-" for mark, after in zip(kinds, [*kinds[1:], ""], strict=False) if mark == "*"
    )
    return "*" in kinds and has_own


def _sentences_then_bullets(response: str) -> bool:
    """Return whether two sentences come before two lines with ``*``, and nothing after."""
    bullets = stated = 0
    open_ = True
    for line in response.split("\n"):
        if line.strip().startswith("*"):
            bullets, open_ = bullets + 1, False
            if stated < 2:
                return False
        elif open_:
            found = len(split_sentences(line))
            stated, open_ = stated + found, found > 0
        else:
            return False
    return bullets >= 2


def _full_stops_then_bullets(response: str) -> bool:
    """Return whether two sentences with a full stop come before two lines with ``*``."""
    lines = [line.strip() for line in full_lines(response)]
    head = [line for line in lines if not line.startswith("*")]
    said = [one for line in head for one in split_sentences(line) if one.endswith(".")]
    return len(said) >= 2 and len(lines) - len(head) >= 2 and lines[: len(head)] == head


def _title_case(response: str) -> bool:
    return not any(_small(token) for token in english_tokens(response) if token[0].isalpha())


def _small(token: str) -> bool:
    """Return whether a word begins with a small letter; mixed ones such as ``iPhone`` may."""
    rest = token[1:]
    return token[0].islower() and (not rest or rest.isupper() or rest.islower())


IFBENCH_FORMATS: dict[str, InstructionKind] = {
    "format:parentheses": InstructionKind(_nested),
    "format:quotes": InstructionKind(_quotes, trained=_quotes_no_apostrophes),
    "format:options": InstructionKind(_option, {"options": some_text}),
    "format:newline": InstructionKind(_word_a_line),
    "format:emoji": InstructionKind(_emoji_everywhere),
    "format:line_indent": InstructionKind(_stairs, trained=_stairs_of_lines),
    "format:quote_unquote": InstructionKind(_explained),
    "format:list": InstructionKind(_list_with, {"sep": some_text}, trained=_lines_with),
    "format:thesis": InstructionKind(_thesis),
    "format:sub-bullets": InstructionKind(_sub_bullets, trained=_lines_of_sub_bullets),
    "format:no_bullets_bullets": InstructionKind(
        _sentences_then_bullets, trained=_full_stops_then_bullets
    ),
    "format:title_case": InstructionKind(_title_case),
    "format:output_template": InstructionKind(
        lambda response: all(part in response for part in _TEMPLATE)
    ),
    "format:no_whitespace": InstructionKind(lambda response: not any(map(str.isspace, response))),
}
