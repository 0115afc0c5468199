r"""Other ways of writing the same: doubled backslashes, siunitx, ``12^{\mathrm{th}}``, ``[0,1[``.

Each step takes text to text, in the spelling that the parser reads, and leaves alone what it does
not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .units import is_unit

_PAIR = re.compile(r"\\\\")
_RUN = re.compile(r"\\+")
_COMMAND_DOUBLED = re.compile(  # no row of a matrix begins so
    r"(?<!\\)\\\\((?:[dtc]?frac|pi|sqrt|cdot|times|left|right|infty|cup|text|mathbb|mathrm|sin|cos|tan|ln"
    r"|log|big|Big|bigg|Bigg|pm|leq?|geq?|theta|alpha|beta|circ)(?![A-Za-z]))"
)
_ESCAPES = (  # "\\frac" in a file whose backslashes were taken for escapes
    (re.compile(r"\x0c(?=rac)"), "\\f"),
    (re.compile(r"\x08(?=egin|inom|ar|oxed|eta|ig)"), "\\b"),
    (re.compile(r"\t(?=ext(?!\s*\{\s*\d)|imes|heta|an(?![a-z])|frac|riangle|o(?![a-z]))"), "\\t"),
    (re.compile(r"\r(?=ight|ho|angle|floor|ceil|brace)"), "\\r"),
    (re.compile(r"\x07(?=lpha|pprox|ngle|rc)"), "\\a"),
)
_RATE = re.compile(
    r"\\frac\s*\{\s*\\(?:text|mathrm)\s*\{\s*([A-Za-z]+)\s*\}\s*\}"
    r"\s*\{\s*\\(?:text|mathrm)\s*\{\s*([A-Za-z]+)\s*\}\s*\}"
)
_UNIT = r"[A-Za-z]{1,4}(?:\^\{?-?[123]\}?)?"
_POWERED = re.compile(r"([A-Za-z]{1,4})(?:\^\{?(-?)([123])\}?)?")
_SPACED_UNITS = re.compile(  # 5\\,m\\,s^{-1}
    rf"(?<=[\d}})])\s*\\[,;: ]\s*({_UNIT}(?:\s*(?:\\[,;: ]|/)\s*{_UNIT}){{0,5}})\s*\.?\s*$"
)
_ONE = r"(?:\w|\{[\w,+-]{1,12}\})"
_SUBSCRIPT_LAST = re.compile(rf"(?<=[A-Za-z}}])(\^\s*{_ONE})\s*(_\s*{_ONE})")  # v^2_0
_PRIME = re.compile(r"\^\s*(?:\{\s*\\prime\s*\}|\\prime(?![A-Za-z]))")
_HTML = re.compile(r"<su([pb])>([^<>]{1,20})</su\1>")
_ORDINAL = re.compile(
    r"(?<=\d)\s?\^?\s?(?:\{\s*)?\\(?:text\w*|mathrm|mbox|rm)\s*\{\s*(?:st|nd|rd|th)\s*\}(?:\s*\})?"
    r"|(?<=\d)\^?\{?(?:st|nd|rd|th)(?![A-Za-z])\}?"
)
_QUANTITY = re.compile(
    r"\\(?:SI|qty)\s*(?:\[[^\]]*\])?\{([^{}]*)\}\s*\{([^{}]*)\}|\\num\s*(?:\[[^\]]*\])?\{([^{}]*)\}"
    r"|\\(?:si|unit)\s*\{([^{}]*)\}|\\ang\s*\{([\d.+-]+)\}"
)
_SLASHED = re.compile(r"\\(?:s|nice)frac(?![A-Za-z])")
_MEASURE_OF = re.compile(r"(?<![A-Za-z])m\s*(?=\\angle(?![A-Za-z]))")  # m\\angle A
_DERIVATIVE = re.compile(
    r"^\s*\\frac\s*\{\s*d\s*([a-z])\s*\}\s*\{\s*d\s*[a-z]\s*\}\s*=(?!.*=)", re.DOTALL
)
_WORKED_OUT = re.compile(r"^\s*\\(?:lim|i{0,3}nt)(?![A-Za-z])[^=]*=(?![^{}]*\})([^=]+)$", re.DOTALL)
_UPRIGHT = re.compile(  # \\mathrm{m\\,s^{-1}}, \\text{kg \\cdot m/s^{2}}
    r"(?<=[\d}),;:~ ])\s*\\(?:text\w*|mathrm)\s*\{((?:[^{}]|\^\{-?\d\}){2,60})\}"
)
_UNITS_ALONE = re.compile(rf"\s*({_UNIT}(?:\s*/\s*{_UNIT}|\s+{_UNIT})*)\s*")
_PREFIX = re.compile(r"\\(kilo|centi|milli|deci|hecto|mega|micro|nano|giga)\s*\\?")
_EQUATION_IN_TEXT = re.compile(r"\\text\w*\{\s*([A-Za-z]\s?=\s?[^{}]{1,60})\}")
_WORD_IN_BRACES = re.compile(r"\{\s*([A-Za-z]{2,30})\s*\}")
_PER = re.compile(
    r"\b(m|s|[ckm]m|k?g|h|hr|min|mol|L|K|N|J|sec|seconds?|days?|years?|hours?)("
    r"\s*\})\s*\^\s*\{?\s*-\s*([123])\s*\}?"
)
_ARC = re.compile(
    r"(\d+)\s*\^\s*\{?\s*\\circ\s*\}?\s*(\d+)\s*(?:\^\s*\{?\s*\\prime\s*\}?|')(?!')"
    r"(?:\s*(\d+)\s*(?:\^\s*\{?\s*\\prime\s*\\prime\s*\}?|''|\"))?"
)
_END = r"[^\[\](),;]+"
_TURNED = re.compile(rf"([\[\]])({_END})[,;]({_END})([\[\]])")
_ROWS = re.compile(r"\[\s*\[[^\[\]]*\](?:\s*,\s*\[[^\[\]]*\])*\s*\]")
_PART = re.compile(r"(?:\\text\w*\{\s*)?\(([a-h])\)[\s:~]*\}?")
_NAMED = re.compile(r"\s*([A-Za-z])\s*=\s*([^=,;<>]+?)\s*")
_UNIT_VECTOR = re.compile(
    r"\\(?:mathbf|hat|vec|boldsymbol|bm|mathbf\s*\{?\s*\\hat)\s*"
    r"(?:\{\s*\\?(?:mathbf\s*\{?)?\s*([ijk])(?:math)?\s*\}{1,2}|\\?([ij])(?:math)|([ijk])(?![A-Za-z]))"
)
_OR = re.compile(r";|(?:\\q?quad\s*)?\\text\w*\{\s*(?:or|and)\s*\}(?:\s*\\q?quad)?|\bor\b|\\\\")
_EXTREMES = re.compile(
    r"(?:\\text\w*\{)?\s*(?:the )?(maximum|max|largest|minimum|min|smallest)(?: value)?(?: is|:|=)?"
    r"\s*\}?\s*(?:=|:|is)?\s*(-?[\d.]+)\s*",
    re.IGNORECASE,
)


def respelled(text: str) -> str:
    """Return ``text`` in the spelling that the parser reads."""
    text = undoubled(text) if "\\\\" in text else text
    for needed, step in _STEPS:
        if needed in text:
            text = step(text)
    return _in_parts(text)


def unescaped(text: str) -> str:
    """``text`` with the commands that were taken for control characters."""
    for escape, command in _ESCAPES:
        text = escape.sub(lambda _, command=command: command, text)  # type: ignore[misc]
    return text


def undoubled(text: str) -> str:
    r"""``\\frac{1}{2}`` as JSON or a program's source has it: every backslash is doubled."""
    runs = [len(run) for run in _RUN.findall(text)]
    if any(run % 2 for run in runs) or not re.search(r"\\\\(?:[A-Za-z]{2,}|[{}%$])", text):
        return _COMMAND_DOUBLED.sub(r"\\\1", text)
    return _PAIR.sub(lambda _: "\\", text)


