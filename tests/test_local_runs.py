"""Whole runs on the local backend: exact resume on a tiny model, and learning on the real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tiny import model_folder  # noqa: E402

from trainers.__main__ import main  # noqa: E402
from trainers.run import read_rows  # noqa: E402

pytestmark = pytest.mark.local


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(tmp_path: Path, dtype: str) -> None:
    model = model_folder(tmp_path / "model")
    argv = [
        "mint/Math-v0", "--digits", "1", "--preset", "documents", "--backend", "local",
        "--base-model", model, "--dtype", dtype, "--threads", "1", "--device", "cpu",
        "--batch", "6", "--group", "6", "--lr", "0.02", "--eval-every", "2", "--temperature", "2",
        "--eval-problems", "20", "--kl-penalty-coef", "0.01", "--max-tokens", "3",
    ]  # fmt: skip
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert main([*argv, "--steps", "6", "--run-dir", str(whole)]) == 0
    assert main([*argv, "--steps", "4", "--run-dir", str(parts)]) == 0
    assert main(["--resume", str(parts), "--steps", "6"]) == 0
    for name in ("rollouts.jsonl", "metrics.jsonl", "eval.jsonl"):
        assert _steady(whole / name) == _steady(parts / name)
    assert any(row["datums"] for row in read_rows(whole / "metrics.jsonl"))
    one, two = (
        torch.load(f / "checkpoints" / "step-000006" / "optimizer.pt", weights_only=True)
        for f in (whole, parts)
    )
    for a, b in zip(one["masters"], two["masters"], strict=True):
        assert torch.equal(a, b)


def _steady(path: Path) -> list[dict[str, Any]]:
    """Return the rows without what the clock decides."""
    return [
        {k: v for k, v in row.items() if "seconds" not in k and "per_s" not in k}
        for row in read_rows(path)
    ]


@pytest.mark.slow
def test_the_real_model_learns_one_digit_sums(tmp_path: Path) -> None:
    """The smoke test of the main job: fetched, converted, trained, and better than it was."""
    argv = ["mint/Math-v0", "--digits", "1", "--steps", "14", "--batch", "16", "--eval-every", "0"]
    assert main([*argv, "--max-tokens", "4", "--run-dir", str(tmp_path / "run")]) == 0
    rows = read_rows(tmp_path / "run" / "metrics.jsonl")
    accuracy = [row["accuracy"] for row in rows]
    assert accuracy[0] < 0.7
    assert np.mean(accuracy[-5:]) >= 0.9
    assert abs(np.mean([row["kl_sample_train"] for row in rows])) < 0.05
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["base_model"] == "SmolLM2-135M-Instruct"
    assert (tmp_path / "run" / "curve.svg").read_text().startswith("<?xml")
