"""What is saved on a service: under which names, for how long, and what is said when it is gone."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import document_scripts
import pytest
import tiny
from fault_server import Service
from mint_steps import step
from toy_model import MODEL

from mint_envs.jsonl import whole_rows
from trainers import run_grpo
from trainers.__main__ import main
from trainers.errors import BackendError
from trainers.run import Run

SAVES = ("save_weights", "save_weights_for_sampler")
DAY = 86_400


@pytest.fixture
def on_service(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    """The service as a user has it: by variables, from a folder of one's own."""
    tiny.tokenizer().save_pretrained(tmp_path / "tokenizer")
    values = {
        "MINT_API_KEY": "sk-good-key", "MINT_BASE_URL": service.url, "MINT_BASE_MODEL": MODEL,
        "MINT_LORA_RANK": "4", "MINT_RL_TOKENIZER": str(tmp_path / "tokenizer"),
        "MINT_RL_RUN_DIR": "run",
    }  # fmt: skip
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return service


def saved(service: Service) -> list[tuple[str, int | None]]:
    """Return name and time to live of each checkpoint, state and weights alike."""
    found: list[tuple[str, int | None]] = []
    for path, body, _ in service.requests:
        if path in SAVES and body.get("path"):
            found.append((body["path"], body.get("ttl_seconds")))
    return found


ARGV = ["mint/Math-v0", "--steps", "5", "--batch", "2", "--group", "2", "--max-tokens", "2"]


def test_checkpoints_expire_and_say_nothing_of_this_machine(on_service: Service) -> None:
    assert main([*ARGV, "--save-every", "2"]) == 0
    days, rolling = 7 * DAY, 7200
    wanted = [(1, rolling), (2, days), (3, rolling), (4, days), (5, days)]
    assert saved(on_service) == [
        (f"step-{step:06d}", ttl) for step, ttl in wanted for _ in SAVES
    ]  # fmt: skip
    assert not any(str(Path.cwd()) in str(body) for path, body, _ in on_service.requests)
    left = {path.rpartition("/")[2] for path in on_service.disk}
    assert left == {"step-000001", "step-000003", "step-000004", "step-000005"}  # two, and rolling


def test_ttl_days_keep_and_rolling_every(on_service: Service) -> None:
    argv = [*ARGV, "--save-every", "1", "--ttl-days", "0.5", "--keep", "1"]
    assert main([*argv, "--rolling-every", "0"]) == 0
    assert {ttl for _, ttl in saved(on_service)} == {DAY // 2}
    assert {path.rpartition("/")[2] for path in on_service.disk} == {"step-000005"}
    assert main([*ARGV, "--ttl-days", "0", "--run-dir", "b", "--rolling-every", "2"]) == 0
    assert [ttl for _, ttl in saved(on_service)][-6:] == [7200] * 4 + [None] * 2


def test_a_run_whose_rolling_checkpoint_has_expired_goes_on_from_a_lasting_one(
    on_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:  # as if killed: the last one is not lasting either
        patch.setattr(Run, "_lasts", lambda self, step: step == 2)
        assert main(ARGV) == 0
    for path in [path for path in on_service.disk if not path.endswith("-000002")]:
        del on_service.disk[path]
    assert main(["--resume", "run"]) == 0
    steps = [row["step"] for row in whole_rows(Path("run/metrics.jsonl"))]
    assert steps == [1, 2, 3, 4, 5]


def test_a_server_that_deletes_nothing_is_asked_once(
    service: Service, connect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    service.deletes = False
    backend = connect(keep=1)
    for number in range(4):
        step(backend, number)
        backend.save(f"step-{number}")
    assert sum(path.startswith("training_runs") for path, _, _ in service.requests) == 1
    assert len(service.disk) == 8


def test_a_lost_model_and_an_expired_checkpoint_are_called_that(
    service: Service, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    logger = logging.getLogger("trainers.mint")
    monkeypatch.setattr(logger, "warning", lambda text, *values: said.append(text % values))
    backend = connect()
    step(backend, 0)
    _, path = backend.save("one")
    service.models.clear()
    step(backend, 1)
    assert any("the model is lost" in line for line in said)
    service.disk.clear()
    with pytest.raises(BackendError, match=r"was lost, deleted, or has expired"):
        connect(resume_from=path)


def test_the_documents_script_runs_on_a_service(
    on_service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Path(document_scripts.__file__)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"Model: {MODEL}"
    assert [line.split(":")[0] for line in lines if line.startswith("Step")] == ["Step 1", "Step 2"]
    assert lines[-1].startswith("Saved: tinker://")
    assert lines[-1].removeprefix("Saved: ") in on_service.disk
    (adam,) = {str(body["adam_params"]) for body in on_service.bodies("optim_step")} or {""}
    assert "0.0001" in adam
    with pytest.raises(Exception, match="holds a run already"):
        run_grpo(document_scripts.Sums())
    assert len(whole_rows(tmp_path / "run" / "metrics.jsonl")) == 2


def test_a_run_begins_with_the_weights_of_a_path_and_none_of_its_optimizer(
    service: Service, connect: Any
) -> None:
    backend = connect()
    step(backend, 0)
    step(backend, 1)
    _, path = backend.save("first")
    wanted = service.disk[path].bias.tolist()
    begun = connect(init_from=path)
    service.models.clear()  # made anew it begins there too
    found = service.disk[begun.save("look")[1]]
    assert (found.bias.tolist(), found.steps) == (wanted, 0)
    step(begun, 2)
    found = service.disk[begun.save("end")[1]]
    assert found.steps == 1
    assert found.bias.tolist() != wanted
    with pytest.raises(BackendError, match="nowhere"):
        connect(init_from="tinker://nowhere/weights/x")
