"""Makers of IFEval's kinds, for which prompts are drawn as ``asks`` says."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..asks import ASKS, draw_asks
from ..compose import candidates
from ..counting import words_in
from ..instructions import grade_said
from .maker import Drawn, Maker, Scene, adds, swaps, upper_first

Spoil = Callable[[Scene, Drawn, str], str]

#: A sentence or two in some languages, to answer in.
_SPOKEN = {
    "de": "Darüber kann man sehr viel sagen. Viele Menschen mögen es und reden gern davon.",
    "fr": "On peut en dire beaucoup de choses. Les gens l'aiment et ils en parlent souvent.",
    "es": "Se puede decir mucho sobre esto. A la gente le gusta y habla de ello con placer.",
    "it": "Si può dire molto su questo argomento. La gente lo ama e ne parla volentieri.",
    "pt": "Pode-se dizer muito sobre isso. As pessoas gostam e falam disso com prazer.",
    "ru": "Об этом можно много рассказать. Люди любят это и часто говорят об этом.",
    "hi": "इसके बारे में बहुत कुछ कहा जा सकता है। लोग इसे पसंद करते हैं और इसकी बात करते हैं।",
    "ja": "これについては多くのことが言えます。人々はそれが好きで、よく話します。",
    "fi": "Tästä voi sanoa paljon. Ihmiset pitävät siitä ja puhuvat siitä mielellään.",
    "vi": "Có thể nói rất nhiều về điều này. Mọi người thích nó và hay nói về nó.",
}


def _written(kind: str) -> Callable[[Scene, Drawn], str]:
    def write(scene: Scene, given: Drawn) -> str:
        texts = candidates(scene.topic, [(kind, given)])
        return next(text for text in texts if grade_said(text, [(kind, given)]).score == 1.0)

    return write


def _drawn(kind: str) -> Callable[[Scene], Drawn]:
    def draw(scene: Scene) -> Drawn:
        asks = [ask for ask in ASKS if ask.kind == kind]
        while True:  # until an answer is found, as for a drawn prompt
            ((one, _),) = draw_asks(scene.rng, asks, scene.topic, scene.request, 1)
            if any(grade_said(text, [one]).score for text in candidates(scene.topic, [one])):
                return dict(one[1])

    return draw


def _more_or_fewer(relation: str, more: Spoil, fewer: Spoil) -> Spoil:
    """Spoil "less than" by ``more`` and "at least" by ``fewer``."""
    return lambda scene, given, text: (more if given[relation] == "less than" else fewer)(
        scene, given, text
    )


def _without(name: str) -> Spoil:
    def spoil(scene: Scene, given: Drawn, text: str) -> str:
        found = given[name] if isinstance(given[name], list) else [given[name]]
        return re.sub(re.escape(scene.pick(found)), "thing", text, flags=re.IGNORECASE)

    return spoil


def _last_words_gone(scene: Scene, given: Drawn, text: str) -> str:
    words = text.split()
    while len(words_in(" ".join(words))) >= given["num_words"]:
        words.pop()
    return " ".join(words)


def _one_sentence(scene: Scene, given: Drawn, text: str) -> str:
    return text.replace(".", "").replace("!", "").replace("?", "")


def _many(text: str) -> Spoil:
    return lambda scene, given, said: f"{said} {text * 60}"


def _letters_more(scene: Scene, given: Drawn, text: str) -> str:
    return text + f" {given['letter']}" * int(given["let_frequency"])


def _letters_gone(scene: Scene, given: Drawn, text: str) -> str:
    return re.sub(given["letter"], "", text, flags=re.IGNORECASE)


def _uncapital(scene: Scene, given: Drawn, text: str) -> str:
    return text.capitalize() if text.count(" ") else text


_SPOILED: dict[str, Spoil] = {
    "keywords:existence": _without("keywords"),
    "keywords:forbidden_words": lambda scene, given, text: (
        f"{text} {scene.pick(given['forbidden_words'])}"),
    "keywords:frequency": _without("keyword"),
    "keywords:letter_frequency": _more_or_fewer("let_relation", _letters_more, _letters_gone),
    "length_constraints:number_words": _more_or_fewer(
        "relation", _many("so on "), _last_words_gone),
    "length_constraints:number_sentences": _more_or_fewer(
        "relation", _many("So on it is. "), _one_sentence),
    "length_constraints:number_paragraphs": adds("\n***\nThat is all."),
    "length_constraints:nth_paragraph_first_word": adds("\n\nThat is all."),
    "change_case:english_capital": adds(" so"),
    "change_case:english_lowercase": adds(" So"),
    "change_case:capital_word_frequency": lambda scene, given, text: text.lower(),
    "punctuation:no_comma": adds(", indeed"),
    "detectable_format:json_format": adds(" }}"),
    "detectable_format:title": swaps("<<", "<"),
    "detectable_format:number_bullet_lists": adds("\n- And more."),
    "detectable_format:number_highlighted_sections": lambda scene, given, text: (
        text.replace("*", "")),
    "detectable_format:multiple_sections": swaps("{section_spliter} 2", "Then"),
    "detectable_content:number_placeholders": swaps("[", "("),
    "detectable_content:postscript": swaps("P.S.", "By the way,"),
    "combination:repeat_prompt": lambda scene, given, text: f"Well: {text}",
    "combination:two_responses": adds("\n******\nThat is all."),
    "startend:end_checker": adds(" Bye"),
    "startend:quotation": adds(" indeed"),
}  # fmt: skip


def _maker(kind: str, spoil: Spoil) -> Maker:
    texts = next(ask.texts for ask in ASKS if ask.kind == kind)
    return Maker(texts, _written(kind), spoil, _drawn(kind))


IFEVAL_MAKING: dict[str, Maker] = {
    **{kind: _maker(kind, spoil) for kind, spoil in _SPOILED.items()},
    "detectable_format:constrained_response": Maker(
        ("Do you like {topic}? Answer with one of these sentences: My answer is yes. My answer is "
         "no. My answer is maybe.",),
        lambda scene, given: f"My answer is {scene.pick(('yes', 'no', 'maybe'))}.",
        swaps("My answer", "The answer"), form="fixed"),
    "language:response_language": Maker(
        ("Answer in the language whose code is {language}.",),
        lambda scene, given: _SPOKEN[given["language"]],
        lambda scene, given, text: f"{upper_first(scene.noun)} was asked for. {scene.say(4)}",
        lambda scene: {"language": scene.pick(sorted(_SPOKEN))}, "fixed"),
}  # fmt: skip
