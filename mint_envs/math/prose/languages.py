"""What announces and denies an answer in other languages than English and Chinese.

Hindi, Arabic, Japanese, Korean, Russian, Vietnamese, French, Portuguese, Spanish, German, Italian.
"""

from __future__ import annotations

import re

from .hinted import has_one, hinted

_RIGHT = (  # what stands between the word for "answer" and that for "is"
    "final|finale|correcte|correcta|correta|certa|richtige|corretta|giusta|đúng|chính xác|cuối cùng"
    "|النهائية|النهائي|الصحيحة|الصحيح"
)
_IS = rf"\s*(?:{_RIGHT})?[*_\s]*"
#: To be one of the alternatives of a pattern that ignores case.
ANNOUNCES = (
    rf"\b(?:la |a |die )?(?:bonne |richtige )?(?:réponse|resposta|respuesta|antwort|risposta){_IS}"
    r"(?:est(?!\s+pas)|é|è|es|ist|lautet|[:：])"
    rf"|\bđáp (?:án|số){_IS}(?:là|[:：])|\bответ{_IS}(?:равен|[:：—–-]|(?=\s\d))"
    rf"|(?:उत्तर|जवाब){_IS}[:：]?(?=\s*(?:[-\d$\\]|\(?[A-J]\)?\s?है))|(?:الإجابة|الجواب){_IS}(?:هو|هي|[:：])"
    r"|(?:答え|解答)(?:は|[:：])|(?:정답|답)(?:은|는|[:：])"
)
#: Letters that no formula has: with one of them a text with a value is a sentence.
LETTERS = re.compile(
    "[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff\u0400-\u04ff\u0600-\u065f"
    "\u066e-\u06ef\u0900-\u0965\u0970-\u097f\u3040-\u30ff\uac00-\ud7af]"
)
DENIES = hinted(
    r"\bn['’]est pas\b|\bne \w+ pas\b|\bnão\b|\bno es\b|\bnicht\b|\bnon è\b|\bне\b|\bkhông\b"
    r"|नहीं|ليس|ليست|ではな|じゃない|ではありません|아니|아닙",
    "pas, não, no es, nicht, non è, не, không, नहीं, ليس, ではな, じゃない, ではあり, 아니, 아닙",
)


def may_announce(text: str) -> bool:
    """Whether ``text`` may be in one of these languages; quick to say of most texts."""
    if not text.isascii() and LETTERS.search(text):
        return True
    return has_one(("posta", "puesta", "ntwort"), text)
