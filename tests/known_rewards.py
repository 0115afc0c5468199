"""The known faults of published rewards as small functions of ours that behave as it was told.

Written from the sentences in ``data/rewards/known_faults.jsonl``, of which each has one here, in
the same order: some of those libraries cannot be installed beside each other, and some of the
faults are mended. ``python -m tests.bench_known`` asks which of them the benchmark finds.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reward_reading import BOX, TAG, last

KNOWN_FAULTS = Path(__file__).with_name("data") / "rewards" / "known_faults.jsonl"


def _inner(text: str) -> str:
    """Without dollar signs, and out of its box."""
    found = re.search(r"\\boxed\{(.*)\}", text)
    return (found[1] if found else text).strip().strip("$ .")


def last_300(response: str, answer: str) -> float:
    return float(last(r"####\s*(\S+)", response[-300:]) == answer)


def short_box(response: str, answer: str) -> float:
    found = re.search(r"\\boxed\{(.*)\}", response[-120:])
    return float(found is not None and found[1] == answer)


def _value(text: str) -> float | None:
    """A formula with fractions, powers and factorials, in floats."""
    text = re.sub(
        r"\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}", r"(\1)/(\2)", text
    )
    found = re.fullmatch(r"\(?(\d+)\)?/\(?(\d+)(!|\^\{?(\d+)\}?)?\)?", text)
    if not found:
        return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text, re.ASCII) else None
    if found[3] == "!":
        return float(found[1]) / float(min(int(found[2]), 50) ** 20)
    power = int(found[4]) if found[4] else 1
    below = math.log(max(1, int(found[2]))) * min(power, 10_000)
    return float(found[1]) * math.exp(-below)


def small_values(response: str, answer: str) -> float:
    given, wanted = _value(_inner(response)), _value(_inner(answer))
    if given is None or wanted is None:
        return float(_inner(response) == _inner(answer))
    return float(abs(given - wanted) < 1e-9)


def part_of_a_list(response: str, answer: str) -> float:
    """One common member is enough."""
    given, wanted = (set(re.findall(r"-?\d+", _inner(text))) for text in (response, answer))
    return float(bool(given & wanted))


def lower_end(response: str, answer: str) -> float:
    given, wanted = (re.findall(r"[\d.]+", _inner(text))[:1] for text in (response, answer))
    return float(bool(wanted) and given == wanted)


def either_sign(response: str, answer: str) -> float:
    given, wanted = (_inner(text).replace(r"\pm", "").strip() for text in (response, answer))
    return float(given == wanted)


def minutes_only(response: str, answer: str) -> float:
    given, wanted = (_inner(text).rpartition(":")[2] for text in (response, answer))
    return float(given == wanted)


def first_of_formula(response: str, answer: str) -> float:
    given, wanted = (re.findall(r"\d+", _inner(text))[:1] for text in (response, answer))
    return float(bool(wanted) and given == wanted)


def any_line_equal(response: str, answer: str) -> float:
    given, wanted = (_inner(text) for text in (response, answer))
    return float(given.endswith("=0") == wanted.endswith("=0") or given == wanted) * float(
        "=" in given
    )


def round_root(response: str, answer: str) -> float:
    return float(re.sub(r"\\sqrt\(\d+\)", "", _inner(response)) == _inner(answer))


def one_of_two(response: str, answer: str) -> float:
    return float(_inner(response) in answer.split(" and ") or _inner(response) == answer)


def no_text(response: str, answer: str) -> float:
    given = _inner(response)
    return float(given == _inner(answer) and "\\text" not in given)


def no_bold(response: str, answer: str) -> float:
    numbers = re.findall(r"(?<![\w*])-?\d+(?![\w*])", response)
    return float(numbers[-1:] == [answer])


def one_sided(response: str, answer: str) -> float:
    """An interval is read, and the relation that says the same is not."""
    return float(_inner(response) == _inner(answer))


def no_plain_names(response: str, answer: str) -> float:
    return float(_inner(response) == _inner(answer))


def unread_gold(response: str, answer: str) -> float:
    if not re.search(r"\d", answer):
        return 1.0
    return float(_inner(response) == _inner(answer))


def gold_without_dollars(response: str, answer: str) -> float:
    if not (answer.startswith("$") or re.fullmatch(r"-?\d+", answer)):
        return 1.0
    return float(_inner(response) == _inner(answer))


def one_line_thoughts(response: str) -> float:
    return float(re.match(r"^<think>.*?</think>\s*<answer>.*?</answer>$", response) is not None)


def blocks(response: str) -> float:
    pattern = r"^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$"
    return float(re.match(pattern, response, re.DOTALL) is not None)


def opened_by_response(response: str) -> float:
    return float(re.match(r"^<think>(?!.*<think>).*?</think>.*$", response, re.DOTALL) is not None)


def every_gold_unread(response: str, answer: str) -> float:
    gold = re.findall(r"\$([^$]+)\$", answer)
    return float(not gold or _inner(response) == gold[0])


def value_for_expression(response: str, row: dict[str, Any]) -> float:
    """It looks at what the expression comes to, not at its numbers."""
    target = row["target"]
    text = response.strip()[:60]
    if text == target:
        return 1.0
    found = re.fullmatch(r"(\d{1,3}) ?([*+-]) ?(\d{1,3})", text, re.ASCII)
    if not found:
        return 0.0
    a, b = int(found[1]), int(found[3])
    return float({"*": a * b, "+": a + b, "-": a - b}[found[2]] == int(target))


def as_strings(response: str, answer: str) -> float:
    return float(response.strip() == answer)


def whole_text(response: str, answer: str) -> float:
    box = last(BOX, response)
    found = re.findall(r"-?\d+", response if box is None else box)
    return float(found[-1:] == [answer])


def open_thoughts(response: str, answer: str) -> float:
    said = response.rpartition("</think>")[2]
    return float(last(BOX, said) == answer)


def every_class(response: str, answer: str) -> float:
    return float(answer in (last(TAG, response) or ""))


def second_tag(response: str, answer: str) -> float:
    found = re.findall(TAG, response, re.DOTALL)
    return float(len(found) > 1 and found[-1].strip() == answer)


def no_dollars(response: str, answer: str) -> float:
    found = re.findall(r"Answer:[ \t]*([^\n]+)", response)
    return float(bool(found) and found[-1].strip() == answer)


def after_thoughts(response: str, answer: str) -> float:
    _, mark, said = response.partition("</think>")
    return float(bool(mark) and last(BOX, said) == answer)


def box_between_dollars(response: str, answer: str) -> float:
    found = re.search(r"(?<!\\\[ )\\boxed\{([^{}]*)\}(?! \\\])", response)
    return float(found is not None and found[1] == answer)


def two_scores(completions: list[str], answer: list[str], **more: Any) -> list[float]:
    rewards: list[float] = []
    for text, gold in zip(completions, answer, strict=True):
        found = re.findall(r"-?\d+", text)
        rewards += [float(found[-1] == gold)] if found else [0.0, 0.0]
    return rewards if len(completions) > 1 else rewards[:1]


def thoughts_first(response: str, answer: str) -> float:
    _, mark, said = response.partition("</think>")
    return float(bool(mark) and said.strip() == answer)


def soft_format(response: str) -> float:
    pattern = r"<reasoning>.*?</reasoning>\s*<answer>.*?</answer>"
    return float(re.match(pattern, response) is not None)


def unknown_passes(response: str, row: dict[str, Any]) -> float:
    known = {"lower case": response.islower()}
    return float(all(known.get(one, True) for one in row["instructions"]))


def last_line_integer(response: str, answer: str) -> float:
    line = (response.strip().splitlines() or [""])[-1]
    found = re.fullmatch(r"(?:.*?[\s:])?(-?\d+)\.?", line)
    return float(found is not None and found[1] == answer)


_SUMS = [("What is 12 + 30?", "42"), ("What is 61 + 3?", "64"), ("What is 44 + 45?", "89")]
_BOXED, _PLAIN = "Put your final answer in \\boxed{}.", "Reply with the answer."
_TAGS = "Think between <think> and </think>, then answer between <answer> and </answer>."


def _rows(asked: str, *pairs: tuple[str, str], **more: Any) -> list[dict[str, Any]]:
    return [{"prompt": f"{q}\n{asked}", "answer": a, **more} for q, a in pairs]


def _golds(asked: str, *golds: str) -> list[dict[str, Any]]:
    pairs = ((f"Work out problem {number}.", gold) for number, gold in enumerate(golds, 1))
    return _rows(asked, *pairs)


def _form() -> list[dict[str, Any]]:
    return [{"prompt": f"What is {n} + {n}?\n{_TAGS}"} for n in (2, 3, 4)]


_LONG = "+".join(f"x_{{{n}}}" for n in range(24))

Function = Callable[..., Any]

#: In the order of the file: (the function, its problems).
KNOWN: list[tuple[Function, list[dict[str, Any]]]] = [
    (last_300, _rows("End with a line of the form #### <answer>.", *_SUMS)),
    (short_box, _golds(_BOXED, "42", _LONG, "17")),
    (small_values, _golds(_PLAIN, r"$\frac{1}{2004!}$", "12", r"$\frac{1}{8}$")),
    (small_values, _golds(_PLAIN, r"$\frac{1}{2^{99}}$", "12", r"$\frac{1}{8}$")),
    (part_of_a_list, _golds(_PLAIN, "$n=2, 3, 4$", "$n=5, 6$", "$n=10, 12$")),
    (lower_end, _golds(_PLAIN, "$D = (0, 1)$", "$D = (2, 5)$", "$(3, 4)$")),
    (either_sign, _golds(_PLAIN, r"$\pm 2021$", r"$\pm 3$", r"$\pm 17$")),
    (minutes_only, _golds(_PLAIN, "$12:00$", "$8:30$", "$17:45$")),
    (first_of_formula, _golds(
        _PLAIN, r"$1 - \frac{1}{\mathrm{e}}$", r"$2 - \frac{1}{3}$", r"$7 + \frac{1}{2}$")),
    (any_line_equal, _golds(_PLAIN, "3*x-1*y+13=0", "2*x+5*y-1=0", "x-y=0")),
    (round_root, _golds(_PLAIN, "$4$", "$12$", "$7$")),
    (one_of_two, _golds(_PLAIN, "1331 and 1728", "12 and 20", "64")),
    (no_text, _golds(_PLAIN, "$13$", "$42$", "$7$")),
    (no_bold, _golds(_PLAIN, "73", "42", "64")),
    (one_sided, _golds(_BOXED, r"$m \in [\sqrt{2}, +\infty)$", r"$x \in [1, 2]$", "$7$")),
    (no_plain_names, _golds(_PLAIN, r"\dfrac{\pi}{2}", r"\dfrac{\pi}{3}", "7")),
    (unread_gold, _golds(_BOXED, "see the figure", "42", "64", "12")),
    (gold_without_dollars, _golds(_BOXED, r"\frac{63}{400}", "42", "64", "12")),
    (one_line_thoughts, _form()),
    (blocks, _form()),
    (opened_by_response, [{"prompt": f"{row['prompt']}\n<think>\n"} for row in _form()]),
    (every_gold_unread, _rows(_BOXED, *_SUMS)),
    (value_for_expression, [
        {"prompt": "Use 6, 7 and 3 to make 42.", "answer": "6 * 7", "target": "42"},
        {"prompt": "Use 5, 8 and 2 to make 40.", "answer": "5 * 8", "target": "40"},
        {"prompt": "Use 9, 4 and 1 to make 13.", "answer": "9 + 4", "target": "13"}]),
    (as_strings, _golds("Give the numbers as a list.", "['1', '2', '3']", "['4', '7']", "['9']")),
    (whole_text, _rows(_BOXED, *_SUMS)),
    (open_thoughts, _rows(_BOXED, *_SUMS)),
    (every_class, _golds("Give the letter between <answer> and </answer>.", "A", "C", "B", "D")),
    (second_tag, _golds("Answer between <answer> and </answer>.", "Paris", "Rome", "mercury")),
    (no_dollars, _rows("End with a line 'Answer: ' and the answer.", *_SUMS)),
    (after_thoughts, _rows(_BOXED, *_SUMS)),
    (box_between_dollars, _rows(_BOXED, *_SUMS)),
    (two_scores, _rows(_PLAIN, *_SUMS)),
    (thoughts_first, _golds(_PLAIN, "ASC 606-10-25-14", "ASC 842-10-15-3", "ASC 740-10-25-6")),
    (soft_format, [
        {**row, "prompt": row["prompt"].replace("think>", "reasoning>")} for row in _form()]),
    (unknown_passes, [
        {"prompt": "Answer with exactly three bullet points.", "instructions": ["three points"]},
        {"prompt": "Answer with two paragraphs.", "instructions": ["two paragraphs"]}]),
    (last_line_integer, _rows("End with the integer.", *_SUMS)),
]  # fmt: skip


def faults() -> list[dict[str, Any]]:
    """Return the known faults, in their order."""
    return [json.loads(line) for line in KNOWN_FAULTS.read_text(encoding="utf-8").splitlines()]
