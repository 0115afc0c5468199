"""Architectures on the local backend: each on a path that computes what it computes, or refused.

A few of the table that ``python -m tests.architectures`` makes, and what the paths promise.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from architectures import largest_difference, tiny_folder, train_briefly  # noqa: E402
from tiny import model_folder, tokenizer  # noqa: E402

from trainers.__main__ import main, make_backend  # noqa: E402
from trainers.backends import (  # noqa: E402
    AdamParams,
    Datum,
    LoraParams,
    SampleRequest,
    SamplingParams,
)
from trainers.backends.local import LocalBackend, attention, sampling  # noqa: E402
from trainers.command import parse  # noqa: E402
from trainers.errors import BackendError  # noqa: E402

pytestmark = pytest.mark.local


def backend(folder: str, **options: Any) -> LocalBackend:
    given = {"device": "cpu", "dtype": "float32", "threads": 1, **options}
    return LocalBackend(folder, LoraParams(rank=4), **given)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return model_folder(tmp_path_factory.mktemp("llama"))


# -- the paths -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("llama", "fast"),
        ("granite", "fast"),  # scales its logits
        ("cohere2", "fast"),
        ("opt", "fast"),
        ("deepseek_v3", "fast"),  # values of another size than keys
        ("phimoe", "fast"),
        ("llama4_text", "fast"),
        ("gemma2", "plain"),  # soft caps
        ("diffllama", "plain"),
        ("falcon_h1", "plain"),
        ("granitemoehybrid", "plain"),
        ("lfm2", "plain"),
        ("qwen3_5_text", "plain"),
        ("mamba", "plain"),
    ],
)
def test_what_is_sampled_and_learned_is_what_the_model_says(
    tmp_path: Path, name: str, path: str
) -> None:
    made = backend(tiny_folder(tmp_path, name))
    assert made._path.name == path
    assert any("takes the plain path" in note for note in made.notes) == (path == "plain")
    worst, _ = train_briefly(made, steps=1)
    assert worst < 1e-4


@pytest.mark.parametrize("name", ["lfm2", "gemma2"])
def test_the_plain_path_has_the_gradients_of_plain_passes(tmp_path: Path, name: str) -> None:
    made = backend(tiny_folder(tmp_path, name))
    datums = _datums(4, 30)
    wanted = _plain_gradients(made, datums)
    got = _gradients(made, datums)
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-3, atol=2e-4)


def test_soft_caps_are_not_dropped_in_bfloat16(tmp_path: Path) -> None:
    made = backend(tiny_folder(tmp_path, "gemma2"), dtype="bfloat16")
    assert (made._path.name, made._path.attention) == ("plain", "eager")
    assert "softcap" in made.notes[-1]


def test_an_architecture_whose_cache_is_not_its_forward_pass_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"rwkv cannot be trained here.*plain path") as caught:
        backend(tiny_folder(tmp_path, "rwkv"))
    assert "\n" not in str(caught.value)


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = model_folder(tmp_path, vocab_size=100, eos_token_id=1, pad_token_id=2)
    with pytest.raises(BackendError, match=r"writes the token \d+, and the model knows .* to 99"):
        backend(folder)
    assert len(tokenizer()) > 100


def test_a_text_is_held_to_where_its_rotary_embedding_changes(tmp_path: Path) -> None:
    """Past it, all positions mean something else: what was drawn is not what is learned."""
    made = backend(tiny_folder(tmp_path, "phi3 (longrope)"))
    assert made.max_context == 64
    assert "held to 64 tokens" in made.notes[0]
    context = tuple(range(5, 60))
    [[sample]] = made.sample([SampleRequest(context, 1)], SamplingParams(9))
    mask = np.array([0.0] * 55 + [1.0] * 9)
    datum = Datum(context + sample.tokens, mask, np.append(np.zeros(55), sample.logprobs), mask)
    assert largest_difference(made, [datum], made.logprobs([datum])) < 1e-4
    with pytest.raises(BackendError, match="64 tokens"):
        made.sample([SampleRequest(context, 1)], SamplingParams(10))


def test_a_window_bounds_the_fast_path_and_not_the_plain_one(tmp_path: Path) -> None:
    fast = backend(model_folder(tmp_path / "fast", "mistral", sliding_window=32))
    assert (fast._path.name, fast.max_context) == ("fast", 32)
    plain = backend(model_folder(tmp_path / "plain", "gemma2", sliding_window=8))
    assert (plain._path.name, plain.max_context) == ("plain", 256)
    assert train_briefly(plain, steps=1)[0] < 1e-4


def test_a_run_says_which_path_it_takes(tmp_path: Path, capsys: Any) -> None:
    argv = ["mint/Math-v0", "--backend", "local", "--dtype", "float32", "--threads", "1"]
    argv += ["--device", "cpu", "--steps", "1", "--batch", "2", "--group", "2", "--max-tokens", "3"]
    argv += ["--eval-every", "0", "--base-model", tiny_folder(tmp_path / "model", "lfm2")]
    assert main([*argv, "--run-dir", str(tmp_path / "run")]) == 0
    said = capsys.readouterr()
    assert "lfm2 takes the plain path" in said.out
    assert not said.err


# -- what is learned -----------------------------------------------------------------------------


def test_the_fused_experts_of_a_mixture_learn(tmp_path: Path) -> None:
    made = backend(tiny_folder(tmp_path / "model", "qwen3_moe"))
    before = {n: p.clone() for n, p in made._model.peft.named_parameters() if ".experts." in n}
    assert before
    train_briefly(made, steps=2)
    after = dict(made._model.peft.named_parameters())
    learned = {n for n, p in before.items() if ".lora_" in n}
    assert all(not torch.equal(before[n], after[n]) for n in learned)
    assert len(learned) == 2 * 2 * 2  # layers, matrices, A and B
    path, _ = made.save(str(tmp_path / "checkpoint"))
    again = backend(str(tmp_path / "model"), resume_from=path)
    datums = _datums(2, 20)
    for one, other in zip(made.logprobs(datums), again.logprobs(datums), strict=True):
        np.testing.assert_array_equal(one, other)
    assert json.loads((Path(path) / "adapter_config.json").read_text())["target_parameters"]


def test_layers_without_a_gradient_are_named(tmp_path: Path) -> None:
    made = backend(tiny_folder(tmp_path, "mamba"))
    assert "LoRA weights of dt_proj get no gradient" in made.notes[-1]


def test_weights_that_lora_cannot_reach_are_named(tmp_path: Path) -> None:
    """Layers that peft refuses, and experts whose matrices are piled up as one."""
    made = backend(tiny_folder(tmp_path / "mamba", "mamba"))
    assert "% of the weights stay as they are, beyond LoRA: out_proj" in made.notes[0]
    made = backend(tiny_folder(tmp_path / "dbrx", "dbrx"))
    assert "% of the weights stay as they are, beyond LoRA: w1, v1, w2" in made.notes[0]


def test_the_output_layer_can_be_learned_alone(folder: str) -> None:
    lora = LoraParams(4, train_mlp=False, train_attn=False)
    made = LocalBackend(folder, lora, device="cpu", dtype="float32", threads=1)
    assert made.update(_datums(2, 20), "importance_sampling", {}, AdamParams(0.1)).logprobs
    assert train_briefly(made, steps=1)[0] < 1e-4


# -- memory --------------------------------------------------------------------------------------


def test_a_budget_changes_what_is_held_and_no_gradient(folder: str) -> None:
    datums = _datums(1, 200)
    held, gradients = [], []
    for budget in (1024, 100):
        made = backend(folder, token_budget=budget)
        held.append(_held(made, datums))
        gradients.append(_gradients(made, datums))
    assert held[1] < held[0] / 3
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_the_budget_is_an_option(folder: str, tmp_path: Path) -> None:
    argv = ["mint/Math-v0", "--backend", "local", "--base-model", folder, "--dtype", "float32"]
    for given, budget in (([], 1024), (["--token-budget", "100"], 100)):
        command = parse([*argv, "--run-dir", str(tmp_path), "--device", "cpu", *given])
        made = make_backend(command)
        assert isinstance(made, LocalBackend)
        assert made._path.learner._budget == budget


def test_what_is_held_grows_with_the_length_and_no_faster(folder: str) -> None:
    made = backend(folder, token_budget=10_000)
    for texts in (1, 4):  # one alone, and the branches of a tree
        short, long = (_held(made, _datums(texts, length)) for length in (110, 210))
        assert long < 2.2 * short


def test_a_small_room_draws_the_same_responses_in_parts(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = backend(folder)
    requests = [SampleRequest(tuple(range(5, 5 + n)), g) for n, g in ((9, 5), (4, 1), (6, 3))]
    params = SamplingParams(8, seed=3)
    whole = made.sample(requests, params)
    sizes = []
    draw = sampling.draw

    def counted(logits: Any, *rest: Any) -> Any:
        sizes.append(len(logits))
        return draw(logits, *rest)

    monkeypatch.setattr(sampling, "draw", counted)
    monkeypatch.setattr(made._path.sampler, "_room", 30)
    parts = made.sample(requests, params)
    assert max(sizes) <= 3
    for one, other in zip(whole, parts, strict=True):
        assert [s.tokens for s in one] == [s.tokens for s in other]


def test_rows_that_have_finished_make_room_for_what_waits(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passes are fewer than if each part were drawn to its end, and no part sees another."""
    made = backend(folder)
    requests = [SampleRequest(tuple(range(5 + n, 15 + n)), 2) for n in range(12)]
    params = SamplingParams(40, seed=3, stop_tokens=tuple(range(0, 250, 15)))
    whole = made.sample(requests, params)
    room = 4 * (10 + 2 * 40)
    drawn: list[int] = []
    run = made._path.sampler._pass

    def counted(parts: Any, *rest: Any) -> None:
        run(parts, *rest)
        drawn.append(sum(part.plan.size for part in parts))

    monkeypatch.setattr(made._path.sampler, "_room", room)
    monkeypatch.setattr(made._path.sampler, "_pass", counted)
    found = made.sample(requests, params)
    assert [[s.tokens for s in group] for group in found] == [
        [s.tokens for s in group] for group in whole
    ]
    for one, other in zip(found, whole, strict=True):
        for ours, theirs in zip(one, other, strict=True):
            np.testing.assert_allclose(ours.logprobs, theirs.logprobs, atol=1e-4)
    longest = [max(len(s.tokens) for s in group) for group in whole]
    apart = sum(max(longest[at : at + 4]) - 1 for at in range(0, 12, 4))
    assert len(drawn) < apart
    assert max(drawn) <= room


