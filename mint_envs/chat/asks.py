"""How instructions are drawn: their arguments, their wording, and which go together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .instructions import Instruction
from .topics import ENDINGS, OPENERS, Topic

Arguments = dict[str, Any]
Draw = Callable[[np.random.Generator, Topic, Sequence[str]], Arguments]


@dataclass(frozen=True, slots=True)
class Ask:
    """A kind that prompts ask for.

    Args:
        group: two of one group never come together.
        texts: wordings; the arguments go into the braces.
        draw: makes the arguments from (rng, topic, words of the topic that are still free).
        against: groups that it does not go together with.
    """

    kind: str
    group: str
    texts: tuple[str, ...]
    draw: Draw
    against: frozenset[str] = frozenset()

    def clashes(self, other: Ask) -> bool:
        """Return whether no prompt may ask for both."""
        return (
            self.group == other.group or self.group in other.against or other.group in self.against
        )


def _pick(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def _no_arguments(rng: np.random.Generator, topic: Topic, free: Sequence[str]) -> Arguments:
    return {}


def _draw_number(name: str, low: int, high: int, **fixed: Any) -> Draw:
    """Draw ``name`` from ``low`` to ``high``."""
    return lambda rng, topic, free: {**fixed, name: int(rng.integers(low, high + 1))}


def _draw_words(name: str, most: int) -> Draw:
    def draw(rng: np.random.Generator, topic: Topic, free: Sequence[str]) -> Arguments:
        count = min(int(rng.integers(1, most + 1)), len(free))
        return {name: [free[int(i)] for i in rng.permutation(len(free))[:count]]}

    return draw


def _frequency(rng: np.random.Generator, topic: Topic, free: Sequence[str]) -> Arguments:
    word = topic.name.removeprefix("the ")
    return {"keyword": word, "relation": "at least", "frequency": int(rng.integers(2, 4))}


def _draw_sections(rng: np.random.Generator, topic: Topic, free: Sequence[str]) -> Arguments:
    number = int(rng.integers(2, 4))
    return {"section_spliter": _pick(rng, ("SECTION", "PART", "STEP")), "num_sections": number}


def _first_word(rng: np.random.Generator, topic: Topic, free: Sequence[str]) -> Arguments:
    number = int(rng.integers(2, 4))
    nth = int(rng.integers(1, number + 1))
    return {"num_paragraphs": number, "nth_paragraph": nth, "first_word": _pick(rng, OPENERS)}


def _few_letters(rng: np.random.Generator, topic: Topic, free: Sequence[str]) -> Arguments:
    letter, number = _pick(rng, "cdfgmpuvwy"), int(rng.integers(3, 6))
    return {"letter": letter, "let_relation": "less than", "let_frequency": number}


def _many_letters(rng: np.random.Generator, topic: Topic, free: Sequence[str]) -> Arguments:
    letter, number = _pick(rng, "abhilnors"), int(rng.integers(4, 9))
    return {"letter": letter, "let_relation": "at least", "let_frequency": number}


#: The order is that of the table in docs/chat.md. A human reads no contradiction into two that
#: do not clash; that a response can follow all of a prompt at once is shown by composing one.
ASKS = (
    Ask("keywords:existence", "words wanted", (
        "Use these words: {keywords}.", "Your answer must contain: {keywords}."),
        _draw_words("keywords", 2)),
    Ask("keywords:forbidden_words", "words forbidden", (
        "Do not use these words: {forbidden_words}.", "Avoid: {forbidden_words}."),
        _draw_words("forbidden_words", 2)),
    Ask("keywords:frequency", "frequency", (
        'Use the word "{keyword}" at least {frequency} times.',
        'The word "{keyword}" must appear {frequency} times or more.'), _frequency),
    Ask("keywords:letter_frequency", "letters", (
        'The letter "{letter}" must appear fewer than {let_frequency} times.',
        'Use the letter "{letter}" less than {let_frequency} times.'), _few_letters),
    Ask("keywords:letter_frequency", "letters", (
        'The letter "{letter}" must appear at least {let_frequency} times.',
        'Use the letter "{letter}" {let_frequency} times or more.'), _many_letters),
    Ask("length_constraints:number_words", "length", (
        "Use fewer than {num_words} words.", "Answer in less than {num_words} words."),
        _draw_number("num_words", 25, 50, relation="less than")),
    Ask("length_constraints:number_words", "length", (
        "Use at least {num_words} words.", "Answer in {num_words} words or more."),
        _draw_number("num_words", 20, 50, relation="at least")),
    Ask("length_constraints:number_sentences", "length", (
        "Use fewer than {num_sentences} sentences.",
        "Write less than {num_sentences} sentences."),
        _draw_number("num_sentences", 3, 5, relation="less than")),
    Ask("length_constraints:number_sentences", "length", (
        "Write at least {num_sentences} sentences.",
        "Your answer must have {num_sentences} sentences or more."),
        _draw_number("num_sentences", 2, 5, relation="at least")),
    Ask("length_constraints:number_paragraphs", "layout", (
        "Write exactly {num_paragraphs} paragraphs, divided by a line of three stars: ***",
        "Put the line *** between paragraphs, and write {num_paragraphs} of them."),
        _draw_number("num_paragraphs", 2, 3)),
    Ask("length_constraints:nth_paragraph_first_word", "layout", (
        "Write exactly {num_paragraphs} paragraphs with an empty line between them; number "
        '{nth_paragraph} begins with the word "{first_word}".',), _first_word,
        frozenset(("title", "end"))),
    Ask("change_case:english_capital", "case", (
        "Write in capital letters only.", "Use no small letters at all."), _no_arguments),
    Ask("change_case:english_lowercase", "case", (
        "Write in small letters only.", "Use no capital letters at all."), _no_arguments,
        frozenset(("sections",))),
    Ask("change_case:capital_word_frequency", "case", (
        "Write at least {capital_frequency} words in capital letters.",),
        _draw_number("capital_frequency", 1, 4, capital_relation="at least")),
    Ask("punctuation:no_comma", "comma", (
        "Use no commas.", "Do not put a comma anywhere."), _no_arguments),
    Ask("detectable_format:json_format", "layout", (
        "Give the whole answer as JSON.", "Your answer must be one JSON value, nothing else."),
        _no_arguments, frozenset(("title", "stars", "end", "quotation", "brackets"))),
    Ask("detectable_format:title", "title", (
        "Give it a title in double angle brackets: <<title>>.",
        "Put a title on top, written as <<title>>."), _no_arguments, frozenset(("quotation",))),
    Ask("detectable_format:number_bullet_lists", "layout", (
        'Write a list of exactly {num_bullets} points, each on a line that begins with "- ".',
        'Use exactly {num_bullets} bullet points ("- ").'), _draw_number("num_bullets", 2, 4)),
    Ask("detectable_format:number_highlighted_sections", "stars", (
        "Highlight at least {num_highlights} words or phrases, *like this*.",
        "Put stars around {num_highlights} words or more: *word*."),
        _draw_number("num_highlights", 1, 3)),
    Ask("detectable_format:multiple_sections", "sections", (
        "Write {num_sections} sections headed {section_spliter} 1 and so on.",),
        _draw_sections, frozenset(("layout", "quotation"))),
    Ask("detectable_content:number_placeholders", "brackets", (
        "Leave at least {num_placeholders} places to be filled in, in square brackets: [name].",),
        _draw_number("num_placeholders", 1, 3)),
    Ask("detectable_content:postscript", "end", (
        "End with a postscript that begins with P.S.", "Add a P.S. at the end."),
        lambda rng, topic, free: {"postscript_marker": "P.S."}),
    Ask("combination:repeat_prompt", "repeat", (
        'First repeat the request word for word, "{prompt_to_repeat}", and then answer it.',),
        _no_arguments, frozenset((
            "comma", "words forbidden", "quotation", "case", "length", "letters", "layout",
            "sections", "title"))),
    Ask("combination:two_responses", "layout", (
        "Give two different answers, divided by a line of six stars: ******",), _no_arguments,
        frozenset(("length", "end", "title"))),
    Ask("startend:end_checker", "end", (
        'End with exactly these words: "{end_phrase}"',
        'The last words must be "{end_phrase}" and nothing after them.'),
        lambda rng, topic, free: {"end_phrase": _pick(rng, ENDINGS)}, frozenset(("quotation",))),
    Ask("startend:quotation", "quotation", (
        "Put the whole answer in double quotation marks.",
        'Begin and end with a quotation mark (").'), _no_arguments, frozenset(("layout",))),
)  # fmt: skip

#: For a small model: one instruction that it follows at times, and can learn to follow.
EASY = (
    Ask("punctuation:no_comma", "comma", ("Use no commas.",), _no_arguments),
    Ask("length_constraints:number_words", "length", ("Use fewer than {num_words} words.",),
        _draw_number("num_words", 12, 20, relation="less than")),
    Ask("length_constraints:number_sentences", "length", ("Write one sentence only.",),
        _draw_number("num_sentences", 2, 2, relation="less than")),
    Ask("keywords:existence", "words wanted", ('Use the word "{keywords}".',),
        _draw_words("keywords", 1)),
)  # fmt: skip


def draw_asks(
    rng: np.random.Generator, asks: Sequence[Ask], topic: Topic, request: str, count: int
) -> list[tuple[Instruction, str]]:
    """Draw up to ``count`` instructions that go together, each with its wording."""
    chosen: list[Ask] = []
    for position in rng.permutation(len(asks)):
        ask = asks[int(position)]
        if len(chosen) < count and not any(map(ask.clashes, chosen)):
            chosen.append(ask)
    free = list(topic.words)
    drawn: list[tuple[Instruction, str]] = []
    for ask in chosen:
        arguments = ask.draw(rng, topic, free)
        if ask.kind == "combination:repeat_prompt":
            arguments = {"prompt_to_repeat": request}
        free = [word for word in free if word not in _used(arguments)]
        shown = {key: _argument_text(value) for key, value in arguments.items()}
        text: str = _pick(rng, ask.texts)
        drawn.append(((ask.kind, arguments), text.format(**shown)))
    return drawn


def _used(arguments: Arguments) -> list[str]:
    return [*arguments.get("keywords", ()), *arguments.get("forbidden_words", ())]


def _argument_text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)
