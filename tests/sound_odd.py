"""More sound reward functions, in forms and odd ways that ``sound_rewards`` does not have.

Committed before the benchmark was run on them.
"""

from __future__ import annotations

import ast
import json
import re
from datetime import date
from typing import Any

from reward_reading import SAID, last, only


def xml_document(response: str, answer: str) -> float:
    """One document and nothing else."""
    found = re.fullmatch(r"\s*<result>\s*<value>([^<>]*)</value>\s*</result>\s*", response)
    return float(found is not None and found[1].strip() == answer)


def yaml_key(response: str, answer: str) -> float:
    """The last key counts; in quotes or not."""
    found = re.findall(r"^answer:[ \t]*['\"]?([^'\"\n]*?)['\"]?[ \t]*$", response, re.MULTILINE)
    return float(found[-1:] == [answer])


def tuple_in_code(response: str, answer: str) -> float:
    """Read, never run; a part for a tuple of the same length."""
    found = re.findall(r"```(?:python)?\n(.*?)\n```", response, re.DOTALL)
    if len(found) != 1 or not re.fullmatch(r"\(-?[0-9]{1,6}(, ?-?[0-9]{1,6})*\)", found[0]):
        return 0.0
    given, wanted = ast.literal_eval(found[0]), ast.literal_eval(answer)
    if not isinstance(given, tuple):
        return 0.0
    return 1.0 if given == wanted else 0.2 * (len(given) == len(wanted))


def last_line_of_align(response: str, answer: str) -> float:
    """What the last line of the formula comes to."""
    found = re.search(r"\\begin\{align\*?\}(.*)\\end\{align\*?\}\s*\Z", response, re.DOTALL)
    if found is None or "\\begin" in found[1]:
        return 0.0
    return float(found[1].split("\\\\")[-1].rpartition("&=")[2].strip() == answer)


def with_its_unit(response: str, answer: str) -> float:
    """Kilometres may be given as metres."""
    found = re.fullmatch(r"(-?[0-9]+(?:\.[0-9]+)?) ?(\w+)", last(SAID, response) or "", re.ASCII)
    value, unit = answer.split()
    if found is None:
        return 0.0
    if found[2] == "m" and unit == "km":
        return float(float(found[1]) == 1000 * float(value))
    return float(found[2] == unit and float(found[1]) == float(value))


def a_real_date(response: str, answer: str) -> float:
    """Any writing of ISO 8601."""
    try:
        return float(date.fromisoformat(last(SAID, response) or "") == date.fromisoformat(answer))
    except ValueError:
        return 0.0


def set_overlap(response: str, answer: str) -> float:
    """The share of members that both have, of those that either has."""
    found = re.fullmatch(r"\{([^{}]*)\}", last(SAID, response) or "")
    given = {part.strip() for part in found[1].split(",")} - {""} if found else set()
    wanted = {part.strip() for part in answer.strip("{}").split(",")}
    return len(given & wanted) / len(given | wanted) if given else 0.0


def the_interval(response: str, answer: str) -> float:
    given = re.sub(r"\s", "", last(SAID, response) or "")
    return float(given == answer.replace(" ", ""))


def exam(response: str, answer: str) -> float:
    """As in an exam: a wrong choice costs a third, none costs nothing."""
    found = re.findall(r"[Tt]he answer is \(([A-D])\)", response)
    if len(found) != 1:
        return 0.0
    return 1.0 if found[0] == answer else -1 / 3


def three_ways(response: str, answer: str) -> int:
    """1 for right, 0 for silence, -1 for wrong; the form may stand once."""
    if "I do not know" in response and "Answer:" not in response:
        return 0
    return 1 if only(SAID, response) == answer else -1


def a_bonus_for_short(response: str, answer: str) -> dict[str, Any]:
    """Right ones earn from 1.5 down to 1, by their length."""
    right = only(SAID, response) == answer
    bonus = 0.5 * max(0.0, 1 - len(response) / 3000)
    return {"score": 1.0 + bonus if right else 0.0, "length": len(response)}


