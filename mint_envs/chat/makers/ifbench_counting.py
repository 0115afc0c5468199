"""Makers of IFBench's kinds ``count:`` and ``ratio:``."""

from __future__ import annotations

import re

from ..counting import english_tokens, words_in
from ..kinds import KINDS
from ..lexicon import CONJUNCTIONS, NAMES, PRONOUNS, STOP_WORDS
from .maker import Drawn, Maker, Scene, adds, numbers, rare_words, upper_first

_TIMES = (1, 2, 3, 5, 7)
#: Sentences of one to twelve words, to make up a number of words.
_PADS = (
    "Yes.", "Very nice.", "That is so.", "I like it much.", "You can see it too.",
    "Ask me if you want more.", "I could talk about it all day.",
    "My best friend and I like it a lot.",
    "We have often thought of it at our home.", "You may learn more about it in a good book.",
    "I hope that this was all that you wanted to know.",
    "There is more to say but I have to go to work now.",
)  # fmt: skip
_AND_SO = (
    "You may like {0} and more.", "It is plain but good.", "Take it or leave it.",
    "It is good so try it.", "It is old yet new.", "It is for you.", "It is not dull nor cold.",
)  # fmt: skip
_FRAMES = (
    "Think of {0}.", "I like {0}.", "You see {0} here.", "We keep {0} at home.",
    "They sell {0} in town.", "People draw {0}.", "Nobody forgets {0}.",
)  # fmt: skip
_ENDINGS = {
    3: "now too yes", 4: "here well soon", 5: "again today still", 6: "always indeed surely",
    7: "forever clearly outside", 8: "tomorrow together probably",
    9: "sometimes naturally certainly",
    10: "everywhere absolutely constantly", 11: "wonderfully beautifully practically",
    12: "particularly successfully occasionally", 13: "independently unfortunately traditionally",
}  # fmt: skip


def _count(text: str) -> int:
    return len(words_in(text))


def _in_range(scene: Scene, given: Drawn) -> str:
    chosen: list[str] = []
    for sentence in scene.some(6):
        if _count(" ".join([*chosen, sentence])) <= given["max_words"]:
            chosen.append(sentence)
    while (left := given["min_words"] - _count(" ".join(chosen))) > 0:
        chosen.append(_PADS[min(left, len(_PADS)) - 1])
    return " ".join(chosen)


def _draw_range(scene: Scene) -> Drawn:
    least = scene.number(20, 45)
    return {"min_words": least, "max_words": least + scene.number(1, 4)}


def _beyond(scene: Scene, given: Drawn, text: str) -> str:
    while _count(text) <= given["max_words"]:
        text = f"{text} {scene.pick(_PADS)}"
    return text


def _fewer_words(scene: Scene, given: Drawn, text: str) -> str:
    """Leave out words from the end until too few different ones are left."""
    words = text.split()
    while len({word.strip(".").lower() for word in words}) >= given["N"]:
        words.pop()
    return " ".join(words)


def _conjunctions(scene: Scene, given: Drawn) -> str:
    frames = [_AND_SO[int(i)] for i in scene.rng.permutation(len(_AND_SO))]
    return " ".join([scene.say(2), *(frame.format(scene.topic.name) for frame in frames)])


def _one_conjunction_less(scene: Scene, given: Drawn, text: str) -> str:
    gone = sorted(CONJUNCTIONS)[given["small_n"] - 1 :]
    return re.sub(rf"\b({'|'.join(gone)})\b", "while", text, flags=re.IGNORECASE)


def _names(scene: Scene, given: Drawn) -> str:
    chosen = [NAMES[int(i)] for i in scene.rng.permutation(len(NAMES))[: given["N"]]]
    return " ".join([scene.say(2), *(f"{name} told me so." for name in chosen)])


def _one_name_less(scene: Scene, given: Drawn, text: str) -> str:
    return re.sub(rf"\b({'|'.join(NAMES)})\b", "Somebody", text, count=1)


def _numbers(scene: Scene, given: Drawn) -> str:
    counted = [f"I wrote down {scene.number(2, 90)}." for _ in range(given["N"])]
    return " ".join([scene.say(2), *counted])


def _pronouns(scene: Scene, given: Drawn) -> str:
    said = scene.some(3)
    more = ["I know that you like it.", "We told them what they need.", "She gave him her own."]
    while sum(token in PRONOUNS for token in english_tokens(" ".join(said).lower())) < given["N"]:
        said.append(more[len(said) % 3])
    return " ".join(said)


def _one_pronoun_less(scene: Scene, given: Drawn, text: str) -> str:
    left = given["N"] - 1

    def word(match: re.Match[str]) -> str:
        nonlocal left
        left -= match[0].lower() in PRONOUNS
        return match[0] if match[0].lower() not in PRONOUNS or left >= 0 else "people"

    return re.sub(r"\w+", word, text)


def _keywords(scene: Scene, given: Drawn) -> str:
    words = list(given.values())
    said = [_FRAMES[i].format(w) for w, n in zip(words, _TIMES, strict=True) for i in range(n)]
    order = scene.rng.permutation(len(said))
    return " ".join([scene.say(3), *(said[int(i)] for i in order)])


def _japanese(scene: Scene, given: Drawn) -> str:
    words = scene.say(3).split()
    step = given["N"] - 1
    pieces = [words[i : i + step] for i in range(0, len(words), step)]
    return " ".join(
        " ".join([*piece, scene.pick(("です", "良い", "ここ"))] if len(piece) == step else piece)
        for piece in pieces
    )


