"""Responses whose worth is known by how they were made: no label and no model is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .changes import changed, unfenced, value_of
from .framing import framed
from .items import Item
from .solvers import expression
from .texts import GARBAGE

Turns = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """A response, what it must earn (None: nobody knows), and why that is known."""

    name: str
    item: Item
    turns: Turns
    want: float | None


def known_worth(items: Sequence[Item]) -> list[Probe]:
    """Return the worked examples, and responses that answer nothing or answer wrongly."""
    return [
        probe
        for maker in (_examples, _garbage, _copied, _one_changed, _of_another)
        for probe in maker(items)
    ]


def _examples(items: Sequence[Item]) -> Iterator[Probe]:
    for item in items:
        for turns, value in item.examples:
            if turns != ("",):
                name = "the right response" if value == 1.0 else "another worked example"
                yield Probe(name, item, turns, value)


def _garbage(items: Sequence[Item]) -> Iterator[Probe]:
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


def _of_another(items: Sequence[Item]) -> Iterator[Probe]:
    """The right answer of another problem, where it is another answer."""
    values = [value_of(item.gold) if item.gold is not None else None for item in items]
    known = list(zip(items, values, strict=True))
    for (item, value), (other, another) in zip(known, [*known[1:], *known[:1]], strict=True):
        if item.kind not in ("answer", "program") or value is None or another is None:
            continue
        apart = value != another and item.prompt != other.prompt
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
        if item.gold is not None and item.kind in ("answer", "program"):
            plain = unfenced(item.gold)
            texts = (_of_program if item.kind == "program" else _of_answer)(item.gold, plain)
            known = (item.gold, plain)
            found += [Probe(n, item, (t,), 1.0) for n, t in texts.items() if t not in known]
    return found


def _of_program(gold: str, plain: str) -> dict[str, str]:
    """Return the rewritings of a program, which has one fence at most."""
    texts = {name: plain if "fence" in name else gold for name in _FOR_PROGRAMS}
    return {name: REWRITINGS[name](text) for name, text in texts.items()}


def _of_answer(gold: str, _: str) -> dict[str, str]:
    before, answer, after = framed(gold)
    inside = {name: f"{before}{REWRITINGS[name](answer)}{after}" for name in _FOR_ANSWERS}
    return {name: inside.get(name) or rewrite(gold) for name, rewrite in REWRITINGS.items()}
