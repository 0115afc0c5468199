"""What several kinds look at: words without signs, lines that are not blank."""

from __future__ import annotations

import string

#: ASCII's punctuation; other signs belong to words, as they do for the official checkers.
SIGNS = string.punctuation
_NO_SIGNS = str.maketrans("", "", SIGNS)


def without_signs(text: str) -> str:
    return text.translate(_NO_SIGNS)


def bare_words(text: str) -> list[str]:
    """Return the words without punctuation; ``well-known`` is one."""
    return without_signs(text).split()


def trimmed(word: str) -> str:
    """Return ``word`` without punctuation and spaces at its ends."""
    return word.strip(SIGNS + " ")


def full_lines(text: str) -> list[str]:
    """Return the lines that hold something."""
    return [line for line in text.split("\n") if line.strip()]
