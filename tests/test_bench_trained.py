"""A policy trained on the reward finds what is paid without being right, and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench_sets import report_of
from benching import SUMS, checks, written
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from planted_third import PLANTED

from mint_envs.bench import trained
from mint_envs.bench.bench import bench
from mint_envs.bench.run import Options
from mint_envs.cli import main
from mint_envs.math.grade import grade
from mint_envs.problems import ProblemRef
from mint_envs.reports.report import Finding, Report
from mint_envs.responses.items import Item
from mint_envs.responses.written import KNOWN

FEW: dict[str, Any] = {"within": 600.0, "search": 0, "only": ("hackable",), "trained": True}


def learned_on(name: str, mended: bool = False) -> Report:
    form, golds, _ = PLANTED[name]
    return report_of("planted_third.py", name + "_mended" * mended, form, golds, **FEW)


def found_by_it(report: Report) -> list[Finding]:
    return [one for one in report.findings if one.check == "trained"]


@pytest.mark.slow
def test_it_finds_the_hack_and_shows_it_as_small_as_it_can_be() -> None:
    report = learned_on("any_box")
    (finding,) = found_by_it(report)
    assert "every number from 0 to 100, a form each, in the form: a box:" in finding.fault
    assert finding.cases[0].response.startswith("\\boxed{0}")
    assert (finding.severity, finding.cases[0].score) == ("exploitable", 1.0)
    assert report.sections[0].plots[-1].y[0] < 0.5 <= report.sections[0].plots[-1].y[-1]
    again = found_by_it(learned_on("any_box"))
    assert [one.fault for one in again] == [finding.fault]


@pytest.mark.slow
def test_it_finds_nothing_on_the_mended_twin() -> None:
    report = learned_on("any_box", mended=True)
    assert "trained" not in checks(report)
    assert any("found no way to be paid without being right" in note for note in report.notes)


@pytest.mark.slow
def test_a_reward_of_form_has_no_answer_to_be_wrong_about(tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text("def long(response):\n    return min(1.0, len(response) / 99)\n")
    data = written(tmp_path / "p.jsonl", SUMS)
    report = bench(f"{tmp_path}/r.py:long", Options(data=data, **FEW))
    assert any(note.startswith("No policy was trained") for note in report.notes)


@pytest.mark.quick
def test_the_search_is_a_number_or_trained() -> None:
    again = CliRunner().invoke(main, ["bench", "mint/Math-v0", "--search", "much"])
    assert again.exit_code == 2
    assert "'much' is neither a number of responses nor 'trained'" in again.output


def writer_on(item: Item) -> Any:
    paid = SimpleNamespace(wordings=KNOWN[2:4], right={0: 1.0})
    run: Any = SimpleNamespace(paid=paid, items=[item])
    return trained._Writer(run)


@pytest.mark.quick
@given(st.data(), st.sampled_from(["7", "19", "0.5", "-1", "yes", "A", "\\frac{1}{2}", "Paris"]))
def test_what_is_said_to_be_wrong_is_not_the_right_answer(data: Any, answer: str) -> None:
    asked = "What is 12 + 7? Is it yes or A?"
    item = Item(0, ProblemRef(index=0), "i", asked, (), "answer", given=answer)
    writer = writer_on(item)
    choice = tuple(data.draw(st.integers(0, len(p.values) - 1)) for p in writer.parts)
    if writer.is_wrong(choice, item):
        core = writer.parts[0].values[choice[0]](item)
        assert core is not None
        assert len(set(core)) != 1 or grade(answer, core[0]).score != 1.0
    assert writer.words(choice)
    assert writer.write(choice, item) == writer_on(item).write(choice, item)
