"""Rows of instructions as IFEval and IF-RLVR have them, and prompts that are messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mint_envs.chat import ChatTask
from mint_envs.errors import DatasetError

pytestmark = pytest.mark.quick

ASK = "Write a line without commas."
USER = [{"role": "user", "content": ASK}]
KIND = "punctuation:no_comma"
IFEVAL: dict[str, Any] = {"prompt": ASK, "instruction_id_list": [KIND], "kwargs": [{}]}
TOLD = [{"instruction_id": [KIND], "kwargs": [None]}]
ROWS: dict[str, dict[str, Any]] = {
    "IFEval": IFEVAL,
    "kwargs as text": {**IFEVAL, "kwargs": "[{}]"},
    "each as text": {**IFEVAL, "kwargs": ["{}"]},
    "a message": {**IFEVAL, "prompt": USER},
    "parts": {
        **IFEVAL,
        "prompt": [{"role": "user", "content": [{"type": "text", "text": ASK}]}],
    },
    "IF-RLVR": {"messages": USER, "ground_truth": str(TOLD), "dataset": "ifeval"},
    "IF-RLVR in JSON": {"messages": USER, "ground_truth": json.dumps(TOLD)},
}


@pytest.mark.parametrize("name", ROWS)
def test_every_form_is_the_same_problem(name: str, tmp_path: Path) -> None:
    task = ChatTask(dataset=written(tmp_path, ROWS[name]))
    problem = task.problem(0)
    assert problem.prompt == ASK
    assert problem.instructions == ((KIND, {}),)
    good, bad = "Rain fell on the old road all day.", "Rain, wind and sun fell on the old road."
    assert [task.score(problem, text).score for text in (good, bad)] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**IFEVAL, "prompt": [*USER, {"role": "assistant", "content": "No."}, *USER]}, "one mess"),
        ({**IFEVAL, "prompt": [{"role": "system", "content": ASK}]}, "one message of the user"),
        ({**IFEVAL, "prompt": [{"role": "user", "content": [{"type": "image"}]}]}, "'image'"),
        ({**IFEVAL, "kwargs": "{}"}, "must be lists"),
        ({**IFEVAL, "kwargs": [5]}, "kwargs are objects"),
        ({**IFEVAL, "instruction_id_list": [["a"]]}, "are names"),
        ({**IFEVAL, "prompt": " "}, "must be a text"),
        ({**IFEVAL, "prompt": [{"role": "user", "content": None}]}, "no content"),
        ({"messages": USER, "ground_truth": "{'func_name': 'no_commas'}"}, "instruction_id"),
        ({"messages": USER, "ground_truth": "__import__('os')"}, "instruction_id"),
        ({"messages": USER, "ground_truth": "[" * 5000}, "instruction_id"),
    ],
)
def test_other_forms_are_refused(row: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=reason) as caught:
        ChatTask(dataset=written(tmp_path, row))
    assert "\n" not in str(caught.value)


def written(folder: Path, row: dict[str, Any]) -> str:
    path = folder / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return str(path)