def _few_stops(scene: Scene, given: Drawn) -> str:
    said = scene.some(2)
    plain = [word for word in scene.topic.words if word not in STOP_WORDS]
    while _stop_share(" ".join(said)) > given["percentage"]:
        said.append(f"{upper_first(scene.pick(plain))} brings {scene.pick(plain)}.")
    return " ".join(said)


def _stop_share(text: str) -> float:
    words = [word.lower() for word in words_in(text)]
    return 100 * sum(word in STOP_WORDS for word in words) / len(words)


def _many_stops(scene: Scene, given: Drawn, text: str) -> str:
    while _stop_share(text) <= given["percentage"]:
        text += " It is what it is and so are we."
    return text


def _draw_overlap(scene: Scene) -> Drawn:
    text = _with_request(scene.request, scene.topic.sentences[: scene.number(1, 5)])
    return {"reference_text": scene.request, "percentage": round(_share(text, scene.request))}


def _with_request(request: str, sentences: tuple[str, ...]) -> str:
    return " ".join([*sentences, request])


def _share(text: str, known: str) -> float:
    grams, wanted = ({one[i : i + 3] for i in range(len(one) - 2)} for one in (text, known))
    return 100 * len(grams & wanted) / len(grams)


def _overlapping(scene: Scene, given: Drawn) -> str:
    texts = (_with_request(scene.request, scene.topic.sentences[:n]) for n in range(1, 6))
    return min(texts, key=lambda text: abs(_share(text, scene.request) - given["percentage"]))


def _less_overlap(scene: Scene, given: Drawn, text: str) -> str:
    more = iter(_PADS)
    while abs(_share(text, scene.request) - given["percentage"]) <= 2:
        text = f"{text} {next(more)}"
    return text


def _same_length(scene: Scene, given: Drawn) -> str:
    one, two, *_ = sorted(scene.topic.words, key=len)
    begun = [f"I like {scene.noun}", f"Some want {one}", f"Others see {two}"]
    goal = max(map(len, begun)) + 4
    endings = [_ENDINGS[goal - len(one) - 1].split()[i] for i, one in enumerate(begun)]
    return " ".join(f"{one} {end}." for one, end in zip(begun, endings, strict=True))


_ASKED = "Do you like it too?"

COUNTING: dict[str, Maker] = {
    "count:word_count_range": Maker(
        ("Use between {min_words} and {max_words} words.",), _in_range, _beyond, _draw_range),
    "count:unique_word_count": Maker(
        ("Use at least {N} different words.",), lambda scene, given: scene.say(6), _fewer_words,
        numbers(N=(15, 28))),
    "count:conjunctions": Maker(
        ("Use at least {small_n} different coordinating conjunctions.",),
        _conjunctions, _one_conjunction_less, numbers(small_n=(2, 5))),
    "count:person_names": Maker(
        (f"Mention at least {{N}} different names of this list: {', '.join(NAMES)}.",),
        _names, _one_name_less, numbers(N=(1, 4))),
    "count:numbers": Maker(
        ("Include exactly {N} numbers, in digits.",), _numbers, adds(" I counted 17 more."),
        numbers(N=(1, 4))),
    "count:pronouns": Maker(
        ("Use at least {N} pronouns.",), _pronouns, _one_pronoun_less, numbers(N=(3, 10))),
    "count:punctuation": Maker(
        ("Use each of these marks: full stop, comma, exclamation mark, question mark, semicolon, "
         "colon, and ?! together.",),
        lambda scene, given: f"{scene.say(2)} Is it so?! Yes: it is good; very good, I say! Right?",
        lambda scene, given, text: text.replace(scene.pick(";:,"), "")),
    "count:keywords_multiple": Maker(
        ("Include the word {keyword1} once, the word {keyword2} twice, the word {keyword3} three "
         "times, the word {keyword4} five times, and the word {keyword5} seven times.",),
        _keywords, adds(" Think of {keyword1}."),
        lambda scene: {f"keyword{i}": w for i, w in enumerate(rare_words(scene, 5), 1)}),
    "count:words_japanese": Maker(
        ("Every word whose number is a multiple of {N} must be in Japanese.",), _japanese,
        lambda scene, given, text: re.sub("[\u3040-\u9fff]+", "indeed", text, count=1),
        numbers(N=(3, 6)), "words"),
    "ratio:stop_words": Maker(
        ("At most {percentage} % of your words may be stop words.",), _few_stops, _many_stops,
        numbers(percentage=(38, 50))),
    "ratio:sentence_type": Maker(
        ("Write two statements for each question.",),
        lambda scene, given: f"{scene.say(2)} {_ASKED}", adds(" Why not?")),
    "ratio:sentence_balance": Maker(
        ("Write as many statements as questions and as exclamations.",),
        lambda scene, given: f"{scene.say(1)} {_ASKED} I love it!", adds(" Why not?")),
    "ratio:overlap": Maker(
        ("Of the different runs of three characters in your answer, {percentage} % (2 more or less "
         'are fine) must be in this text: "{reference_text}"',),
        _overlapping, _less_overlap, _draw_overlap),
    "ratio:sentence_words": Maker(
        ("Write three sentences with the same number of characters and no word in common.",),
        _same_length,
        lambda scene, given, text: f"{text[:-1]} so.", form="prose"),
}  # fmt: skip
assert COUNTING.keys() <= KINDS.keys()
