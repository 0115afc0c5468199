"""The mint backend on SkyRL 0.3.0, a Tinker-compatible service by other people: ``nox -s skyrl``.

A random two-layer Llama is trained through the real SDK on a real server: sample, update, save,
resume, and a service that is killed in the middle of a run. The file's name keeps it out of the
ordinary test run, whose environment has no SkyRL; nothing in here is skipped for want of it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainers.backends import AdamParams, Datum, LoraParams, Sample, SampleRequest, SamplingParams
from trainers.backends.mint import MintBackend
from trainers.errors import BackendError

LORA = LoraParams(rank=8, seed=3)
PROMPT = (10, 20, 30)
ADAM = AdamParams(lr=0.02, betas=(0.9, 0.95))


def make_model(folder: Path) -> None:
    """Write a random Llama and a byte-level tokenizer; 7 rows of the model have no token."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    vocabulary = {text: i for i, text in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>").save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=264,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=False,
        initializer_range=0.2,  # of 0.02 the output layer could not tell tokens apart
        bos_token_id=None,
        eos_token_id=256,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


class SkyRL:
    """The service as a process; its checkpoints and database outlive it."""

    def __init__(self, folder: Path) -> None:
        self.model = str(folder / "model")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self.start()

    def start(self) -> None:
        settings = {
            "port": self.port,
            "base_model": self.model,
            "backend": "jax",
            "backend_config": {"max_lora_adapters": 8, "max_lora_rank": 8},
            "checkpoints_base": str(self._folder / "checkpoints"),
            "database_url": f"sqlite:///{self._folder / 'tinker.db'}",
        }
        with open(self._folder / "server.log", "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("serve.py")), json.dumps(settings)],
                env={**os.environ, "JAX_PLATFORMS": "cpu"},
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that the engine, its child, can be killed with it
            )
        self._wait()

    def _wait(self) -> None:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.url}/api/v1/healthz", timeout=1).close()
                return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                assert self._process.poll() is None, self.log()
                time.sleep(0.2)
        raise AssertionError(self.log())

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def log(self) -> str:
        return (self._folder / "server.log").read_text(errors="replace")[-3000:]


@pytest.fixture(scope="module")
def skyrl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SkyRL]:
    folder = tmp_path_factory.mktemp("skyrl")
    make_model(folder / "model")
    service = SkyRL(folder)
    yield service
    service.kill()


def connect(skyrl: SkyRL, **settings: Any) -> MintBackend:
    return MintBackend(skyrl.model, LORA, "tml-any", skyrl.url, **settings)


def draw(backend: MintBackend, seed: int) -> tuple[list[Datum], float]:
    """Return the data of one GRPO step that rewards ids below 64, and the mean reward."""
    groups = backend.sample([SampleRequest(PROMPT, 8)] * 4, SamplingParams(8, seed=seed))
    data, everything = [], []
    for group in groups:
        rewards = [sum(token < 64 for token in sample.tokens) / 8 for sample in group]
        everything += rewards
        data += [
            datum(sample, reward - sum(rewards) / len(rewards))
            for sample, reward in zip(group, rewards, strict=True)
        ]
    return data, sum(everything) / len(everything)


def datum(sample: Sample, advantage: float) -> Datum:
    mask = np.array([0.0] * len(PROMPT) + [1.0] * len(sample.tokens))
    logprobs = np.array([0.0] * len(PROMPT) + list(sample.logprobs))
    return Datum(PROMPT + sample.tokens, mask, logprobs, advantage * mask)


def look(backend: MintBackend, data: list[Datum]) -> np.ndarray[Any, Any]:
    """Return the log-probabilities that the trained weights give, without moving them."""
    still = AdamParams(lr=0.0)
    return np.concatenate(backend.update(data, "importance_sampling", {}, still).logprobs)


def test_sample_train_save_resume(skyrl: SkyRL) -> None:
    backend = connect(skyrl)  # the tokenizer comes through the SDK, from the model's folder
    assert backend.tokenizer.decode(backend.tokenizer.encode("2+2")) == "2+2"
    rewards = []
    for seed in range(12):
        data, reward = draw(backend, seed)
        rewards.append(reward)
        result = backend.update(data, "importance_sampling", {}, ADAM)
        # Sampler and trainer are the same weights: their log-probabilities agree.
        for given, told in zip(data, result.logprobs, strict=True):
            np.testing.assert_allclose(told, given.logprobs, atol=1e-4)
        assert all(np.isfinite(list(result.metrics.values())))
    assert np.mean(rewards[-3:]) > np.mean(rewards[:3]) + 0.4, rewards

    sampler_path, state_path = backend.save("half/way")
    assert sampler_path.startswith("tinker://")
    data, _ = draw(backend, 100)
    for _ in range(2):
        backend.update(data, "importance_sampling", {}, ADAM)
    expected = look(backend, data)
    backend.close()

    resumed = connect(skyrl, resume_from=state_path)
    assert [d.tokens for d in draw(resumed, 100)[0]] == [d.tokens for d in data]
    for _ in range(2):
        resumed.update(data, "importance_sampling", {}, ADAM)
    np.testing.assert_allclose(look(resumed, data), expected, atol=1e-4)
    resumed.close()


