"""The local backend on tiny random models: it computes what plain transformers computes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tiny import model_folder  # noqa: E402

from trainers.backends import (  # noqa: E402
    AdamParams,
    Datum,
    LoraParams,
    Sample,
    SampleRequest,
    SamplingParams,
)
from trainers.backends.local import LocalBackend, learning  # noqa: E402
from trainers.backends.local.sampling import draw  # noqa: E402
from trainers.errors import BackendError  # noqa: E402
from trainers.losses import LOSSES  # noqa: E402

pytestmark = pytest.mark.local

CONTEXTS = [tuple(b"Q: 1+1?\nA:"), tuple(b"Q: 12+1?\nA:"), tuple(b"Q: 3?\nA:")]


def backend(folder: str, **options: Any) -> LocalBackend:
    return LocalBackend(folder, LoraParams(rank=4), device="cpu", dtype="float32", **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return model_folder(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def shared(folder: str) -> LocalBackend:
    made = backend(folder)
    _shake(made)
    return made


def _shake(made: LocalBackend) -> None:
    """Give the LoRA weights random values, so that they matter."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for master in made._model.masters:
            master.copy_(torch.randn(master.shape, generator=generator) * 0.2)
    made._model.cast_masters()


def plain_logprobs(made: LocalBackend, tokens: Sequence[int]) -> Any:
    """Return the log-probability of each token after the first, by a plain forward pass."""
    peft = made._model.peft
    peft.set_attn_implementation("eager")
    try:
        logits = peft(input_ids=torch.tensor([list(tokens)]), use_cache=False).logits[0]
    finally:
        peft.set_attn_implementation("mint_branches")
    table = logits.log_softmax(-1)
    return table[torch.arange(len(tokens) - 1), torch.tensor(list(tokens[1:]))]


def datums_of(
    contexts: Sequence[tuple[int, ...]], groups: Sequence[Sequence[Sample]], seed: int = 0
) -> list[Datum]:
    rng = np.random.default_rng(seed)
    made = []
    for context, group in zip(contexts, groups, strict=True):
        for sample in group:
            tokens = context + sample.tokens
            mask = np.array([0.0] * len(context) + [1.0] * len(sample.tokens))
            logprobs = np.array([0.0] * len(context) + list(sample.logprobs))
            made.append(Datum(tokens, mask, logprobs, mask * rng.normal()))
    return made


# -- sampling ------------------------------------------------------------------------------------


def test_draw_follows_the_softmax() -> None:
    """Chi-square over a vocabulary of several blocks, with probability piled up unevenly."""
    rng = np.random.default_rng(0)
    V, N = 600, 60_000
    logits = torch.from_numpy(rng.normal(0, 2, V)).float()
    uniform = torch.from_numpy(rng.random(N))
    tokens, logprobs = draw(logits.repeat(N, 1), uniform, 1.0)
    wanted = torch.softmax(logits.double(), 0).numpy()
    torch.testing.assert_close(logprobs, logits.log_softmax(0)[tokens], atol=1e-4, rtol=0)
    counts = np.bincount(tokens.numpy(), minlength=V)
    common = wanted * N >= 5
    chi2 = ((counts - wanted * N) ** 2 / (wanted * N))[common].sum()
    freedom = int(common.sum()) - 1
    assert abs(chi2 - freedom) < 5 * np.sqrt(2 * freedom)


def test_draw_never_takes_what_has_no_probability() -> None:
    logits = torch.full((1000, 515), float("-inf"))
    logits[:, [3, 400, 514]] = 0.0
    uniform = torch.linspace(0, 1 - 1e-12, 1000, dtype=torch.float64)
    tokens, _ = draw(logits, uniform, 1.0)
    assert set(tokens.tolist()) == {3, 400, 514}


