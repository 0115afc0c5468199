"""The list of published reward functions: whole, and loaded only when it is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import published, rewards

pytestmark = pytest.mark.quick
PAGE = Path(__file__).parents[1] / "docs" / "published.md"


def test_there_are_many_and_each_has_problems_that_ask_for_a_form() -> None:
    assert len(published.PUBLISHED) >= 20
    for one in published.PUBLISHED.values():
        if not one.form.startswith("gym:"):
            rows = rewards.problems(one)
            assert len(rows) >= 4
            assert all(rewards.ASKS[one.form] in row["prompt"] for row in rows)


def test_a_function_that_is_ours_is_loaded_by_its_name() -> None:
    assert published.ours_math("19", "\\boxed{19}").score == 1.0
    with pytest.raises(AttributeError):
        _ = published.nobodys


def test_the_table_has_a_row_for_each_line() -> None:
    finding = {"severity": "honest", "text": "a | b"}
    row = {
        "library": "TRL", "name": "f", "version": "1", "findings": [finding], "rules": [],
        "rewards_per_second": 10.0,
    }  # fmt: skip
    text = rewards.table([json.loads(json.dumps(row))])
    assert text.splitlines()[-1] == "| TRL `f` | 1 | 0 | 1 | 0 | 0 | 10 | a \\| b |"


def test_the_page_names_its_commands() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "python -m benchmarks.rewards" in text
    assert "nox -t rewards" in text