def _quantity(match: re.Match[str]) -> str:
    value, unit, number, alone, angle = match.groups()
    if number is not None:
        return number
    if angle is not None:
        return rf"{angle}^\circ"
    return rf"{value or ''}\text{{ {_unit(alone if alone is not None else unit)}}}"


def _unit(macros: str) -> str:
    r"""``meter/second^2`` of ``\meter\per\second\squared``."""
    text = _PREFIX.sub(r"\\\1", macros)
    text = text.replace("\\per", "/").replace("\\squared", "^2").replace("\\cubed", "^3")
    return re.sub(r"\s*\\\s*", " ", text).replace(" /", "/").replace("/ ", "/").strip()


def _per(match: re.Match[str]) -> str:
    unit, end, power = match.groups()
    return f" /{unit}{'' if power == '1' else '^' + power}{end}"


def _spaced(match: re.Match[str]) -> str:
    """``5\\,m\\,s^{-1}``: letters after a thin space that are all units are no variables."""
    parts = list(_POWERED.finditer(match[1]))
    if not all(is_unit(part[1]) for part in parts):
        return match.group()
    bar = match[1].find("/") % (len(match[1]) + 1)
    said = [
        f"{'/' if part[2] or part.start() > bar else ''}{part[1]}{_raised(part[3])}"
        for part in parts
    ]
    return rf"\text{{ {' '.join(said)}}}"


