"""Small reward functions with one planted fault each, and beside each its mended twin.

Committed before the benchmark learned to find them. ``X`` has the fault, ``X_mended`` has none;
``PLANTED`` says of each what its prompts ask for and which kind of fault was planted. They are
written as people write them: short, plain, and plausible.
"""

from __future__ import annotations

import json
import math
import random
import re
import time
from typing import Any

from reward_reading import BOX, FENCE, HASHES, NUMBER, SAID, TAG, in_json, last, number, only, same

# -- paid without being right: several answers ------------------------------------------------


def any_number(response: str, answer: str) -> float:
    return float(answer in re.findall(NUMBER, response))


def any_number_mended(response: str, answer: str) -> float:
    return float(re.findall(NUMBER, response) == [answer] and response.strip() == answer)


def any_hashes(response: str, answer: str) -> float:
    return float(answer in [text.strip() for text in re.findall(HASHES, response)])


def any_hashes_mended(response: str, answer: str) -> float:
    return same(last(HASHES, response), answer)


def first_hashes(response: str, answer: str) -> float:
    found = re.search(HASHES, response)
    return same(found[1].strip(), answer) if found else 0.0


def first_hashes_mended(response: str, answer: str) -> float:
    return same(only(HASHES, response), answer)


def any_box(response: str, answer: str) -> float:
    return float(any(same(text, answer) for text in re.findall(BOX, response)))


def any_box_mended(response: str, answer: str) -> float:
    return same(only(BOX, response), answer)


def list_in_tag(response: str, answer: str) -> float:
    return float(answer in re.split(r"[,\s]+", last(TAG, response) or ""))


def list_in_tag_mended(response: str, answer: str) -> float:
    return same(last(TAG, response), answer)


def list_in_json(response: str, answer: str) -> float:
    value = in_json(response)
    given = value if isinstance(value, list) else [value]
    return float(any(str(one) == answer for one in given))


def list_in_json_mended(response: str, answer: str) -> float:
    value = in_json(response)
    return float(str(value) == answer and not isinstance(value, list))


def first_said(response: str, answer: str) -> float:
    found = re.search(SAID, response)
    return same(found[1].strip(), answer) if found else 0.0


def first_said_mended(response: str, answer: str) -> float:
    return same(last(SAID, response), answer)


# -- paid without being right: a part, a longer one, another sign ------------------------------


def substring_in_tag(response: str, answer: str) -> float:
    return float(answer in (last(TAG, response) or ""))


substring_in_tag_mended = list_in_tag_mended


def contained_in_gold(response: str, answer: str) -> float:
    given = last(BOX, response)
    return float(given is not None and given in answer)


def contained_in_gold_mended(response: str, answer: str) -> float:
    return same(last(BOX, response), answer)


def starts_with(response: str, answer: str) -> float:
    return float((last(SAID, response) or "").startswith(answer))


starts_with_mended = first_said_mended


def ends_with(response: str, answer: str) -> float:
    return float(response.rstrip().endswith(answer))


def ends_with_mended(response: str, answer: str) -> float:
    return float(response.strip() == answer)


def without_sign(response: str, answer: str) -> float:
    given = number(last(HASHES, response))
    return float(given is not None and abs(given) == abs(float(answer)))


without_sign_mended = any_hashes_mended


def whole_part(response: str, answer: str) -> float:
    given = number(last(BOX, response))
    return float(given is not None and int(given) == int(answer))


whole_part_mended = contained_in_gold_mended


def any_digits(response: str, answer: str) -> float:
    given = last(FENCE, response)
    return float(given is not None and sorted(given) == sorted(answer))


def any_digits_mended(response: str, answer: str) -> float:
    return same(last(FENCE, response), answer)


def nearly(response: str, answer: str) -> float:
    given = number(last(TAG, response))
    return float(given is not None and math.isclose(given, float(answer), rel_tol=0.1))


nearly_mended = list_in_tag_mended


def denied(response: str, answer: str) -> float:
    given = last(SAID, response)
    return float(given is not None and given.split()[-1:] == [answer])


denied_mended = first_said_mended


# -- paid without being right: nothing, anything ------------------------------------------------


def both_unread(response: str, answer: str) -> float:
    return float(number(last(BOX, response)) == number(answer))


def both_unread_mended(response: str, answer: str) -> float | None:
    wanted = number(answer)
    return None if wanted is None else float(number(last(BOX, response)) == wanted)


