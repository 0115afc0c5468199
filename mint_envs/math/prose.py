"""The value that a sentence states.

A sentence states a value if it has one number (or one formula), or one right after its last "is",
"=", "makes" and the like, or after its last "so". With several and nothing to choose by, it
states none: to guess would pay for answers that the response does not give.
"""

from __future__ import annotations

import re

_MATH = re.compile(
    r"\$\$(?P<a>.{1,600}?)\$\$|\\\[(?P<b>.{1,600}?)\\\]|\\\((?P<c>.{1,400}?)\\\)"
    r"|(?<![\\\d])\$(?P<d>(?!\s*[\d,.]+(?:\s|$)[^$]*[a-z]{3})[^$\n]{1,400}?)(?<!\\)\$(?!\d)",
    re.DOTALL,
)
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9.\\^_{])(?:[-−–+]\s?(?=[$€£¥.\d]))?(?:\\?\$|€|£|¥)?\s?(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
    r"(?:\s?/\s?\d+|\s\d+/\d+)?(?:\s?\\?%|\s?°)?(?![A-Za-z]*\d)"
)
_SENTENCE_END = re.compile(
    r"(?<![.])(?<!\bi)(?<!\be)(?<!i\.e)(?<!e\.g)(?<!approx)[.!?](?!\.)(?=[\s*\"')\]]|$)|[。！？]|\n"
)
_COPULA = re.compile(
    r"(?<!\bto )\b(?:is|are|was|were|be|equals?|totals?|gives?|gets?|makes?|has|have|had|leaves?|"
    r"costs?|takes?|"
    r"becomes?|yields?|earns?|needs?|spends?|pays?|paid|saves?|sold|sells?|received?|contains?|"
    r"left with)\b"
    r"(?:\s+(?:exactly|only|just|about|approximately|equal to|a total of|now|also|therefore|thus|"
    r"then|at|to be))*|=|\btotal of\b|是|为|等于|得到|共有?|需要?|有",
    re.IGNORECASE,
)
_CONNECTIVE = re.compile(
    r"\b(?:so|therefore|thus|hence|consequently|giving|making|meaning|leaving|which gives|which is|"
    r"we get|we have|we find|in total)\b,?|所以|因此|故|[,，;；]\s*",
    re.IGNORECASE,
)
_THEREFORE = re.compile(
    r"\b(?:so|therefore|thus|hence|altogether|in total)\b|所以|因此|故", re.IGNORECASE
)
_REASON = re.compile(
    r"[,;]?\s+(?:because|since|as|which|who|so|where|given|after|when|whenever|but|per the|by the|"
    r"based on|due to)\s.*|\s+\((?=[A-Za-z]{2,}\s|i\.e|e\.g|≈|approx).*|[，,](?:因为|由于).*",
    re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z]{2,}")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_COMMAND = re.compile(r"\\[A-Za-z]+(?:\{[A-Za-z0-9 ]*\})?")
_LEAD = re.compile(
    r"(?:(?:therefore|thus|so|hence|simply|just|now|that|option|choice|likely|definitely|"
    r"approximately|about|exactly|equal to|given by|indeed)\b[\s,:]*|[:：=*_\s≈~>-](?!\d|\.\d))+",
    re.IGNORECASE,
)
_MORE = re.compile(r"\s*(?:,|and|or|和|或|;)\s*(?:and|or)?\s*(?=[-$\\\d(])")
_LIST = re.compile(r"\s*(?:,\s*(?:and|or)?|and|or|和|或|、)\s*")
_TAIL = re.compile(
    r"\s*(?:\\?%|°|(?:percent|degrees?)\b|[A-Za-z]{1,12}(?:/[a-z]+|\^?[23²³])?(?=[.,;!?]?\s*$)"
    r"|[\u4e00-\u9fff]{1,4}(?=[。，]?\s*$))"
)
_BESIDE = re.compile(
    r"\b(?:to|for|in|of|over|per|from|after|with|by|at|on|within|during|every|each|the|than|when)\b|/"
)
_ASIDE = re.compile(
    r"^\W*(?:check|verif|note|let me know|hope|double-check|i hope|feel free|验证|检验|注)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[A-Za-z\u4e00-\u9fff][A-Za-z\u4e00-\u9fff' ]{2,}\s*[=:：]")
_LONGEST = 1_000  # characters of a sentence that are looked at: its end
_SYMBOL = re.compile(r"[\\^√≈π²³]")
_EXPRESSION = re.compile(
    r"(?<![^\s])(?:\\[A-Za-z]+|(?<![A-Za-z])[A-Za-z](?![A-Za-z])|[^A-Za-z\u4e00-\u9fff])+$"
)
_GLUED = frozenset("and or sin cos tan log ln sqrt pi cm km kg mph".split())
_SUM = re.compile(r"\s*-?[\d.,]+(?:\s*[-+*×·/÷−]\s*-?[\d.,]+)+\s*")


def has_value(text: str) -> bool:
    """Whether there is a digit, a formula or the like in ``text``."""
    return any(c.isdigit() for c in text) or "\\" in text or "$" in text or "√" in text


def is_sum(text: str) -> bool:
    """Whether ``text`` is a computation yet to be done, such as ``47 + 25`` (not ``3/4``)."""
    return bool(_SUM.fullmatch(text)) and not re.fullmatch(r"\s*-?\d+\s*/\s*\d+\s*", text)


def without_reason(said: str) -> str:
    """``said`` up to "because", "which is" and the like."""
    return _REASON.sub("", said)


