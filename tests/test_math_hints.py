"""A pattern with hints finds what it finds without them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mint_envs.math.prose import conclusion, cues, languages, phrases, prose
from mint_envs.math.prose.hinted import Hinted, hinted

HINTED = {
    name: value
    for module in (conclusion, cues, languages, phrases, prose)
    for name, value in vars(module).items()
    if isinstance(value, Hinted)
}
#: The patterns that ``corrected`` tries where one of its words stands.
CORRECTING = ("_TURNS", "_TURNS_TO", "_CANCELS")


@cache
def sentences() -> tuple[str, ...]:
    """The lines of all responses of the test data."""
    found: set[str] = set()
    for path in sorted((Path(__file__).parent / "data").glob("math_*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            found |= set(str(json.loads(line).get("response", "")).split("\n"))
    return tuple(sorted(found))


def drawn(pattern: re.Pattern[str]) -> st.SearchStrategy[str]:
    """Texts that a pattern finds; Hypothesis knows no atomic groups."""
    loose = pattern.pattern.replace("(?>", "(?:")
    for sign in "*+?}":
        loose = loose.replace(f"{sign}+", sign)
    return st.from_regex(
        re.compile(loose, pattern.flags), alphabet=st.characters(max_codepoint=0x7F)
    )


def test_there_are_patterns_with_hints() -> None:
    assert {"RESTATES", "GIVES_UP", "PLANS", "NUMBERED", "DENIED", "_DENIED_VALUE"} <= HINTED.keys()


@pytest.mark.parametrize("name", HINTED)
def test_a_hint_is_in_what_the_pattern_finds_in_our_data(name: str) -> None:
    one = HINTED[name]
    found = [text for text in sentences() if one.pattern.search(text)]
    assert [text for text in sentences() if one.search(text)] == found


@pytest.mark.parametrize("name", HINTED)
def test_a_hint_is_in_all_that_the_pattern_may_find(name: str) -> None:
    one = HINTED[name]

    @settings(suppress_health_check=list(HealthCheck), deadline=None)
    @given(drawn(one.pattern))
    def check(text: str) -> None:
        assert one.may_match(text) or not one.pattern.search(text)

    check()


@pytest.mark.parametrize("name", CORRECTING)
def test_a_word_of_correction_is_in_all_that_corrects(name: str) -> None:
    pattern = getattr(cues, name)
    words = Hinted(pattern, cues._OF_CORRECTION)

    @settings(suppress_health_check=list(HealthCheck), deadline=None)
    @given(drawn(pattern))
    def check(text: str) -> None:
        assert words.may_match(text) or not pattern.search(text)

    check()


def test_a_text_without_the_words_is_not_searched() -> None:
    one = hinted("five|six", "five, six")
    assert one.search("Five")
    assert one.match("six")
    assert one.sub("7", "FIVE or six") == "7 or 7"
    assert hinted("five|six", "five").search("six") is None