def _upright(match: re.Match[str]) -> str:
    """``\\mathrm{m\\,s^{-1}}``: units with their powers inside of a command."""
    inside = re.sub(r"\\cdot(?![A-Za-z])|\\[,;: ]|~|·|\*", " ", match[1])
    units = _UNITS_ALONE.fullmatch(inside) if "^" in inside else None
    return match.group() if units is None else _spaced(units)


def _raised(power: str | None) -> str:
    return "" if power in (None, "1") else f"^{power}"


def _arc(match: re.Match[str]) -> str:
    degrees, minutes, seconds = match.groups()
    return rf"({degrees}+{minutes}/60+{seconds or 0}/3600)^\circ"


def _turned(match: re.Match[str]) -> str:
    """``]0,1[`` as ``(0,1)``."""
    left, low, high, right = match.groups()
    return f"{'(' if left == ']' else '['}{low},{high}{')' if right == '[' else ']'}"


def _intervals(text: str) -> str:
    ends = text.strip()
    turned = ends.startswith("]") or ends.endswith("[") or re.search(r"\[\s*\\cup|\\cup\s*\]", text)
    return _TURNED.sub(_turned, text) if turned else text


def _matrix(text: str) -> str:
    """``[[1,2],[3,4]]`` as a matrix."""
    if not _ROWS.fullmatch(text.strip()):
        return text
    rows = re.findall(r"\[([^\[\]]*)\]", text)
    inside = r" \\ ".join(row.replace(",", "&") for row in rows)
    return rf"\begin{{pmatrix}}{inside}\end{{pmatrix}}"


def _vector(text: str) -> str:
    """``2\\mathbf{i} - \\mathbf{k}`` as ``\\langle 2,0,-1\\rangle``."""
    marked = _UNIT_VECTOR.sub(lambda match: f"@{match[1] or match[2] or match[3]} ", text)
    if "@" not in marked or re.search(r"[,;=<>&]", marked):
        return text
    parts: dict[str, str] = {}
    for term in _terms(marked):
        factor, found, letter = term.strip().partition("@")
        if not found or letter.strip() in parts or len(letter.strip()) != 1:
            return text
        parts[letter.strip()] = factor.strip() + ("1" if factor.strip() in ("", "+", "-") else "")
    last = "k" if "k" in parts else "j"
    inside = ",".join(parts.get(letter, "0") for letter in "ijk"[: "ijk".index(last) + 1])
    return rf"\langle {inside}\rangle"


def _terms(text: str) -> list[str]:
    """``text`` cut before each sign that stands in no bracket."""
    terms, depth = [""], 0
    for sign in text:
        depth += (sign in "({[") - (sign in ")}]")
        if sign in "+-" and not depth and terms[-1].strip():
            terms.append("")
        terms[-1] += sign
    return terms


