"""docs/first-run.md runs, with a tiny random model, the bandit and few responses."""

from __future__ import annotations

import socket
from pathlib import Path

import first_run
import tiny


def test_the_page_is_followed_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "walk").mkdir()
    model = tiny.model_folder(tmp_path / "tiny")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    less = {"8421": port, "--policy local": f"--policy local:{model}", "-n 64 -k 4": "-n 4 -k 2",
            "--steps 20": "--steps 2 --backend bandit"}  # fmt: skip
    said = first_run.follow(tmp_path / "walk", less, {})
    commands = first_run.commands()
    assert len(commands) <= first_run.MOST_COMMANDS
    for words in less:
        assert any(words in line for line in commands), words
    told = dict(zip(commands, said, strict=True))
    for line, shown in told.items():
        if " check " in line:
            assert "keeps the contract" in shown
        if " eval " in line:
            assert "pass@4" not in shown
            assert "pass@1" in shown
    served = next(shown for line, shown in told.items() if "serve" in line)
    assert [line.rpartition(": ")[2] for line in served.splitlines()] == ["1.0", "0.0"]
    assert said[-1].splitlines()[-1] == "[0.0, 0.0]"
    evals = sorted((tmp_path / "walk" / "work" / "evals").iterdir())
    assert len(evals) == 2  # the first model was not asked again
    assert all(0 <= first_run.rate_of(file) <= 1 for file in evals)
    assert "Which is better" in said[commands.index(next(c for c in commands if "run:" in c))]
