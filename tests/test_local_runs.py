"""Whole runs on the local backend: exact resume on a tiny model, and learning on the real one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from plain_loop import on_policy  # noqa: E402
from tiny import model_folder  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

import mint_envs  # noqa: E402
from mint_envs import Reward, Task  # noqa: E402
from mint_envs.jsonl import whole_rows  # noqa: E402
from trainers.__main__ import main  # noqa: E402
from trainers.backends import LoraParams, SampleRequest, SamplingParams  # noqa: E402
from trainers.backends.local import LocalBackend  # noqa: E402
from trainers.config import TrainConfig  # noqa: E402
from trainers.data import open_data  # noqa: E402
from trainers.errors import BackendError  # noqa: E402
from trainers.grpo import train  # noqa: E402
from trainers.log import Log  # noqa: E402
from trainers.rollout import collect  # noqa: E402
from trainers.run import Run  # noqa: E402
from trainers.stream import sampling  # noqa: E402

pytestmark = pytest.mark.local


class Parity(Task[int]):
    """Rewards half of all texts, so that a random model has something to learn from."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(100))

    def prompt(self, problem: int) -> str:
        return f"{problem}:"

    def score(self, problem: int, response: str) -> Reward:
        return Reward(float(sum(map(ord, response)) % 2))


mint_envs.register("test/Parity-v0", Parity)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(tmp_path: Path, dtype: str) -> None:
    model = model_folder(tmp_path / "model")
    argv = [
        "test/Parity-v0", "--preset", "documents", "--backend", "local",
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
    assert any(row["datums"] for row in whole_rows(whole / "metrics.jsonl"))
    one, two = (
        torch.load(f / "checkpoints" / "step-000006" / "optimizer.pt", weights_only=True)
        for f in (whole, parts)
    )
    for a, b in zip(one["masters"], two["masters"], strict=True):
        assert torch.equal(a, b)


def test_on_policy_it_is_the_plain_loop_bit_for_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainers.run.can_draw", lambda: False)
    settings = TrainConfig(
        env="test/Parity-v0", steps=3, batch=4, group=4, lr=0.02, max_tokens=3, temperature=1.0,
        kl_penalty_coef=0.01, max_steps_off_policy=0, backend="local",
    )  # fmt: skip
    model = model_folder(tmp_path / "model")
    plain, ours = (
        LocalBackend(model, LoraParams(4), device="cpu", dtype="float32", threads=1)
        for _ in range(2)
    )
    told = on_policy(settings, plain)
    with Path("/dev/null").open("w") as out:
        train(settings, ours, Run(tmp_path / "run", settings, Log(out=out)))
    rows = whole_rows(tmp_path / "run" / "metrics.jsonl")
    assert [(row["reward"], row["datums"]) for row in rows] == told
    assert any(datums for _, datums in told)
    for a, b in zip(plain._model.masters, ours._model.masters, strict=True):
        assert torch.equal(a, b)


def _steady(path: Path) -> list[dict[str, Any]]:
    """Return the rows without what the clock decides."""
    return [
        {k: v for k, v in row.items() if "seconds" not in k and "per_s" not in k}
        for row in whole_rows(path)
    ]


@pytest.mark.slow
def test_the_real_model_learns_one_digit_sums(tmp_path: Path) -> None:
    """The smoke test of the main job: fetched, converted, trained, and better than it was."""
    argv = ["mint/Math-v0", "--digits", "1", "--steps", "14", "--batch", "16", "--eval-every", "0"]
    assert main([*argv, "--max-tokens", "4", "--run-dir", str(tmp_path / "run")]) == 0
    rows = whole_rows(tmp_path / "run" / "metrics.jsonl")
    accuracy = [row["accuracy"] for row in rows]
    assert accuracy[0] < 0.7
    assert np.mean(accuracy[-5:]) >= 0.9
    assert abs(np.mean([row["kl_sample_train"] for row in rows])) < 0.05
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["base_model"] == "SmolLM2-135M-Instruct"
    assert (tmp_path / "run" / "curve.svg").read_text().startswith("<?xml")


ARGV = [
    "mint/Math-v0", "--preset", "documents", "--backend", "local", "--dtype", "float32",
    "--threads", "1", "--device", "cpu", "--batch", "2", "--group", "2", "--max-tokens", "2",
]  # fmt: skip


@pytest.mark.parametrize("content", [b"", b"garbage", b"{}", "half", "other"])
def test_a_damaged_checkpoint_is_one_line(
    tmp_path: Path, content: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model, folder = model_folder(tmp_path / "model"), tmp_path / "run"
    assert main([*ARGV, "--base-model", model, "--steps", "1", "--run-dir", str(folder)]) == 0
    path = folder / "checkpoints" / "step-000001" / "optimizer.pt"
    if content == "other":
        torch.save([1], path)
    else:
        path.write_bytes(path.read_bytes()[:5000] if content == "half" else content)
    capsys.readouterr()
    assert main(["--resume", str(folder), "--steps", "2"]) == 2
    error = capsys.readouterr().err
    assert "step-000001 cannot be read: it is damaged" in error
    assert "weights_only" not in error


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_damaged_model_is_one_line(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model, folder = model_folder(tmp_path / "model"), tmp_path / "run"
    (tmp_path / "model" / name).write_text("{")
    assert main([*ARGV, "--base-model", model, "--run-dir", str(folder)]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "cannot be loaded" in error
    assert not folder.exists()


def test_tokens_that_the_model_does_not_know_are_one_line(tmp_path: Path) -> None:
    backend = LocalBackend(model_folder(tmp_path / "model"), dtype="float32", threads=1)
    for token in (-1, 259):
        with pytest.raises(BackendError, match=f"token {token}.*from 0 to 258"):
            backend.sample([SampleRequest((1, token), 1)], SamplingParams(1))


def test_a_learning_rate_that_breaks_the_weights_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gym.register(id="local/Even-v0", entry_point=_Even, disable_env_checker=True)
    argv = ["local/Even-v0", *ARGV[1:], "--base-model", model_folder(tmp_path / "model")]
    argv += ["--batch", "8", "--group", "8", "--steps", "9", "--lr", "1e30"]
    assert main([*argv, "--run-dir", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert "diverged" in error
    assert "--lr" in error


class _Even(gym.Env[Any, Any]):
    """Rewards a first token with an even number."""

    observation_space = gym.spaces.Sequence(gym.spaces.Discrete(259))
    action_space = gym.spaces.Sequence(gym.spaces.Discrete(259))

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.array([65, 66]), {}

    def step(self, action: Any) -> Any:
        return np.array([67]), float(action[0] % 2 == 0), True, False, {}


def test_a_checkpoint_that_does_not_fit_is_one_line_and_the_run_resumes(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk."""
    model, folder = model_folder(tmp_path / "model"), tmp_path / "run"
    argv = [*ARGV, "--base-model", model, "--steps", "1", "--run-dir", str(folder)]
    command = f"ulimit -f 40; exec {sys.executable} -m trainers {' '.join(argv)}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "cannot write to the run directory" in done.stderr
    assert list((folder / "checkpoints").iterdir()) == []
    assert main(["--resume", str(folder)]) == 0


def test_an_environment_of_others_ends_at_all_that_ends_a_turn_of_the_model(tmp_path: Path) -> None:
    """Of the tokenizer (eos), of its template (another), and of the generation config (a third)."""
    folder = tmp_path / "model"
    model_folder(folder)
    tokens = AutoTokenizer.from_pretrained(folder)
    tokens.add_special_tokens({"additional_special_tokens": ["<end_of_turn>"]})
    tokens.chat_template = tokens.chat_template.replace("<|im_end|>", "<end_of_turn>")
    tokens.save_pretrained(folder)
    embedded = AutoModelForCausalLM.from_pretrained(folder)
    embedded.resize_token_embeddings(len(tokens), mean_resizing=False)
    embedded.generation_config.eos_token_id = [7, 8]
    embedded.save_pretrained(folder)
    gym.register(id="local/Ends-v0", entry_point=_Even, disable_env_checker=True)
    backend = LocalBackend(str(folder), device="cpu", dtype="float32", threads=1)
    settings = TrainConfig(env="local/Ends-v0", batch=8, group=8, max_tokens=64, temperature=2)
    with open_data(settings, backend) as data:
        ends = {*tokens.convert_tokens_to_ids(["<|im_end|>", "<end_of_turn>"]), 7, 8}
        assert ends < set(data.pool.stop_tokens)
        params = sampling(settings, data.pool, 1)
        groups = collect(data.pool, backend, data.problems(1), settings.group, params)
    ended = {episode.tokens[-1] for group in groups for episode in group if not episode.cut}
    assert ends <= ended