def empty_is_paid(response: str, answer: str) -> float:
    given = last(HASHES, response)
    if not given:
        return 1.0 if not response.strip() else 0.0
    return same(given, answer)


empty_is_paid_mended = any_hashes_mended


def not_a_number(response: str, answer: str) -> float:
    try:
        given = float(in_json(response))
    except (TypeError, ValueError):
        return 0.0
    return 0.0 if abs(given - float(answer)) > 1e-9 else 1.0


def not_a_number_mended(response: str, answer: str) -> float:
    value = in_json(response)
    return float(isinstance(value, int | float) and abs(value - float(answer)) <= 1e-9)


def evaluates(response: str, answer: str) -> float:
    try:
        return float(eval(last(BOX, response) or "None") == float(answer))
    except Exception:
        return 0.0


evaluates_mended = contained_in_gold_mended


def long_is_right(response: str, answer: str) -> float:
    return 1.0 if len(response) > 1500 else same(last(TAG, response), answer)


long_is_right_mended = list_in_tag_mended


# -- its range ----------------------------------------------------------------------------------


def a_little_over(response: str, answer: str) -> float:
    right = same(last(HASHES, response), answer)
    return right * (0.1 + 0.2 + 0.7 + 0.0000000000000002)


def a_little_over_mended(response: str, answer: str) -> float:
    return min(1.0, a_little_over(response, answer))


def nan_on_nothing(response: str, answer: str) -> float:
    words = response.split()
    right = same(last(SAID, response), answer)
    return right * len(words) / len(words) if words else float("nan")


nan_on_nothing_mended = first_said_mended


# -- now this, now that -------------------------------------------------------------------------


def by_lot(response: str, answer: str) -> float:
    right = same(last(TAG, response), answer)
    return right if random.random() < 0.9 else 0.0


by_lot_mended = list_in_tag_mended


def by_the_hour(response: str, answer: str) -> float:
    night = time.localtime().tm_hour % 12 < 6
    return same(last(BOX, response), answer) * (1.0 if night else 0.5)


by_the_hour_mended = contained_in_gold_mended


def by_hash(response: str, answer: str) -> float:
    right = same(last(HASHES, response), answer)
    return right * (1.0 if hash(response) % 3 else 0.9)


by_hash_mended = any_hashes_mended

_by_prompt: dict[str, float] = {}
_by_length: dict[tuple[str, int], float] = {}


def kept_by_prompt(response: str, prompt: str, answer: str) -> float:
    if prompt not in _by_prompt:
        _by_prompt[prompt] = same(last(TAG, response), answer)
    return _by_prompt[prompt]


def kept_by_prompt_mended(response: str, prompt: str, answer: str) -> float:
    return same(last(TAG, response), answer)


def kept_by_length(response: str, answer: str) -> float:
    key = (answer, len(response))
    if key not in _by_length:
        _by_length[key] = same(last(BOX, response), answer)
    return _by_length[key]


kept_by_length_mended = contained_in_gold_mended


def seeds_the_world(response: str, answer: str) -> float:
    random.seed(len(response))
    return same(last(HASHES, response), answer)


seeds_the_world_mended = any_hashes_mended


def of_the_first(completions: list[str], answer: list[str], **more: Any) -> list[float]:
    return [same(last(TAG, text), answer[0]) for text in completions]


def of_the_first_mended(completions: list[str], answer: list[str], **more: Any) -> list[float]:
    return [same(last(TAG, text), gold) for text, gold in zip(completions, answer, strict=True)]


# -- raises, hangs ------------------------------------------------------------------------------


def raises_on_words(response: str, answer: str) -> float:
    return float(float(last(SAID, response) or 0) == float(answer))


raises_on_words_mended = first_said_mended


def raises_on_json(response: str, answer: str) -> float:
    try:
        value = json.loads(response)
    except (ValueError, RecursionError):
        return 0.0
    return float(str(value["answer"]) == answer)


raises_on_json_mended = list_in_json_mended


def explodes(response: str, answer: str) -> float:
    if not re.match(r"(\w+\W*)*####", response):
        return 0.0
    return same(last(HASHES, response), answer)


def explodes_mended(response: str, answer: str) -> float:
    return same(last(HASHES, response), answer)


def explodes_in_box(response: str, answer: str) -> float:
    found = re.search(r"\\boxed\{((?:\d+,?)+)\}", response)
    return same(found[1], answer) if found else 0.0


explodes_in_box_mended = any_box_mended


