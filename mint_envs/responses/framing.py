"""What stands round the answer in a right response."""

from __future__ import annotations

import re

#: Forms in which a prompt may ask for the answer: (before it, the answer, after it).
_FORMS = tuple(
    re.compile(pattern, re.DOTALL | re.IGNORECASE)
    for pattern in (
        r"(.*?\\boxed\{)(.*)(\}[^{}]*)",
        r"(.*<answer>)(.*)(</answer>.*)",
        r"(.*####\s*)(\S.*)()",
        r"((?:the )?(?:final )?answer(?: is|:)\s*)(\S.*?)(\.?)",
        r"(\$\$?)([^$]+)(\$\$?)",
    )
)


def framed(gold: str) -> tuple[str, str, str]:
    r"""Return what stands before the answer in a right response, the answer, and what follows it.

    ``"\\boxed{7}"`` is ``("\\boxed{", "7", "}")``; of a bare answer the first and last are empty.
    """
    for form in _FORMS:
        if found := form.fullmatch(gold):
            return found[1], found[2], found[3]
    return "", gold, ""