def test_base_model_and_losses(skyrl: SkyRL) -> None:
    backend = connect(skyrl)
    data, _ = draw(backend, 0)
    for given, frozen in zip(data, backend.logprobs(data, base=True), strict=True):
        np.testing.assert_allclose(frozen, given.logprobs, atol=1e-4)  # LoRA starts at nothing
    config = {"clip_low_threshold": 0.9, "clip_high_threshold": 1.1}
    for loss_fn in ("ppo", "cispo"):
        backend.update(data, loss_fn, config, ADAM)
    before = look(backend, data)
    with pytest.raises(BackendError, match="dro"):  # SkyRL does not have it
        backend.update(data, "dro", {"beta": 0.05}, ADAM)
    np.testing.assert_allclose(look(backend, data), before, atol=1e-4)  # nothing was stepped
    backend.close()


def test_stops(skyrl: SkyRL) -> None:
    backend = connect(skyrl)
    wanted = tuple(range(40))
    by_token = SamplingParams(60, stop_tokens=wanted, temperature=1.5)
    (group,) = backend.sample([SampleRequest(PROMPT, 8)], by_token)
    assert any(sample.tokens and sample.tokens[-1] in wanted for sample in group)
    assert not any(set(sample.tokens[:-1]) & set(wanted) for sample in group)
    by_text = SamplingParams(60, stop=("A", "b", "7"), temperature=1.5)
    (group,) = backend.sample([SampleRequest(PROMPT, 8)], by_text)
    texts = [backend.tokenizer.decode(sample.tokens[:-1]) for sample in group]
    assert not any(stop in text for stop in by_text.stop for text in texts)
    backend.close()


def test_killed_and_started_again(skyrl: SkyRL) -> None:
    """The new process has the checkpoints and lost the models; the run goes on regardless."""
    backend = connect(skyrl)
    backend.update(draw(backend, 0)[0], "importance_sampling", {}, ADAM)
    backend.save("before")
    data, _ = draw(backend, 1)
    backend.update(data, "importance_sampling", {}, ADAM)
    expected = look(backend, data)
    skyrl.kill()
    skyrl.start()
    np.testing.assert_allclose(look(backend, data), expected, atol=1e-4)
    backend.close()


def test_unknown_model(skyrl: SkyRL) -> None:
    with pytest.raises(BackendError, match="no model 'Qwen/None'"):
        MintBackend("Qwen/None", LORA, "tml-any", skyrl.url)


SIZES = ("--batch", "4", "--group", "4", "--max-tokens", "4", "--rank", "8")


def mint_grpo(skyrl: SkyRL, *options: str) -> subprocess.Popen[str]:
    """Start the command beside this process."""
    return subprocess.Popen(
        [sys.executable, "-m", "trainers", *options],
        env={**os.environ, "MINT_API_KEY": "tml-any", "MINT_BASE_URL": skyrl.url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(client: subprocess.Popen[str], code: int = 0) -> str:
    """Return what the command said, once it has ended with this exit code."""
    out, error = client.communicate(timeout=560)
    assert client.returncode == code, error
    return out or error


def training(skyrl: SkyRL, *options: str) -> subprocess.Popen[str]:
    """Start training on sums."""
    task = ("mint/Math-v0", "--digits", "1", "--backend", "mint", "--base-model", skyrl.model)
    return mint_grpo(skyrl, *task, *SIZES, *options)


def rows(run: Path, name: str) -> list[dict[str, Any]]:
    """Return the whole lines of a file of the run, as far as there are any."""
    path = run / name
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def until_step(client: subprocess.Popen[str], run: Path, step: int) -> None:
    """Wait until the run has this step."""
    while not any(row["step"] == step for row in rows(run, "metrics.jsonl")):
        assert client.poll() is None, client.communicate()
        time.sleep(0.05)


def test_mint_grpo(skyrl: SkyRL, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert "Saved: tinker://" in said(training(skyrl, "--steps", "2", "--run-dir", str(run)))
    assert "Saved: tinker://" in said(mint_grpo(skyrl, "--steps", "4", "--resume", str(run)))
    assert [row["step"] for row in rows(run, "metrics.jsonl")] == [1, 2, 3, 4]
    refused = said(mint_grpo(skyrl, "export", str(run), "--merged", str(tmp_path / "model")), 2)
    assert "tinker://" in refused  # the weights are there, and it says where
    warm = tmp_path / "warm"
    assert "Saved" in said(
        training(skyrl, "--steps", "1", "--init-from", str(run), "--run-dir", str(warm))
    )


def test_an_off_policy_run_whose_ends_are_killed_goes_on(skyrl: SkyRL, tmp_path: Path) -> None:
    """Two updates a step, one step ahead: each step once, and no problem is learned from twice."""
    run = tmp_path / "run"
    off_policy = ("--substeps", "2", "--max-steps-off-policy", "1")
    client = training(skyrl, *off_policy, "--steps", "8", "--run-dir", str(run))
    for step in (1, 3):  # at whatever it does after these steps
        until_step(client, run, step)
        client.kill()
        client.communicate()
        client = mint_grpo(skyrl, "--resume", str(run))
    until_step(client, run, 5)
    skyrl.kill()
    skyrl.start()
    assert "Saved: tinker://" in said(client)
    metrics = rows(run, "metrics.jsonl")
    assert [row["step"] for row in metrics] == list(range(1, 9))
    assert max(row["staleness_max"] for row in metrics) == 1
    learned = [row["seed"] for row in rows(run, "rollouts.jsonl")]
    assert len(learned) == 8 * 4 * 4
    assert len(set(learned)) == 8 * 4
