"""Makers of IFBench's kinds ``words:`` and ``sentence:``."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from ..counting import syllables
from ..kinds.plain import bare_words
from .maker import Drawn, Maker, Scene, adds, lower_first, numbers, rare_words, swaps, upper_first

_BY_LETTER = (
    "apples bring cool days each fine garden has inside joy keeps light morning near old people "
    "quietly rest so today under very warm xylem yields zest"
).split()
_CLUSTERED = (
    "fresh strong small things bring bright warmth across children think plants rest".split()
)
_CLUSTER = re.compile("[bcdfghjklmnpqrstvwxyz]{2}")
_PALINDROMES = (
    "civic level radar refer rotor kayak madam minim tenet solos stats rotator reviver deified"
).split()
_PRIMES = (2, 3, 5, 7, 11, 13)
_ONE = "warm good calm small bright clear great kind fresh long".split()
_TWO = "water gentle simple happy morning summer silent golden open".split()
#: Sentences that may end after any word from the third on.
_LONG = (
    "I like {0} and {1} so very much that we often talk of it",
    "You can see {2} and {3} with it on most of the good days here",
    "We know {0} by {4} and by {5} and by all that it gives us today",
)
_ALLITERATIVE = ("We want it.", "They think that can do.", "Here he helped his own.")


def _first_letters_apart(sentences: list[str], step: int | None) -> str:
    """Chain sentences in which no two neighbours begin alike, or ``step`` letters apart."""
    chosen: list[str] = []
    for sentence in sentences:
        words = bare_words(" ".join([*chosen, sentence]).lower())
        gaps = [ord(after[0]) - ord(one[0]) for one, after in pairwise(words)]
        if (step or 0) not in gaps:
            chosen.append(sentence)
    return " ".join(chosen)


def letters_apart(scene: Scene, step: int) -> str:
    spare = f"{upper_first(scene.noun)} can help many of us."
    return _first_letters_apart([*scene.some(6), spare, "Go see it."], step)


def _alphabet(scene: Scene, given: Drawn) -> str:
    begin = ord(scene.noun[0]) - ord("a")
    count = scene.number(6, 12)
    rest = [_BY_LETTER[(begin + i) % 26] for i in range(1, count)]
    return upper_first(" ".join([scene.noun, *rest])) + "."


def _topic_words(scene: Scene) -> list[str]:
    return [scene.noun, *scene.topic.words, *scene.topic.related]


def _few_vowels(scene: Scene, given: Drawn) -> str:
    word = next(w for w in _topic_words(scene) if len(set(w) & set("iou")) < 2)
    return (
        f"Let me tell what the {word} we see can be. We all need the best. The fresh, the well "
        f"made, the {scene.pick(('dear', 'sweet', 'great', 'clean'))}."
    )


def _clusters(scene: Scene, given: Drawn) -> str:
    about = [word for word in _topic_words(scene) if _CLUSTER.search(word)]
    order = scene.rng.permutation(len(_CLUSTERED))
    return " ".join([*about[:3], *(_CLUSTERED[int(i)] for i in order[:6])])


def _primes(scene: Scene, given: Drawn) -> str:
    about = [word for one in _topic_words(scene) for word in (one, f"{one}s")]
    word = next(word for word in about if len(word) in _PRIMES)
    what = scene.pick(("enjoy", "think of", "learn of", "see"))
    return f"You may see {word} in the early hours and all of us {what} it."


def _not_often(scene: Scene, given: Drawn) -> str:
    chosen: list[str] = []
    for sentence in scene.some(6):
        words = bare_words(" ".join([*chosen, sentence]).lower())
        if max(Counter(words).values()) <= given["small_n"]:
            chosen.append(sentence)
    return " ".join(chosen)


def _later(scene: Scene) -> str:
    """Return a word of the topic that does not begin as the words before it."""
    return next(word for word in scene.topic.words if word[0] not in f"o{scene.noun[0]}")


def _alternating(scene: Scene, given: Drawn) -> str:
    words = [scene.noun]
    for _ in range(scene.number(5, 9)):
        words.append(scene.pick(_TWO if syllables(words[-1]) % 2 else _ONE))
    return upper_first(" ".join(words)) + "."


def _same_parity(scene: Scene, given: Drawn, text: str) -> str:
    last = text.split()[-1]
    return f"{text} {scene.pick(_ONE if syllables(last) % 2 else _TWO)}"


def _chained(scene: Scene, given: Drawn) -> str:
    noun = scene.noun
    lines = [f"Many of us think of {noun}.", f"{upper_first(noun)} can be part of a good day.",
             "Day by day we learn more.", "More of it is always welcome."]  # fmt: skip
    return " ".join(lines[: scene.number(2, 4)])


def _framed(scene: Scene, given: Drawn) -> str:
    noun = scene.noun
    one, two, three, *_ = scene.topic.words
    lines = [f"{upper_first(noun)} has {one} and {two} and all that I like of {noun}.",
             f"People think of {three} and speak of it to people.",
             "Days with it are good days."]  # fmt: skip
    return "\n".join(lines[: scene.number(1, 3)])


def _growing(scene: Scene, given: Drawn) -> str:
    first = scene.number(3, 4)
    lengths = [first + i * given["small_n"] for i in range(3)]
    words = [line.format(scene.noun, *scene.topic.words).split() for line in _LONG]
    return " ".join(f"{' '.join(w[:n])}." for w, n in zip(words, lengths, strict=True))


def _keyword_there(scene: Scene, given: Drawn) -> str:
    said = scene.some(5)
    said[given["N"] - 1] = f"Here I must speak of {given['word']}."
    return " ".join(said)


def _draw_place(scene: Scene) -> Drawn:
    return {
        "keyword": scene.pick(scene.topic.words),
        "n": scene.number(1, 4),
        "m": scene.number(2, 6),
    }


def word_in_place(scene: Scene, given: Drawn) -> str:
    before = ["Then", "we", "also", "speak", "of"][: given["m"] - 1]
    said = scene.some(4)
    said[given["n"] - 1] = " ".join([*before, given["keyword"], "with", "joy."])
    return " ".join(said)


def word_moved(scene: Scene, given: Drawn, text: str) -> str:
    return text.replace(
        " ".join(["Then", "we", "also", "speak", "of"][: given["m"] - 1]),
        "And right here and now it is",
        1,
    )


def _second(scene: Scene, given: Drawn) -> str:
    word = given["keyword"]
    return f"My {word} is here. {scene.say(2)} I like my {word} today."


WORDING: dict[str, Maker] = {
    "words:alphabet": Maker(
        ("Each word must begin with the letter of the alphabet that follows that of the word "
         "before; A follows Z.",),
        _alphabet, lambda scene, given, text: f"{text} {text.split()[-1]}", form="words"),
    "words:vowel": Maker(
        ("Write one paragraph in which at most three different vowels occur.",), _few_vowels,
        adds(" I do so, you do it."), form="words"),
    "words:consonants": Maker(
        ("Each word must have two consonants that stand together.",), _clusters, adds(" again"),
        form="words"),
    "words:palindrome": Maker(
        ("Include at least ten different palindromes of one word, each of five letters or more.",),
        lambda scene, given: (
            f"{scene.say(2)} These read the same from both ends: {', '.join(_PALINDROMES[:10])}."
        ),
        lambda scene, given, text: text.replace(scene.pick(_PALINDROMES[:10]), "window")),
    "words:prime_lengths": Maker(
        ("Use only words whose number of letters is a prime number.",), _primes, adds(" Good so."),
        form="words"),
    "words:start_verb": Maker(
        ("Begin with a verb.",),
        lambda scene, given: f"{scene.pick(('Think of', 'Consider', 'Imagine', 'Enjoy'))} "
                             f"{scene.topic.name}. {scene.say(2)}",
        lambda scene, given, text: f"The answer: {lower_first(text)}"),
    "words:repeats": Maker(
        ("Use no word more than {small_n} times.",), _not_often,
        lambda scene, given, text: f"{text} {scene.noun}" + f" {scene.noun}" * given["small_n"],
        numbers(small_n=(2, 4))),
    "words:odd_even_syllables": Maker(
        ("Words with an odd and with an even number of syllables must take turns.",),
        _alternating, _same_parity, form="words"),
    "words:no_consecutive": Maker(
        ("No two words that follow each other may begin with the same letter.",),
        lambda scene, given: letters_apart(scene, 0), adds(" big blue balls"), form="words"),
    "words:last_first": Maker(
        ("Each sentence must begin with the last word of the one before.",), _chained,
        adds(" Then there is more. It goes on.")),
    "words:paragraph_last_first": Maker(
        ("Each line must end with the word it began with.",), _framed, adds("\nIt ends so.")),
    "words:keywords_specific_position": Maker(
        ('The word "{keyword}" must be word {m} of sentence {n}.',), word_in_place, word_moved,
        _draw_place),
    "words:words_position": Maker(
        ('The second word and the last word but one must both be "{keyword}".',), _second,
        swaps("My {keyword}", "My very own {keyword}"), lambda scene: {"keyword": scene.noun}),
    "sentence:alliteration_increment": Maker(
        ("Each sentence must have more neighbouring words with the same first letter than the one "
         "before.",),
        lambda scene, given: " ".join([
            f"I enjoy {scene.noun} of {_later(scene)}.", *_ALLITERATIVE[: scene.number(1, 3)]]),
        adds(" It ends here now.")),
    "sentence:increment": Maker(
        ("Each sentence must have exactly {small_n} words more than the one before.",), _growing,
        lambda scene, given, text: f"{text[:-1]} indeed.", numbers(small_n=(1, 3))),
    "sentence:keyword": Maker(
        ('Sentence {N} must contain the word "{word}".',), _keyword_there, swaps("{word}", "it"),
        lambda scene: {"word": rare_words(scene, 1)[0], "N": scene.number(1, 5)}),
}  # fmt: skip
