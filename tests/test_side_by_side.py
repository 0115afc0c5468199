"""Two runs side by side, and the responses of one by problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from mint_envs.cli import main
from mint_envs.reports.side_by_side import by_problem, one_side, rewards_part
from mint_envs.reports.transcripts import Rollouts, TranscriptFilter, load_rollouts, transcript

ALL = TranscriptFilter()
pytestmark = pytest.mark.quick


def run_of(rows: list[dict[str, Any]], name: str = "run") -> Rollouts:
    return Rollouts(name, [transcript(row, n, name) for n, row in enumerate(rows, 1)])


def row(step: int, problem: str, reward: float | None, response: str = "x") -> dict[str, Any]:
    return {
        "step": step, "problem_id": problem, "prompt": f"Q {problem}?", "response": response,
        "reward": 0.0 if reward is None else reward, "scored": reward is not None,
    }  # fmt: skip


def steps_of(rates: list[float], seed: int) -> Rollouts:
    """Eight problems of four responses a step, each right with the step's probability."""
    rng = np.random.default_rng(seed)
    return run_of(
        [
            row(step, f"{step}-{problem}", float(rng.random() < rate))
            for step, rate in enumerate(rates, 1)
            for problem in range(8)
            for _ in range(4)
        ]
    )


def written(folder: Path, rows: list[dict[str, Any]], **settings: Any) -> str:
    folder.mkdir()
    (folder / "rollouts.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    config = {"env": "x", "run_dir": str(folder), **settings}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def show(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["show", *arguments], env={"COLUMNS": "200"})


@pytest.mark.parametrize("seed", range(5))
def test_runs_of_one_rate_do_not_part_and_of_two_they_do(seed: int) -> None:
    alike = [one_side(steps_of([0.3] * 12, seed + i), ALL) for i in (0, 100)]
    assert rewards_part(*alike) is None
    other = one_side(steps_of([0.3] * 12 + [0.9] * 12, seed + 200), ALL)
    parted = rewards_part(one_side(steps_of([0.3] * 24, seed), ALL), other)
    assert parted is not None
    assert 9 <= parted <= 13


def test_copies_of_one_number_are_no_evidence() -> None:
    """Of a group in which all have one reward, there is one number, not forty."""
    one = run_of([row(s, f"{s}", float(s % 2)) for s in range(1, 6) for _ in range(40)])
    other = run_of([row(s, f"{s}", float(s % 3 == 0)) for s in range(1, 6) for _ in range(40)])
    assert rewards_part(one_side(one, ALL), one_side(other, ALL)) is None


def test_it_says_which_settings_rewards_and_responses_differ(tmp_path: Path) -> None:
    rows = [row(1, "a", 0, "no"), row(1, "b", 1, "yes"), row(2, "a", 0, "still no")]
    others = [row(1, "a", 0, "no"), row(1, "b", 1, "yes"), row(2, "a", 1, "now it is")]
    one = written(tmp_path / "one", rows, lr=0.1, seed=1)
    other = written(tmp_path / "other", others, lr=0.2, seed=1)
    done = show(one, other)
    assert done.exit_code == 0, done.output
    lines = [" ".join(line.replace("│", " ").split()) for line in done.output.splitlines()]
    assert "lr 0.1 0.2" in lines
    assert not any(line.startswith(("seed ", "run_dir")) for line in lines)
    assert "1 0.500 0.500" in lines
    assert "2 0.000 1.000" in lines
    assert "Rewards do not part" in done.output
    assert "Responses part at step 2, on the same problem:" in lines
    assert any("#3 still no" in line for line in lines)
    assert any("#3 now it is" in line for line in lines)
    at = next(i for i, line in enumerate(lines) if "furthest apart" in line)
    assert lines[at + 1] == "Q a?"
    assert any("0.000 of 2 still no" in line for line in lines[at:])
    assert any("0.500 of 2 now it is" in line for line in lines[at:])


def test_runs_of_other_problems_say_so(tmp_path: Path) -> None:
    one = written(tmp_path / "one", [row(1, "a", 1)])
    done = show(one, written(tmp_path / "other", [row(1, "b", 1)]))
    assert "Episode #1 (step 1) is of another problem." in done.output
    assert "Problems that both measured: 0\n" in done.output


def test_equal_runs_are_alike(tmp_path: Path) -> None:
    one = written(tmp_path / "one", [row(1, "a", 1)])
    assert "All responses are alike, as far as both go." in show(one, one).output


@pytest.mark.parametrize("more", [["--html", "x.html"], ["--by-problem"], ["third"]])
def test_what_is_not_for_two_is_refused(more: list[str], tmp_path: Path) -> None:
    one = written(tmp_path / "one", [row(1, "a", 1)])
    done = show(one, one, *more)
    assert done.exit_code == 2
    assert "two runs are set side by side" in done.output


def test_markup_in_a_response_stays_text(tmp_path: Path) -> None:
    one = written(tmp_path / "one", [row(1, "a", 1, "[bold]\x1b[31mred")])
    done = show(one, written(tmp_path / "other", [row(1, "a", 0, "[/bold]")]))
    assert "[bold]" in done.output
    assert "[/bold]" in done.output
    assert "\x1b" not in done.output


# -- one run, by problem --------------------------------------------------------------------------


def test_responses_stand_by_problem_the_hardest_first_and_the_worst_first() -> None:
    rows = [
        row(1, "easy", 1), row(1, "hard", 0), row(1, "odd", None), row(2, "hard", 1),
        row(2, "easy", 1), row(2, "hard", 0.5),
    ]  # fmt: skip
    found = by_problem(run_of(rows), ALL, 100)
    assert [(one.problem_id, one.reward) for one in found] == [
        ("odd", None), ("hard", 0.0), ("hard", 0.5), ("hard", 1.0), ("easy", 1.0), ("easy", 1.0),
    ]  # fmt: skip


def test_of_many_problems_some_are_shown_whole() -> None:
    rows = [row(1, f"p{i:03}", i / 100) for i in range(100) for _ in range(4)]
    found = by_problem(run_of(rows), ALL, 41)
    names = [one.problem_id for one in found]
    assert len(found) <= 41
    assert {names.count(name) for name in names} == {4}
    assert names[0] == "p000"
    assert max(names) > "p080"
    assert len(by_problem(run_of(rows), ALL, 1)) == 4  # one problem at least


def test_the_command_prints_by_problem(tmp_path: Path) -> None:
    folder = written(tmp_path / "r", [row(1, "a", 1, "right"), row(1, "b", 0, "wrong")])
    done = show(folder, "--by-problem", "--plain")
    assert done.output.index("wrong") < done.output.index("right")
    assert load_rollouts(Path(folder))
