"""Ways in which a response may give its answer: bare, in a box, after ``####``, in a tag, as JSON.

Which of them a reward pays is learned by trying (``bench/paid.py``); what a prompt asks for is read
from its words, generously, since trying shows what was meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_NUMBER = re.compile(r"-?\d+(\.\d+)?|NaN|-?Infinity", re.ASCII)
_SAYS = "Let me see."


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to give an answer.

    Args:
        name: what a report calls it.
        before, after: what stands around the answer.
        loose: words among words: nothing marks where the answer begins or ends.
        json: the answer is a JSON value: "number" if one is written as one, "text" if never.
    """

    name: str
    before: str = ""
    after: str = ""
    loose: bool = False
    json: str = ""

    def write(self, answer: str) -> str:
        """Return a response that gives ``answer``."""
        if self.json and not (self.json == "number" and _NUMBER.fullmatch(answer)):
            answer = json.dumps(answer, ensure_ascii=False)
        return f"{self.before}{answer}{self.after}"

    def raw(self, text: str) -> str:
        """Return a response with ``text`` where the answer stands, as it is."""
        return f"{self.before}{text}{self.after}"


BARE = Wording("the bare answer", loose=True)
SENTENCE = Wording("a sentence", "The answer is ", ".", loose=True)
_THOUGHTS = f"<think>{_SAYS}</think>\n"
_LINES = f"<think>\n{_SAYS}\nThat is it.\n</think>\n"

#: Thoughts in tags on one line and on several, which must not matter.
ON_ONE_LINE, ON_LINES = f">{_SAYS}<", f">\n{_SAYS}\nThat is it.\n<"


def _objects(*keys: str) -> Iterator[Wording]:
    for key in keys:
        for kind in ("number", "text"):
            yield Wording(f'JSON, {{"{key}": ...}}', f'{{"{key}": ', "}", json=kind)


def _after_words(*words: str) -> Iterator[Wording]:
    for word in words:
        name = f"after {word.strip()!r}"
        yield Wording(name, word)
        yield Wording(name, f"{_SAYS}\n{word}")


KNOWN: tuple[Wording, ...] = (
    BARE,
    SENTENCE,
    Wording("a box", "\\boxed{", "}"),
    Wording("a box in a sentence", "So the answer is $\\boxed{", "}$."),
    Wording("after ####", "#### "),
    Wording("after ####", f"{_SAYS}\n#### "),
    Wording("an <answer> tag", "<answer>", "</answer>"),
    Wording("<think>, then an <answer> tag", f"{_THOUGHTS}<answer>", "</answer>"),
    Wording("<think>, then an <answer> tag", f"{_LINES}<answer>\n", "\n</answer>"),
    Wording("<reasoning>, then an <answer> tag",
            f"<reasoning>\n{_SAYS}\n</reasoning>\n<answer>\n", "\n</answer>\n"),
    *_objects("answer", "result", "final_answer", "value", "solution"),
    *_after_words("Answer: ", "Final answer: ", "Final Answer: ", "Result: ", "ANSWER: "),
    Wording("after <think>", _THOUGHTS),
    Wording("after <think>", _LINES),
    Wording("<think>, then a box", f"{_THOUGHTS}\\boxed{{", "}"),
    Wording("bold", "**", "**"),
    Wording("a fenced block", "```\n", "\n```"),
    Wording("double brackets", "[[", "]]"),
    Wording("between dollar signs", "$", "$"),
    *_after_words("答案\uff1a", "答案是", "Antwort: ", "Réponse : ", "Respuesta: ", "Risposta: ",
                  "Resposta: ", "Ответ: ", "答え\uff1a", "정답: ", "답: "),
)  # fmt: skip

_TAG = re.compile(r"<([A-Za-z_][\w-]*)>")
_KEY = re.compile(r'"([A-Za-z_]\w*)"\s*:')
_QUOTED = re.compile(r"""(?:'([^'\n]{2,40})'|"([^"\n]{2,40})"|`([^`\n]{2,40})`|“([^”\n]{2,40})”)""")
_PLACE = re.compile(
    r"<[\w ]{1,24}>|\{[\w ]{1,24}\}|(?<!\[)\[[\w ]{1,24}\](?!\])|\.\.\.|…|\bN\b|\bX\b"
)
_COLON = re.compile(r"[:\uff1a]\s*\Z")


