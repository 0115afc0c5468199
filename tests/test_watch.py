"""A second grader beside the reward: both are drawn, and a gap that grows is said in words."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mint_envs
from mint_envs import Reward, Task
from mint_envs.jsonl import whole_rows
from trainers.backends.bandit import BanditBackend
from trainers.config import TrainConfig
from trainers.errors import TrainerError
from trainers.grpo import train
from trainers.log import Log
from trainers.run import Run


class Anywhere(Task[int]):
    """Pays for the digit that is asked for, and wherever it stands: that can be gamed."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(3))

    def prompt(self, problem: int) -> str:
        return f"{problem}?"

    def score(self, problem: int, response: str) -> Reward:
        return Reward(float(str(problem) in response))


mint_envs.register("test/Anywhere-v0", Anywhere)


def strict(problem: int, response: str) -> float:
    return float(response == str(problem))


def same(problem: int, response: str) -> Reward:
    return Anywhere().score(problem, response)


def blind(problem: int, response: str) -> None:
    return None


def broken(problem: int, response: str) -> float:
    raise ZeroDivisionError("no")


def run(folder: Path, watch: str | None, resume: bool = False, **changes: Any) -> str:
    values: dict[str, Any] = {
        "env": "test/Anywhere-v0", "steps": 25, "batch": 6, "group": 6, "lr": 0.3, "max_tokens": 4,
        "temperature": 1.0, "backend": "bandit", "watch": watch, "watch_samples": 30,
    }  # fmt: skip
    settings, out = TrainConfig(**{**values, **changes}), io.StringIO()
    backend = BanditBackend(alphabet="012x")
    train(settings, backend, Run(folder, settings, Log(out=out), resume))
    return out.getvalue()


def test_a_gap_that_grows_is_said_with_what_opened_it(tmp_path: Path) -> None:
    said = run(tmp_path, f"{__name__}:strict")
    rows = whole_rows(tmp_path / "metrics.jsonl")
    for row in rows:
        assert row["watch/gap"] == pytest.approx(row["watch/believed"] - row["watch/reward"])
    first, last = (np.mean([r["watch/gap"] for r in part]) for part in (rows[:5], rows[-5:]))
    assert last > first + 0.1
    assert "the reward runs away from" in said
    line = said.splitlines()[[" runs away" in one for one in said.splitlines()].index(True) + 1]
    response = line.strip().strip('"')
    assert len(response) > 1  # paid, and not the digit alone
    assert "by the second grader" in (tmp_path / "curve.svg").read_text()


def test_a_second_grader_that_agrees_says_nothing(tmp_path: Path) -> None:
    assert "runs away" not in run(tmp_path, f"{__name__}:same")
    assert all(row["watch/gap"] == 0 for row in whole_rows(tmp_path / "metrics.jsonl"))


def test_it_changes_nothing_of_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainers.run.can_draw", lambda: False)
    run(tmp_path / "watched", f"{__name__}:strict", steps=6)
    run(tmp_path / "blind", f"{__name__}:blind", steps=6)
    run(tmp_path / "not", None, steps=6)
    name = "checkpoints/step-000006/bandit.json"
    texts = [(tmp_path / folder / name).read_text() for folder in ("watched", "blind", "not")]
    assert len(set(texts)) == 1
    for folder in ("blind", "not"):
        assert not any(
            "watch/gap" in row for row in whole_rows(tmp_path / folder / "metrics.jsonl")
        )
    rows = whole_rows(tmp_path / "watched" / "metrics.jsonl")
    fewer = tmp_path / "fewer"
    run(fewer, f"{__name__}:strict", steps=6, watch_samples=1)
    assert {row["watch/believed"] for row in whole_rows(fewer / "metrics.jsonl")} <= {0.0, 1.0}
    assert len({row["watch/believed"] for row in rows}) > 2


@pytest.mark.parametrize(
    ("watch", "changes", "words"),
    [
        ("nowhere_at_all:grader", {}, "nowhere_at_all:grader"),
        (f"{__name__}:stricter", {}, "has no 'stricter'"),
        (f"{__name__}:broken", {}, "raised ZeroDivisionError: no"),
    ],
)
def test_a_grader_that_cannot_be_used_is_one_line(
    watch: str, changes: Any, words: str, tmp_path: Path
) -> None:
    with pytest.raises(TrainerError) as caught:
        run(tmp_path, watch, **changes)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
