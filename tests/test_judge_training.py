"""A policy learns what a judge over HTTP prefers, though the service fails again and again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from judge_server import judge_server

from trainers.__main__ import main


def preferred(data: Mapping[str, str]) -> str:
    """The larger first digit is better."""
    if "answer" in data:
        return data["answer"][0]
    first, second = data["first"][0], data["second"][0]
    return "tie" if first == second else "first" if first > second else "second"


def faulty(fence: str) -> tuple[str, ...]:
    return ("500", "words", "drop")[: int(fence[-1], 16) % 4]


@pytest.mark.parametrize("mode", ["score", "pairwise"])
def test_it_learns(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mint_envs.chat.judge.settings.BACKOFF_S", 0.005)
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prompt": "Say a number.", "answer": "5"}\n')
    settings: dict[str, Any] = {"dataset": str(rows), "judge_mode": mode, "split": "all",
                                "judge_model": "m", "judge_cache": str(tmp_path / "verdicts"),
                                "judge_choices": "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"}  # fmt: skip
    with judge_server(preferred, faulty) as server:
        settings["judge"] = server.url
        argv = ["mint/Chat-v0", "--backend", "bandit", "--steps", "25", "--batch", "1",
                "--group", "8", "--max-tokens", "1", "--lr", "0.5", "--eval-every", "25",
                "--eval-problems", "1", "--run-dir", str(tmp_path / "run"),
                "--env-settings", json.dumps(settings)]  # fmt: skip
        assert main(argv) == 0
    steps, rollouts, evals = (
        [json.loads(line) for line in (tmp_path / "run" / name).read_text().splitlines()]
        for name in ("metrics.jsonl", "rollouts.jsonl", "eval.jsonl")
    )
    assert all(step["unmeasured"] == 0 for step in steps)
    last = [row["response"] for row in rollouts if row["step"] == 25]
    assert sum(text[:1] in "789" for text in last) >= 6
    assert evals[-1]["eval/reward"] > 0.7
    assert set(server.verdicts.values()) == {1}
