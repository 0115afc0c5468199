"""``mint-grpo ENV --estimate``: what it says, what it counts, and that it leaves nothing behind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tiny import model_folder  # noqa: E402

from trainers.__main__ import main  # noqa: E402
from trainers.backends import (  # noqa: E402
    AdamParams,
    Datum,
    LoraParams,
    SampleRequest,
    SamplingParams,
)
from trainers.backends.local import LocalBackend  # noqa: E402
from trainers.backends.local.cost import cost_of  # noqa: E402

pytestmark = pytest.mark.local

PROMPTS = [tuple(range(5, 5 + size)) for size in (9, 12, 7)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return model_folder(tmp_path_factory.mktemp("llama"))


def backend(folder: str, **options: Any) -> LocalBackend:
    return LocalBackend(folder, LoraParams(rank=4), device="cpu", dtype="float32", **options)


def test_it_says_what_a_step_costs_and_makes_no_run(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = ["--base-model", folder, "--dtype", "float32", "--device", "cpu", "--steps", "7"]
    shape = ["--batch", "3", "--group", "2", "--max-tokens", "5"]
    assert main(["mint/Math-v0", *settings, *shape, "--estimate"]) == 0
    said = capsys.readouterr().out
    assert "A step: 3 problems x 2 responses" in said
    parts = {
        name: float(re.search(rf"^{name} +([\d.]+)", said, re.M)[1])  # type: ignore[index]
        for name in ("read prompts", "draw", "environment", "update", "a step")
    }
    total = parts.pop("a step")
    assert total == pytest.approx(sum(parts.values()), abs=0.03)
    assert re.search(r"^Memory: \d+\.\d GB, more where", said, re.M)
    assert re.search(r"^7 steps: ", said, re.M)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["llama", "bloom"])  # the fast path, and the plain one
def test_it_counts_the_tokens_that_a_step_computes(tmp_path: Path, name: str) -> None:
    shape = {"n_layer": 2, "n_head": 4} if name == "bloom" else {}
    made = backend(model_folder(tmp_path, name, **shape))
    assert made._path.name == ("fast" if name == "llama" else "plain")
    before = [master.clone() for master in made._model.masters]
    cost = cost_of(made, PROMPTS, 4, [6])
    assert cost.drawn == 3 * 4 * 6
    assert min(cost.read_s, cost.update_s, cost.memory_mb) > 0
    assert cost.draw_s >= 0
    computed: list[int] = []
    embeddings = made._model.body.get_input_embeddings()
    hook = embeddings.register_forward_pre_hook(lambda _, given: computed.append(given[0].numel()))
    rng = np.random.default_rng(0)
    datums = []
    for prompt in PROMPTS:
        for _ in range(4):
            mask = np.append(np.zeros(len(prompt)), np.ones(6))
            tokens = prompt + tuple(rng.integers(100, 250, 6).tolist())
            datums.append(Datum(tokens, mask, -mask, mask))
    for master, was in zip(made._model.masters, before, strict=True):
        assert torch.equal(master, was)
        assert master.grad is None
    assert all(weight.grad is None for weight in made._model.trained)
    made.update(datums, "importance_sampling", {}, AdamParams(1e-3))
    hook.remove()
    assert sum(computed) == cost.learned


def test_longer_responses_cost_more(folder: str) -> None:
    made = backend(folder, token_budget=64)
    short, long = (cost_of(made, PROMPTS, 4, [length]) for length in (4, 120))
    assert long.draw_s > short.draw_s
    assert long.learned > 10 * short.learned
    mixed = cost_of(made, PROMPTS, 4, [4, 120])
    assert short.drawn < mixed.drawn < long.drawn


def test_a_step_that_does_not_fit_at_once_is_counted_in_parts(folder: str) -> None:
    made = backend(folder, token_budget=4)  # room for 128 tokens
    cost = cost_of(made, PROMPTS, 8, [40])
    requests = [SampleRequest(prompt, 8) for prompt in PROMPTS]
    assert made.sample(requests, SamplingParams(40))
    assert cost.drawn == 3 * 8 * 40


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sft", "rows.jsonl"], "--estimate is for RL: mint-grpo ENV --estimate"),
        (["mint/Math-v0", "--backend", "bandit"], "the bandit backend has none here"),
        (["--resume", "runs/first"], "--estimate is for a run that has not begun"),
    ],
)
def test_what_it_cannot_tell_is_one_line(words: list[str], told: str, capsys: Any) -> None:
    assert main([*words, "--estimate"]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
