"""Responses changed a little: right answers with one thing wrong, joined pieces, odd words."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Sequence

from .framing import framed
from .items import Item

_NUMBER = re.compile(r"[+-]?\d[\d,]*(\.\d+)?")


def changed(gold: str) -> list[str]:
    """Return responses that are nearly the right one, and wrong; in the same form."""
    before, answer, after = framed(gold)
    name, value = _split_unknown(answer)
    return [f"{before}{name}{other}{after}" for other in _near_answers(value)]


def _split_unknown(answer: str) -> tuple[str, str]:
    """Return ``("x = ", "5")`` of an answer that names its unknown: another name is no error."""
    found = re.fullmatch(r"([A-Za-z]\s*=\s*)([^=]+)", answer)
    return (found[1], found[2]) if found else ("", answer)


def _near_answers(gold: str) -> list[str]:
    if _NUMBER.fullmatch(gold):
        return _other_numbers(gold)
    if len(gold) == 1 and gold in string.ascii_letters:  # a choice
        return ["B" if gold in "Aa" else "A"]
    if gold.lower() in _OPPOSITE:
        return [_OPPOSITE[gold.lower()]]
    commands = {i for m in re.finditer(r"\\[A-Za-z]+", gold) for i in range(*m.span())}
    letters = [i for i, c in enumerate(gold) if c.isalpha() and i not in commands]
    if not letters:
        digit = re.search(r"[0-9]", gold)  # LaTeX: \frac{1}{2} becomes \frac{2}{2}
        return (
            [f"{gold[: digit.start()]}{int(digit[0]) % 9 + 1}{gold[digit.end() :]}"]
            if digit
            else []
        )
    place = letters[len(letters) // 2]
    return [gold[:place] + ("k" if gold[place] != "k" else "m") + gold[place + 1 :]]


_OPPOSITE = {"yes": "no", "no": "yes", "true": "false", "false": "true"}


def _other_numbers(gold: str) -> list[str]:
    value = float(gold.replace(",", ""))
    if not value.is_integer() or abs(value) > 2**50:
        return [f"{gold}7", f"7{gold.lstrip('+-')}"]
    number = int(value)
    near = [number + 1, number - 1, number + 10, -number, int(f"{abs(number)}0"), abs(number) // 10]
    return [str(other) for other in dict.fromkeys(near) if other != number]


def value_of(gold: str) -> str:
    """Return the value in a right response: without what frames it, and without its name."""
    return _split_unknown(framed(gold)[1])[1]


def unfenced(text: str) -> str:
    """Return a program without its fence."""
    inside = re.search(r"```[\w+]*\n(.*?)```", text, re.DOTALL)
    return inside.group(1) if inside else text


_SYLLABLES = ("ba", "ko", "ri", "mu", "ze", "lo", "ta", "ni", "vu", "gra", "plo", "dri", "sna")


def nonsense_words(rng: random.Random, words: int) -> list[str]:
    """Return words that mean nothing."""
    return ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(words)]


def nonsense_of(words: int) -> str:
    """Return meaningless words in sentences on lines, without a number, the same on every call."""
    said = nonsense_words(random.Random(words), words)
    return "\n".join(" ".join(said[i : i + 9]) + "." for i in range(0, words, 9))


def other_value(answer: str) -> str:
    """Return a wrong answer of the same kind that looks like no part of the right one."""
    if re.fullmatch(r"-?\d+(\.\d+)?", answer, re.ASCII):
        return "358" if "358" not in answer and answer not in "358" else "2264"
    if len(answer) == 1 and answer in string.ascii_letters:  # a choice
        return _near_answers(answer)[0]
    if answer.lower() in _OPPOSITE:
        return _OPPOSITE[answer.lower()]
    return "Zanzibar" if answer.lower() not in "zanzibar" else "Mombasa"


# -- at random ------------------------------------------------------------------------------------


def sayings(rng: random.Random) -> list[list[str]]:
    """Return texts of meaningless words of several lengths, from none up."""
    return [nonsense_words(rng, count) for count in (0, 1, 3, 8, 12)]


def reworded(texts: Sequence[Sequence[str]], rng: random.Random, count: int) -> list[list[str]]:
    """Return ``count`` times the words of one of ``texts`` with one change."""
    return [_reworded(rng.choice(texts), rng) for _ in range(count)]


def _reworded(words: Sequence[str], rng: random.Random) -> list[str]:
    """Return words with one change: some more, fewer, a full stop, a line, capitals, a mark."""
    out = list(words)
    place = rng.randint(0, len(out))
    change = rng.randrange(9)
    if change <= 2:
        out[place:place] = nonsense_words(rng, rng.choice([1, 2, 4, 8]))
    elif change == 3:
        del out[place : place + rng.choice([1, 2, 4])]
    elif change == 4 and out:
        place = min(place, len(out) - 1)
        out[place] += rng.choice([".", ".", ",", "!", "?", ":", ";"])
    elif change == 5:
        out[place:place] = [rng.choice(["\n\n", "\n- ", "\n1. ", "\n# ", "```", "**", '"'])]
    elif change == 6 and out:
        place = min(place, len(out) - 1)
        out[place] = rng.choice([str.upper, str.capitalize])(out[place])
    elif change == 7:
        out = [*out, *out]
    else:
        out[place:place] = [rng.choice(["7", "\\boxed{7}", "####", "<answer>", "</think>", "{}"])]
    return out


def joined(
    items: Sequence[Item], rng: random.Random, count: int, stop: Sequence[str]
) -> list[tuple[str, Item, str]]:
    """Return ``count`` times (kind of change, problem, response): two pieces put together.

    A response ends where the task's own stop strings end it.
    """
    chosen = [rng.choice(items) for _ in range(count)]
    return [_joined_pieces(item, items, rng, stop) for item in chosen]


def _joined_pieces(
    item: Item, items: Sequence[Item], rng: random.Random, stop: Sequence[str]
) -> tuple[str, Item, str]:
    pieces = _answer_pieces(item, items, rng)
    first, second = rng.choice(pieces), rng.choice(pieces)
    joint = rng.choice([" ", "\n", ", ", " or ", ". ", " = ", "\n\n#### ", " not ", "; so "])
    text = (first[1] + joint + second[1]).strip()
    for mark in stop:
        text = text.partition(mark)[0]
    return f"{first[0]}, then {second[0]}", item, text


def _answer_pieces(item: Item, items: Sequence[Item], rng: random.Random) -> list[tuple[str, str]]:
    other = rng.choice(items)
    gold, foreign = item.gold or "", other.gold or "0"
    wrong = changed(gold)[:2] or [foreign]
    return [
        ("the right answer", gold),
        ("another answer", foreign),
        *[("a near answer", text) for text in wrong],
        ("words", " ".join(nonsense_words(rng, rng.randint(1, 6)))),
        ("the prompt", item.prompt[-rng.randint(1, 80) :]),
        ("a mark", rng.choice(["\\boxed{}", "Answer:", "</think>", "<answer>", "```", "(", "-"])),
    ]