def test_draw_at_other_temperatures_reports_log_probs_at_one() -> None:
    logits = torch.randn(4, 300)
    wanted = logits.log_softmax(-1)
    for temperature in (0.0, 0.3, 2.0):
        tokens, logprobs = draw(logits.clone(), torch.rand(4).double(), temperature)
        rows = torch.arange(4)
        torch.testing.assert_close(logprobs, wanted[rows, tokens], atol=1e-5, rtol=1e-4)
    assert draw(logits.clone(), torch.rand(4).double(), 0.0)[0].tolist() == (
        logits.argmax(-1).tolist()
    )


@pytest.mark.parametrize("stop", [(), ("e",)])
def test_sampled_log_probs_are_the_models(shared: LocalBackend, stop: tuple[str, ...]) -> None:
    """With a shared beginning, prompts of several lengths and rows that end at different times."""
    requests = [SampleRequest(context, n) for context, n in zip(CONTEXTS, (4, 1, 3), strict=True)]
    groups = shared.sample(requests, SamplingParams(12, stop=stop, stop_tokens=(5, 6, 7, 8, 9)))
    assert [len(group) for group in groups] == [4, 1, 3]
    for context, group in zip(CONTEXTS, groups, strict=True):
        for sample in group:
            wanted = plain_logprobs(shared, context + sample.tokens)[len(context) - 1 :]
            np.testing.assert_allclose(sample.logprobs, wanted.detach(), atol=1e-4)


def test_greedy_is_what_plain_argmax_gives(shared: LocalBackend) -> None:
    [[sample]] = shared.sample([SampleRequest(CONTEXTS[0], 1)], SamplingParams(6, 0.0))
    tokens = list(CONTEXTS[0])
    peft = shared._model.peft
    peft.set_attn_implementation("eager")
    for _ in range(6):
        logits = peft(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1]
        tokens.append(int(logits.argmax()))
    peft.set_attn_implementation("mint_branches")
    assert sample.tokens == tuple(tokens[-6:])


def test_a_response_ends_with_its_stop_and_nothing_after(shared: LocalBackend) -> None:
    groups = shared.sample(
        [SampleRequest(CONTEXTS[0], 32)],
        SamplingParams(20, stop=("a", "bc"), stop_tokens=(7, 100)),
    )
    ended = 0
    for sample in groups[0]:
        text = shared.tokenizer.decode(sample.tokens)
        before = shared.tokenizer.decode(sample.tokens[:-1])
        assert "a" not in before
        assert "bc" not in before
        assert not {7, 100} & set(sample.tokens[:-1])
        hit = "a" in text or "bc" in text or sample.tokens[-1] in (7, 100)
        ended += hit
        assert hit or len(sample.tokens) == 20
    assert ended > 5


def test_the_seed_decides(shared: LocalBackend) -> None:
    requests = [SampleRequest(CONTEXTS[0], 4)]
    one, again = (shared.sample(requests, SamplingParams(8, seed=3)) for _ in range(2))
    other = shared.sample(requests, SamplingParams(8, seed=4))
    assert one == again
    assert one != other


def test_calls_from_many_threads_are_right(shared: LocalBackend) -> None:
    def call(i: int) -> Any:
        return shared.sample([SampleRequest(CONTEXTS[i % 3], 2)], SamplingParams(6, 0.0))

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(call, range(6))) == list(map(call, range(6)))


def test_after_an_error_it_goes_on(shared: LocalBackend) -> None:
    with pytest.raises(BackendError, match="does not fit the model's 256 tokens"):
        shared.sample([SampleRequest((1,) * 255, 1)], SamplingParams(8))
    assert shared.sample([SampleRequest((1,) * 4, 1)], SamplingParams(2))


# -- learning ------------------------------------------------------------------------------------


def test_trainer_log_probs_are_the_samplers(shared: LocalBackend) -> None:
    requests = [SampleRequest(context, 4) for context in CONTEXTS]
    datums = datums_of(CONTEXTS, shared.sample(requests, SamplingParams(10, stop_tokens=(7, 8))))
    for datum, lp in zip(datums, shared.logprobs(datums), strict=True):
        np.testing.assert_allclose(lp, datum.logprobs, atol=1e-4)


