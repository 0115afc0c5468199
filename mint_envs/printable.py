"""Text of models on a terminal: what would steer it becomes visible."""

from __future__ import annotations

import unicodedata


def readable(text: str) -> str:
    """``text`` without what would steer a terminal: control signs become visible escapes."""
    return "".join(
        sign if sign in "\n\t" or unicodedata.category(sign)[0] != "C" else _escaped_sign(sign)
        for sign in text.replace("\r\n", "\n")
    )


def _escaped_sign(sign: str) -> str:
    return f"\\x{ord(sign):02x}" if ord(sign) < 256 else f"\\u{ord(sign):04x}"
