"""kill -9 of the client between any two calls: nothing is lost, and nothing is used twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_server import Service
from mint_letters import BATCH, STEPS, learned_from, run
from mint_steps import same, weights

from mint_envs.jsonl import whole_rows
from trainers.stored import read_state

CLIENT = Path(__file__).parents[1] / "mint_letters.py"


@pytest.fixture(autouse=True)
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainers.run.can_draw", lambda: False)


def killed_at(service: Service, folder: Path, ahead: int, path: str, call: int) -> None:
    """Run the client until the service gets this call, which it carries out all the same."""
    command = [sys.executable, str(CLIENT), service.url, str(folder), str(ahead)]
    client = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    left = [call]

    def hook() -> None:
        left[0] -= 1
        if left[0]:
            service.hooks[path] = hook
        else:
            os.kill(client.pid, signal.SIGKILL)

    service.hooks[path] = hook
    _, said = client.communicate(timeout=300)
    assert client.returncode == -signal.SIGKILL, said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ahead", "calls"),
    [
        (0, [("forward_backward", 3), ("optim_step", 2), ("save_weights_for_sampler", 3)]),
        (2, [("asample", 8), ("optim_step", 3)]),
    ],
)
def test_a_client_that_is_killed_goes_on(
    ahead: int,
    calls: list[tuple[str, int]],
    service: Service,
    connect: Callable[..., object],
    tmp_path: Path,
) -> None:
    folder = tmp_path / "killed"
    folder.mkdir()
    for path, call in calls:
        killed_at(service, folder, ahead, path, call)
    backend = connect(resume_from=read_state(folder)["training"])
    run(folder, backend, resume=True, max_steps_off_policy=ahead)
    order = learned_from(folder)
    assert len(order) == len(set(order)) == STEPS * BATCH
    metrics = whole_rows(folder / "metrics.jsonl")
    assert [row["step"] for row in metrics] == list(range(1, STEPS + 1))
    assert weights(service, backend).steps == STEPS
    if ahead == 0:  # and it is the run that was never killed
        plain = connect()
        run(tmp_path / "whole", plain)
        assert learned_from(tmp_path / "whole") == order
        assert same(weights(service, plain), weights(service, backend))
