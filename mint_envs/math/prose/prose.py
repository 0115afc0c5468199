"""The value that a sentence states.

A sentence states a value if it has one number (or one formula), or one right after its last "is",
"=", "makes" and the like, or after its last "so". With several and nothing to choose by, it
states none: to guess would pay for answers that the response does not give.
"""

from __future__ import annotations

import re

from ..answer.units import is_unit
from .choices import choice_of
from .cues import DENIED_AFTER, is_denied_after
from .endings import ending
from .hinted import Hinted, hinted
from .languages import LETTERS
from .phrases import (
    BESIDE,
    CHAIN,
    CLOSED,
    COMMAND,
    CONNECTIVE,
    COPULA,
    DENIED,
    EQUATION,
    EXPRESSION,
    EXPRESSION_FIRST,
    GLUED,
    HAN,
    LABEL,
    LEAD,
    LIST,
    MATH,
    MORE,
    NAMED,
    NUMBER,
    OPERATING,
    REASON,
    SENTENCE_END,
    SUBORDINATE,
    SUM,
    SYMBOL,
    TAIL,
    THEREFORE,
    VALUE,
    WORD,
    WORKED,
)

_FIRST_BOLD = re.compile(r"\A[\s>#:]*\*\*(-?\d[\d.,]{0,30}(?:/\d{1,9})?)\*\*(?=[ .,;\n]|$)")
_FIRST_WHOLE = re.compile(r"[ \t]*(-?\d{1,15})\.?[ \t]*(?:\n|\Z)", re.ASCII)  # most answers
_DENIED_VALUE = hinted(  # "5 is wrong": a number as a whole, or a long list costs its square
    rf"(?<!\d[,:])(?>{NUMBER.pattern}){DENIED_AFTER.pattern}",
    "?, not, n't, n’t, wrong, incorrect, false, invalid, impossible, mistake, trap, distractor, "
    "fails, -style, format, example, placeholder, template, 不是, 是错, 不对",
)
_OPENING = re.compile(r"\$|\\[\[(]")
_LOOK = 1000  # characters in which a formula may hold a full stop


_EQUATIONS = re.compile(  # one after the other
    r"\$[^$]*=[^$]*\$\s*,?\s*(?:and|so|thus|hence|therefore|then|giving|or)\b"
    r"(?:\s*,?\s*(?:so|thus|hence|therefore|then))?\s*,?\s*\$"
)  # "$5x=30$ and $x=6$"
_AND_MORE = re.compile(r"\band\s+\$?$")
_SUPPOSED = re.compile(  # "17 if n were even"
    r"\b(?:if|unless)\b[^.\n]{0,60}\b(?:were|was|had|even|odd|positive|negative|otherwise)\b"
)
SUPPOSED = Hinted(_SUPPOSED, ("if", "unless"))
_SOLVED = re.compile(r"([A-Za-z])\s*=[^=<>]+")
_MATRIX = re.compile(r"\\begin\{([bp]?matrix)\}(?:(?!\\begin).)*\\end\{\1\}", re.DOTALL)
_OF_VALUE = re.compile(r"[\d\\$√π∞²³¹⁰⁴-⁹₀-₉①-⑨]")
_LABELLED = re.compile(r"[A-Za-z]:\s+[-$]?\d")  # "Boys: 4, girls: 3"
_TOTAL = re.compile(
    r"\b(?:total|sum|result|profit|difference|left|remaining|combined|altogether)\b[^:]*:[^:]*$",
    re.IGNORECASE,
)
# "Adding $a = 1$ and $b = 2$"
_LEADS_TO = re.compile(r"(?=[A-Za-z]{4,}\s)[^$]*(?:\$[^$]+\$[^$]*){2}$")


_STEPS = re.compile(r"\d,?\s(?:and\s)?then\s[-$]?\d")  # "we compute 17, then 3, and stop"

#: A word of three letters or more, or a unit that is no word: "in" and "a" are not units here.
_NEXT_WORD = re.compile(r"\s?([A-Za-z]{3,12}|km|cm|mm|kg|mg|ml|mL|mph|m|g)\b(?![-'’])")


def has_value(text: str) -> bool:
    """Whether there is a digit, a formula or the like in ``text``."""
    return bool(_OF_VALUE.search(text))


