"""Tokens of an answer: numbers, names, words and marks.

A token is ``(kind, text)``. Kinds: ``n`` number as written, ``v`` variable (one letter, or a Greek
name), ``w`` word (from ``\\text{...}`` or plain prose), ``m`` mark: a command, sign or bracket,
spelled in one way (``\\leq`` is ``<=``, ``\\dots`` is ``\\ldots``).
"""

from __future__ import annotations

import re

from .limits import MAX_DIGITS, MAX_TOKENS, Unreadable
from .units import LETTERS, is_unit

Token = tuple[str, str]

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<env>\\(?:begin|end)\s*\{[a-zA-Z*]+\})"
    r"|(?P<text>\\(?:text(?:bf|it|rm|sf|tt|normal|up)?|[mh]box|math(?:rm|bf|it|sf|bb|cal)|mathop"
    r"|operatorname\*?|emph|bm|boldsymbol|underline)\s*\{(?P<inner>[^{}]*)\})"
    r"|(?P<command>\\[A-Za-z]+|\\\\|\\.)"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE](?:[-+]?\d{2,4}(?!\d)|\d(?!\d)|(?<=\.\d[eE])[-+]\d"
    r"|(?<=\.\d\d[eE])[-+]\d|(?<=\b1[eE])[-+]\d))?|\.\d+)"
    r"|(?P<sign><=|>=|!=|<>|==|\*\*|->)"
    r"|(?P<letters>[A-Za-z]+)"
    r"|(?P<han>[\u3400-\u9fff]+)"
    r"|(?P<other>\S))",
    re.DOTALL,
)
_GROUPED = re.compile(
    r"\s*(\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?(?!,\d)|\d{1,3}(?: \d{3})+(?![\d/.]|\s*/))"
)
_IS_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?%?")
_LAYOUT = re.compile(r"\s*\{[lcr|\s]*\}")

_SAME = {
    **dict.fromkeys(("\\le", "\\leq", "\\leqslant", "\\leqq"), "<="),
    **dict.fromkeys(("\\ge", "\\geq", "\\geqslant", "\\geqq"), ">="),
    **dict.fromkeys(("\\ne", "\\neq", "<>"), "!="),
    **dict.fromkeys(("\\approx", "\\simeq", "\\sim", "\\cong"), "~"),
    **dict.fromkeys(("\\dots", "\\ldots", "\\cdots"), "\\ldots"),
    **dict.fromkeys(("\\cdot", "\\times", "\\ast"), "*"),
    **dict.fromkeys(("\\lbrace",), "\\{"),
    **dict.fromkeys(("\\rbrace",), "\\}"),
    **dict.fromkeys(("\\lvert", "\\rvert", "\\vert"), "|"),
    **dict.fromkeys(("\\varnothing", "\\O"), "\\emptyset"),
    **dict.fromkeys(("\\backslash", "\\smallsetminus"), "\\setminus"),
    **dict.fromkeys(("\\lbrack",), "["),
    **dict.fromkeys(("\\rbrack",), "]"),
    **dict.fromkeys(("\\bar", "\\dot"), "\\overline"),
    **dict.fromkeys(("\\degree", "\\textdegree"), "\\circ"),
    **dict.fromkeys(("\\oo", "oo", "infty", "infinity", "Infinity"), "\\infty"),
    **dict.fromkeys(("\\ln", "ln"), "ln"),
    "\\lt": "<",
    "\\equiv": "=",
    "\\mod": "\\pmod",
    "\\gt": ">",
    "==": "=",
    "\\div": "/",
    "**": "^",
    "\\land": "and",
    "\\lor": "or",
    "\\imath": "i",
    "\\colon": ":",
    "\\tg": "tan",
    "\\ctg": "cot",
    "\\lg": "lg",
}
#: Functions of several values in brackets.
SEVERAL = frozenset("max min gcd lcm".split())
FUNCTIONS = SEVERAL | frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh asin acos atan "
    "ln log lg exp cis sqrt abs floor ceil".split()
)
GREEK = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi "
    "rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi "
    "Omega ell hbar".split()
)
#: Words of two or three small letters that are no products of variables.
SHORT_WORDS = frozenset(
    "yes no none odd not one two six ten red and all any few for if in is it my of on or our the "
    "to up we win wins day new old men boy dog cat sum zero true east west even".split()
)
_CAPITAL_UNITS = ("min", "N", "J", "W", "V")  # that would be names of something else
_SEPARATORS = {"and": ",", "or": ",", "和": ",", "或": ",", "与": ",", "及": ",", "&": "&"}


def tokens(text: str, prose: bool = False) -> list[Token]:
    """Return the tokens of ``text``. ``prose``: a lone letter after a number may be a unit.

    Raises:
        Unreadable: too many tokens or digits.
    """
    found: list[Token] = []
    at, depth = 0, 0
    while match := (depth == 0 and _GROUPED.match(text, at)) or _TOKEN.match(text, at):
        at = match.end()
        if match.re is _GROUPED:
            found.append(("n", match.group(1).replace(",", "").replace(" ", "")))
        else:
            kind = str(match.lastgroup if match.lastgroup != "inner" else "text")
            at = _take(kind, match.group(kind), match, found, prose)
        depth = _depth(depth, found)
        if len(found) > MAX_TOKENS:
            raise Unreadable("too many tokens")
    return found


