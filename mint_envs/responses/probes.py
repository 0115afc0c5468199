"""Responses whose worth is known by how they were made: no label and no model is needed."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .items import Item
from .solvers import expression
from .texts import GARBAGE

Turns = tuple[str, ...]

_NUMBER = re.compile(r"[+-]?\d[\d,]*(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Probe:
    """A response, what it must earn, and why that is known."""

    name: str
    item: Item
    turns: Turns
    want: float


def known_worth(items: Sequence[Item]) -> list[Probe]:
    """Return the worked examples, and responses that answer nothing or answer wrongly."""
    return [
        probe
        for maker in (_examples, _nothing, _copied, _one_changed, _of_another)
        for probe in maker(items)
    ]


def _examples(items: Sequence[Item]) -> Iterator[Probe]:
    for item in items:
        for turns, value in item.examples:
            if turns != ("",):
                name = "the right response" if value == 1.0 else "another worked example"
                yield Probe(name, item, turns, value)


def _nothing(items: Sequence[Item]) -> Iterator[Probe]:
    for item in items:
        for text in GARBAGE:
            yield Probe("an empty response" if not text else "garbage", item, (text,), 0.0)


def _copied(items: Sequence[Item]) -> Iterator[Probe]:
    for item in items:
        if item.gold is None or item.gold not in item.prompt:
            yield Probe("the prompt, copied", item, (item.prompt,), 0.0)


def _one_changed(items: Sequence[Item]) -> Iterator[Probe]:
    for item in items:
        if item.kind == "answer" and item.gold is not None:
            for text in changed(item.gold):
                yield Probe("one thing changed", item, (text,), 0.0)


#: Forms in which a prompt may ask for the answer: (before it, the answer, after it).
_FORMS = tuple(
    re.compile(pattern, re.DOTALL | re.IGNORECASE)
    for pattern in (
        r"(.*?\\boxed\{)(.*)(\}[^{}]*)",
        r"(.*<answer>)(.*)(</answer>.*)",
        r"(.*####\s*)(\S.*)()",
        r"((?:the )?(?:final )?answer(?: is|:)\s*)(\S.*?)(\.?)",
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


def changed(gold: str) -> list[str]:
    """Return responses that are nearly the right one, and wrong; in the same form."""
    before, answer, after = framed(gold)
    name, value = _named(answer)
    return [f"{before}{name}{other}{after}" for other in _changed(value)]


def _named(answer: str) -> tuple[str, str]:
    """Return ``("x = ", "5")`` of an answer that names its unknown: another name is no error."""
    found = re.fullmatch(r"([A-Za-z]\s*=\s*)([^=]+)", answer)
    return (found[1], found[2]) if found else ("", answer)


def _changed(gold: str) -> list[str]:
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


def _of_another(items: Sequence[Item]) -> Iterator[Probe]:
    """The right answer of another problem, where it is another answer."""
    for item, other in zip(items, [*items[1:], *items[:1]], strict=True):
        if item.kind not in ("answer", "program") or None in (item.gold, other.gold):
            continue
        values = [_named(framed(str(one.gold))[1])[1] for one in (item, other)]
        apart = values[0] != values[1] and item.prompt != other.prompt
        if apart and not (item.kind == "program" and set(item.names) & set(other.names)):
            yield Probe("the answer of another problem", item, (str(other.gold),), 0.0)


#: How the names of right answers begin that are written in another way.
OTHERWISE = "right, "


def other_ways(items: Sequence[Item]) -> list[Probe]:
    """Return right answers written in other ways, each worth the full mark."""
    found = []
    for item in items:
        gold = item.gold
        if item.kind != "answer" or gold is None:
            continue
        ways: dict[str, str] = {
            "in a sentence": f"The answer is {gold}.",
            "in a box": f"\\boxed{{{gold}}}",
            "in bold": f"**{gold}**",
            "after ####": f"#### {gold}",
        }
        asked = expression(item.prompt)
        if asked:
            ways["with the sum before it"] = f"{asked.strip()} = {gold}"
        found += [Probe(f"{OTHERWISE}{name}", item, (text,), 1.0) for name, text in ways.items()]
    return found


#: Rewritings that a reward should not mind, beyond those of the conformance kit.
REWRITINGS: dict[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "lower case": str.lower,
    "in a fence": lambda text: f"```\n{text}\n```",
    "no-break space before": lambda text: "\u00a0" + text,
    "byte-order mark": lambda text: "\ufeff" + text,
    "full-width digits": lambda text: text.translate({48 + i: 0xFF10 + i for i in range(10)}),
    "thoughts before": lambda text: f"<think>Let me see.</think>\n{text}",
    "doubled blank lines": lambda text: text.replace("\n", "\n\n\n"),
}
_FOR_ANSWERS = ("upper case", "lower case", "full-width digits")  # of the answer, not its form
_FOR_PROGRAMS = ("in a fence", "byte-order mark", "thoughts before", "doubled blank lines")


def rewritings(items: Sequence[Item]) -> list[Probe]:
    """Return full-mark responses, rewritten so that their meaning is the same."""
    found = []
    for item in items:
        if item.gold is None or item.kind == "turns":
            continue
        for name, rewrite in REWRITINGS.items():
            if item.kind == "answer" or (name in _FOR_PROGRAMS and item.kind == "program"):
                text = _rewritten(item, name, rewrite)
                if text not in (item.gold, bare(item.gold)):
                    found.append(Probe(name, item, (text,), 1.0))
    return found


def _rewritten(item: Item, name: str, rewrite: Callable[[str], str]) -> str:
    gold = str(item.gold)
    if item.kind == "program":
        return rewrite(bare(gold) if "fence" in name else gold)
    if name not in _FOR_ANSWERS:
        return rewrite(gold)
    before, answer, after = framed(gold)
    return f"{before}{rewrite(answer)}{after}"


def bare(text: str) -> str:
    """Return a program without its fence."""
    inside = re.search(r"```[\w+]*\n(.*?)```", text, re.DOTALL)
    return inside.group(1) if inside else text


_SYLLABLES = ("ba", "ko", "ri", "mu", "ze", "lo", "ta", "ni", "vu", "gra", "plo", "dri", "sna")


def nonsense(rng: random.Random, words: int) -> list[str]:
    """Return words that mean nothing."""
    return ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(words)]
