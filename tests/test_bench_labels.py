"""``mint-envs bench`` with labels, floors and saved responses, and what groups would learn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benching import QUICK, REWARDS, SUMS, checks, run, told, written
from click.testing import CliRunner

from mint_envs.bench.bench import bench
from mint_envs.bench.run import Options
from mint_envs.bench.target.targets import Target, load
from mint_envs.cli import main
from mint_envs.errors import DatasetError, SettingError


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("data") / "sums.jsonl", SUMS)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ten right answers, three of them hidden from ``exact``; eight wrong ones."""
    rows = []
    for number in range(10):
        row = SUMS[number % len(SUMS)]
        text = row["answer"] if number >= 3 else f"It is {row['answer']}."
        rows.append({**row, "response": text, "label": True})
    rows += [{**SUMS[0], "response": str(n), "label": 0} for n in range(8)]
    return written(tmp_path_factory.mktemp("cases") / "cases.jsonl", rows)


def test_numbers_by_the_labels(labelled: str) -> None:
    report = run("exact", cases=labelled, only=("right",))
    assert report.numbers["accuracy"] == pytest.approx(15 / 18)
    assert report.numbers["missed_rewards"] == pytest.approx(0.3)
    assert report.numbers["false_rewards"] == 0.0
    (case, *_) = next(f.cases for f in report.findings if "labelled right" in f.fault)
    assert case.note == "line 1"


def test_agreement_of_two(labelled: str) -> None:
    other = f"{REWARDS}:first_integer"
    report = run("exact", cases=labelled, only=("right",), against=other)
    assert report.numbers["agreement"] == pytest.approx(15 / 18)


def test_floors_decide_the_exit_code(labelled: str, tmp_path: Path) -> None:
    asked = ["bench", f"{REWARDS}:exact", "--cases", labelled, "--only", "right", "--problems", "4"]
    out = tmp_path / "report.json"
    good = CliRunner().invoke(main, [*asked, "--min-accuracy", "0.8", "--json", str(out)])
    assert good.exit_code == 0, good.output
    assert json.loads(out.read_text())["numbers"]["accuracy"] == pytest.approx(15 / 18)
    bad = CliRunner().invoke(main, [*asked, "--min-accuracy", "0.9"])
    assert bad.exit_code == 1
    assert "--min-accuracy 0.9: accuracy is 0.8333" in bad.output
    unmeasured = CliRunner().invoke(main, [*asked, "--min-signal", "0.5"])
    assert unmeasured.exit_code == 1
    assert "signal was not measured" in unmeasured.output
    nowhere = CliRunner().invoke(main, [*asked, "--html", str(tmp_path / "none" / "page.html")])
    assert nowhere.exit_code == 2
    assert "there is no folder" in nowhere.output
    assert "By the labels" not in nowhere.output  # said before the work, not after it


@pytest.mark.parametrize(("same", "found"), [(8, True), (4, False)])
def test_one_answer_that_is_right_for_most_problems(same: int, found: bool, tmp_path: Path) -> None:
    rows = [{"prompt": f"Is {i} odd?", "answer": "yes" if i < same else "no"} for i in range(8)]
    data = written(tmp_path / "odd.jsonl", rows)
    report = run("exact", data=data, only=("hackable",), search=16)
    assert ("constant" in checks(report)) is found
    if found:
        assert "'yes' is paid on 8 of 8" in told(report, "constant")
        assert report.numbers["hacks"] == 1.0


def test_nothing_measured_is_not_unsolvable(sums: str) -> None:
    report = run("never_measured", data=sums, only=("right",))
    assert "unsolvable" not in checks(report)
    assert report.numbers["oracle"] is None


def test_responses_that_are_not_measured_are_counted(tmp_path: Path) -> None:
    report = run("silent_on_long", data=written(tmp_path / "p.jsonl", SUMS), only=("right",))
    assert any("were not measured" in note for s in report.sections for note in s.notes)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("problems", 0), ("group", 0), ("workers", 0), ("texts", 0), ("search", -1),
        ("seconds", 0.0), ("timeout_s", float("nan")), ("memory_mb", -1), ("high", 0.0),
        ("low", float("nan")),
    ],
)  # fmt: skip
def test_numbers_out_of_bounds_are_refused(option: str, value: Any) -> None:
    """No process that waits for none, no groups of nobody."""
    with pytest.raises(SettingError, match="must"):
        Options(**{option: value})


def test_labels_of_one_kind_measure_one_rate(tmp_path: Path) -> None:
    """Without a response that is labelled wrong, false rewards were not measured."""
    row = {**SUMS[0], "response": "19", "label": 1}
    report = run("exact", cases=written(tmp_path / "right.jsonl", [row]), only=("right",))
    assert report.numbers["false_rewards"] is None
    assert report.numbers["missed_rewards"] == 0.0


def test_what_a_group_would_learn(tmp_path: Path) -> None:
    rows = []
    for number, right in enumerate([0, 4, 2]):  # of four responses
        row = SUMS[number]
        texts = [row["answer"]] * right + ["0"] * (4 - right)
        rows += [{**row, "response": text} for text in texts]
    saved = written(tmp_path / "saved.jsonl", rows)
    report = run("exact", responses=saved, only=("learning",), group=2)
    ours = [{"index": n, "responses": [str(n), "0"]} for n in (3, 700)]  # found by their number
    again = written(tmp_path / "ours.jsonl", ours)
    more = bench("mint/Math-v0", Options(**QUICK, responses=again, only=("learning",), group=2))
    assert more.numbers["mean_reward"] == 0.0
    # Two of four right: a pair is equal with chance 1/3.
    assert report.numbers["signal"] == pytest.approx((0 + 0 + 2 / 3) / 3)
    assert report.numbers["mean_reward"] == pytest.approx(0.5)


def test_responses_are_judged_by_the_problem_that_they_name(tmp_path: Path) -> None:
    task = load(Target("mint/Math-v0"))
    rows = [{"index": n, "response": task.examples(task.problem(n))} for n in (700, 3, 0)]
    right = [{**row, "response": next(iter(row["response"])), "label": 1} for row in rows]
    cases = written(tmp_path / "c.jsonl", right)
    report = bench(
        "mint/Math-v0", Options(**{**QUICK, "problems": 1}, cases=cases, only=("right",))
    )
    assert report.numbers["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"prompt": "a", "label": 1}, "line 2.*no response"),
        ({"prompt": "a", "response": 3, "label": 1}, "line 2.*'response' is a int"),
        ({"prompt": "a", "response": "x"}, "line 2.*no label"),
        ({"prompt": "a", "response": "x", "correct": "yes"}, "line 2.*'correct' is 'yes'"),
    ],
)
def test_broken_rows_are_named(row: dict[str, Any], says: str, tmp_path: Path) -> None:
    good = {"prompt": "a", "response": "x", "label": 1}
    cases = written(tmp_path / "cases.jsonl", [good, row])
    with pytest.raises(DatasetError, match=says):
        bench(f"{REWARDS}:exact", Options(cases=cases))
