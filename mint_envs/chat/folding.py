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
    "\ua6f5\ufe10\ufe11\ufe50\ufe51\uff64\u02cf\u0375\u055d\u2e49\U00016e97\U0001144d"
    "\U0001145a\U00016af5\U0001da87"
)
#: Full stops of other scripts, which end sentences in a text that is mostly Latin.
_FULL_STOPS = (
    "\u3002\uff61\u0589\u06d4\u0964\u0965\u1362\u166e\u1803\u1809\u2024\u2cf9\u2cfe\u2e3c"
    "\ua4ff\ua60e"
)
#: Capital and small letters of Cyrillic and Greek, each above the Latin one that it looks like.
_ALIKE = (
    ("АВЕКМНОРСТУХЅІЈԚԜҺ", "ABEKMHOPCTYXSIJQWh"),
    ("аеорсухѕіјԛԝһԁӏ", "aeopcyxsijqwhdl"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
    ("ανορυϲϳτ", "avopucjt"),
    (
        "ɑɡᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ",
        "agabcdefghijklmnopqrstuvwyz",
    ),  # small capitals, and of phonetics
    ("ᎠᎡᎢᎪᎫᎬᎳᎷᎻᏀᏃᏒᏔᏙᏚᏞᏟᏢᏦᏴ", "DRTAJEWMHGZRWVSLCPKB"),  # Cherokee
    ("ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓞꓟꓠꓡꓢꓣꓥꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "BPdDTGKJCZFFMNLSRAVHWXYAEIOU"),  # Lisu
)
_LATIN = str.maketrans(
    {odd: plain for odds, plains in _ALIKE for odd, plain in zip(odds, plains, strict=True)}
)
_SIGNS = str.maketrans(
    dict.fromkeys(_COMMAS, ",")
    | {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}  # full width
    | {"\u3000": " ", "\u2800": " "}
    | {chr(0x1F150 + i): chr(ord("A") + i) for i in range(26)}  # white on black discs
)
_STOPS = str.maketrans(dict.fromkeys(_FULL_STOPS, "."))
#: Nothing is shown by these: fillers of Hangul, and what ``unicodedata`` calls format characters.
_UNSEEN = re.compile("[\u115f\u1160\u3164\uffa0]")
_WORD = re.compile(r"[^\W\d_]+")
_ODD = re.compile(f"[{''.join(odds for odds, _ in _ALIKE)}]")


def seen(text: str) -> str:
    """Return ``text`` as it looks: plain ASCII stays as it is.

    Format characters and marks that do not join a letter to one sign are left out; full-width
    signs, letters in other forms and the commas of other scripts become ASCII's; and a letter that
    looks like a Latin one becomes it in a word that has Latin letters, or that has such letters
    only, in a text that is mostly Latin, where stops of other scripts are full stops. The time is
    linear.
    """
    if text.isascii():
        return text
    text = _UNSEEN.sub("", unicodedata.normalize("NFC", text)).translate(_SIGNS)
    text = "".join(one if one.isascii() else _plain(one) for one in text if _shows(one))
    return text if text.isascii() else _one_script(text)


def _shows(one: str) -> bool:
    category = unicodedata.category(one)
    return category[0] != "M" and category != "Cf"


def _plain(one: str) -> str:
    """Return the letters or digits of ASCII of which this is another form: bold, raised, in a disc.

    A digit with a comma is both.
    """
    plain = unicodedata.normalize("NFKC", one)
    if len(plain) == 2 and plain[1] == ",":
        return plain
    sign = unicodedata.category(one)[0] not in "LN"
    return plain if plain.isascii() and plain.isalnum() and not (sign and len(plain) > 1) else one


def _one_script(text: str) -> str:
    """Return ``text`` with signs that look like those of its script in their place."""
    latin = sum("a" <= one <= "z" or "A" <= one <= "Z" for one in text)
    other = sum(one.isalpha() and one > "\u036f" for one in text)
    if latin > other:
        text = text.translate(_STOPS)
    if not _ODD.search(text):
        return text

    def word(match: re.Match[str]) -> str:
        found = match[0]
        plain = found.translate(_LATIN)
        mixed = re.search("[a-zA-Z]", found) is not None
        return plain if mixed or (plain.isascii() and latin > other) else found

    return _WORD.sub(word, text)