@pytest.mark.parametrize("budget", [40, 10_000])
@pytest.mark.parametrize("loss_fn", LOSSES)
def test_tree_gradients_are_the_plain_ones(
    folder: str, loss_fn: str, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups as trees, in chunks, against one plain pass a sequence and autograd."""
    monkeypatch.setattr(learning, "_CHUNK", 7)  # less than a response
    made = backend(folder, token_budget=budget)
    _shake(made)
    requests = [SampleRequest(context, 4) for context in CONTEXTS]
    datums = datums_of(CONTEXTS, made.sample(requests, SamplingParams(10, stop_tokens=(7, 8))))
    # As if the sampler had been another policy, so that ratios and clips matter.
    rng = np.random.default_rng(1)
    datums = [
        Datum(d.tokens, d.mask, d.logprobs + d.mask * rng.normal(0, 0.3), d.advantages)
        for d in datums
    ]
    wanted = _plain_gradients(made, datums, loss_fn)
    caught: list[Any] = []
    made._step = lambda adam: caught.extend(m.grad.clone() for m in made._model.masters) or 0.0  # type: ignore[method-assign, func-returns-value]
    made.update(datums, loss_fn, {}, AdamParams(1e-3))
    for got, want in zip(caught, wanted, strict=True):
        torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("each", [1, 4])
def test_what_prompts_share_and_equal_responses_are_computed_once(folder: str, each: int) -> None:
    made = backend(folder)
    _shake(made)
    example = tuple(b"Q: What is 4 + 5? Give a number.\nA: 9\n\n")
    contexts = [example + context for context in CONTEXTS]
    requests = [SampleRequest(context, each) for context in contexts]
    groups = made.sample(requests, SamplingParams(6, stop_tokens=(7, 8)))
    begun = tuple(b" 1")  # all responses begin so
    groups = [[Sample(begun + s.tokens, (-1.0, -2.0, *s.logprobs)) for s in g] for g in groups]
    groups = [[*group, group[0]] if each > 1 else group for group in groups]
    datums = datums_of(contexts, groups)  # equal ones have advantages of their own
    lengths: list[int] = []
    embeddings = made._model.body.get_input_embeddings()
    hook = embeddings.register_forward_pre_hook(
        lambda module, given: lengths.append(given[0].numel())
    )
    wanted_lp = [plain_logprobs(made, datum.tokens).detach().numpy() for datum in datums]
    wanted = _plain_gradients(made, datums, "ppo")
    lengths.clear()
    caught: list[Any] = []
    made._step = lambda adam: caught.extend(m.grad.clone() for m in made._model.masters) or 0.0  # type: ignore[method-assign, func-returns-value]
    result = made.update(datums, "ppo", {}, AdamParams(1e-3))
    hook.remove()
    longest = max(len(context) for context in CONTEXTS)
    assert sum(lengths) <= len(example) + 8 + 3 * (longest + 2 + each * 5)
    for got, want in zip(caught, wanted, strict=True):
        torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-4)
    for lp, plain, datum in zip(result.logprobs, wanted_lp, datums, strict=True):
        np.testing.assert_allclose(lp[1:], plain * datum.mask[1:], atol=1e-4)


def _plain_gradients(made: LocalBackend, datums: Sequence[Datum], loss_fn: str) -> list[Any]:
    total = torch.zeros(())
    for d in datums:
        lp = plain_logprobs(made, d.tokens)
        old = torch.from_numpy(d.logprobs[1:]).float()
        adv = torch.from_numpy(d.advantages[1:]).float()
        act = torch.from_numpy(d.mask[1:]).float()
        ratio = (lp - old).exp()
        whole = ((lp - old) * act).sum().div(act.sum()).exp()
        per_token = {
            "gspo": lambda s=whole, a=adv: -torch.minimum(s * a, s.clamp(0.8, 1.2) * a),
            "importance_sampling": lambda r=ratio, a=adv: -r * a,
            "ppo": lambda r=ratio, a=adv: -torch.minimum(r * a, r.clamp(0.8, 1.2) * a),
            "cispo": lambda r=ratio, a=adv, x=lp: -r.clamp(0.8, 1.2).detach() * x * a,
            "cross_entropy": lambda a=adv, x=lp: -x * a,
            "dro": lambda a=adv, x=lp, o=old: -(x * a - 0.025 * (x - o) ** 2),
        }[loss_fn]()
        total = total + (per_token * act).sum()
    return list(torch.autograd.grad(total, made._model.trained))


def test_multi_turn_datums_train_on_acts_alone(folder: str) -> None:
    """An episode of two acts with an observation between: the same as a plain masked pass."""
    made = backend(folder)
    _shake(made)
    rng = np.random.default_rng(0)
    datums = []
    for _ in range(3):
        parts = [(CONTEXTS[0], 0.0), ((70, 71, 72), 1.0), ((80, 81), 0.0), ((90, 91, 92), 1.0)]
        tokens = sum((tuple(part) for part, _ in parts), ())
        mask = np.concatenate([np.full(len(part), act) for part, act in parts])
        datums.append(Datum(tokens, mask, mask * -1.0, mask * rng.normal()))
    wanted = _plain_gradients(made, datums, "importance_sampling")
    caught: list[Any] = []
    made._step = lambda adam: caught.extend(m.grad.clone() for m in made._model.masters) or 0.0  # type: ignore[method-assign, func-returns-value]
    result = made.update(datums, "importance_sampling", {}, AdamParams(1e-3))
    for got, want in zip(caught, wanted, strict=True):
        torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-4)
    assert all((lp[d.mask == 0] == 0).all() for lp, d in zip(result.logprobs, datums, strict=True))


def test_one_token_responses_and_single_datums(folder: str) -> None:
    made = backend(folder)
    sample = Sample((70,), (-1.0,))
    datums = datums_of([CONTEXTS[0]], [[sample]])
    result = made.update(datums, "importance_sampling", {}, AdamParams(1e-3))
    assert np.isfinite(result.metrics["loss"])


@pytest.mark.parametrize(
    "change",
    [
        {"lr": 1e-3},
        {"betas": (0.5, 0.9)},
        {"eps": 1.0},
        {"weight_decay": 10.0},
        {"grad_clip": 1e-3},
    ],
    ids=str,
)
def test_each_setting_of_the_optimizer_changes_what_is_learned(
    folder: str, change: dict[str, Any]
) -> None:
    """After two updates of which one has a larger gradient: Adam alone does not see its size."""

    def learned(**settings: Any) -> Any:
        made = backend(folder)
        for size in (1.0, 5.0):
            datums = [
                Datum(d.tokens, d.mask, d.logprobs, size * d.mask)
                for d in datums_of([CONTEXTS[0]], [[Sample((70, 71), (-1.0, -1.0))]])
            ]
            made.update(datums, "importance_sampling", {}, AdamParams(**{"lr": 1e-2, **settings}))
        return made.logprobs(datums)[0]

    assert np.abs(learned(**change) - learned()).max() > 1e-3


def test_base_log_probs_ignore_lora(folder: str) -> None:
    made = backend(folder)
    datums = datums_of([CONTEXTS[0]], [[Sample((70, 71, 72), (-1.0, -1.0, -1.0))]])
    before = made.logprobs(datums)[0]
    _shake(made)
    np.testing.assert_allclose(made.logprobs(datums, base=True)[0], before, atol=1e-6)
    assert abs(made.logprobs(datums)[0] - before).max() > 1e-2


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("qwen2", {}),
        ("qwen3", {"tie_word_embeddings": False}),
        ("mistral", {"sliding_window": 64}),
        ("llama", {"num_key_value_heads": 4, "attention_bias": True}),
    ],
)
def test_other_architectures(tmp_path: Path, kind: str, changes: dict[str, Any]) -> None:
    made = backend(model_folder(tmp_path, kind, **changes))
    _shake(made)
    requests = [SampleRequest(context, 3) for context in CONTEXTS]
    datums = datums_of(CONTEXTS, made.sample(requests, SamplingParams(6)))
    for datum, lp in zip(datums, made.logprobs(datums), strict=True):
        np.testing.assert_allclose(lp, datum.logprobs, atol=1e-4)
        start = int(datum.mask.argmax())
        wanted = plain_logprobs(made, datum.tokens)[start - 1 :].detach()
        np.testing.assert_allclose(lp[start:], wanted, atol=1e-4)


@pytest.mark.parametrize(
    ("switches", "wanted"),
    [
        ({"train_mlp": False, "train_unembed": False}, {"self_attn"}),
        ({"train_attn": False, "train_unembed": False}, {"mlp"}),
        ({"train_attn": False, "train_mlp": False}, {"lm_head"}),
    ],
)
def test_switches_choose_the_layers(
    folder: str, switches: dict[str, bool], wanted: set[str]
) -> None:
    made = LocalBackend(folder, LoraParams(rank=2, **switches), device="cpu", dtype="float32")
    names = [n for n, p in made._model.peft.named_parameters() if p.requires_grad]
    assert names
    assert {part for name in names for part in name.split(".")} & {
        "self_attn", "mlp", "lm_head",
    } == wanted  # fmt: skip


# -- saving --------------------------------------------------------------------------------------


def test_a_restored_backend_goes_on_exactly(folder: str, tmp_path: Path) -> None:
    one = backend(folder)
    requests = [SampleRequest(context, 4) for context in CONTEXTS]

    def step(made: LocalBackend, seed: int) -> None:
        datums = datums_of(CONTEXTS, made.sample(requests, SamplingParams(6, seed=seed)), seed)
        made.update(datums, "importance_sampling", {}, AdamParams(1e-2))

    step(one, 1)
    path, _ = one.save(str(tmp_path / "checkpoint"))
    step(one, 2)
    two = backend(folder, resume_from=path)
    step(two, 2)
    for a, b in zip(one._model.masters, two._model.masters, strict=True):
        assert torch.equal(a, b)


def test_what_is_saved_loads_with_plain_peft(folder: str, tmp_path: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    made = backend(folder)
    _shake(made)
    path, _ = made.save(str(tmp_path / "checkpoint"))
    with warnings.catch_warnings():  # of theirs: tied embeddings, and their own deprecations
        warnings.simplefilter("ignore")
        loaded = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(folder), path)
    tokens = torch.tensor([list(CONTEXTS[0])])
    theirs = loaded(input_ids=tokens).logits[0].log_softmax(-1)
    ours = plain_logprobs(made, CONTEXTS[0])
    rows = torch.arange(len(CONTEXTS[0]) - 1)
    torch.testing.assert_close(theirs[rows, tokens[0, 1:]], ours, atol=1e-4, rtol=1e-4)


def test_a_checkpoint_of_another_shape_is_refused(folder: str, tmp_path: Path) -> None:
    path, _ = backend(folder).save(str(tmp_path / "checkpoint"))
    with pytest.raises(BackendError, match="other LoRA settings"):
        LocalBackend(folder, LoraParams(rank=8), dtype="float32", resume_from=path)
    with pytest.raises(BackendError, match="cannot be read"):
        backend(folder, resume_from=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_model": "./no/such/folder"}, "base_model='./no/such/folder'"),
        ({"device": "warp"}, "device='warp'"),
        ({"device": "cuda:77"}, "device='cuda:77'"),
        ({"dtype": "int8"}, "dtype='int8'"),
    ],
)
def test_wrong_options(folder: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(BackendError, match=message):
        LocalBackend(**{"base_model": folder, **options})  # type: ignore[arg-type]