def is_sum(text: str) -> bool:
    """Whether ``text`` is a computation yet to be done, such as ``47 + 25`` (not ``3/4``)."""
    return bool(SUM.fullmatch(text)) and not re.fullmatch(r"\s*-?\d+\s*/\s*\d+\s*", text)


def without_reason(said: str) -> str:
    """``said`` up to "because", "which is" and the like."""
    return REASON.sub("", said)


def without_lead(said: str) -> str:
    """``said`` without "So," and "Therefore" and signs that begin it."""
    lead = LEAD.match(said)
    return said[lead.end() :] if lead else said


def is_bare(text: str) -> bool:
    """Whether ``text`` is an expression or a short name, and no sentence."""
    if not text or len(text) > 300 or "\n" in text.strip() or is_sum(text):
        return False
    words = WORD.findall(COMMAND.sub(" ", text))
    if has_value(text) and (LETTERS.search(text) or _EQUATIONS.search(text)):
        return False
    if not has_value(text):
        return len(words) <= 3 and len(HAN.findall(text)) <= 4 and not COPULA.search(text)
    if COPULA.search(text.replace("=", "")) and (words or HAN.search(text)):
        return False
    if re.match(r"[A-Za-z]{2,}[\s,]+(?:\$|\\[(\[])", text):  # "If $n$ is ..."
        return False
    end = SENTENCE_END.search(text)
    if len(HAN.findall(text)) > 6 or LABEL.match(text) or (end and text[end.end() :].strip(" *_")):
        return False
    long = [word for word in words if word.lower() not in GLUED and len(word) > 2]
    if ("so" in text and "so" in text.split()) or ("$" in text and _LEADS_TO.match(text)):
        return False
    return len(long) <= 2 and not re.match(r"[A-Za-z]+\s[A-Za-z]+\s", text)


def sentence(text: str) -> str:
    """The first sentence of ``text``; a stop within a formula ends none."""
    for end in SENTENCE_END.finditer(text):
        if not _in_formula(text, end.start()):
            return text[: end.start()].strip()
    return text.strip()


def _in_formula(text: str, at: int) -> bool:
    """Whether ``at`` is within a formula of the first thousand characters.

    Only signs before ``at`` are tried: most sentences have none, and each try reads on.
    """
    place = 0
    while opening := _OPENING.search(text, place, min(at, _LOOK)):
        formula = MATH.match(text, opening.start(), _LOOK)
        if formula and formula.end() > at:
            return True
        place = formula.end() if formula else opening.start() + 1
    return False


def after_marker(text: str) -> str:
    """The answer at the start of ``text``, which follows "the answer is"."""
    if plain := _FIRST_WHOLE.match(text):
        return plain.group(1)
    text = _FIRST_BOLD.sub(r"\1", text.replace('\\"', '"') if text[:1] in '\\"' else text, count=1)
    text = text.lstrip('"') if text.startswith('"$') else text
    text = text.lstrip(" \t*_:：\n#>-" if not re.match(r"\s*-\s*[\d.$\\]", text) else " \t*_:：\n")
    formula = MATH.match(text)
    if formula:
        denied = is_denied_after(text[formula.end() :])
        return "" if denied else _formula_and_more(text, formula)
    said = sentence(text)
    if choice := choice_of(said):
        return choice
    if text.lstrip()[len(said) :][:1] == "?" or _DENIED_VALUE.match(said):
        return ""
    if SUPPOSED.search(said):
        return ""
    if "(or " in said:
        return said.replace("(", " ").replace(")", " ")
    return answer_of(said)


def is_divided(text: str) -> bool:
    """Whether a statement names several numbers, none of which is the answer."""
    said = sentence(text)
    values = {number.group().strip() for number in NUMBER.finditer(MATH.sub(" ", said))}
    return len(values) > 1 and " and " in said and not COPULA.search(said)


def _formula_and_more(text: str, formula: re.Match[str]) -> str:
    """The formula, a unit after it, and further formulas joined by "and" or commas."""
    answer, at = inside(formula), formula.end()
    while (joint := MORE.match(text, at)) and (more := MATH.match(text, joint.end())):
        answer, at = f"{answer}, {inside(more)}", more.end()
    if (joint := MORE.match(text, at)) and (plain := NUMBER.match(text, joint.end())):
        return f"{answer}, {plain.group()}"
    rest = sentence(text[at : at + 80])
    if operating := OPERATING.match(rest.lstrip()):
        return f"{answer} {operating.group()}"
    tail = TAIL.match(rest)
    return f"{answer} {tail.group().strip()}" if tail and "," not in answer else answer