def _depth(depth: int, found: list[Token]) -> int:
    last = found[-1][1] if found else ""
    if last in ("(", "[", "\\{"):
        return depth + 1
    return depth - 1 if last in (")", "]", "\\}") and depth else depth


def _take(kind: str, piece: str, match: re.Match[str], found: list[Token], prose: bool) -> int:
    """Append the token or tokens of one match; return where the next one begins."""
    end = match.end()
    if kind == "number":
        if len(piece) > MAX_DIGITS:
            raise Unreadable("too many digits")
        found.append(("n", piece))
    elif kind == "text":
        after_value = bool(found) and (found[-1][0] == "n" or found[-1][1] in ("}", ")"))
        found.extend(_inner(match.group("inner"), piece, after_value))
    elif kind == "letters":
        spaced = prose and match.group()[:1].isspace()
        raised = match.string[end : end + 1] == "^" and piece[-1] == "e"  # Ae^x
        found.extend(
            zip("v" * len(piece), piece, strict=True) if raised else _letters(piece, found, spaced)
        )
    elif kind == "han":
        found.append(("m", _SEPARATORS[piece]) if piece in _SEPARATORS else ("w", piece))
    elif kind == "env":
        command, _, rest = piece.partition("{")
        name = rest.rstrip("*}")
        found.append(("m", f"{command.strip()}:{name}"))
        if name == "array" and piece.startswith("\\begin"):
            layout = _LAYOUT.match(match.string, end)
            end = layout.end() if layout else end
    else:
        found.extend((kind == "command" and _glued(piece)) or [_mark(piece)])
    return end


def _glued(piece: str) -> list[Token]:
    """``\\cotx``, written by who took the spaces out."""
    name = piece.lstrip("\\")
    return [] if name in FUNCTIONS or name in GREEK else _product(name)


def _mark(piece: str) -> Token:
    mark = _SAME.get(piece, piece)
    name = mark.lstrip("\\") if mark[0] == "\\" and len(mark) > 2 else mark
    if mark in ("and", "or"):
        return ("m", ",")
    if name in FUNCTIONS or name in ("pi", "infty"):
        return ("m", name)
    if name in GREEK:
        return ("v", name)
    if mark in ("i", "ell"):
        return ("v", mark)
    return ("m", mark)


def _inner(inner: str, piece: str, after_number: bool) -> list[Token]:
    """Tokens of ``\\text{inner}``: a variable, a number, a separator, or words."""
    inner = inner.strip()
    if inner in _CAPITAL_UNITS and after_number and not piece.startswith("\\mathb"):
        return [("w", inner)]
    if inner.startswith("(base"):
        return _said(inner.strip("()"))
    if inner in ("R", "Z", "N", "Q", "C") and piece.startswith("\\mathb"):
        return [("m", f"\\{inner}")]
    if len(inner) == 1 and inner.isascii() and inner.isalpha() and inner not in LETTERS:
        return [("v", inner)]
    if inner.lower() in FUNCTIONS or inner == "pi":
        return [("m", inner.lower())]
    if inner and all(c.isdigit() or c in ".,:-+/ " for c in inner):
        return tokens(inner)
    return _said(inner)


def _said(inner: str) -> list[Token]:
    """Words, numbers and separators."""
    found: list[Token] = []
    for word in re.findall(r"[,;]|[^\s,;]+", inner):
        if _separates(word):
            found.append(("m", _SEPARATORS.get(word, ",")))
        else:
            found.extend(tokens(word) if _IS_NUMBER.fullmatch(word) else [("w", word)])
    return found


def _separates(word: str) -> bool:
    return word in ",;" or word in _SEPARATORS


def _letters(run: str, found: list[Token], spaced: bool) -> list[Token]:
    """Tokens of a run of letters: a function, a separator, a unit, a word, or variables."""
    if run in _SEPARATORS:
        return [("m", ",")]
    if run in ("C", "F") and _after_degree(found):
        return [("w", "celsius" if run == "C" else "fahrenheit")]
    if run in FUNCTIONS or run in ("pi", "infty", "oo", "infinity"):
        return [_mark(run)]
    after_value = bool(found) and (
        found[-1][0] in "nw" or found[-1][1] in (")", "}", "pi", "\\circ")
    )
    if after_value and (is_unit(run) and (len(run) > 1 or spaced)):
        return [("w", run)]
    segment = len(run) == 2 and run.isupper() and bool(found) and found[-1][1] == "{"  # NO/BO
    if run.lower() in SHORT_WORDS and not segment:
        return [("w", run)]
    counted = len(run) == 2 and bool(found) and found[-1][0] == "n"  # 2Cx
    if len(run) > 3 or (len(run) > 1 and run[0].isupper() and run[1:].islower() and not counted):
        return _product(run) or [("w", run)]
    if len(run) > 1 and found and found[-1][0] == "w":
        return [("w", run)]
    return _product(run) or [("v", letter) for letter in run]


def _after_degree(found: list[Token]) -> bool:
    return ("m", "\\circ") in found[-2:]


def _product(run: str) -> list[Token]:
    """``sinx``, ``xsin``, ``pir``: a known name glued to one variable."""
    for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sqrt", "pi", "ln", "log"):
        if run.startswith(name) and len(run) == len(name) + 1:
            return [("m", name), ("v", run[-1])]
        if run.endswith(name) and len(run) == len(name) + 1:
            return [("v", run[0]), ("m", name)]
    return []
