"""The script for whoever has an accelerator, on a tiny model and a CPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tiny import model_folder

from benchmarks import device

pytestmark = pytest.mark.local


def test_it_tells_speed_memory_drift_and_a_curve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = model_folder(tmp_path / "model"), tmp_path / "device.json"
    monkeypatch.setattr(device, "SHAPES", ((2, 2, 4), (1, 2, 8), (1, 1, 4096)))
    argv = ["--base-model", folder, "--device", "cpu", "--dtype", "float32", "--minutes", "0.2"]
    monkeypatch.setattr(sys, "argv", ["device", *argv, "--json", str(out)])
    device.main()
    measured = json.loads(out.read_text())
    assert measured["path"] == "fast"
    assert measured["shapes"][0]["step_s"] > 0
    assert all(row["drift_max"] < 1e-3 for row in measured["shapes"])
    assert 4 <= len(measured["accuracy"]) <= 40
    said = capsys.readouterr().out
    assert "1 x 1 x 4096 | " in said
    assert "accuracy, step by step:" in said