def is_bare(text: str) -> bool:
    """Whether ``text`` is an expression or a short name, and no sentence."""
    if not text or len(text) > 300 or "\n" in text.strip() or is_sum(text):
        return False
    words = _WORD.findall(_COMMAND.sub(" ", text))
    if not has_value(text):
        return len(words) <= 3 and len(_HAN.findall(text)) <= 4 and not _COPULA.search(text)
    if _COPULA.search(text.replace("=", "")) and (words or _HAN.search(text)):
        return False
    end = _SENTENCE_END.search(text)
    if (
        len(_HAN.findall(text)) > 6
        or _LABEL.match(text)
        or (end and text[end.end() :].strip(" *_"))
    ):
        return False
    long = [word for word in words if word.lower() not in _GLUED and len(word) > 2]
    return len(long) <= 2 and not re.match(r"[A-Za-z]+\s[A-Za-z]+\s", text)


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
    said = said.strip()
    said = said if said.endswith("..") else said.rstrip(".。")
    said = _LEAD.sub("", said, count=1) if _LEAD.match(said) else said
    said = without_reason(said.strip()).strip().strip("*_\"'` ").strip()
    if is_bare(said) or not has_value(said):
        return said
    return stated(said)


def stated(said: str) -> str:
    """The one value that a sentence states, with its unit; ``""`` if that is not clear."""
    pieces = _from_general_to_special(said)
    if _repeats(said):
        pieces = pieces[:1]
    result = "" if _only_value(said) else _computed(said)
    if result:
        return result
    for piece in pieces:
        answer = _only_value(piece)
        if answer:
            return answer
    return _first_value(pieces[-1]) if len(pieces) > 1 else ""


def _repeats(said: str) -> bool:
    """Whether the last verb is said of several numbers, after the last "so" if there is one.

    "A has 3 and B has 5" and "could be 5, could be 6" single out neither.
    """
    start = max((m.end() for m in _THEREFORE.finditer(said)), default=0)
    told: dict[str, set[str]] = {}
    for verb in _COPULA.finditer(said, start):
        number = _NUMBER.match(said, verb.end() + said.startswith(" ", verb.end()))
        if number and verb.group() != "=":
            told.setdefault(verb.group().lower(), set()).add(number.group().strip())
    return any(len(numbers) > 1 for numbers in told.values())


def _computed(said: str) -> str:
    """The number after the last ``=`` of a computation: "5 * 2 = 10 spoons for 80 people"."""
    before, sign, after = said.rpartition("=")
    if not sign or re.search(r"[,;，]|\band\b", before.rpartition("=")[2] if "=" in before else ""):
        return ""
    return _first_value(after)


def _only_value(piece: str) -> str:
    """The only formula, expression, list or number of ``piece``."""
    formulas = list(_MATH.finditer(piece))
    numbers = list(_NUMBER.finditer(_MATH.sub(" ", piece)))
    if len({inside(f) for f in formulas}) == 1 and not numbers:
        tail = _TAIL.match(piece, formulas[-1].end())
        return inside(formulas[-1]) + (tail.group() if tail else "")
    if formulas:
        return ""
    if len(numbers) != 1 and _is_list(piece):
        return piece.strip()
    if _SYMBOL.search(piece):
        return _expression(piece)
    if len({n.group().strip().replace(",", "") for n in numbers}) == 1:
        return _with_tail(piece, numbers[-1])
    return ""


def _expression(piece: str) -> str:
    """The expression in signs that ends ``piece``: ``√2 ≈ 1.414`` of "length √2 ≈ 1.414"."""
    end = _EXPRESSION.search(piece.strip().rstrip("。.")[-200:])
    return end.group().strip() if end and _SYMBOL.search(end.group()) else ""


def _with_tail(piece: str, number: re.Match[str]) -> str:
    tail = _TAIL.match(piece, number.end())
    return number.group().strip().rstrip(",") + (tail.group() if tail else "")


def _is_list(piece: str) -> bool:
    """Whether ``piece`` is numbers joined by commas and "and", and nothing more."""
    parts = _LIST.split(piece.strip().rstrip("."))
    return len(parts) > 1 and all(_NUMBER.fullmatch(part.strip()) for part in parts)


def _first_value(piece: str) -> str:
    """The number right after the last verb, if all later ones are beside the point.

    "She needs 15 more to reach 50": what comes after a preposition is no second answer.
    """
    number = _NUMBER.match(piece.lstrip())
    if not number or _MATH.search(piece):
        return ""
    at, rest = number.end(), piece.lstrip()
    for later in _NUMBER.finditer(rest, at):
        if not _BESIDE.search(rest, at, later.start()):
            return ""
        at = later.end()
    return number.group().strip().rstrip(",")


def _from_general_to_special(said: str) -> list[str]:
    """The sentence, then what follows its last connective, then its last copula."""
    spans = [m.span() for m in _MATH.finditer(said)]
    starts = {0}
    for pattern in (_CONNECTIVE, _COPULA):
        ends = [
            m.end()
            for m in pattern.finditer(said)
            if has_value(said[m.end() :]) and not any(a <= m.start() < b for a, b in spans)
        ]
        starts.update(ends[-1:])
    return [said[start:] for start in sorted(starts)]


def conclusion(text: str) -> str:
    """The value of the last sentence that has one, asides and offers of help left out."""
    display = _last_display(text)
    if display:
        return display
    lines = [line.strip() for line in text.strip().split("\n") if line.strip()]
    for line in reversed(lines[-6:]):
        if not has_value(line) or _ASIDE.match(line):
            continue
        told = [
            part
            for part in _sentences(line[-_LONGEST:])
            if has_value(part) and not _ASIDE.match(part)
        ]
        return "" if not told or is_sum(told[-1]) else stated(told[-1].strip("*_ "))
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
