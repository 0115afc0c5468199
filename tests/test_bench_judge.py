"""``mint-envs bench --judge``: a judge of each vice is found out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mint_envs.bench.judging import judge_pairs, judging_section, numbers_of, read_pairs
from mint_envs.chat import ScriptedJudge
from mint_envs.chat.judge.pairs import KINDS_OF_PAIRS, known_pairs
from mint_envs.chat.judge.settings import CHOICES, KEY_ENV, JudgeSettings
from mint_envs.commands.bench import command
from mint_envs.errors import DatasetError
from mint_envs.reports.report import Section

pytestmark = pytest.mark.quick

PAIRS = known_pairs(8)
BETTER = {(pair.request, pair.better) for pair in PAIRS}

Rule = Callable[[Mapping[str, str]], str | None]


def right(data: Mapping[str, str]) -> str:
    return "first" if (data["request"], data["first"]) in BETTER else "second"


def prefers(good: Callable[[str], bool]) -> Rule:
    """A judge that prefers what is ``good``, and is right of two that are as good."""

    def rule(data: Mapping[str, str]) -> str:
        one, other = good(data["first"]), good(data["second"])
        return right(data) if one == other else "first" if one else "second"

    return rule


def section_of(rule: Rule, **settings: Any) -> Section:
    return judging_section(list(judge_pairs(panel_of(ScriptedJudge(rule)), PAIRS, silent)))


def panel_of(judge: ScriptedJudge, cache: str | None = None) -> Any:
    return JudgeSettings(
        judge, None, None, "pairwise", CHOICES, cache, KEY_ENV, 8, 5, 60.0, None
    ).panel()


def silent(what: str, done: int, total: int) -> None:
    pass


def test_a_right_judge_has_no_vice() -> None:
    section = section_of(right)
    assert section.findings == []
    assert section.numbers["agreement"] == 1.0
    assert section.numbers["judge_position_bias"] == section.numbers["judge_length_bias"] == 0.0
    assert section.numbers["judge_unmeasured"] == 0.0
    assert {name for name in section.numbers if name.startswith("judge_fooled_")} == {
        f"judge_fooled_{kind.replace(' ', '_')}" for kind in KINDS_OF_PAIRS
    }


VICES: dict[str, tuple[Rule, set[str]]] = {
    "the first": (lambda data: "first", {"judge-position", "judge-agreement"}),
    "the second": (lambda data: "second", {"judge-position", "judge-agreement"}),
    "always a tie": (lambda data: "tie", {"judge-agreement"}),
    "the longer": (
        lambda data: "first" if len(data["first"]) > len(data["second"]) else "second",
        {"judge-length", "judge-fooled", "judge-agreement"},
    ),
    "flattered": (prefers(lambda text: "wonderful question" in text or "so glad" in text),
                  {"judge-fooled", "judge-agreement"}),
    "a master key": (prefers(lambda text: len(text) < 45 and text.strip()[-1] in ":.n"),
                     {"judge-fooled"}),
    "takes orders": (prefers(lambda text: "Note to the judge" in text or "rubric above" in text),
                     {"judge-fooled", "judge-agreement"}),
    "refuses": (lambda data: None if ":" in data["first"] else right(data), {"judge-unmeasured"}),
    "the wrong one": (lambda data: "second" if right(data) == "first" else "first",
                      {"judge-fooled", "judge-agreement"}),
}  # fmt: skip


@pytest.mark.parametrize("name", VICES)
def test_a_judge_of_each_vice_is_found_out(name: str) -> None:
    rule, wanted = VICES[name]
    assert wanted <= {finding.check for finding in section_of(rule).findings}


def test_pairs_are_the_same_for_a_seed_and_differ_as_their_kind_says() -> None:
    assert known_pairs(8) == PAIRS
    assert known_pairs(8, seed=1) != PAIRS
    for pair in PAIRS:
        assert pair.better != pair.worse
        assert (len(pair.worse) > len(pair.better) + 150) == (pair.kind == "longer") or (
            pair.kind in ("flattery", "orders", "fault")
        )


def test_nothing_measured_is_no_number() -> None:
    judged = list(judge_pairs(panel_of(ScriptedJudge(lambda data: None)), PAIRS, silent))
    numbers = numbers_of(judged)
    assert numbers.pop("judge_unmeasured") == 1.0
    assert set(numbers.values()) == {None}


def test_verdicts_that_are_kept_are_not_asked_again(tmp_path: Path) -> None:
    """So a run that was stopped goes on."""
    first = ScriptedJudge(right)
    list(judge_pairs(panel_of(first, str(tmp_path)), PAIRS[:10], silent))
    again = ScriptedJudge(right)
    judged = list(judge_pairs(panel_of(again, str(tmp_path)), PAIRS, silent))
    assert len(first.asked) + len(again.asked) <= 2 * len(PAIRS)
    assert numbers_of(judged)["agreement"] == 1.0


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "p", "better": "b", "worse": "w"},
        {"input": "p", "output_1": "b", "output_2": "w", "label": 1},
        {"input": "p", "output_1": "w", "output_2": "b", "label": "2"},
        {"question": "p", "response_A": "w", "response_B": "b", "label": "B>A"},
    ],
)
def test_pairs_of_others_are_read(row: dict[str, Any], tmp_path: Path) -> None:
    for name, text in (("x.jsonl", json.dumps(row) + "\n"), ("x.json", json.dumps([row]))):
        (tmp_path / name).write_text(text)
        (pair,) = read_pairs(tmp_path / name)
        assert (pair.request, pair.better, pair.worse) == ("p", "b", "w")


def test_a_row_that_is_no_pair_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"question": "p", "response_A": "a", "response_B": "b", "label": "A=B"}\n')
    with pytest.raises(DatasetError, match=r"row 1 .* is no pair"):
        read_pairs(path)


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "judges.py").write_text(
        "from mint_envs.chat import ScriptedJudge\njudge = ScriptedJudge(lambda data: 'first')\n"
    )
    record, report = tmp_path / "pairs.jsonl", tmp_path / "report.json"
    done = CliRunner().invoke(
        command,
        ["--judge", f"{tmp_path}/judges.py:judge", "--pairs", "2", "--record", str(record),
         "--json", str(report), "--min-agreement", "0.9"],
    )  # fmt: skip
    assert done.exit_code == 1, done.output
    assert "--min-agreement 0.9: agreement is 0.5" in done.output
    assert json.loads(report.read_text())["sections"][0]["numbers"]["judge_position_bias"] == 1.0
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert len(rows) == 2 * len(KINDS_OF_PAIRS)
    assert {row["verdict"] for row in rows} == {"first"}
    for wrong in ([], ["mint/Math-v0", "--judge", "http://localhost:9/v1"]):
        assert "give a TARGET, or a judge" in CliRunner().invoke(command, wrong).output