def inside(formula: re.Match[str]) -> str:
    """What stands between the signs of a formula; of a chain ``a = b = 5`` its end."""
    said = next(str(group) for group in formula.groups() if group is not None).strip()
    if matrix := last_matrix(said):
        return matrix
    chain = CHAIN.fullmatch(said)
    return chain.group(1).strip() if chain else said


def last_matrix(said: str) -> str:
    """The matrix that ends a computation: ``A + B = C`` of numbers, not ``A x = b``."""
    *before, last = said.rstrip(" .,").split("=")
    if not before or not _MATRIX.fullmatch(last.strip()):
        return ""
    step = re.sub(r"\\(?:begin|end)\{[a-z]+\}|\\[a-z]+", " ", before[-1])
    return "" if re.search("[A-Za-z]", step) else last.strip()


def answer_of(said: str) -> str:
    """The answer that a short statement gives: ``said`` itself, or the one value in it."""
    said = said.strip()
    said = without_lead(said if said.endswith("..") else said.rstrip(".。"))
    denied = DENIED.match(said)
    said = without_reason(said.strip()).strip().strip("*_\"'` ").strip()
    if denied or is_bare(said) or not has_value(said):
        return "" if denied else said
    return stated(said)


def stated(said: str) -> str:
    """The one value that a sentence states, with its unit; ``""`` if that is not clear.

    "Hence $x + y = 22$" states 22, but "the line is $x + y = 22$" an equation.
    """
    answer = _stated(said)
    worked = None if EQUATION.search(said) else WORKED.fullmatch(answer)
    return worked.group(1).strip() if worked else answer


def _stated(said: str) -> str:
    said = SUBORDINATE.sub("", said)
    said = _DENIED_VALUE.sub(" ", DENIED.sub(" ", said))
    if "then" in said and _STEPS.search(said) and not COPULA.search(said):
        return ""
    if ":" in said and len(_LABELLED.findall(said)) > 1 and not _TOTAL.search(said):
        return ""
    if named := NAMED.search(said[-200:]):
        return named.group()
    if end := ending(said):
        return end
    pieces = [said] if _repeats(said) else _from_general_to_special(said)
    answer = _only_value(said) or _computed(said)
    for piece in pieces[1:]:
        answer = answer or _only_value(piece)
    return answer or (_first_value(pieces[-1]) if len(pieces) > 1 else "")


def _only_value(piece: str) -> str:
    """The only formula, expression, list or number of ``piece``."""
    formulas = list(MATH.finditer(piece))
    numbers = list(NUMBER.finditer(MATH.sub(" ", piece)))
    if formulas:
        return "" if numbers else _formulas(piece, formulas)
    bare = piece.strip().rstrip("。.")
    if (len(numbers) != 1 and _is_list(bare)) or _is_expression(bare):
        return bare
    if SYMBOL.search(piece):
        return _expression(bare)
    if len({n.group().strip().replace(",", "") for n in numbers}) == 1:
        if re.search(r"[<>≤≥]\s*$", piece[: numbers[-1].start()]):
            return ""  # a bound of a relation is not its value
        return _with_tail(piece, numbers[-1])
    return ""


def _formulas(piece: str, formulas: list[re.Match[str]]) -> str:
    """The one formula, with its unit; or several with nothing but "and" between them."""
    said = _without_steps(list(dict.fromkeys(map(inside, formulas))))
    if len(said) == 1:
        return said[0] + _tail(piece, formulas[-1].end())
    between = MATH.sub("|", piece.strip().rstrip("。."))
    return (
        ", ".join(said)
        if re.fullmatch(r"\|(?:\s*(?:,|and|or|和|或|,\s*and)\s*\|)+", between)
        else ""
    )


def _without_steps(said: list[str]) -> list[str]:
    """``x=6`` of ``5x=30`` and ``x=6``: the equations before it are what it comes from."""
    solved = _SOLVED.fullmatch(said[-1].rstrip(" .,"))
    if len(said) < 2 or not solved:
        return said
    letter = solved.group(1)
    for step in said[:-1]:
        letters = set(re.findall(r"[A-Za-z]", COMMAND.sub(" ", step)))
        if letters != {letter} or "=" not in step or _SOLVED.fullmatch(step):
            return said
    return said[-1:]


