"""The value that a sentence states.

A sentence states a value if it has one number (or one formula), or one after its last "is", "=",
"so" and the like. With several and nothing to choose by, it states none: to guess would pay for
answers that the response does not give.
"""

from __future__ import annotations

import re

_MATH = re.compile(
    r"\$\$(?P<a>.{1,600}?)\$\$|\\\[(?P<b>.{1,600}?)\\\]|\\\((?P<c>.{1,400}?)\\\)"
    r"|(?<![\\\d])\$(?P<d>(?!\s*[\d,.]+(?:\s|$)[^$]*[a-z]{3})[^$\n]{1,400}?)(?<!\\)\$(?!\d)",
    re.DOTALL,
)
_NUMBER = re.compile(
    r"(?<![\w.\\^_{])(?:[-−–+]\s?(?=[$€£¥.\d]))?(?:\\?\$|€|£|¥)?\s?(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
    r"(?:\s?/\s?\d+|\s\d+/\d+)?(?:\s?\\?%|\s?°)?(?![\w]*\d)"
)
_SENTENCE_END = re.compile(r"[.!?](?=[\s*\"')\]]|$)|[。！？]|\n")
_COPULA = re.compile(
    r"\b(?:is|are|was|were|be|equals?|totals?|gives?|get|makes?|has|have|had|leaves?|costs?|takes?|becomes?|"
    r"yields?|earns?|needs?|spends?|pays?|paid|saves?|sold|sells?|received?|contains?|left with)\b"
    r"(?:\s+(?:exactly|only|just|about|approximately|equal to|a total of|now|also|therefore|thus|then|at|to be))*|"
    r"=|≈|\btotal of\b|是|为|等于|得到|共有?|需要?|有",
    re.IGNORECASE,
)
_CONNECTIVE = re.compile(
    r"\b(?:so|therefore|thus|hence|consequently|giving|making|meaning|leaving|which gives|which is|"
    r"we get|we have|we find|in total)\b,?|所以|因此|故|[,，;；]\s",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"[,;]?\s+(?:because|since|as|which|who|so|where|given|after|when|whenever|but|per the|by the|based on|due to)\s.*|"
    r"\s+\((?=[A-Za-z]{2,}\s|i\.e|e\.g|≈|approx).*|[，,](?:因为|由于).*",
    re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z]{2,}")
_COMMAND = re.compile(r"\\[A-Za-z]+(?:\{[A-Za-z0-9 ]*\})?")
_LEAD = re.compile(
    r"(?:(?:therefore|thus|so|hence|simply|just|now|that|option|choice|likely|definitely|approximately|about|exactly|"
    r"equal to|given by|indeed)\b[\s,:]*|[:：=*_\s≈~>-](?!\d|\.\d))+",
    re.IGNORECASE,
)
_MORE = re.compile(r"\s*(?:,|and|or|和|或|;)\s*(?:and|or)?\s*(?=[-$\\\d(])")
_TAIL = re.compile(r"\s*(?:\\?%|°|(?:percent|degrees?)\b|[A-Za-z]{1,12}(?:/[a-z]+|\^?[23²³])?(?=[.,;!?]?\s*$))")
_ASIDE = re.compile(r"^\W*(?:check|verif|note|let me know|hope|double-check|i hope|feel free|验证|检验|注)", re.IGNORECASE)
_QUESTION = re.compile(r"\?\s*$")


def has_value(text: str) -> bool:
    """Whether there is a digit, a formula or the like in ``text``."""
    return any(c.isdigit() for c in text) or "\\" in text or "$" in text


def is_bare(text: str) -> bool:
    """Whether ``text`` is an expression or a short name, and no sentence."""
    if not text or len(text) > 300 or "\n" in text.strip():
        return False
    words = _WORD.findall(_COMMAND.sub(" ", text))
    long = [word for word in words if word.lower() not in _GLUED and len(word) > 2]
    if not has_value(text):
        return len(words) <= 3 and not _COPULA.search(text)
    if _COPULA.search(text.replace("=", "")) and words:
        return False
    return len(long) <= 2 and not re.match(r"[A-Za-z]+\s[A-Za-z]+\s", text)


_GLUED = frozenset("and or sin cos tan log ln sqrt pi cm km kg mph".split())


def sentence(text: str) -> str:
    """The first sentence of ``text``; a stop within a formula ends none."""
    spans = [match.span() for match in _MATH.finditer(text[:1000])]
    for end in _SENTENCE_END.finditer(text):
        if not any(start < end.start() < stop for start, stop in spans):
            return text[: end.start()].strip()
    return text.strip()


