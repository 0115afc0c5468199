"""Reward functions without a fault that are sound in odd ways: the benchmark must say nothing.

Committed before the benchmark learned to leave them alone. ``SOUND`` says of each what its prompts
ask for and what its golds are.
"""

from __future__ import annotations

import json
import re
from typing import Any


def _one(pattern: str, text: str) -> str | None:
    found = re.findall(pattern, text, re.DOTALL)
    return found[0].strip() if len(found) == 1 else None


def strict_bare(response: str, answer: str) -> float:
    """Nothing but the answer."""
    return float(response == answer)


def strict_hashes(response: str, answer: str) -> float:
    """The last line and nothing else; no white space is forgiven."""
    return float(response.split("\n")[-1] == f"#### {answer}" and response.count("####") == 1)


def json_only(response: str, answer: str) -> float:
    try:
        value = json.loads(response)
    except (ValueError, RecursionError):
        return 0.0
    if not isinstance(value, dict) or set(value) != {"answer"}:
        return 0.0
    return float(type(value["answer"]) is int and str(value["answer"]) == answer)


def json_at_the_end(response: str, answer: str) -> float:
    """Words, then an object with the result."""
    found = re.search(r"\{[^{}]*\}\s*\Z", response)
    try:
        value = json.loads(found[0]) if found else {}
    except ValueError:
        return 0.0
    return float(response.count("{") == 1 and str(value.get("result")) == answer)


def minus_one_to_one(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Any
) -> Any:
    """As verl's: what is wrong costs something; the last box counts."""
    boxes = re.findall(r"\\boxed\{([^{}]*)\}", solution_str)
    right = bool(boxes) and boxes[-1].strip() == ground_truth
    return {"score": 1.0 if right else -1.0, "acc": right}


def part_for_the_form(response: str, answer: str) -> float:
    """A tenth for a number in a tag."""
    given = _one(r"<answer>(.*?)</answer>", response)
    if given is None or not re.fullmatch(r"-?[0-9]+", given):
        return 0.0
    return 1.0 if given == answer else 0.1


def tags_in_order(response: str, answer: str) -> float:
    tags = re.findall(r"</?(?:think|answer)>", response)
    if tags != ["<think>", "</think>", "<answer>", "</answer>"]:
        return 0.0
    found = re.fullmatch(r"\s*<think>.*</think>\s*<answer>(.*)</answer>\s*", response, re.DOTALL)
    return float(found is not None and found[1].strip() == answer)


def of_messages(completions: list[list[dict[str, str]]], answer: list[str], **more: Any) -> Any:
    """TRL's conversations; the last line that says it counts."""
    rewards = []
    for messages, gold in zip(completions, answer, strict=True):
        found = re.findall(r"^Answer: (.*)$", messages[-1]["content"], re.MULTILINE)
        rewards.append(float(found[-1:] == [gold]))
    return rewards


def in_chinese(response: str, answer: str) -> float:
    found = re.findall(r"答案[:\uff1a]\s*([^\s。]+)", response)
    return float(len(found) == 1 and found[0] == answer)


def in_german(response: str, answer: str) -> float:
    """A comma for the point, as German has it."""
    found = re.findall(r"Antwort:\s*(-?[0-9]+(?:,[0-9]+)?)\s*$", response)
    return float(len(found) == 1 and found[0] == answer)


def the_form_only(completions: list[str], **more: Any) -> list[float]:
    """Thoughts first, then something; what it says is not looked at."""
    pattern = r"<think>(?:(?!</?think>).)+</think>(?:(?!</?think>).)+"
    return [float(re.fullmatch(pattern, text, re.DOTALL) is not None) for text in completions]


def tags_counted(completions: list[str], **more: Any) -> list[float]:
    """A quarter for each tag that is there once."""
    tags = ("<think>", "</think>", "<answer>", "</answer>")
    return [sum(text.count(tag) == 1 for tag in tags) / 4 for text in completions]


def repetition(completions: list[str], **more: Any) -> list[float]:
    """From 0 down to -1: the share of three words in a row that were there before."""
    rewards = []
    for text in completions:
        words = text.lower().split()
        grams = list(zip(words, words[1:], words[2:], strict=False))
        rewards.append(len(set(grams)) / len(grams) - 1.0 if grams else 0.0)
    return rewards


def overlong(completion_ids: list[list[int]], completions: list[str], **more: Any) -> list[float]:
    """Nothing up to 1,000 tokens, then down to -1 at 1,500."""
    return [-min(1.0, max(0.0, (len(ids) - 1000) / 500)) for ids in completion_ids]


def near_answers(response: str, answer: str) -> float:
    """Less for what is nearly right, and nothing for what is far."""
    found = re.fullmatch(r"#### (-?[0-9]{1,9})", response.strip())
    if not found:
        return 0.0
    away = abs(int(found[1]) - int(answer))
    return 1.0 if not away else max(0.0, 0.5 - away / 20)


def near_words(response: str, answer: str) -> float:
    """A part for the letters that stand in their place."""
    given = response.strip()[:200]
    if given == answer:
        return 1.0
    same = sum(a == b for a, b in zip(given, answer, strict=False))
    return 0.6 * same / max(len(given), len(answer), 1)


def shorter_is_better(response: str, answer: str) -> float:
    """From 1 down to 0.5 for a right answer, by its length; from -1 up to -0.5 for a wrong one."""
    share = min(1.0, len(response) / 2000)
    right = _one(r"\\boxed\{([^{}]*)\}", response) == answer
    return 1.0 - share / 2 if right else -1.0 + share / 2


def up_to_three(response: str, answer: str) -> float:
    """One for the form, two for the answer."""
    given = _one(r"<answer>(.*?)</answer>", response)
    return 0.0 if given is None else 1.0 + 2.0 * (given == answer)


def not_for_every_gold(response: str, answer: str) -> float | None:
    """Where the gold is no number it says that it cannot tell."""
    if not re.fullmatch(r"-?[0-9]+", answer):
        return None
    found = re.findall(r"####\s*(\S+)", response)
    return float(found[-1:] == [answer])


#: name: (what its prompts ask for, its golds)
SOUND: dict[str, tuple[str, str]] = {
    "strict_bare": ("bare", "whole"),
    "strict_hashes": ("hashes", "whole"),
    "json_only": ("json", "whole"),
    "json_at_the_end": ("result", "whole"),
    "minus_one_to_one": ("box", "whole"),
    "part_for_the_form": ("tag", "whole"),
    "tags_in_order": ("think", "words"),
    "of_messages": ("chat", "words"),
    "in_chinese": ("chinese", "whole"),
    "in_german": ("german", "comma"),
    "the_form_only": ("think", "words"),
    "tags_counted": ("think", "whole"),
    "repetition": ("bare", "words"),
    "overlong": ("bare", "whole"),
    "near_answers": ("hashes", "whole"),
    "near_words": ("bare", "words"),
    "shorter_is_better": ("box", "whole"),
    "up_to_three": ("tag", "words"),
    "not_for_every_gold": ("hashes", "unreadable"),
}