def _is_expression(bare: str) -> bool:
    """``(2, 3)``, ``x ≤ 3``, ``3x - 2``: signs and single letters, and no words."""
    words = WORD.findall(COMMAND.sub(" ", bare))
    if not re.search(r"[-+*^=<>≤≥()\[\]√π]|\d[a-z]", bare) or not has_value(bare):
        return False
    return is_bare(bare) and all(word in GLUED for word in words) and not HAN.search(bare)


def _expression(bare: str) -> str:
    """``√2 ≈ 1.414`` of "length √2 ≈ 1.414", ``16π`` of "16π square inches"."""
    end = EXPRESSION.search(bare[-200:])
    if end and SYMBOL.search(end.group()):
        return end.group().strip()
    start = EXPRESSION_FIRST.match(bare[:200])
    rest = bare[start.end() :] if start else ""
    short = len(rest.split()) <= 3 and not has_value(rest) and not COPULA.search(rest)
    return start.group().strip() if start and short and SYMBOL.search(start.group()) else ""


def _computed(said: str) -> str:
    """The number after the last ``=`` of a computation: "5 * 2 = 10 spoons for 80 people"."""
    before, sign, after = said.rpartition("=")
    if not sign or MATH.search(said):
        return ""
    if re.search(r"[,;，]|\band\b", before.rpartition("=")[2] if "=" in before else ""):
        return ""
    return _only_value(after) or _first_value(after)


def _with_tail(piece: str, number: re.Match[str]) -> str:
    return number.group().strip().rstrip(",") + _tail(piece, number.end())


def _tail(piece: str, end: int) -> str:
    """What belongs to the value that ends at ``end``: the last word, or a unit of measure.

    A noun in the middle of a sentence says what is counted, and is left out; a unit is not, since
    5 minutes are not 5 hours.
    """
    if operating := OPERATING.match(piece, end + piece.startswith(" ", end)):
        return f" {operating.group()}"
    if tail := TAIL.match(piece, end):
        return tail.group()
    word = _NEXT_WORD.match(piece, end)
    return word.group() if word and is_unit(word.group(1)) else ""


def _is_list(piece: str) -> bool:
    """Whether ``piece`` is numbers joined by commas and "and", and nothing more."""
    parts = LIST.split(piece.strip().rstrip("."))
    return len(parts) > 1 and all(NUMBER.fullmatch(part.strip()) for part in parts)


def _repeats(said: str) -> bool:
    """Whether the last verb is said of several numbers, after the last "so" if there is one.

    "A has 3 and B has 5" and "could be 5, could be 6" single out neither.
    """
    start = max((m.end() for m in THEREFORE.finditer(said)), default=0)
    told: dict[str, set[str]] = {}
    for verb in COPULA.finditer(said, start):
        number = NUMBER.match(said, verb.end() + said.startswith(" ", verb.end()))
        if number and verb.group() != "=":
            told.setdefault(verb.group().lower(), set()).add(number.group().strip())
    return any(len(numbers) > 1 for numbers in told.values())


def _first_value(piece: str) -> str:
    """The number or formula right after the last verb, if later ones are beside the point.

    "She needs 15 more to reach 50": what comes after a preposition is no second answer.
    """
    rest = piece.lstrip()
    value = MATH.match(rest) or NUMBER.match(rest)
    if not value:
        return ""
    at = value.end()
    for later in VALUE.finditer(rest, at):
        if not BESIDE.search(_unlisted(rest[at : later.start()])):
            return ""
        at = later.end()
    said = inside(value) if value.re is MATH else value.group().strip().rstrip(",")
    return said + _tail(rest, value.end())


def _unlisted(between: str) -> str:
    """``between`` without "of": in "17 cans of paint and 3 brushes" both are answers."""
    return re.sub(r"\bof\b", " ", between) if _AND_MORE.search(between) else between


def _from_general_to_special(said: str) -> list[str]:
    """The sentence, then what follows its last connective, then its last copula."""
    closed = [m.span() for m in CLOSED.finditer(said)]
    from_end = _OF_VALUE.search(said[::-1])
    last_value = len(said) - 1 - from_end.start() if from_end else -1
    starts = {0}
    for pattern in (CONNECTIVE, COPULA):
        for m in reversed(list(pattern.finditer(said))):
            if m.end() <= last_value and not any(a <= m.start() < b for a, b in closed):
                starts.add(m.end())
                break
    return [said[start:] for start in sorted(starts)]
