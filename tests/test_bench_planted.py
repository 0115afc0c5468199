"""The planted faults and the sound functions are what they say, whatever the benchmark finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import known_rewards
import planted_odd
import planted_rewards
import planted_third
import pytest
import reward_problems
import sound_odd
import sound_rewards
import sound_third

from mint_envs.bench.target.functions import adapt, number_of

pytestmark = pytest.mark.quick

KNOWN = Path(__file__).with_name("data") / "rewards" / "known_faults.jsonl"
#: How a right response is written in each form, for these functions.
WRITTEN = {
    "bare": "{}",
    "hashes": "Let me see.\n#### {}",
    "box": "So it is \\boxed{{{}}}",
    "tag": "<answer>{}</answer>",
    "think": "<think>Let me see.</think>\n<answer>{}</answer>",
    "json": '{{"answer": {}}}',
    "result": 'So: {{"result": {}}}',
    "said": "Let me see.\nAnswer: {}",
    "chat": "Let me see.\nAnswer: {}",
    "fence": "```\n{}\n```",
    "chinese": "算一下。\n答案\uff1a{}",
    "german": "Also.\nAntwort: {}",
    "xml": "<result><value>{}</value></result>",
    "yaml": "# so it is\nanswer: {}",
    "align": "\\begin{{align}}\nx &= 1 + 2 \\\\\n&= {}\n\\end{{align}}",
    "tuple": "```python\n{}\n```",
    "choice": "Let me see. The answer is ({}).",
    "spanish": "Veamos.\nRespuesta: {}",
    "line": "Let me see.\nResult: {}",
    "brackets": "Let me see. [[{}]]",
    "sections": "## Plan\nSo.\n## Work\nSo.\n## Answer\n{}",
    "call": '{{"name": "submit", "arguments": {{"answer": "{}"}}}}',
}
#: Of these a right response shows the fault, or nothing shows it in one call.
AT_ONCE = {"evaluates", "by_lot", "by_hash", "by_the_hour", "a_little_over", "kept_by_prompt",
           "longer_is_worse", "pays_length"}  # fmt: skip

PLANTED = [
    (module, name)
    for module in (planted_rewards, planted_odd, planted_third)
    for name in module.PLANTED
]
SOUND = [
    (module, name) for module in (sound_rewards, sound_odd, sound_third) for name in module.SOUND
]


def score(module: Any, name: str, row: dict[str, Any], text: str) -> float | None:
    call = adapt(getattr(module, name), name)
    value = number_of(call(row, row["prompt"], text))
    return None if value is None else float(value)


def right_scores(module: Any, name: str, form: str, golds: str) -> list[float | None]:
    rows = reward_problems.problems(form, golds)
    return [score(module, name, row, WRITTEN[form].format(row["answer"])) for row in rows]


@pytest.mark.parametrize(("module", "name"), PLANTED)
def test_a_right_response_in_the_form_asked_for_is_paid_by_the_mended_twin(
    module: Any, name: str
) -> None:
    form, golds, _ = module.PLANTED[name]
    paid = right_scores(module, f"{name}_mended", form, golds)
    assert all(one is None or one > 0.9 for one in paid)
    assert any(paid)


@pytest.mark.parametrize(("module", "name"), PLANTED)
def test_a_planted_fault_still_pays_what_is_right(module: Any, name: str) -> None:
    form, golds, kind = module.PLANTED[name]
    paid = right_scores(module, name, form, golds)
    if kind == "right and refused":
        assert 0.0 in paid or name in ("reads_the_end", "refuses_lines", "longer_is_worse")
    elif name not in AT_ONCE:
        assert set(paid) == {1.0}


@pytest.mark.parametrize(("module", "name"), SOUND)
def test_a_sound_reward_pays_the_most_for_what_is_right(module: Any, name: str) -> None:
    form, golds = module.SOUND[name]
    rows = reward_problems.problems(form, golds)
    written = WRITTEN[form].format
    for row in rows:
        right = score(module, name, row, written(row["answer"]))
        wrong = score(module, name, row, written("12345"))
        if right is not None and wrong is not None:
            assert right >= wrong


def test_the_sets_are_as_large_and_as_mixed_as_they_say() -> None:
    assert len(planted_odd.PLANTED) >= 15
    assert len(sound_odd.SOUND) >= 15
    kinds = {kind for _, _, kind in planted_rewards.PLANTED.values()}
    forms = {form for form, _, _ in planted_rewards.PLANTED.values()}
    assert len(planted_rewards.PLANTED) >= 30
    assert len(kinds) >= 15
    assert len(forms) >= 5
    assert len(sound_rewards.SOUND) >= 15


@pytest.mark.parametrize("number", range(len(known_rewards.KNOWN)))
def test_a_known_fault_is_behaved_as_it_was_told(number: int) -> None:
    function, rows = known_rewards.KNOWN[number]
    fault = known_rewards.faults()[number]
    own = rows[0] if fault["prompt"] else {**rows[0], "answer": fault["answer"]}
    call = adapt(function, function.__name__)
    assert number_of(call(own, own["prompt"], fault["response"])) == fault["gets"]


def test_known_faults_say_where_and_what() -> None:
    rows = [json.loads(line) for line in KNOWN.read_text(encoding="utf-8").splitlines()]
    assert len(rows) >= 25
    assert len({row["library"] for row in rows}) >= 6
    for row in rows:
        assert row["link"].startswith("https://github.com/")
        assert row["response"]
        assert row["what"]
        assert row["wanted"] in (0, 1, None)
        assert row["wanted"] != row["gets"] or row.get("batch")
