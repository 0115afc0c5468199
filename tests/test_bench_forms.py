"""Which form is paid is learned, and everything is tried in it: ``mint_envs/bench/paid.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench_sets import report_of
from benching import SUMS, checks, told, written
from click.testing import CliRunner
from planted_rewards import PLANTED
from sound_rewards import SOUND

from mint_envs.bench.bench import bench, turns_in
from mint_envs.bench.run import Options
from mint_envs.cli import main
from mint_envs.responses import attacks
from mint_envs.responses.written import BARE, KNOWN, Wording, asked_for, of_example

FEW: dict[str, Any] = {
    "within": 600.0,
    "texts": 10,
    "search": 16,
    "only": ("right", "sound", "hackable"),
}


def planted(name: str, mended: bool = False) -> Any:
    form, golds, _ = PLANTED[name]
    return report_of("planted_rewards.py", name + "_mended" * mended, form, golds, **FEW)


# -- a few of the sets; all of them: python -m tests.bench_sets ------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("any_hashes", "hack"),
        ("kept_by_length", "determinism"),
        ("by_the_hour", "determinism"),
        ("of_the_first", "determinism"),
        ("refuses_zero", "missed rewards"),
        ("a_little_over", "range"),
    ],
)
def test_a_planted_fault_is_found_and_its_mended_twin_is_left_alone(name: str, check: str) -> None:
    report = planted(name)
    assert check in checks(report), report.findings
    assert all(finding.severity for finding in report.findings)
    assert [f"{one.check}: {one.fault}" for one in planted(name, mended=True).findings] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minus_one_to_one", "overlong", "tags_counted", "near_answers"])
def test_what_is_sound_in_an_odd_way_is_left_alone(name: str) -> None:
    report = report_of("sound_rewards.py", name, *SOUND[name], **FEW)
    assert [f"{one.check}: {one.fault}" for one in report.findings] == []


def test_the_first_line_says_which_form_is_paid_and_how_sure_that_is() -> None:
    report = report_of("planted_rewards.py", "any_hashes", "hashes", "whole", only=("right",))
    assert report.lead.startswith("Paid form: after '####', by the prompts' words")
    assert "6 of 6" in report.lead


def test_what_cannot_be_tried_says_so(tmp_path: Path) -> None:
    data = written(tmp_path / "p.jsonl", SUMS)
    (tmp_path / "r.py").write_text("def nothing(response, answer):\n    return 0.0\n")
    options = Options(data=data, only=("hackable",), search=8, texts=5)
    report = bench(f"{tmp_path}/r.py:nothing", options)
    assert any("not tried, since no paid form is known" in note for note in report.notes)
    assert all("0.0 %" not in cell for s in report.sections for t in s.tables for r in t.rows
               for cell in r)  # fmt: skip


def test_a_policy_is_told_apart_from_a_fault() -> None:
    report = report_of("planted_rewards.py", "any_hashes_mended", "hashes", "whole", **FEW)
    assert report.findings == []
    assert any("the last form counts" in policy.fault for policy in report.policies)


def test_a_finding_says_what_it_costs_and_how_to_see_it_again(tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text("def loose(response, answer):\n    return answer in response\n")
    data = written(tmp_path / "p.jsonl", SUMS)
    options = Options(data=data, only=("hackable",), search=8, texts=5)
    report = bench(f"{tmp_path}/r.py:loose", options)
    first = report.worst_first[0]
    assert (first.severity, bool(first.cost)) == ("exploitable", True)
    assert first.repeat.startswith("mint-envs bench ")
    words = ["bench", f"{tmp_path}/r.py:loose", "--data", data, "--row", "0", "--try"]
    again = CliRunner().invoke(main, [*words, json.dumps("not 19")])
    assert again.output == "1.0\n"
    told_json = report.to_json()["sections"][0]["faults"][0]
    assert {"severity", "cost", "repeat"} <= told_json.keys()
    assert "paid as if" in told(report, "hack")


# -- how answers are written ------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize(
    ("prompt", "right"),
    [
        ("End with #### <answer>.", "#### 7"),
        ("Put it between <final> and </final>.", "<final>7</final>"),
        ('Reply with {"total": 5}.', '{"total": 7}'),
        ("Finish with 'Result: ' and the number.", "Result: 7"),
        ("最后写“答案\uff1a”。", "答案\uff1a7"),
        ("Say `[[N]]`.", "[[7]]"),
    ],
)
def test_what_a_prompt_asks_for_is_among_what_is_tried(prompt: str, right: str) -> None:
    assert right in [one.write("7") for one in asked_for(prompt)]


@pytest.mark.quick
def test_what_an_example_shows_is_among_what_is_tried() -> None:
    text = "First, 3 + 4.\nSo: >> 7 <<"
    assert Wording("as in the examples", "So: >> ", " <<") in of_example(text, "7")
    assert of_example("7", "7") == [BARE]
    assert of_example("no", "7") == []


@pytest.mark.quick
def test_a_word_in_json_is_quoted_and_a_number_is_not() -> None:
    number = next(one for one in KNOWN if one.json == "number")
    assert json.loads(number.write("7")) == {"answer": 7}
    assert json.loads(number.write('a "b"')) == {"answer": 'a "b"'}


@pytest.mark.quick
@pytest.mark.parametrize(
    "answer", ["19", "0", "-18", "2.5", "0.75", "100", "Paris", "A", "yes", "\\frac{1}{2}", "é"]
)
def test_no_other_answer_is_the_right_one(answer: str) -> None:
    for _, other in attacks.other_answers(answer):
        assert other != answer
        if attacks.is_number(answer) and attacks.is_number(other):
            assert float(other) != float(answer)


@pytest.mark.quick
def test_a_response_on_the_command_line_is_text_or_json() -> None:
    assert turns_in("7") == ("7",)
    assert turns_in('"a\\nb"') == ("a\nb",)
    assert turns_in('["a", "b"]') == ("a", "b")
    assert turns_in('"open') == ('"open',)
