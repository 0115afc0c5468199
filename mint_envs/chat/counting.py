"""What is counted in a text: words, sentences, capital words, brackets, titles.

Every function takes any string and takes time in proportion to its length, so that no response
can stall a reward.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_LETTERS_AND_DIGITS = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"\S+")
_CLOSERS = "\"'\u201d\u2019)]}*_"
_OPENERS = "\"'\u201c\u2018([{*_"

#: Where a full stop seldom ends a sentence.
_ABBREVIATIONS = (
    "mr mrs ms dr prof rev gen col sgt capt lt st jr sr vs etc e.g i.e cf al approx dept est fig "
    "inc ltd co corp no vol pp ed u.s u.k u.n a.m p.m ph.d"
)
_NO_END = frozenset(_ABBREVIATIONS.split())
_CAPITAL_BREAKS = re.compile(r"\.\.\.|--|[\s,;:@#$%&?!\"()\[\]{}<>]")
_CLITIC = re.compile(r"(n't|'(?:s|m|d|ll|re|ve))$", re.IGNORECASE)


def words_in(text: str) -> list[str]:
    """Return the words: runs of letters and digits. ``_`` joins none, whatever a policy hopes."""
    return _LETTERS_AND_DIGITS.findall(text)


def runs_in(text: str) -> list[str]:
    """Return the words as official checkers count them: ``_`` is a letter."""
    return _WORD.findall(text)


def split_sentences(text: str) -> list[str]:
    """Return the sentences, without white space at their ends.

    One ends at a word that ends in ``.``, ``!`` or ``?`` (quotes and brackets may follow), unless
    it is an abbreviation or an initial, or an ellipsis goes on in lower case. What is left after
    the last end counts as one if there is a word in it, and belongs to the last one otherwise.
    """
    found: list[str] = []
    begin, open_, tokens = 0, False, list(_TOKEN.finditer(text))
    for position, token in enumerate(tokens):
        open_ = open_ or _WORD.search(token[0]) is not None
        after = tokens[position + 1][0] if position + 1 < len(tokens) else ""
        if open_ and _ends_sentence(token[0].rstrip(_CLOSERS), after):
            found.append(text[begin : token.end()].strip())
            begin, open_ = token.end(), False
    rest = text[begin:].strip()
    if open_:
        found.append(rest)
    elif found and rest:
        found[-1] = f"{found[-1]} {rest}"
    return found


def sentences(text: str) -> int:
    """Return the number of sentences."""
    return len(split_sentences(text))


def _ends_sentence(token: str, after: str) -> bool:
    if not token.endswith((".", "!", "?")):
        return False
    if token.endswith("..."):
        return not after[:1].islower()
    stem = token[:-1].lstrip(_OPENERS).lower()
    initial = len(stem) == 1 and stem.isalpha() and stem != "i"
    numbered = stem.isdigit() and after[:1].islower()
    return token[-1] != "." or not (initial or numbered or stem in _NO_END)


def capital_words(text: str) -> int:
    """Return the number of words all in capitals; ``I'm`` has one, ``DON'T`` two (DO and N'T)."""
    pieces = _CAPITAL_BREAKS.split(text.replace("\u2019", "'"))
    return sum(part.isupper() for piece in pieces for part in _CLITIC.split(piece))


def placeholders(text: str) -> int:
    """Return the number of ``[...]`` within a line."""
    count = 0
    for line in text.split("\n"):
        end = 0
        while (start := line.find("[", end)) >= 0 and (stop := line.find("]", start + 1)) >= 0:
            count, end = count + 1, stop + 1
    return count


def has_title(text: str) -> bool:
    """Return whether a line holds ``<<...>>`` with something in it."""
    for line in text.split("\n"):
        start, stop = line.find("<<"), line.rfind(">>")
        if 0 <= start < stop - 2 and line[start : stop + 2].lstrip("<").rstrip(">").strip():
            return True
    return False


def highlights(text: str) -> int:
    """Return the number of ``*...*`` within a line, each ``**...**`` counting as well."""
    single = re.findall(r"\*([^\n*]*)\*", text)
    double = re.findall(r"\*\*([^\n*]*)\*\*", text)
    return sum(bool(piece.strip()) for piece in single + double)


def bullets(text: str) -> int:
    """Return the number of lines that begin with ``-``, or with one ``*``."""
    stars = re.findall(r"^[^\S\n]*+\*[^*].*$", text, re.MULTILINE)
    dashes = re.findall(r"^[^\S\n]*+-", text, re.MULTILINE)
    return len(stars) + len(dashes)


def pieces(text: str, divider: str) -> list[str] | None:
    """Return what ``divider`` divides, without an empty beginning or end.

    ``None`` if there is an empty piece in the middle.
    """
    found = text.split(divider)
    middle = found[1:-1]
    if not all(piece.strip() for piece in middle):
        return None
    return [piece for piece in found if piece.strip()]


# -- words as a tokenizer of English sees them ---------------------------------------------------

_LAST_STOP = re.compile(r"(?<![.])\.[\])}>\"'\u201d\u2019 ]*$")
_OPENS = re.compile(r'(?:(?<=[\s(\[{<])|^)"')
_APART = re.escape(';@#$%&?!()[]{}<>*"\u201c\u201d\u2018\u2019\u201e\u00ab\u00bb')
_PIECE = re.compile(
    rf"\.\.+|--|`+|''|[{_APART}]|(?:[^\s{_APART}`:,.\-]|[:,](?=\d)|-(?!-)|\.(?!\.))+|\S"
)


def english_tokens(text: str) -> list[str]:
    """Return words and punctuation, each by itself: ``don't.`` is ``do``, ``n't``, ``.``.

    So the Penn Treebank divides them; a full stop is a token at the end of a sentence only, and
    a quotation mark that opens is another one than one that closes.
    """
    found: list[str] = []
    for sentence in split_sentences(text):
        stop = _LAST_STOP.search(sentence)
        body = sentence[: stop.start()] if stop else sentence
        body = _OPENS.sub("``", body)
        found += [part for piece in _PIECE.findall(body) for part in _without_clitic(piece)]
        if stop:
            found += [one for one in stop[0] if not one.isspace()]
    return found


def _without_clitic(piece: str) -> list[str]:
    plain = piece.lower()
    if plain in ("cannot", "gonna", "gotta", "wanna"):
        return [piece[:3], piece[3:]]
    parts = [part for part in _CLITIC.split(piece) if part]
    last = parts[-1]
    if len(last) > 1 and last.endswith("'") and last != "''":
        parts[-1:] = [last[:-1], "'"]
    return parts


# -- syllables -----------------------------------------------------------------------------------

_VOWELS = re.compile(r"[aeiouy]+")
_TWO_VOWELS = re.compile(
    r"ia(?!l$|n$)|io(?!n|us)|iu|eo(?!u)|ua(?!r)|ii|[aeiou]ing$|uou|ier$|iet|rea(?=te)"
)
_SILENT = re.compile(r"(?<=[^aeiouy])e$|(?<=[^aeiouytd])ed$|(?<=[^aeiouyscgzx])es$|(?<=[^l])ely$")


def syllables(word: str) -> int:
    """Return about how many syllables an English word has, by its letters; at least 1."""
    plain = "".join(one for one in word.lower() if one.isalpha())
    spoken = (
        plain if plain.endswith("le") and plain[-3:-2] not in "aeiouy" else _SILENT.sub("", plain)
    )
    return max(1, len(_VOWELS.findall(spoken)) + len(_TWO_VOWELS.findall(spoken)))


# -- emoji ---------------------------------------------------------------------------------------

#: Code points that are emoji by themselves (Unicode's emoji-data, without digits and ``#*``).
_EMOJI = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf"
    "\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e"
    "\u2611\u2614\u2615\u2618\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640"
    "\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699"
    "\u269b\u269c\u26a0\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce"
    "\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d"
    "\u270f\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755"
    "\u2757\u2763\u2764\u2795-\u2797\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50"
    "\u2b55\u3030\u303d\u3297\u3299\U0001f004\U0001f0cf\U0001f170\U0001f171\U0001f17e\U0001f17f"
    "\U0001f18e\U0001f191-\U0001f19a\U0001f201\U0001f202\U0001f21a\U0001f22f\U0001f232-\U0001f23a"
    "\U0001f250\U0001f251\U0001f300-\U0001f321\U0001f324-\U0001f393\U0001f396\U0001f397"
    "\U0001f399-\U0001f39b\U0001f39e-\U0001f3f0\U0001f3f3-\U0001f3f5\U0001f3f7-\U0001f4fd"
    "\U0001f4ff-\U0001f53d\U0001f549-\U0001f54e\U0001f550-\U0001f567\U0001f56f\U0001f570"
    "\U0001f573-\U0001f57a\U0001f587\U0001f58a-\U0001f58d\U0001f590\U0001f595\U0001f596\U0001f5a4"
    "\U0001f5a5\U0001f5a8\U0001f5b1\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4\U0001f5d1-\U0001f5d3"
    "\U0001f5dc-\U0001f5de\U0001f5e1\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3\U0001f5fa-\U0001f64f"
    "\U0001f680-\U0001f6c5\U0001f6cb-\U0001f6d2\U0001f6d5-\U0001f6d8\U0001f6dc-\U0001f6e5"
    "\U0001f6e9\U0001f6eb\U0001f6ec\U0001f6f0\U0001f6f3-\U0001f6fc\U0001f7e0-\U0001f7eb\U0001f7f0"
    "\U0001f90c-\U0001f93a\U0001f93c-\U0001f945\U0001f947-\U0001f9ff\U0001fa70-\U0001faff]"
)


def is_emoji(sign: str) -> bool:
    """Return whether this one character is an emoji."""
    return _EMOJI.fullmatch(sign) is not None
