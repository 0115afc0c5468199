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
    r"(?<![A-Za-z0-9.\\^_{])(?:\d+(?:\s?:\s?\d+)+(?:\s?[ap]\.?m\b\.?)?|\d+\sto\s\d+"
    r"|(?:[-−–+]\s?(?=[$€£¥.\d]))?(?:\\?\$|€|£|¥)?\s?(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
    r"(?:\s?/\s?\d+|\s\d+/\d+)?(?:\s?\\?%|\s?°)?)(?![A-Za-z]*\d|[π√^])"
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
_NAMED = re.compile(  # x = 3, y = 4 and z = 5
    r"(?<![A-Za-z])[A-Za-z]\s?=\s?[^,;=\s]+(?:(?:,?\s(?:and\s)?|,)[A-Za-z]\s?=\s?[^,;=\s]+)+(?=\W*$)"
)
_REASON = re.compile(
    r"[,;]?\s+(?:because|since|as|which|who|so|where|given|after|when|whenever|but|per the|by the|"
    r"based on|due to|or so|not|rather than|instead of)\b.*"
    r"|\s+\((?=[A-Za-z]{2,}|≈|π|about).*|[，,](?:因为|由于).*",
    re.DOTALL,
)
_SUBORDINATE = re.compile(
    r"[,;]\s*(?:(?:where|when|attained|achieved|occurring|reached|with equality|for all)\b"
    r"|(?:at|for|if|with)\s+[$\\(]*[a-z]\s*[=<>≤≥\\]).*"
    r"|,?\s(?:not|rather than|instead of)\s(?=\S+[.!]?$).*"
    r"|\s+\((?=[A-Za-z]{2,}|≈|π|about).*|[，,]\s*(?:此时|其中|当).*",
    re.DOTALL,
)
_DENIED = re.compile(  # right before a value
    r"(?:\bnot|n't|\b(?:greater|less|more|fewer|larger|smaller|bigger) than|\bat (?:least|most)"
    r"|\bbetween|\bcannot|不是|不等于|至少|至多|大于|小于)\s*(?:be|equal to|equal)?\s*"
    r"(?=[-−$\\(]*[\d.√])",
    re.IGNORECASE,
)
_NOT = re.compile(r"\bnot\b|n't\b|\b(?:neither|cannot)\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]{2,}")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_COMMAND = re.compile(r"\\[A-Za-z]+(?:\{[A-Za-z0-9 ]*\})?")
_LEAD = re.compile(
    r"(?:(?:therefore|thus|so|hence|simply|just|now|that|option|choice|likely|definitely|"
    r"approximately|about|exactly|equal to|given by|indeed|finally|consequently)\b[\s,:]*"
    r"|[:：=*_#\s≈~>∴](?!\.\d)|-(?![\d.$\\(]))+",
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
_ENUMERATOR = re.compile(
    r"^\s*[-*•]*\s*(?:\d{1,2}[.)](?=\s)|\*{0,2}step\s+\d+\W{0,4})\s*", re.IGNORECASE
)
_VERDICT_WORD = re.compile(
    r"(?:yes|no|true|false|even|odd|neither|both|none|impossible|infinite|convergent|divergent|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|[A-Z][a-z]+)",
)
_ASIDE = re.compile(
    r"^\W*(?:check|verif|note|let me know|hope|double-check|i hope|feel free|验证|检验|注)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[A-Za-z\u4e00-\u9fff][A-Za-z\u4e00-\u9fff' ]{2,}\s*[=:：]")
_LONGEST = 1_000  # characters of a sentence that are looked at: its end
_SYMBOL = re.compile(r"[\\^√≈π²³]")
# Each character fits one alternative only, so that a failure is found in linear time.
_SIGN = r"\\[A-Za-z]++|\\[^A-Za-z]|(?<![A-Za-z])[A-Za-z](?![A-Za-z])|[^A-Za-z\\\u4e00-\u9fff]"
_EXPRESSION = re.compile(rf"(?<!\S)(?:{_SIGN})++$")
_EXPRESSION_FIRST = re.compile(rf"(?:{_SIGN})++")
_CLOSED = re.compile(rf"{_MATH.pattern}|\([^()]{{1,80}}\)|\[[^][]{{1,80}}\]", re.DOTALL)
_VALUE = re.compile(rf"{_MATH.pattern}|{_NUMBER.pattern}", re.DOTALL)
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


def without_lead(said: str) -> str:
    """``said`` without "So," and "Therefore" and signs that begin it."""
    lead = _LEAD.match(said)
    return said[lead.end() :] if lead else said


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
    said = without_lead(said if said.endswith("..") else said.rstrip(".。"))
    denied = _DENIED.match(said)
    said = without_reason(said.strip()).strip().strip("*_\"'` ").strip()
    if denied or is_bare(said) or not has_value(said):
        return "" if denied else said
    return stated(said)


def stated(said: str) -> str:
    """The one value that a sentence states, with its unit; ``""`` if that is not clear."""
    said = _SUBORDINATE.sub("", said)
    if _DENIED.search(said):
        return ""
    if named := _NAMED.search(said[-200:]):
        return named.group()
    pieces = [said] if _repeats(said) else _from_general_to_special(said)
    answer = _only_value(said) or _computed(said)
    for piece in pieces[1:]:
        answer = answer or _only_value(piece)
    return answer or (_first_value(pieces[-1]) if len(pieces) > 1 else "")


def _only_value(piece: str) -> str:
    """The only formula, expression, list or number of ``piece``."""
    formulas = list(_MATH.finditer(piece))
    numbers = list(_NUMBER.finditer(_MATH.sub(" ", piece)))
    if formulas:
        return "" if numbers else _formulas(piece, formulas)
    bare = piece.strip().rstrip("。.")
    if (len(numbers) != 1 and _is_list(bare)) or _is_expression(bare):
        return bare
    if _SYMBOL.search(piece):
        return _expression(bare)
    if len({n.group().strip().replace(",", "") for n in numbers}) == 1:
        if re.search(r"[<>≤≥]\s*$", piece[: numbers[-1].start()]):
            return ""  # a bound of a relation is not its value
        return _with_tail(piece, numbers[-1])
    return ""


def _formulas(piece: str, formulas: list[re.Match[str]]) -> str:
    """The one formula, with its unit; or several with nothing but "and" between them."""
    said = list(dict.fromkeys(map(inside, formulas)))
    if len(said) == 1:
        tail = _TAIL.match(piece, formulas[-1].end())
        return said[0] + (tail.group() if tail else "")
    between = _MATH.sub("|", piece.strip().rstrip("。."))
    return (
        ", ".join(said)
        if re.fullmatch(r"\|(?:\s*(?:,|and|or|和|或|,\s*and)\s*\|)+", between)
        else ""
    )


def _is_expression(bare: str) -> bool:
    """``(2, 3)``, ``x ≤ 3``, ``3x - 2``: signs and single letters, and no words."""
    words = _WORD.findall(_COMMAND.sub(" ", bare))
    if not re.search(r"[-+*^=<>≤≥()\[\]√π]|\d[a-z]", bare) or not has_value(bare):
        return False
    return is_bare(bare) and all(word in _GLUED for word in words) and not _HAN.search(bare)


def _expression(bare: str) -> str:
    """``√2 ≈ 1.414`` of "length √2 ≈ 1.414", ``16π`` of "16π square inches"."""
    end = _EXPRESSION.search(bare[-200:])
    if end and _SYMBOL.search(end.group()):
        return end.group().strip()
    start = _EXPRESSION_FIRST.match(bare[:200])
    rest = bare[start.end() :] if start else ""
    short = len(rest.split()) <= 3 and not has_value(rest) and not _COPULA.search(rest)
    return start.group().strip() if start and short and _SYMBOL.search(start.group()) else ""


def _computed(said: str) -> str:
    """The number after the last ``=`` of a computation: "5 * 2 = 10 spoons for 80 people"."""
    before, sign, after = said.rpartition("=")
    if not sign or _MATH.search(said):
        return ""
    if re.search(r"[,;，]|\band\b", before.rpartition("=")[2] if "=" in before else ""):
        return ""
    return _only_value(after) or _first_value(after)


def _with_tail(piece: str, number: re.Match[str]) -> str:
    tail = _TAIL.match(piece, number.end())
    return number.group().strip().rstrip(",") + (tail.group() if tail else "")


def _is_list(piece: str) -> bool:
    """Whether ``piece`` is numbers joined by commas and "and", and nothing more."""
    parts = _LIST.split(piece.strip().rstrip("."))
    return len(parts) > 1 and all(_NUMBER.fullmatch(part.strip()) for part in parts)


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


def _first_value(piece: str) -> str:
    """The number or formula right after the last verb, if later ones are beside the point.

    "She needs 15 more to reach 50": what comes after a preposition is no second answer.
    """
    rest = piece.lstrip()
    value = _MATH.match(rest) or _NUMBER.match(rest)
    if not value:
        return ""
    at = value.end()
    for later in _VALUE.finditer(rest, at):
        if not _BESIDE.search(rest, at, later.start()):
            return ""
        at = later.end()
    return inside(value) if value.re is _MATH else value.group().strip().rstrip(",")


def _from_general_to_special(said: str) -> list[str]:
    """The sentence, then what follows its last connective, then its last copula."""
    closed = [m.span() for m in _CLOSED.finditer(said)]
    starts = {0}
    for pattern in (_CONNECTIVE, _COPULA):
        ends = [
            m.end()
            for m in pattern.finditer(said)
            if has_value(said[m.end() :]) and not any(a <= m.start() < b for a, b in closed)
        ]
        starts.update(ends[-1:])
    return [said[start:] for start in sorted(starts)]


def conclusion(text: str) -> str:
    """The value of the last sentence that has one, asides and offers of help left out."""
    display = _last_display(text)
    if display:
        return display
    lines = [line.strip() for line in text.strip().split("\n") if line.strip()][-6:]
    for line in reversed(lines):
        line = _ENUMERATOR.sub("", line, count=1)[-_LONGEST:]
        told = [part for part in _sentences(line) if not _ASIDE.match(part)]
        if line.endswith(("?", "？")):  # a question states nothing
            told = told[:-1]
        if told and (word := _verdict_word(told[-1])):
            return word
        told = [part for part in told if has_value(part)]
        if told:
            return "" if is_sum(told[-1]) else stated(without_lead(told[-1].strip("*_ ")))
    return ""


def _verdict_word(said: str) -> str:
    """``true`` of "So the statement is true", ``Yes`` of "Yes, they are congruent"."""
    if has_value(said) or _NOT.search(said):
        return ""
    first = re.match(r"(?:Yes|No|True|False)\b(?=[,.;:!]|$)", said)
    if first:
        return first.group()
    last = list(_COPULA.finditer(said))
    word = re.sub(r"^\s*(?:an?|the|on)?\s*", "", said[last[-1].end() :]) if last else ""
    return word if _VERDICT_WORD.fullmatch(word) else ""


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