@pytest.mark.parametrize(
    "error",
    [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("DefaultCPUAllocator: no"),
     MemoryError()],
)  # fmt: skip
def test_out_of_memory_is_one_line_with_the_number_to_lower(
    folder: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    made = backend(folder, token_budget=77)

    def fails(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(made._model.body.get_input_embeddings(), "forward", fails)
    told = r"lower --token-budget \(it is 77\)"
    with pytest.raises(BackendError, match=told):
        made.update(_datums(1, 20), "importance_sampling", {}, AdamParams(0.1))
    with pytest.raises(BackendError, match=told):
        made.sample([SampleRequest((5, 6), 1)], SamplingParams(2))


def test_another_error_is_not_told_as_one_of_memory(folder: str) -> None:
    with pytest.raises(RuntimeError, match="size"), backend(folder)._memory("learning"):
        torch.zeros(2) @ torch.zeros(3)


# -- helpers -------------------------------------------------------------------------------------


def _datums(count: int, length: int, start: int = 8) -> list[Datum]:
    """Return texts with one beginning of ``start`` tokens, and acts after it."""
    rng = np.random.default_rng(length)
    head = tuple(range(5, 5 + start))
    made = []
    for _ in range(count):
        tokens = head + tuple(int(i) for i in rng.integers(5, 200, length - start))
        mask = np.append(np.zeros(start), np.ones(length - start))
        made.append(Datum(tokens, mask, mask * -5.0, mask * rng.normal()))
    return made


def _gradients(made: LocalBackend, datums: Sequence[Datum]) -> list[Any]:
    """Return the gradients of an update that is not taken."""
    caught: list[Any] = []
    step = made._step
    made._step = lambda adam: caught.extend(m.grad.clone() for m in made._model.masters) or 0.0  # type: ignore[method-assign, func-returns-value]
    made.update(datums, "importance_sampling", {}, AdamParams(1e-3))
    made._step = step  # type: ignore[method-assign]
    for master in made._model.masters:
        master.grad = None
    return caught


def _plain_gradients(made: LocalBackend, datums: Sequence[Datum]) -> list[Any]:
    made._model.set_attention("eager")
    total = torch.zeros(())
    for datum in datums:
        table = made._model.plain(datum.tokens).log_softmax(-1)
        lp = table[torch.arange(len(datum.tokens) - 1), torch.tensor(datum.tokens[1:])]
        ratio = (lp - torch.from_numpy(datum.logprobs[1:]).float()).exp()
        total = total - (ratio * torch.from_numpy(datum.advantages[1:]).float()).sum()
    made._model.set_attention(made._path.attention)
    return list(torch.autograd.grad(total, made._model.trained))


def _held(made: LocalBackend, datums: Sequence[Datum]) -> int:
    """Return the bytes that a forward pass keeps for its gradient, weights left aside."""
    weights = {p.data_ptr() for p in made._model.peft.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        if tensor.data_ptr() not in weights:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    (laid,) = made._path.learner._batches(datums)
    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with attention.LOCK, hooks, made._path.learner._hidden(laid):
        return sum(kept.values())