def after_marker(text: str) -> str:
    """The answer at the start of ``text``, which follows "the answer is"."""
    text = text.lstrip(" \t*_:：\n#>-" if not re.match(r"\s*-\s*[\d.$\\]", text) else " \t*_:：\n")
    formula = _MATH.match(text)
    if formula:
        return _formula_and_more(text, formula)
    return answer_of(sentence(text))


def _formula_and_more(text: str, formula: re.Match[str]) -> str:
    """The formula, a unit after it, and further formulas joined by "and" or commas."""
    answer, at = inside(formula), formula.end()
    while (joint := _MORE.match(text, at)) and (more := _MATH.match(text, joint.end())):
        answer, at = f"{answer}, {inside(more)}", more.end()
    if (joint := _MORE.match(text, at)) and (plain := _NUMBER.match(text, joint.end())):
        return f"{answer}, {plain.group()}"
    rest = sentence(text[at : at + 80])
    tail = _TAIL.match(rest)
    return f"{answer} {tail.group().strip()}" if tail and "," not in answer else answer


def inside(formula: re.Match[str]) -> str:
    return next(str(group) for group in formula.groups() if group is not None).strip()


def answer_of(said: str) -> str:
    """The answer that a short statement gives: ``said`` itself, or the one value in it."""
    said = _LEAD.sub("", said.strip(), count=1) if _LEAD.match(said.strip()) else said
    said = _REASON.sub("", said.strip()).strip().strip("*_\"'` ").strip()
    if is_bare(said) or not has_value(said):
        return said
    return stated(said)


def stated(said: str) -> str:
    """The one value that a sentence states, with its unit; ``""`` if that is not clear."""
    for piece in _from_general_to_special(said):
        formulas = list(_MATH.finditer(piece))
        rest = _MATH.sub(" ", piece)
        numbers = list(_NUMBER.finditer(rest))
        if len({inside(f) for f in formulas}) == 1 and not numbers:
            tail = _TAIL.match(piece, formulas[-1].end())
            return inside(formulas[-1]) + (tail.group() if tail else "")
        if not formulas and len({n.group().strip().replace(",", "") for n in numbers}) == 1:
            last = numbers[-1]
            tail = _TAIL.match(piece, last.end())
            return last.group().strip().rstrip(",") + (tail.group() if tail else "")
        if not formulas and "\\" in piece and is_bare(piece.strip()):
            return piece.strip()
    return ""


def _from_general_to_special(said: str) -> list[str]:
    """The sentence, then what follows its last connective, then its last copula."""
    pieces = [said]
    for pattern in (_CONNECTIVE, _COPULA):
        spans = [m.span() for m in _MATH.finditer(said)]
        ends = [
            m.end()
            for m in pattern.finditer(said)
            if has_value(said[m.end() :]) and not any(a <= m.start() < b for a, b in spans)
        ]
        if ends:
            pieces.append(said[ends[-1] :])
    if len(pieces) == 3 and len(pieces[1]) < len(pieces[2]):
        pieces[1:] = [pieces[2], pieces[1]]
    return pieces


def conclusion(text: str) -> str:
    """The value of the last sentence that has one, asides and offers of help left out."""
    lines = [line.strip() for line in text.strip().split("\n") if line.strip()]
    display = _last_display(text)
    if display:
        return display
    for line in reversed(lines[-6:]):
        if not has_value(line) or _ASIDE.match(line):
            continue
        sentences = [part for part in _sentences(line) if has_value(part)]
        told = [part for part in sentences if not _ASIDE.match(part)]
        return stated(told[-1].strip("*_ ")) if told else ""
    return ""


def _last_display(text: str) -> str:
    """The displayed formula that ends ``text``, if one does."""
    tail = text.rstrip().rstrip(".")
    if not tail.endswith(("$$", "\\]")):
        return ""
    formulas = list(_MATH.finditer(tail[-1500:]))
    return inside(formulas[-1]) if formulas and formulas[-1].end() == len(tail[-1500:]) else ""


def _sentences(line: str) -> list[str]:
    pieces, rest = [], line
    while rest:
        first = sentence(rest)
        if not first:
            break
        pieces.append(first)
        at = rest.find(first) + len(first)
        rest = rest[at:].lstrip(".!?。！？ \t\"')*")
    return pieces
