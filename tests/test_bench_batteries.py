"""Labelled cases that ship: ``mint-envs bench --battery``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mint_envs.bench.batteries import BATTERIES, battery
from mint_envs.bench.batteries.toolcalls import ours
from mint_envs.bench.bench import bench
from mint_envs.bench.run import Options
from mint_envs.chat import grade_instructions
from mint_envs.code import grade as grade_code
from mint_envs.errors import SettingError
from mint_envs.math import grade as grade_math
from mint_envs.records.cases import Saved


def score(name: str, one: Saved) -> float | None:
    """What our own verifier gives."""
    row, text = one.row, one.turns[0]
    if name == "math":
        return grade_math(row["answer"], text).score
    if name == "toolcalls":
        return ours(text, row["calls"], row["tools"])
    if name == "code":
        return grade_code(text, [tuple(test) for test in row["tests"]]).score
    asked = [(kind, arguments) for kind, arguments in row["instructions"]]
    return grade_instructions(text, asked, row["prompt"]).score


@pytest.mark.quick
@pytest.mark.parametrize("name", sorted(BATTERIES))
def test_a_battery_has_hundreds_of_cases_of_many_kinds_and_both_labels(name: str) -> None:
    cases = battery(name)
    labels = Counter(one.label for one in cases)
    assert len(cases) >= 250
    assert min(labels[0.0], labels[1.0]) >= 75
    assert len({one.kind for one in cases}) >= 15
    assert len({(one.turns, repr(one.row)) for one in cases}) == len(cases)


@pytest.mark.quick
@pytest.mark.parametrize("name", ["instructions", "math", "toolcalls"])
def test_our_verifier_agrees_with_every_label(name: str) -> None:
    apart = [
        (one.kind, one.turns) for one in battery(name) if (score(name, one) == 1.0) != one.label
    ]
    assert apart == []


def test_our_verifier_agrees_with_the_labels_of_programs() -> None:
    few = [one for one in battery("code") if "`gcd(" in one.row["prompt"]]
    assert len(few) > 15
    assert [one.kind for one in few if (score("code", one) == 1.0) != one.label] == []


def test_a_report_has_a_row_for_each_kind(tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text(
        "def last_word(response, answer):\n"
        "    return float(answer in response)\n"
        "def never(response, answer):\n"
        "    return 0.0\n"
    )
    options = Options(battery="math", against=f"{tmp_path}/r.py:never", seconds=0.1, workers=1)
    report = bench(f"{tmp_path}/r.py:last_word", options)
    tables = {table.title: table for section in report.sections for table in section.tables}
    rows = {row[0]: row[1:] for row in tables["By kind"].rows}
    assert rows["hedge: list in the box"] == ["8", "0%", "8", "0", "0"]
    assert rows["equal: root"][3] != "0"
    assert report.numbers["accuracy"] is not None
    assert 0.2 < report.numbers["accuracy"] < 0.9
    assert any(title.startswith("Errors of ") for title in tables)


@pytest.mark.quick
def test_a_battery_that_there_is_not() -> None:
    with pytest.raises(SettingError, match="'maths'"):
        battery("maths")
    with pytest.raises(SettingError, match="not both"):
        Options(battery="math", cases="x.jsonl")
