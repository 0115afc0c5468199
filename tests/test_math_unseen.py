"""Each sentence of what the grader promises, in forms that it was not written on.

For every kind right answers and near misses: other letters, numbers, words, languages, spellings.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mint_envs.math import grade

pytestmark = pytest.mark.quick

PATH = Path(__file__).parent / "data" / "math_unseen.jsonl"
CASES = [json.loads(line) for line in PATH.read_text(encoding="utf-8").splitlines()]
KINDS = sorted({row["class"] for row in CASES})


@pytest.mark.parametrize("kind", KINDS)
def test_each_answer_of_a_kind_gets_the_verdict_of_its_reader(kind: str) -> None:
    rows = [row for row in CASES if row["class"] == kind]
    paid = {row["id"]: grade(row["gold"], row["response"], row.get("question")) for row in rows}
    wrong = [row for row in rows if (paid[row["id"]].score == 1) != row["verdict"]]
    assert not wrong, [(row, dict(paid[row["id"]].metadata)) for row in wrong]


def test_each_kind_has_right_and_wrong_answers() -> None:
    for kind in KINDS:
        assert {row["verdict"] for row in CASES if row["class"] == kind} == {True, False}, kind
