"""Makers of IF-RLVR's kinds."""

from __future__ import annotations

import re

from ..counting import words_in
from ..topics import OPENERS
from .ifbench_wording import letters_apart, word_in_place, word_moved
from .maker import Drawn, Maker, Scene, adds, lower_first, numbers, rare_words, swaps, upper_first

_STARS = "\n***\n"
_FILLED = "it is good and warm and we like it very much today as you can see".split()
_OTHERS = ("love", "want", "need", "know")


def _repeated(scene: Scene) -> Drawn:
    return {"prompt_to_repeat": scene.request}


def _same_again(scene: Scene, given: Drawn) -> str:
    return str(given["prompt_to_repeat"])


def _phrases(scene: Scene, given: Drawn) -> str:
    lines = [given["phrase"].replace("like", other) for other in _OTHERS[: given["small_n"]]]
    return "\n".join(lines)


def _draw_span(scene: Scene) -> Drawn:
    begin = scene.number(0, 8)
    return {
        "prompt_to_repeat": scene.request,
        "n_start": begin,
        "n_end": begin + scene.number(4, 9),
    }


def _characters(scene: Scene, given: Drawn) -> str:
    return str(given["prompt_to_repeat"][given["n_start"] : given["n_end"] + 1])


def _keyword_often(scene: Scene, given: Drawn) -> str:
    times = given.get("frequency", 1)
    if given.get("relation") == "less than":
        times -= 1
    frames = ("I think of {0} too.", "We like {0} a lot.", "There is {0} in it.", "You need {0}.")
    said = [frames[i % 4].format(given["keyword"]) for i in range(times)]
    return " ".join([scene.say(2), *said])


def _not_as_often(scene: Scene, given: Drawn, text: str) -> str:
    if given["relation"] == "less than":
        return f"{text} Here is {given['keyword']}."
    return text.replace(given["keyword"], "it", 1)


def _draw_frequency(scene: Scene) -> Drawn:
    relation = scene.pick(("at least", "less than"))
    return {
        "keyword": rare_words(scene, 1)[0],
        "frequency": scene.number(1, 4),
        "relation": relation,
    }


def _without_keyword(scene: Scene, given: Drawn) -> str:
    word = re.compile(rf"\b{given['keyword']}\b", re.IGNORECASE)
    said = [one for one in scene.some(6) if not word.search(one)][:3]
    return " ".join([*said, f"I can tell you more about {scene.topic.name}."])


def _opened(scene: Scene, given: Drawn) -> str:
    return " ".join(
        f"{upper_first(given['first_word'])} {lower_first(one)}" for one in scene.some(3)
    )


def _closed(scene: Scene, given: Drawn) -> str:
    return " ".join(f"{one[:-1]} {given['last_word']}." for one in scene.some(3))


