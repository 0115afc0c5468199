"""The verdict on a numeric answer: integers and decimals, exactly.

A false reward is worse than a missed one, so a response that offers two different numbers
without saying which is meant earns nothing.
"""

from __future__ import annotations

import re
from fractions import Fraction

from ..core import Reward

_NUMBERS = re.compile(r"(?<![\w.])[-+\u2212]?\$?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?![\w])")
_MARKED = re.compile(
    r"####|</?answer>|\\boxed\{|\b(?:final )?answer(?: is)?\s*[:=]?", re.IGNORECASE
)
_MAX_DIGITS = 400


def grade(gold: str, response: str) -> Reward:
    """Return 1 if the one answer that ``response`` gives equals ``gold`` as a number, else 0.

    Args:
        gold: an integer or decimal, e.g. ``"72"``, ``"-3.50"``, ``"1,234"``.
        response: any text. The answer is what follows the last marker (``####``, ``<answer>``,
            ``\\boxed{``, "answer is") or the last ``=``; else the only number in the text.

    Returns:
        ``Reward`` with ``metadata``: ``verdict`` (``"equal"``, ``"different"`` or ``"unknown"``)
        and ``extracted``, the answer as written.
    """
    wanted = number(gold)
    answer = extract(response)
    given = number(answer)
    if given is None or wanted is None:
        return Reward(0.0, metadata={"verdict": "unknown", "extracted": answer})
    equal = given == wanted
    verdict = "equal" if equal else "different"
    return Reward(float(equal), metadata={"verdict": verdict, "extracted": answer})


def extract(response: str) -> str:
    """Return the number that ``response`` gives as its answer, or ``""``."""
    text = response.rpartition("</think>")[2]
    marks = list(_MARKED.finditer(text.removesuffix("</answer>")))
    if marks:
        text = text[marks[-1].end() :]
    elif "=" in text:
        text = text.rpartition("=")[2]
    found = _NUMBERS.findall(text)
    values = {number(item) for item in found}
    return str(found[0]) if len(values) == 1 and None not in values else ""


def number(text: str) -> Fraction | None:
    """Return ``text`` as an exact number, or None."""
    plain = text.strip().replace("\u2212", "-").replace(",", "").replace("$", "")
    if len(plain) > _MAX_DIGITS or not re.fullmatch(
        r"[-+]?\d+(\.\d+)?|[-+]?\.\d+", plain, re.ASCII
    ):
        return None
    return Fraction(plain)
