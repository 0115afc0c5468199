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
        "rewards_per_second": 10.0, "left_out": [],
    }  # fmt: skip
    text = rewards.table([json.loads(json.dumps(row))])
    assert text.splitlines()[-1] == "| TRL `f` | 1 | 0 | 1 | 0 | 0 | no | 10 | a \\| b |"


def test_the_table_is_put_into_a_page_and_the_last_line_of_a_function_counts(
    tmp_path: Path,
) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- table: python -m benchmarks.rewards --join -->\nold\n"
                    "<!-- end of the table -->\nAfter.\n")  # fmt: skip
    row = {
        "key": "ours_math", "library": "mint-envs", "name": "grade", "version": "1",
        "findings": [], "rules": [], "left_out": [], "rewards_per_second": None,
    }  # fmt: skip
    lines = tmp_path / "rows.jsonl"
    lines.write_text(json.dumps(row) + "\n" + json.dumps({**row, "version": "2"}) + "\n")
    rewards.join(page, rewards.newest([lines]))
    text = page.read_text()
    assert text.startswith("Before.\n")
    assert text.endswith("\nAfter.\n")
    assert "old" not in text
    assert text.count("mint-envs `grade` | 2 |") == 1
    with pytest.raises(ValueError, match="has no"):
        rewards.join(lines, [])


def test_the_page_names_its_commands() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "python -m benchmarks.rewards" in text
    assert "nox -t rewards" in text
