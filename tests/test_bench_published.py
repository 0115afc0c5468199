"""The list of published reward functions: whole, and loaded only when it is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import published, rewards
from mint_envs.reports.report import Report, Section

pytestmark = pytest.mark.quick
PAGE = Path(__file__).parents[1] / "docs" / "published.md"


def test_there_are_many_and_each_has_problems_that_ask_for_a_form() -> None:
    assert len(published.PUBLISHED) >= 20
    for one in published.PUBLISHED.values():
        if one.form in rewards.ASKS:
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
        "rewards_per_second": 10.0, "left_out": [], "key": "nobodys", "known": [],
    }  # fmt: skip
    text = rewards.table([json.loads(json.dumps(row))])
    assert (
        text.splitlines()[-1]
        == "| TRL `f` | 1 | 0 | 1 | 0 | 0, 1 unread | - | 0 | no | 10 | a \\| b |"
    )


def test_what_was_read_of_a_finding_holds_for_other_numbers_too() -> None:
    read = {("f", rewards.shape_of("the other sign: 4 of 6 are paid")): "false"}
    row = {"key": "f", "findings": [{"text": "the other sign: 5 of 12 are paid"}]}
    assert rewards.false_alarms(row, read) == "1"
    assert rewards.false_alarms({**row, "key": "g"}, read) == "0, 1 unread"


def test_every_mark_is_of_a_function_in_the_list_and_says_why() -> None:
    lines = rewards.MARKS.read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        assert row["key"] in published.PUBLISHED
        assert row["mark"] in ("true", "false", "debatable")
        assert row["why"]


def test_the_faults_that_are_known_of_a_function_are_among_those_of_its_library() -> None:
    for key in rewards._KNOWN:
        assert rewards.known_of(key), key
    assert rewards.known_of("ours_math") == []
    (fault,) = rewards.known_of("verl_gsm8k")
    report = Report("f", "", {}, [Section("right", "")])
    report.sections[0].find("missed rewards", "it is refused for the text after it", "Read it all")
    strict = replace(published.PUBLISHED["ours_math"], load=lambda: lambda response, answer: 0.0)
    told = rewards.told_of(fault, strict, report)
    assert (told["there"], told["report"]) == (True, "found")


def test_the_table_is_put_into_a_page_and_the_last_line_of_a_function_counts(
    tmp_path: Path,
) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- table: python -m benchmarks.rewards --join -->\nold\n"
                    "<!-- end of the table -->\nAfter.\n")  # fmt: skip
    row = {
        "key": "ours_math", "library": "mint-envs", "name": "grade", "version": "1",
        "findings": [], "rules": [], "left_out": [], "rewards_per_second": None, "known": [],
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
