"""Whether an answer says something of its topic, or only names it.

What counts is what an answer says beyond its prompt: how many different words of the topic's field
are the answer's own, for its length; and whether things stand where things can stand. That an
answer also speaks of other things is no fault. A pure function of text, prompt and topic, in time
linear in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from .counting import sentences
from .fields import ANY, field_of
from .gates import COMMON, is_broken
from .topics import Topic

_LETTERS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
#: What ends a run of words: punctuation that is no hyphen or apostrophe, and line ends.
_BREAKS = re.compile(r"[^\w\s'\u2019-]+|\n")
#: Words that begin a new thing, so that in honest prose no thing stands right before them.
_BEGIN = frozenset("the a an my your his its our every each".split())

#: Words that tell anything: of so few, and in a single sentence, one of the field's is enough where
#: the topic is named; of so many or fewer, two different ones; of more, three.
_FEW, _MANY = 3, 45
_LEAST_SHARE = 0.08  # of the words that tell, those of the field
_LEAST_AGAINST = 0.3  # words of the field for each word that tells of something else
_MOST_ODD = 0.6  # oddities of place for each word of the field
_MOST_ODD_IN_LONG = 0.9
_LONG = 50  # words of the field, and of other things
#: Of so many words or more, the largest share that is of the field: more is a list.
_MOST_DENSE = ((8, 0.7), (20, 0.55))
_STEM = 5  # letters; words that share them are one word

#: Runs of (word, kind), in order. A "thing" and a "field" word are of the topic's field, "near"
#: comes up with it, "asked" are those of the field that the prompt has too, "said" its other words;
#: "any" go with any topic, "small" hold sentences together, "foreign" tell of something else.
Runs = list[list[tuple[str, str]]]
_OF_FIELD = ("thing", "field", "asked")
_OWN = ("thing", "field", "near")
_TELLING = (*_OF_FIELD, "any", "foreign")


def beside_the_topic(response: str, prompt: str, topic: Topic) -> str:
    """Return the name of the gate that ``response`` does not pass, or ``""``."""
    if is_broken(response):
        return "no prose"
    asked = frozenset(_words(prompt))
    runs = _runs(response, asked, topic)
    kinds = Counter(kind for run in runs for _, kind in run)
    own = {word[:_STEM] for run in runs for word, kind in run if kind in _OWN}
    if not own:
        return "only words of the prompt" if kinds["asked"] else "off the topic"
    owned = sum(kinds[kind] for kind in _OWN)
    said = owned + kinds["any"] + kinds["foreign"]
    short = kinds["asked"] > 0 and (said <= _FEW or sentences(response) == 1)
    if (
        len(own) < (1 if short else 2 if said <= _MANY else 3)
        or owned < _LEAST_SHARE * said
        or owned < _LEAST_AGAINST * kinds["foreign"]
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
    field, repeated = field_of(topic.name), _is_asked(word, asked, topic)
    if field.has(word):
        return "asked" if repeated else "thing" if field.is_thing(word) else "field"
    if word in COMMON or len(word) < 3:
        return "small"
    if repeated:
        return "said"
    return "near" if field.is_near(word) else "any" if ANY.has(word) else "foreign"


def _is_asked(word: str, asked: frozenset[str], topic: Topic) -> bool:
    """Return whether the prompt has this word, in this form or in a like one."""
    return (
        word in asked
        or f"{word}s" in asked
        or word.removesuffix("s") in asked
        or (len(topic.root) > 3 and word.startswith(topic.root))
    )


def _strewn(runs: Runs, kinds: Counter[str]) -> bool:
    """Return whether words of the field stand where none would, or make a list."""
    field = odd = 0
    for run in runs:
        if any(kind in ("thing", "field") for _, kind in run):  # not what only names the topic
            field += sum(kind in _OF_FIELD for _, kind in run)
            odd += _oddities(run)
    words, all_of_field = kinds.total(), sum(kinds[kind] for kind in _OF_FIELD)
    dense = any(words >= least and all_of_field > share * words for least, share in _MOST_DENSE)
    most = _MOST_ODD if field + kinds["foreign"] <= _LONG else _MOST_ODD_IN_LONG
    return dense or odd > max(1, most * field)


def _oddities(run: Sequence[tuple[str, str]]) -> int:
    """Return how often a word of the field stands beside what it seldom stands beside."""
    odd = 0
    padded = [("", ""), *run, ("", "")]
    for (_, left), (_, kind), (after, right) in zip(padded, run, padded[2:], strict=False):
        if kind in _OF_FIELD:
            odd += kind != "field" and after in _BEGIN
            odd += "foreign" in (left, right)
            odd += left in _TELLING and right in _TELLING
    return odd