async def one_by_one(response: str, answer: str) -> float:
    return float(only(SAID, response) == answer)


class Checks:
    """A class with settings of its own."""

    def __init__(self, low: float = -0.5) -> None:
        self.low = low

    def __call__(self, completion: str, ground_truth: str) -> float:
        return 1.0 if only(SAID, completion) == ground_truth else self.low


checks = Checks()


def last_message(messages: list[dict[str, str]], answer: str) -> float:
    said = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
    return float(only(SAID, said) == answer)


def batch_of_three_lists(
    data_sources: list[str], solution_strs: list[str], ground_truths: list[str], extra_infos: Any
) -> list[dict[str, float]]:
    """As verl's batches."""
    pairs = zip(solution_strs, ground_truths, strict=True)
    return [{"score": float(only(SAID, text) == gold)} for text, gold in pairs]


def as_squad(response: str, answer: str) -> float:
    """Words without articles, marks and case."""

    def plain(text: str) -> list[str]:
        return [w for w in re.findall(r"\w+", text.lower()) if w not in ("a", "an", "the")]

    given = last(SAID, response)
    return float(given is not None and plain(given) == plain(answer))


def overlap_of_words(response: str, answer: str) -> float:
    """F1 of the words: too many cost."""
    given, wanted = (last(SAID, response) or "").lower().split(), answer.lower().split()
    common = len(set(given) & set(wanted))
    return 2 * common / (len(given) + len(wanted)) if common else 0.0


def with_reasons(response: str, answer: str) -> float:
    """Half for a reason, but only beside a right answer."""
    right = only(SAID, response) == answer
    because = re.search(r"\b(because|therefore|since|let me see)\b", response.lower())
    return (0.5 + 0.5 * (because is not None)) if right else 0.0


def of_several_golds(response: str, row: dict[str, Any]) -> float:
    """Any spelling that the row has."""
    golds = {row["answer"].lower(), row["answer"].lower().replace("í", "i").replace("ó", "o")}
    given = last(r"Respuesta:[ \t]*([^\n]*)", response)
    return float(given is not None and given.lower().rstrip(".") in golds)


def call_of_a_tool(response: str, answer: str) -> float:
    """A call with the answer among its arguments."""
    try:
        call = json.loads(response)
    except (ValueError, RecursionError):
        return 0.0
    wanted = {"name": "submit", "arguments": {"answer": answer}}
    return float(call == wanted)


def yes_or_no(response: str, answer: str) -> bool:
    """The one word, or a sentence that ends with it."""
    found = re.fullmatch(r"(?:so )?(?:the answer is )?(yes|no)\W*", response.strip().lower())
    return found is not None and found[1] == answer


#: name: (what its prompts ask for, its golds)
SOUND: dict[str, tuple[str, str]] = {
    "xml_document": ("xml", "whole"),
    "yaml_key": ("yaml", "whole"),
    "tuple_in_code": ("tuple", "points"),
    "last_line_of_align": ("align", "whole"),
    "with_its_unit": ("said", "units"),
    "a_real_date": ("said", "dates"),
    "set_overlap": ("said", "sets"),
    "the_interval": ("said", "intervals"),
    "exam": ("choice", "choices"),
    "three_ways": ("said", "whole"),
    "a_bonus_for_short": ("said", "whole"),
    "one_by_one": ("said", "words"),
    "checks": ("said", "whole"),
    "last_message": ("chat", "whole"),
    "batch_of_three_lists": ("said", "whole"),
    "as_squad": ("said", "phrases"),
    "overlap_of_words": ("said", "phrases"),
    "with_reasons": ("said", "whole"),
    "of_several_golds": ("spanish", "spanish"),
    "call_of_a_tool": ("call", "words"),
    "yes_or_no": ("bare", "yes"),
}
