"""In which language a text is, as ``langdetect`` sees it, by a seed that never changes."""

from __future__ import annotations

from functools import cache
from typing import Any

_SEED = 0
_LONGEST = 10_000  # characters that are looked at, as by the library itself
_SCRIPTS = {"zh": ("zh-cn", "zh-tw")}


@cache
def _factory() -> Any:
    """Return the library's profiles, loaded once; the library's own global seed is left alone."""
    from langdetect import detector_factory

    factory = detector_factory.DetectorFactory()
    factory.load_profile(detector_factory.PROFILES_DIRECTORY)
    return factory


def languages() -> list[str]:
    """Return the codes that can be told: ISO 639-1, and ``zh-cn`` and ``zh-tw``."""
    return sorted([*_factory().langlist, *_SCRIPTS])


def language_of(text: str) -> str:
    """Return the code of the language, or ``""`` for a text without letters."""
    from langdetect.lang_detect_exception import LangDetectException

    detector = _factory().create()
    detector.seed = _SEED
    detector.append(text[:_LONGEST])
    try:
        return str(detector.detect())
    except LangDetectException:
        return ""


def is_language(text: str, language: str) -> bool:
    """Return whether ``text`` is in ``language``; ``zh`` is either way of writing Chinese."""
    return language_of(text) in _SCRIPTS.get(language, (language,))


def may_be_language(text: str, language: str) -> bool:
    """As the official checker: what has no letters may be in any language."""
    return language_of(text) in ("", *_SCRIPTS.get(language, (language,)))


def some_language(value: Any) -> str:
    """Return what an argument must be, or ``""`` if it is."""
    known = isinstance(value, str) and value in languages()
    return "" if known else f"a code of a language, one of {', '.join(languages())}"
