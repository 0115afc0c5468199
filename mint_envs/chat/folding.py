"""What a reader sees in a text: signs that look alike, or that nothing shows, made equal.

Checkers count signs, and a policy finds signs that look the same and count differently: ``，`` for
a comma, a Cyrillic ``а`` in a forbidden word, a zero-width space within it, letters with a mark
laid over them. ``seen`` is applied once, before anything is counted.
"""

from __future__ import annotations

import re
import unicodedata

#: Commas of other scripts: Arabic, ideographic, Ethiopic, N'Ko, Mongolian, reversed, small ...
_COMMAS = (
    "\u060c\u066b\u066c\u07f8\u1363\u1802\u1808\u201a\u2e32\u2e34\u2e41\u2e4c\u3001\ua4fe\ua60d"
    "\ua6f5\ufe10\ufe11\ufe50\ufe51\uff64\U00016e97"
)
#: Capital and small letters of Cyrillic and Greek, each above the Latin one that it looks like.
_ALIKE = (
    ("АВЕКМНОРСТУХЅІЈԚԜҺ", "ABEKMHOPCTYXSIJQWh"),
    ("аеорсухѕіјԛԝһԁӏ", "aeopcyxsijqwhdl"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
    ("ανορυϲϳ", "avopucj"),
)
_LATIN = str.maketrans(
    {odd: plain for odds, plains in _ALIKE for odd, plain in zip(odds, plains, strict=True)}
)
_SIGNS = str.maketrans(
    dict.fromkeys(_COMMAS, ",")
    | {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}  # full width
    | {"\u3000": " "}
)
#: Nothing is shown by these: fillers of Hangul, and what ``unicodedata`` calls format characters.
_UNSEEN = re.compile("[\u115f\u1160\u3164\uffa0]")
_WORD = re.compile(r"[^\W\d_]+")
_ODD = re.compile(f"[{''.join(odds for odds, _ in _ALIKE)}]")


def seen(text: str) -> str:
    """Return ``text`` as it looks: plain ASCII stays as it is.

    Format characters and marks that do not join a letter to one sign are left out, full-width
    signs and the commas of other scripts become ASCII's, and a letter that looks like a Latin one
    becomes it in a word that has Latin letters, or that has such letters only, in a text that is
    mostly Latin. The time is linear.
    """
    if text.isascii():
        return text
    text = _UNSEEN.sub("", unicodedata.normalize("NFC", text)).translate(_SIGNS)
    text = "".join(one for one in text if one.isascii() or _shows(one))
    return _one_script(text) if _ODD.search(text) else text


def _shows(one: str) -> bool:
    category = unicodedata.category(one)
    return category[0] != "M" and category != "Cf"


def _one_script(text: str) -> str:
    latin = sum("a" <= one <= "z" or "A" <= one <= "Z" for one in text)
    other = sum(one.isalpha() and one > "\u036f" for one in text)

    def word(match: re.Match[str]) -> str:
        found = match[0]
        plain = found.translate(_LATIN)
        mixed = re.search("[a-zA-Z]", found) is not None
        return plain if mixed or (plain.isascii() and latin > other) else found

    return _WORD.sub(word, text)