def _pairs(scene: Scene, given: Drawn) -> str:
    words = scene.say(3).split()
    words = words[: len(words) // 2 * 2]
    return " ".join(f"<<{a} {b}>>" for a, b in zip(words[::2], words[1::2], strict=True))


def _few_small(scene: Scene, given: Drawn) -> str:
    return f"{scene.say(2).upper()} {' '.join(_FILLED[: given['N']])}"


def _some_letters(scene: Scene, given: Drawn) -> str:
    return scene.say(1 if given["relation"] == "less than" else 4)


def _draw_letters(scene: Scene) -> Drawn:
    relation = scene.pick(("at least", "less than"))
    most = (20, 60) if relation == "at least" else (90, 140)
    return {"N": scene.number(*most), "relation": relation}


def _other_side(scene: Scene, given: Drawn, text: str) -> str:
    if given["relation"] == "less than":
        return scene.say(6)
    return "".join(re.findall(r"[a-z ]", text, re.IGNORECASE))[: given["N"] - 1]


def _letter(scene: Scene, given: Drawn) -> str:
    few = given["let_relation"] == "less than"
    count = "".join(scene.topic.sentences).lower().count(given["letter"])
    said = scene.say(1 if few else 6)
    missing = 0 if few else max(0, given["let_frequency"] - count)
    text = " ".join([said, *(f"Say {given['letter']}." for _ in range(missing))])
    return text if not few else _fewer(text, given)


def _fewer(text: str, given: Drawn) -> str:
    """Leave out words with the letter until there are few enough."""
    words = text.split()
    while " ".join(words).lower().count(given["letter"]) >= given["let_frequency"]:
        words.remove(next(word for word in words if given["letter"] in word.lower()))
    return " ".join(words)


def _other_letter_count(scene: Scene, given: Drawn, text: str) -> str:
    if given["let_relation"] == "less than":
        return f"{text} {' '.join(given['letter'] * given['let_frequency'])}"
    return _fewer(text, given)


def _draw_letter(scene: Scene) -> Drawn:
    relation = scene.pick(("at least", "less than"))
    letters, ends = ("abhilnors", (4, 8)) if relation == "at least" else ("cdfgmpuvwy", (2, 5))
    return {
        "letter": scene.pick(letters),
        "let_relation": relation,
        "let_frequency": scene.number(*ends),
    }


#: Sentences of five words, and what may follow them.
_FIVE = (
    "I think {0} can help", "You say {0} can cheer", "They find {0} can comfort",
    "We hear {0} can please", "Many hope {0} can last", "Nobody doubts {0} can delight",
    "Some trust {0} can calm", "Others feel {0} can amuse", "All agree {0} can gladden",
)  # fmt: skip
_TAILS = {5: ".", 6: " us.", 7: " us all.", 8: " you every day."}


def _composed(scene: Scene, given: Drawn) -> str:
    about = (scene.noun, *scene.topic.words)
    lines = (line.format(about[i % len(about)]) for i, line in enumerate(_FIVE))
    tail = _TAILS[given["n_words"]]
    paragraphs = [" ".join(next(lines) + tail for _ in range(given["n_sent"])) for _ in range(3)]
    return str(scene.pick((_STARS, "\n* * *\n"))).join(paragraphs)


def _no_word_twice(scene: Scene, given: Drawn) -> str:
    chosen: list[str] = []
    for one in [*scene.some(6), f"{upper_first(scene.noun)} can help you."]:
        words = [word.lower() for word in words_in(" ".join([*chosen, one]))]
        if len(words) == len(set(words)):
            chosen.append(one)
    return " ".join(chosen)


def _once_and_twice(scene: Scene, given: Drawn) -> str:
    one, two = given["keyword1"], given["keyword2"]
    return f"{scene.say(2)} I have {one} and {two} here. Some bring {two}."


def _around(scene: Scene, given: Drawn) -> str:
    return f"{upper_first(scene.noun)} can be good. {scene.say(2)} So much for {scene.noun}"


MAKING: dict[str, Maker] = {
    "copy:repeat_phrase": Maker(
        ('Write the phrase "{phrase}" {small_n} times, each time on a new line and with one word '
         "within it replaced by another.",),
        _phrases, lambda scene, given, text: f"{text}\n{given['phrase'].replace('like', 'see')}",
        lambda scene: {
            "phrase": f"people who like {scene.noun} sleep well", "small_n": scene.number(2, 3)},
        "fixed"),
    "copy:copy": Maker(
        ('Copy this request and do not follow it: "{prompt_to_repeat}"',), _same_again,
        adds(" Done."), _repeated, "fixed"),
    "new:copy_span_idx": Maker(
        ('Copy characters number {n_start} to number {n_end}, both included, of this text, '
         'the first being number 0: "{prompt_to_repeat}"',),
        _characters, adds(" it"), _draw_span, "fixed"),
    "detectable_format:sentence_hyphens": Maker(
        ("Put a hyphen between sentences, and no spaces round it.",),
        lambda scene, given: "-".join(scene.some(scene.number(2, 4))),
        lambda scene, given, text: text.replace(".-", ". - ", 1)),
    "keywords:no_adjacent_consecutive": Maker(
        ("No word may begin with the letter of the alphabet after that of the word before.",),
        lambda scene, given: letters_apart(scene, 1), adds(" All boats can dive."), form="words"),
    "detectable_format:square_brackets": Maker(
        ("Put every word in square brackets.",),
        lambda scene, given: " ".join(f"[{word}]" for word in scene.say(2).split()), adds(" Yes.")),
    "keywords:word_once": Maker(
        ('Use the word "{keyword}" exactly once.',), _keyword_often, adds(" I like {keyword}."),
        lambda scene: {"keyword": rare_words(scene, 1)[0]}),
    "keywords:word_count_different_numbers": Maker(
        ('The word "{keyword}" must appear {relation} {frequency} times.',), _keyword_often,
        _not_as_often, _draw_frequency),
    "keywords:exclude_word_harder": Maker(
        ('Do not use the word "{keyword}".',), _without_keyword, adds(" So much for {keyword}."),
        lambda scene: {"keyword": scene.pick(scene.topic.words)}),
    "paragraphs:paragraphs": Maker(
        ("Write two paragraphs, divided by a line of three stars: ***",),
        lambda scene, given: _STARS.join(scene.some(2)), adds(f"{_STARS}That is all.")),
    "paragraphs:paragraphs2": Maker(
        ("Write two paragraphs with an empty line between them.",),
        lambda scene, given: "\n\n".join(scene.some(2)), adds("\n\nThat is all.")),
    "first_word:first_word_sent": Maker(
        ('Begin each sentence with the word "{first_word}".',), _opened, adds(" This is all."),
        lambda scene: {"first_word": scene.pick(OPENERS)}),
    "first_word:first_word_answer": Maker(
        ('The first word must be "{first_word}".',), _opened,
        lambda scene, given, text: f"Well, {lower_first(text)}",
        lambda scene: {"first_word": scene.pick(OPENERS)}),
    "last_word:last_word_sent": Maker(
        ('End each sentence with the word "{last_word}".',), _closed, adds(" This is all."),
        lambda scene: {"last_word": scene.pick(("today", "indeed", "friend"))}),
    "last_word:last_word_answer": Maker(
        ('The last word must be "{last_word}".',), _closed, adds(" Yes."),
        lambda scene: {"last_word": scene.pick(("today", "indeed", "friend"))}),
    "detectable_format:bigram_wrapping": Maker(
        ("Put every two words in double angle brackets, <<like this>> <<one here>>.",), _pairs,
        lambda scene, given, text: text.replace("<<", "", 1)),
    "copy:copying_simple": Maker(
        ('Repeat this request word for word and say nothing else: "{prompt_to_repeat}"',),
        _same_again, adds(" It is so."), _repeated, "fixed"),
    "copy:copying_multiple": Maker(
        ('Write this request {N} times, divided by ******, and do not answer it: '
         '"{prompt_to_repeat}"',),
        lambda scene, given: "\n******\n".join([given["prompt_to_repeat"]] * given["N"]),
        lambda scene, given, text: f"{text}\n******\n{given['prompt_to_repeat']}",
        lambda scene: {**_repeated(scene), "N": scene.number(2, 3)}, "fixed"),
    "punctuation:punctuation_dot": Maker(
        ("Use no full stop or other dot.",),
        lambda scene, given: scene.say(3).replace(".", "!"), adds(".")),
    "punctuation:punctuation_exclamation": Maker(
        ("Use no exclamation mark.",), lambda scene, given: scene.say(3), adds("!")),
    "count:lowercase_counting": Maker(
        ("Use at most {N} words in small letters.",), _few_small,
        lambda scene, given, text: f"{text} so now", numbers(N=(1, 5))),
    "letters:letter_counting": Maker(
        ("Answer with {relation} {N} letters.",), _some_letters, _other_side, _draw_letters),
    "letters:letter_counting2": Maker(
        ('The letter "{letter}" must appear {let_relation} {let_frequency} times.',), _letter,
        _other_letter_count, _draw_letter),
    "count:counting_composition": Maker(
        ("Write 3 paragraphs, divided by * * *, each of exactly {n_sent} sentences of exactly "
         "{n_words} words.",),
        _composed, lambda scene, given, text: f"{text[:-1]} indeed.",
        numbers(n_sent=(1, 3), n_words=(5, 8))),
    "count:count_unique": Maker(
        ("Use no word twice.",), _no_word_twice,
        lambda scene, given, text: f"{text} {text.split()[0]}"),
    "count:count_increment_word": Maker(
        ('Use the word "{keyword1}" once and the word "{keyword2}" twice.',), _once_and_twice,
        swaps("bring {keyword2}", "bring it"),
        lambda scene: dict(zip(("keyword1", "keyword2"), rare_words(scene, 2), strict=True))),
    "keywords:palindrome": Maker(
        ("Include a palindrome of three letters or more.",),
        lambda scene, given: f"{scene.say(2)} A {scene.pick(('level', 'radar', 'kayak'))} is near.",
        lambda scene, given, text: re.sub("level|radar|kayak", "window", text)),
    "keywords:keyword_specific_position": Maker(
        ('The word "{keyword}" must be word {m} of sentence {n}.',), word_in_place, word_moved,
        lambda scene: {"keyword": scene.pick(scene.topic.words), "n": scene.number(1, 4),
                       "m": scene.number(2, 6)}),
    "keywords:start_end": Maker(
        ("Begin and end with the same word, with nothing after it.",), _around, adds(" indeed")),
}  # fmt: skip