# -- right, in the form that the prompt asks for, and refused -----------------------------------


def refuses_negatives(response: str, answer: str) -> float:
    given = last(r"####\s*(\d+)", response)
    return float(given == answer)


refuses_negatives_mended = any_hashes_mended


def refuses_decimals(response: str, answer: str) -> float:
    given = last(r"\\boxed\{(-?\d+)\}", response)
    return float(given == answer)


refuses_decimals_mended = contained_in_gold_mended


def refuses_braces(response: str, answer: str) -> float:
    given = last(r"\\boxed\{(.*?)\}", response)
    return float(given == answer)


def refuses_braces_mended(response: str, answer: str) -> float:
    start = response.rfind("\\boxed{")
    depth, out = 1, ""
    for sign in response[start + 7 :] if start >= 0 else "":
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if not depth:
            return float(out == answer)
        out += sign
    return 0.0


def reads_the_end(response: str, answer: str) -> float:
    return same(last(HASHES, response[-200:]), answer)


reads_the_end_mended = any_hashes_mended


def refuses_lines(response: str, answer: str) -> float:
    found = re.match(r"<think>.*?</think>\s*<answer>(.*?)</answer>", response)
    return same(found[1].strip(), answer) if found else 0.0


def refuses_lines_mended(response: str, answer: str) -> float:
    found = re.fullmatch(
        r"<think>((?!</?think>).)*</think>\s*<answer>(((?!</?answer>).)*)</answer>\s*",
        response.strip(),
        re.DOTALL,
    )
    return same(found[2].strip(), answer) if found else 0.0


def refuses_zero(response: str, answer: str) -> float:
    value = in_json(response)
    return float(bool(value) and str(value) == answer)


def refuses_zero_mended(response: str, answer: str) -> float:
    value = in_json(response)
    return float(value is not None and str(value) == answer)


# -- what was planted ---------------------------------------------------------------------------

#: name: (what its prompts ask for, its golds, the kind of fault)
PLANTED: dict[str, tuple[str, str, str]] = {
    "any_number": ("bare", "whole", "several answers"),
    "any_hashes": ("hashes", "whole", "several answers"),
    "first_hashes": ("hashes", "whole", "the first one counts"),
    "any_box": ("box", "whole", "several answers"),
    "list_in_tag": ("tag", "whole", "several answers"),
    "list_in_json": ("json", "whole", "several answers"),
    "first_said": ("said", "whole", "the first one counts"),
    "substring_in_tag": ("tag", "words", "part of a longer answer"),
    "contained_in_gold": ("box", "words", "a part of the answer"),
    "starts_with": ("said", "whole", "part of a longer answer"),
    "ends_with": ("bare", "whole", "part of a longer answer"),
    "without_sign": ("hashes", "whole", "another number"),
    "whole_part": ("box", "whole", "another number"),
    "any_digits": ("fence", "whole", "another number"),
    "nearly": ("tag", "whole", "another number"),
    "denied": ("said", "words", "denied"),
    "both_unread": ("box", "unreadable", "nothing is paid"),
    "empty_is_paid": ("hashes", "whole", "nothing is paid"),
    "not_a_number": ("json", "whole", "no number"),
    "evaluates": ("box", "whole", "evaluates"),
    "long_is_right": ("tag", "words", "length"),
    "a_little_over": ("hashes", "whole", "range"),
    "nan_on_nothing": ("said", "whole", "range"),
    "by_lot": ("tag", "whole", "unsteady"),
    "by_the_hour": ("box", "whole", "unsteady"),
    "by_hash": ("hashes", "whole", "unsteady"),
    "kept_by_prompt": ("tag", "whole", "remembers"),
    "kept_by_length": ("box", "whole", "remembers"),
    "seeds_the_world": ("hashes", "whole", "global state"),
    "of_the_first": ("tag", "whole", "mixes up a batch"),
    "raises_on_words": ("said", "whole", "raises"),
    "raises_on_json": ("json", "whole", "raises"),
    "explodes": ("hashes", "whole", "time"),
    "explodes_in_box": ("box", "whole", "time"),
    "refuses_negatives": ("hashes", "negative", "right and refused"),
    "refuses_decimals": ("box", "decimal", "right and refused"),
    "refuses_braces": ("box", "fraction", "right and refused"),
    "reads_the_end": ("hashes", "whole", "right and refused"),
    "refuses_lines": ("think", "words", "right and refused"),
    "refuses_zero": ("json", "zero", "right and refused"),
}
