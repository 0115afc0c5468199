"""Whether an answer is about its topic, or only names it.

What counts is which words there are beside those that go with any topic: those of the topic's field
against all others; whether some are the answer's own and not the prompt's; whether most sentences
have some; and whether things stand where things can stand. A pure function of text, prompt and
topic, in time linear in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from .counting import split_sentences
from .fields import ANY, field_of
from .gates import COMMON
from .topics import Topic

_LETTERS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
#: What ends a run of words: punctuation that is no hyphen or apostrophe, and line ends.
_BREAKS = re.compile(r"[^\w\s'\u2019-]+|\n")
#: Words that begin a new thing, so that in honest prose no thing stands right before them.
_BEGIN = frozenset("the a an my your his its our every each".split())

#: What says something of a topic that stands before it.
_VERBS = frozenset(
    "is are was were can has have make makes help helps give gives bring brings offer offers "
    "provide provides play plays need needs keep keeps live lives come comes let lets show "
    "shows".split()
)

_SHORT = 14  # words that tell; of more, honest prose wanders
_LEAST_SHARE = 0.24  # of the words that tell, those of the field
_LEAST_SENTENCES = 0.4  # of a short answer's sentences, more are on the topic
_MOST_ODD = 0.68  # oddities of place for each word of the field
_MOST_ODD_IN_LONG = 0.9
_LONG = 50  # words that tell
_MOST_DENSE = 0.7  # of all words, those of the field: more is a list

#: Runs of (word, kind), in order. A "thing" and a "field" word are of the topic's field, "asked"
#: are those that the prompt has too; "any" go with any topic, "small" hold sentences together, and
#: what is "foreign" tells of something else.
Runs = list[list[tuple[str, str]]]
_OF_FIELD = ("thing", "field", "asked")
_TELLING = (*_OF_FIELD, "any", "foreign")
_SAID = (*_OF_FIELD, "any")


def beside_the_topic(response: str, prompt: str, topic: Topic) -> str:
    """Return the name of the gate that ``response`` does not pass, or ``""``."""
    asked = frozenset(_words(prompt))
    runs = _runs(response, asked, topic)
    kinds = Counter(kind for run in runs for _, kind in run)
    field, telling = _telling(kinds)
    if not field:
        return "off the topic"
    own = {word for run in runs for word, kind in run if kind in ("thing", "field")}
    if len(own) < (1 if telling < 8 else 2 if telling < 20 else 3) and not _says(runs):
        return "only words of the prompt"
    if field < _LEAST_SHARE * telling or (
        telling <= _SHORT and not _spread(response, asked, topic)
    ):
        return "beside the topic"
    return "words strewn in" if _strewn(runs, kinds) else ""


def _words(text: str) -> list[str]:
    return [word.lower().replace("\u2019", "'") for word in _LETTERS.findall(text)]


def _runs(text: str, asked: frozenset[str], topic: Topic) -> Runs:
    return [
        [(word, _kind(word, asked, topic)) for word in _words(run)] for run in _BREAKS.split(text)
    ]


def _kind(word: str, asked: frozenset[str], topic: Topic) -> str:
    word = word.partition("'")[0]  # it's, the moon's
    field = field_of(topic.name)
    if field.has(word):
        return "asked" if word in asked else "thing" if field.is_thing(word) else "field"
    if word in COMMON or len(word) < 3:
        return "small"
    return "any" if word in asked or ANY.has(word) else "foreign"


def _says(runs: Runs) -> bool:
    """Return whether a run begins with the topic, and says what it is or does.

    ``Bicycles are a wonderful way to see the world`` does, with none of its field's words.
    """
    for run in runs:
        kinds = [kind for _, kind in run]
        first = next((i for i, kind in enumerate(kinds[:3]) if kind in _OF_FIELD), len(run))
        verb = next((i for i, (word, _) in enumerate(run[:7]) if word in _VERBS), 0)
        if first < verb <= first + 4 and sum(kind in _SAID for kind in kinds[verb:]) >= 2:
            return True
    return False


def _telling(kinds: Counter[str]) -> tuple[int, int]:
    """Return how many words are of the field, and how many tell anything."""
    field = sum(kinds[kind] for kind in _OF_FIELD)
    return field, field + kinds["foreign"]


def _spread(response: str, asked: frozenset[str], topic: Topic) -> bool:
    """Return whether most sentences that tell anything tell of the topic, in words of their own."""
    parts = (part for one in split_sentences(response) for part in one.split("\n"))
    worth = [_on_topic(_runs(part, asked, topic)) for part in parts]
    telling = [one for one in worth if one is not None]
    return not telling or sum(telling) > _LEAST_SENTENCES * len(telling)


def _on_topic(runs: Runs) -> float | None:
    """Return 1 for a sentence on the topic, 0 for one on something else, None for neither."""
    kinds = Counter(kind for run in runs for _, kind in run)
    own, foreign = kinds["thing"] + kinds["field"], kinds["foreign"]
    if not own and not foreign:
        return None
    if own > foreign or _says(runs):
        return 1.0
    return 0.5 if own == foreign == 1 or own + kinds["asked"] > foreign else 0.0


def _strewn(runs: Runs, kinds: Counter[str]) -> bool:
    """Return whether words of the field stand where none would, or make a list."""
    field, telling = _telling(kinds)
    most = _MOST_ODD if telling <= _LONG else _MOST_ODD_IN_LONG
    odd = 0.0
    for run in runs:
        padded: Sequence[tuple[str, str]] = [("", ""), *run, ("", "")]
        for (_, left), (_, kind), (after, right) in zip(padded, run, padded[2:], strict=False):
            if kind in _OF_FIELD:
                odd += 2 * (kind != "field" and after in _BEGIN)
                odd += "foreign" in (left, right)
                odd += left in _TELLING and right in _TELLING
    return odd > most * field or (kinds.total() > 7 and field > _MOST_DENSE * kinds.total())