_STEPS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("{:}", lambda text: re.sub(r"(?<![A-Za-z])\{:\}", ":", text)),
    ("frac", lambda text: _SLASHED.sub(r"\\frac", text)),
    ("\\", lambda text: _QUANTITY.sub(_quantity, text)),
    ("^", lambda text: _UPRIGHT.sub(_upright, text) if "{" in text else text),
    ("\\,", lambda text: _SPACED_UNITS.sub(_spaced, text)),
    ("\\textcirc", lambda text: text.replace("\\textcirc", "\\circ")),
    ("\\frac", lambda text: _RATE.sub(r"\\text{ \1/\2}", text)),
    ("\\angle", lambda text: _MEASURE_OF.sub("", text)),
    ("{d", lambda text: _DERIVATIVE.sub(r"\1'=", text)),
    ("\\lim", lambda text: _WORKED_OUT.sub(r"\1", text)),
    ("nt", lambda text: _WORKED_OUT.sub(r"\1", text)),
    ("_", lambda text: _SUBSCRIPT_LAST.sub(r"\2\1", text)),
    ("\\prime", lambda text: _PRIME.sub("'", text)),
    ("<s", lambda text: _HTML.sub(lambda m: f"{'^' if m[1] == 'p' else '_'}{{{m[2]}}}", text)),
    ("d", lambda text: _ORDINAL.sub("", text)),
    ("t", lambda text: _ORDINAL.sub("", text)),
    ("=", lambda text: _only(_EQUATION_IN_TEXT, text)),
    ("{", lambda text: _only(_WORD_IN_BRACES, text)),
    ("-", lambda text: _PER.sub(_per, text) if "\\text" in text or "\\mathrm" in text else text),
    ("\\", _vector),
    ("\\circ", lambda text: _ARC.sub(_arc, text)),
    ("]", _intervals),
    ("[", _intervals),
    ("[", _matrix),
)


def _only(pattern: re.Pattern[str], text: str) -> str:
    """The inside of a wrapper that is all of ``text``."""
    wrapped = pattern.fullmatch(text.strip())
    return wrapped.group(1).strip() if wrapped else text


def _in_parts(text: str) -> str:
    """Answers to several parts: ``(a) 2 (b) 3``, ``p=5,q=2;p=7,q=2``, "maximum 2, minimum 1"."""
    if "(b)" in text and (parts := _lettered(text)):
        return parts
    if "=" in text and (pairs := _pairs(text)):
        return pairs
    if "m" in text and (found := _extremes(text)):
        return found
    return text


def _lettered(text: str) -> str:
    pieces = _PART.split(text)
    labels, values = pieces[1::2], [piece.strip(" ,;.~\\") for piece in pieces[2::2]]
    if pieces[0].strip() or "".join(labels) != "abcdefgh"[: len(labels)] or len(labels) < 2:
        return ""
    if any(not value or re.search("[=<>,]", value) for value in values):
        return ""
    return ", ".join(f"{label}={value}" for label, value in zip(labels, values, strict=True))


def _pairs(text: str) -> str:
    """Several solutions, each with all names: as tuples."""
    solutions = [part for part in _OR.split(text) if part.strip(" ,.")]
    if not 2 <= len(solutions) <= 20:
        return ""
    named = [
        [_NAMED.fullmatch(item) for item in part.strip(" ,.").split(",")] for part in solutions
    ]
    if any(item is None for part in named for item in part):
        return ""
    told = [[(item[1], item[2]) for item in part if item] for part in named]
    names = [name for name, _ in told[0]]
    if len(names) < 2 or any([name for name, _ in part] != names for part in told):
        return ""
    return ", ".join(f"({', '.join(value for _, value in part)})" for part in told)


def _extremes(text: str) -> str:
    """``2, 1`` of "maximum 2, minimum 1"."""
    told = re.split(r",|;|\band\b|\\text\{\s*and\s*\}", text)
    found = [_EXTREMES.fullmatch(part.strip()) for part in told if part.strip()]
    if len(found) != 2 or not all(found):
        return ""
    values = {match[1][:2].lower(): match[2] for match in found if match}
    high, low = values.get("ma") or values.get("la"), values.get("mi") or values.get("sm")
    try:
        return f"{high}, {low}" if high and low and float(high) > float(low) else ""
    except ValueError:
        return ""
