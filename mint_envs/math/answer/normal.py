"""Text before parsing: one spelling for signs, spaces and wrappers; plain numbers in one step.

``clean`` changes how an answer is written, never what it says. ``plain_number`` recognises what
most answers are, an integer, decimal or fraction, without the parser.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from functools import lru_cache

from .limits import MAX_DIGITS, Unreadable
from .spelling import respelled, unescaped

_SIGNS = {
    **dict.fromkeys("−–—﹣‐‑", "-"),
    **dict.fromkeys("\u00a0\u202f\u2009\u2002\u2003\u3000\u2005\u2006", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
    **dict.fromkeys("×✕✖", r"\times "),
    **dict.fromkeys("·⋅∙", r"\cdot "),
    **dict.fromkeys("，、", ","),
    **dict.fromkeys("’‘′", "'"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("…⋯", r"\ldots "),
    **dict.fromkeys("φϕ", r"\phi "),
    "÷": r"\div ",
    "∕": "/",
    "⁄": "/",
    "∞": r"\infty ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "⩽": r"\le ",
    "⩾": r"\ge ",
    "≠": r"\ne ",
    "≈": r"\approx ",
    "°": r"^\circ ",
    "º": r"^\circ ",
    "∪": r"\cup ",
    "∩": r"\cap ",
    "∅": r"\emptyset ",
    "±": r"\pm ",
    "∓": r"\mp ",
    "∈": r"\in ",
    "∀": r"\forall ",
    "∃": r"\exists ",
    "ℝ": r"\R ",
    "；": ";",
    "：": ":",
    "（": "(",
    "）": ")",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "π": r"\pi ",
    "θ": r"\theta ",
    "α": r"\alpha ",
    "β": r"\beta ",
    "γ": r"\gamma ",
    "λ": r"\lambda ",
    "μ": r"\mu ",
    "ω": r"\omega ",
    "σ": r"\sigma ",
    "⌊": r"\lfloor ",
    "⌋": r"\rfloor ",
    "⌈": r"\lceil ",
    "⌉": r"\rceil ",
    "√": r"\sqrt ",
    "∛": r"\sqrt[3] ",
    "²": "^{2}",
    "³": "^{3}",
}
_UNICODE = str.maketrans(_SIGNS)
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ"
_LOWERED = "₀₁₂₃₄₅₆₇₈₉"
_RUNS = re.compile(f"[{_RAISED}²³]+|[{_LOWERED}]+")
_RAISED_UNIT = re.compile(r"(?<=\d)([kcdm]?m|ft|in|yd|mi)([²³])(?![\w^])")
_PLAIN = str.maketrans(_RAISED + "²³" + _LOWERED, "0123456789+-n23" + "0123456789")
_CIRCLED = re.compile("[\u2460-\u2473]")  # 1 to 20 in circles: the parts of a question
_VULGAR = re.compile("(\\d?)([½¼¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])")

_KEPT_TEXT = 200  # characters of a text whose reading is kept
_SIZING = re.compile(
    r"\\(?:left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits"
    r"|mathstrut|strut|rm|bf|it)(?![A-Za-z])\.?(?=[^\d.]|$)"
    r"|\\(?:left|right|displaystyle|textstyle)(?![A-Za-z])"
)
_THOUSANDS = re.compile(
    r"(?<=\d)\s*(?:\{\s*,\s*\}|,\\!|\\!,|\\[,!;: ]|,\\[,;: ]|~)\s*(?=\d{3}(?!\d))"
)
_SPACES = re.compile(r"(?<!\\)\\(?:[,;:>! ]|q?quad|(?:hspace|vspace|phantom)\{[^{}]*\})|~")
_DELIMITERS = re.compile(r"(?<!\\)\\[()\[\]](?![0-9.]*(?:pt|em|ex)\])|\$\$")
_NAMES = re.compile(r"\\([dtcx])(frac|binom)(?![A-Za-z])")
_WRAPPED = re.compile(r"\\f?boxed\s*\{(.*)\}", re.DOTALL)
_ARROW = re.compile(r"\\(?:implies|Longrightarrow|Rightarrow|therefore)(?![A-Za-z])|⇒|=>")
_CURRENCY = re.compile(r"^(-?)\s*+\$\s*+(-?[\d.,]++(?:\s?[A-Za-z]++)*+)$")
_CHOOSE = re.compile(
    r"(?:\{\})?_\{?(\d{1,4})\}?C_\{?(\d{1,4})\}?|(?<![A-Za-z])C_\{?(\d{1,4})\}?\^\{?(\d{1,4})\}?"
)
_PRICED = re.compile(r"\\text\{\s*\\?\$\s*\}|(?<![A-Za-z])US\s?\\?\$")
_LEAD = re.compile(
    r"^\s*\\text\w*\{\s*+(?:(?:the )?(?:final )?answer(?: is)?|only)\s*+:?\s*+\}", re.IGNORECASE
)
_SOLUTION_IS = re.compile(  # "Solution is: $x = 3$"
    r"^\s*(?:the )?(?:unique |general |only )?(?:solutions?|answers?)(?: set)?(?: is| are)?\s?:?\s*"
    r"(?=\$|\\[(\[])",
    re.IGNORECASE,
)
_ENDLESS = re.compile(r"(-?\d*\.\d*?)(\d{1,3}?)\2{2,}(?:\d{0,2})\s*(?:\.{2,}|\\[lc]?dots)")
_NEXT_LINE = re.compile(r"(?<![\\$])\$[,;]?\s*\n\s*\$(?!\$)")  # $y_1 = x$ and, below, $y_2 = 2x$
_UNDOLLARED = re.compile(r"\A(?:\$([^$]+)\$|\$\$([^$]+)\$\$)\Z")
_STRAY_STOP = re.compile(r"(?<=\})\s*\.\s*(?=[\])]$)")
_APPROXIMATELY = re.compile(r"^\s*(?:\\approx|\\sim(?![A-Za-z])|\\bullet(?![A-Za-z])|≈|∴|=)\s*")
_SPOKEN_SIGN = re.compile(r"^(?:minus|negative)\s+(?=[\d.])", re.IGNORECASE)
_OUT_OF = re.compile(r"^(\d{1,9})\s+(?:out of|in)\s+(\d{1,9})$")
_PERIOD = re.compile(r"(?<!\d)(\d*\.\d*)\((\d{1,20})\)(?=\D|$)")  # 0.1(6)
_TO = re.compile(r"^(\d{1,9})\s+to\s+(\d{1,9})$")
_MODULO = re.compile(
    r"\(\s*(?:\\?mod|\\text\{\s*mod\s*\}|\\bmod)\s*(\w+)\s*\)"
    r"|\\text\{\s*mod(?:ulo)?\s+(\w{1,6})\s*\}|(?<=\d)\s+modulo\s+\$?(\w{1,6})\$?$"
)
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?", re.ASCII)
_FRACTION = re.compile(
    r"([-+]?)(?:\\frac\s*\{\s*([-+]?\d{1,99})\s*\}\s*\{\s*([-+]?\d{1,99})\s*\}"
    r"|([-+]?\d{1,99})\s*/\s*(\d{1,99}))",
    re.ASCII,
)


def clean(text: str) -> str:
    """Return ``text`` without wrappers, spacing commands, and other spellings of one sign."""
    return _cleaned_before(text) if len(text) <= _KEPT_TEXT else _cleaned(text)


def _cleaned(text: str) -> str:
    text = (text if text.isprintable() else unescaped(text)).strip()
    if not text.isascii():
        text = _ascii(text)
    if text[:1] == text[-1:] == "$" and len(text) > 1:
        text = _UNDOLLARED.sub(lambda m: (m[1] or m[2]).strip(), text)
    text = respelled(_SPOKEN_SIGN.sub("-", _APPROXIMATELY.sub("", _without_lead(text))))
    text = _TO.sub(r"\1:\2", _OUT_OF.sub(r"\1/\2", text))
    text = text.strip("`").replace("**", "" if text.startswith("**") else "**")
    if "\\" in text or "~" in text or "{" in text:
        text = _latex(text)
    if "$" in text:
        text = _dollars(text)
    if "(" in text and "." in text:
        text = _PERIOD.sub(r"\1\\overline{\2}", text)
    if "." in text and len(text) < 60 and (endless := _ENDLESS.fullmatch(text.strip())):
        text = rf"{endless.group(1)}\overline{{{endless.group(2)}}}"
    if "mod" in text:
        text = _MODULO.sub(lambda m: rf" \pmod{{{m[1] or m[2] or m[3]}}}", text)
    return text.strip().rstrip(".,;:。\\").strip()


_cleaned_before = lru_cache(4096)(
    _cleaned
)  # asked for again by the question, and by other responses


def _without_lead(text: str) -> str:
    """``$x = 3$`` of "Solution is: $x = 3$"."""
    lead = text[:20]
    return _SOLUTION_IS.sub("", text) if "olution" in lead or "nswer" in lead else text


def _ascii(text: str) -> str:
    text = "".join(
        unicodedata.normalize("NFKC", c) if c >= "\uff00" or "𝐀" <= c <= "𝟿" else c for c in text
    )
    text = _RAISED_UNIT.sub(r" \1\2", _VULGAR.sub(_vulgar, text))  # 5m² is no 5 times m
    text = _CIRCLED.sub(lambda match: f"({ord(match.group()) - 0x245F}),", text)
    text = _RUNS.sub(_run, text)
    return text.translate(_UNICODE)


def _vulgar(match: re.Match[str]) -> str:
    whole, sign = match.groups()
    above, _, below = unicodedata.normalize("NFKC", sign).partition("\u2044")
    return f"{whole} {above}/{below}" if whole else f"{above}/{below}"


def _run(match: re.Match[str]) -> str:
    run = match.group()
    return f"{'_' if run[0] in _LOWERED else '^'}{{{run.translate(_PLAIN)}}}"


def _latex(text: str) -> str:
    if len(arrows := _ARROW.split(text)) > 1 and arrows[-1].strip(" $.)\\"):
        text = arrows[-1]
    text = _LEAD.sub("", text)
    text = _CHOOSE.sub(lambda m: rf"\binom{{{m[1] or m[3]}}}{{{m[2] or m[4]}}}", text)
    text = _PRICED.sub(r"\\$", text)
    text = _STRAY_STOP.sub("", _SIZING.sub("", text))
    text = _THOUSANDS.sub("", text)
    text = _SPACES.sub(lambda match: "" if match.group() == "\\!" else " ", text)
    text = _DELIMITERS.sub(" ", text)
    text = _NAMES.sub(r"\\\2", text).replace("\\%", "%").replace("{-}", "-").replace("\\#", "#")
    text = text.strip()
    while wrapped := _WRAPPED.fullmatch(text):
        text = wrapped.group(1).strip()
    return text


def _dollars(text: str) -> str:
    """Take away the dollars of mathematics mode; a dollar before a price becomes ``\\$``."""
    if price := _CURRENCY.match(text):
        return rf"{price.group(1)}\${price.group(2)}"
    return re.sub(r"(?<!\\)\$", " ", _NEXT_LINE.sub(", ", text))


def plain_number(text: str) -> Fraction | None:
    """Return the exact value of an integer, decimal or fraction of integers; else None.

    ``"1,234.50"``, ``"-7"``, ``".5"``, ``"3/4"`` and ``"\\frac{3}{4}"`` are plain numbers.
    """
    if _NUMBER.fullmatch(text):
        return number(text)
    if match := _FRACTION.fullmatch(text):
        sign, above, below, top, bottom = match.groups()
        low = int(below or bottom)
        if low:
            return Fraction(int(above or top), low) * (-1 if sign == "-" else 1)
    return None


def number(text: str) -> Fraction | None:
    """Return ``[-+]digits[.digits]``, commas left out, as an exact number."""
    whole, _, part = text.replace(",", "").partition(".")
    if len(whole) + len(part) > MAX_DIGITS:
        return None
    digits = whole + part
    if not digits.lstrip("+-"):
        return None
    value = int(digits)
    return Fraction(value, 10 ** len(part)) if part else Fraction(value)


def scientific(text: str) -> Fraction:
    """Return the exact value of ``2.5e-3``."""
    mantissa, _, exponent = text.lower().partition("e")
    value = number(mantissa)
    if value is None or abs(int(exponent)) > MAX_DIGITS:
        raise Unreadable("an exponent that is too large")
    return value * Fraction(10) ** int(exponent)
