"""Ids that cannot drift, and verdicts that cannot: what is so now against ``tests/data/golden``.

A failure here is no fault in itself: docs/versioning.md says what to do when it is meant.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from typing import Any

import golden
import pytest
import verdicts

import mint_envs

pytestmark = pytest.mark.quick

MEANT = f"If this is meant: {golden.AGAIN}, in the same commit; see docs/versioning.md"
BLOCK = 250


@pytest.mark.parametrize(
    ("id", "settings"),
    [pytest.param(*case, id=f"{case[0]} {golden.name_of(case[1])}") for case in golden.cases()],
)
def test_problems_prompts_and_rewards_are_those_of_the_golden_file(
    id: str, settings: dict[str, Any]
) -> None:
    found = golden.differences(id, settings)
    assert not found, "\n".join([*found, MEANT])


@pytest.mark.parametrize("id", golden.CASES)
def test_prompts_of_many_more_seeds_are_those_of_the_golden_file(id: str) -> None:
    found = golden.spread_differences(id)
    assert not found, "\n".join([*found, MEANT])


def blocks() -> list[Any]:
    """Cut the verdicts into blocks of one kind, so that tests can share them out."""
    found = []
    for kind in verdicts.JUDGES:
        rows = iter([row for row in verdicts.kept() if row.kind == kind])
        while block := list(islice(rows, len(verdicts.kept()) if kind == "code" else BLOCK)):
            found.append(pytest.param(block, id=f"{kind}-{len(found)}"))
    return found


@pytest.mark.parametrize("rows", blocks())
def test_verdicts_are_those_of_the_golden_file(rows: list[verdicts.Verdict]) -> None:
    found = verdicts.differences(rows)
    assert not found, "\n".join([*found, MEANT])


def test_there_are_ten_thousand_verdicts_of_every_kind() -> None:
    kinds = [row.kind for row in verdicts.kept()]
    assert len(kinds) >= verdicts.LEAST
    assert len({verdicts.name_of(row) for row in verdicts.kept()}) == len(kinds)
    assert min(kinds.count(kind) for kind in verdicts.JUDGES) >= 250
    assert all(row.reward is not None for row in verdicts.kept())


def test_every_id_is_there() -> None:
    assert set(golden.CASES) == {id for id in mint_envs.env_ids() if id.startswith("mint/")}
    for id, many in golden.CASES.items():
        names = [*map(golden.name_of, many), golden.SPREAD_NAME]
        assert list(golden.kept(id)) == names, f"{golden.file_of(id).name}: run {golden.AGAIN}"


def test_every_setting_and_each_of_its_choices_is_there() -> None:
    command = [sys.executable, "-m", "mint_envs", "list", "--json"]
    listed = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    for id, many in golden.CASES.items():
        for setting in listed[id]:
            name = setting["name"]
            if name in golden.NO_CASES or name.startswith("judge"):
                continue
            tried = {repr(one[name]) for one in many if name in one}
            missing = choices(setting["type"]) - tried - {repr(setting["default"])}
            assert tried, f"{id}: no golden case has {name}; add one to CASES in tests/golden.py"
            assert not missing, f"{id}: no golden case has {name} = {missing}"


def choices(type: str) -> set[str]:
    """Return what ``mint-envs list`` says that a setting can be: ``one of 'a', 'b'``."""
    words, _, rest = type.partition("one of ")
    return {part.strip() for part in rest.split(",")} if rest and not words else set()


def test_a_difference_is_told_by_id_setting_seed_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    id, settings = "mint/Math-v0", {"digits": 3}
    lines, texts = golden.records(id, settings)
    old = texts["0"]["prompt"]
    texts["0"]["prompt"] = old.replace("What is", "What's", 1)
    lines[0] = lines[0].replace(lines[0].split()[1], "00000")
    monkeypatch.setattr(golden, "records", lambda *case: (lines, texts))
    told = "\n".join(golden.differences(id, settings))
    assert "mint/Math-v0 digits=3 seed 0: prompt was " in told
    assert ", is 00000" in told
    assert "+Q: What's 4 + 5?" in told


def test_a_changed_verdict_is_told_with_its_response() -> None:
    row = next(row for row in verdicts.kept() if row.kind == "math" and row.reward == 1.0)
    (told,) = verdicts.differences([row._replace(reward=0.0)])
    assert "was 0.0, is 1.0" in told
    assert repr(row.response)[:100] in told