def asked_for(prompt: str) -> list[Wording]:
    """Return the ways in which a prompt may ask for the answer, as its words have it."""
    found = [*_templates_in(prompt), *_tags_in(prompt), *_objects_in(prompt), *_marks_in(prompt)]
    return list(dict.fromkeys(found))


#: What stands round a placeholder and is closed behind it: an object, tags, an environment.
_TEMPLATES = (
    re.compile(
        r'(\{[^{}]{0,200}(?:\{[^{}]{0,200}){0,3}")(?:\.\.\.|…|<[\w ]{1,24}>)'
        r'("[^{}]{0,200}(?:\}[^{}"]{0,40}){0,3}\})'
    ),
    re.compile(r"((?:<[A-Za-z_][\w-]*>\s*){2,6})(?:\.\.\.|…)((?:\s*</[A-Za-z_][\w-]*>){2,6})"),
    re.compile(r"(\\begin\{\w+\*?\}[^\n]{0,80}?)(?:\.\.\.|…)([^\n]{0,40}?\\end\{\w+\*?\})"),
)


def _templates_in(prompt: str) -> Iterator[Wording]:
    for template in _TEMPLATES:
        for before, after in template.findall(prompt):
            yield Wording("as the prompt shows it", before, after)


def _tags_in(prompt: str) -> Iterator[Wording]:
    tags = [t for t in dict.fromkeys(_TAG.findall(prompt)) if f"</{t}>" in prompt]
    if not tags:
        return
    *others, last = tags
    name = ", then ".join([*(f"<{tag}>" for tag in others), f"a <{last}> tag"])
    one = "".join(f"<{tag}>{_SAYS}</{tag}>\n" for tag in others)
    lines = "".join(f"<{tag}>\n{_SAYS}\nThat is it.\n</{tag}>\n" for tag in others)
    yield Wording(name, f"{one}<{last}>", f"</{last}>")
    yield Wording(name, f"{lines}<{last}>\n", f"\n</{last}>")
    yield Wording(f"a <{last}> tag", f"<{last}>", f"</{last}>")


def _objects_in(prompt: str) -> Iterator[Wording]:
    if "{" not in prompt:
        return
    keys = list(dict.fromkeys(_KEY.findall(prompt)))
    if keys:
        *others, last = keys
        head = "".join(f'"{key}": "{_SAYS}", ' for key in others)
        for kind in ("number", "text"):
            name = f'JSON, {{"{last}": ...}}'
            yield Wording(name, f'{{{head}"{last}": ', "}", json=kind)
            yield Wording(name, f'{_SAYS}\n{{{head}"{last}": ', "}", json=kind)


def _marks_in(prompt: str) -> Iterator[Wording]:
    """Words in quotes that end with a colon, and what stands around a placeholder."""
    for groups in _QUOTED.findall(prompt):
        text = "".join(groups)
        place = _PLACE.search(text)
        if place is not None:
            yield from _around(text[: place.start()], text[place.end() :])
        elif _COLON.search(text):
            yield from _around(text if text[-1] in " \uff1a" else f"{text} ", "")
    for place in _PLACE.finditer(prompt):
        line = prompt[: place.start()].rpartition("\n")[2]
        starts = [match.start() for match in re.finditer(r"\S+", line)][-3:]
        for start in reversed(starts):
            yield from _around(line[start:], "")


def _around(before: str, after: str) -> Iterator[Wording]:
    if before.strip():
        name = f"after {before.strip()!r}"
        yield Wording(name, before, after)
        yield Wording(name, f"{_SAYS}\n{before}", after)


def of_example(text: str, answer: str) -> list[Wording]:
    """Return how a right response may have given its answer: as a whole, and its last line only."""
    start = text.rfind(answer)
    if not answer or start < 0:
        return []
    before, after = text[:start], text[start + len(answer) :]
    line = before.rpartition("\n")[2]
    if not before and not after:
        return [BARE]
    found = [Wording("as in the examples", before, after)]
    if line != before:
        found.append(Wording("as in the examples", line, after))
    for known in KNOWN:
        marks = not known.loose and known.before.strip()
        if marks and before.endswith(known.before) and after.startswith(known.after):
            found.append(known)
    return found


def one_of_each(found: Sequence[Wording]) -> list[Wording]:
    """Return the wordings without those that write the same."""
    return list({(one.before, one.after, one.json): one for one in reversed(found)}.values())[::-1]
