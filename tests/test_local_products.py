"""Few products and blocks of attention compute what layers and plain attention compute."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tiny import model_folder  # noqa: E402

from trainers.backends import LoraParams  # noqa: E402
from trainers.backends.local import LocalBackend, blocks  # noqa: E402
from trainers.backends.local.attention import NAME, Tree, active  # noqa: E402
from trainers.backends.local.blocks import block_attention, newest_attention  # noqa: E402
from trainers.backends.local.layers import WholeLayers  # noqa: E402
from trainers.backends.local.model import Model  # noqa: E402
from trainers.backends.local.products import _packed, _times, together  # noqa: E402

pytestmark = pytest.mark.local


def _tensors(shared: int) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(0)

    def made(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, requires_grad=True)

    q, keys, values = made(2, 3, 4, 11, 8), made(2, 3, 2, 11, 8), made(2, 3, 2, 11, 6)
    prefix = (made(2, 2, shared, 8), made(2, 2, shared, 6)) if shared else None
    bias = torch.zeros(2, shared) if shared else None
    if bias is not None:
        bias[1, 3:] = float("-inf")
    return q, prefix, bias, keys, values


def _plain_attention(q: Any, prefix: Any, bias: Any, keys: Any, values: Any, scaling: float) -> Any:
    """Each head of each branch by itself, with all that it sees written out."""
    out = torch.zeros(*q.shape[:-1], values.shape[-1])
    each = q.shape[2] // keys.shape[2]
    later = torch.full((q.shape[3], q.shape[3]), float("-inf")).triu(1)
    for b, g, h in np.ndindex(*q.shape[:3]):
        seen, kept, mask = keys[b, g, h // each], values[b, g, h // each], later
        if prefix is not None:
            seen = torch.cat([prefix[0][b, h // each], seen])
            kept = torch.cat([prefix[1][b, h // each], kept])
            mask = torch.cat([bias[b].expand(len(later), -1), later], 1)
        out[b, g, h] = torch.softmax(q[b, g, h] @ seen.T * scaling + mask, -1) @ kept
    return out


@pytest.mark.parametrize("shared", [0, 5])
@pytest.mark.parametrize("size", [4, 128])
def test_blocks_of_attention_and_their_gradients_are_the_plain_ones(
    shared: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_BLOCK", size)
    q, prefix, bias, keys, values = _tensors(shared)
    leaves = [q, keys, values, *(prefix or ())]
    ours = block_attention(q, prefix, bias, keys, values, 0.3)
    plain = _plain_attention(q, prefix, bias, keys, values, 0.3)
    torch.testing.assert_close(ours, plain, atol=1e-5, rtol=1e-5)
    weight = torch.randn(ours.shape, generator=torch.Generator().manual_seed(1))
    found = torch.autograd.grad((ours * weight).sum(), leaves)
    wanted = torch.autograd.grad((plain * weight).sum(), leaves)
    for got, want in zip(found, wanted, strict=True):
        torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)


def test_the_newest_token_attends_as_the_last_of_all() -> None:
    q, prefix, bias, keys, values = _tensors(5)
    with torch.no_grad():
        whole = block_attention(q, prefix, bias, keys, values, 0.3)
        room = torch.nn.functional.pad(bias, (0, keys.shape[3]))
        own = (x.transpose(1, 2).contiguous() for x in (keys, values))
        newest = newest_attention(q[:, :, :, -1:].flatten(0, 1), prefix, room, *own, 0.3)
    torch.testing.assert_close(newest, whole[:, :, :, -1:].flatten(0, 1), atol=1e-5, rtol=1e-5)


def test_layers_that_read_one_input_are_one_product_and_say_what_they_said(tmp_path: Any) -> None:
    folder = model_folder(tmp_path, attention_bias=True)
    model = Model(folder, LoraParams(rank=4), torch.device("cpu"), torch.float32)
    generator = torch.Generator().manual_seed(1)
    for master in model.masters:
        master.copy_(torch.randn(master.shape, generator=generator) * 0.2)
    model.stand_together()
    model.cast_masters()  # into views: what stands together has them
    layer = model.body.layers[0]
    three = (layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj)
    owners = [linear.forward.func.__self__ for linear in three]
    assert owners[0] is owners[1] is owners[2]
    assert layer.mlp.gate_proj.forward.func.__self__ is layer.mlp.up_proj.forward.func.__self__
    x = torch.randn(2, 3, 32, generator=generator, requires_grad=True)
    weights = [linear.lora_B["default"].weight for linear in three]
    plain = [linear(x) for linear in three]
    wanted = torch.autograd.grad(sum(out.square().sum() for out in plain), [x, *weights])
    with together():
        ours = [linear(x) for linear in three]
        found = torch.autograd.grad(sum(out.square().sum() for out in ours), [x, *weights])
        with model.peft.disable_adapter():
            base = [linear(x) for linear in three]
    for got, want in zip([*ours, *found], [*plain, *wanted], strict=True):
        torch.testing.assert_close(got, want, atol=1e-3, rtol=1e-4)
    for got, linear in zip(base, three, strict=True):
        torch.testing.assert_close(got, linear.base_layer(x), atol=1e-5, rtol=1e-5)


def test_packed_weights_multiply_as_they_did_or_are_none() -> None:
    weight = torch.randn(48, 64, generator=torch.Generator().manual_seed(0)).bfloat16()
    assert _packed(weight.float()) is None  # exact arithmetic stays as it is
    packed = _packed(weight)
    if packed is not None:
        rows = torch.randn(5, 64, generator=torch.Generator().manual_seed(1)).bfloat16()
        wanted = torch.nn.functional.linear(rows, weight)
        torch.testing.assert_close(_times(rows, packed, None), wanted, atol=0.1, rtol=0.02)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("kind", ["llama", "qwen3", "qwen2"])
def test_whole_layers_and_their_gradients_are_those_as_written(
    tmp_path: Any, kind: str, twice: bool
) -> None:
    model = Model(model_folder(tmp_path, kind), LoraParams(4), torch.device("cpu"), torch.float32)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.peft.parameters():  # norms too, which begin as ones
            noise = torch.randn(weight.shape, generator=generator) * 0.2
            weight.add_(noise if weight.ndim > 1 else noise + 0.5)
    model.stand_together()
    model.set_attention(NAME)
    whole = WholeLayers(model.body, model.groups)
    B, P, G, R = 2, 5, 3, 4
    ids = torch.randint(0, 259, (B, P + G * R), generator=generator)
    stem, branch = torch.arange(P), torch.arange(P, P + R)
    positions = torch.cat([stem, branch.repeat(G)]).expand(B, -1)
    lengths, out, found = torch.tensor([5, 3]), [], []
    seen = torch.ones(B, P + G * R, 1)
    seen[1, 3:P] = 0.0  # padding, which nobody reads
    for body in (model.body, whole):
        with active(Tree(lengths, P, G, R)), whole.recomputed() if twice else nullcontext():
            hidden = body(input_ids=ids, position_ids=positions, use_cache=False)[0] * seen
            out.append(hidden.detach())
            found.append(torch.autograd.grad(hidden.square().sum(), model.trained[:-2]))
    torch.testing.assert_close(out[1], out[0], atol=1e-5, rtol=1e-5)
    assert any(gradient.abs().max() > 1 for gradient in found[0])
    for got, want in zip(found[1], found[0], strict=True):
        torch.testing.assert_close(got, want, atol=2e-3, rtol=1e-3)


@pytest.mark.parametrize(
    ("kind", "whole"),
    [("llama", True), ("mistral", True), ("qwen3", True), ("gemma", False), ("granite", False)],
)
def test_layers_run_whole_only_where_that_is_the_same(
    tmp_path: Any, kind: str, whole: bool
) -> None:
    changes = {"residual_multiplier": 0.5} if kind == "granite" else {}
    folder = model_folder(tmp_path, kind, **changes)
    backend = LocalBackend(folder, LoraParams(rank=4), device="cpu", dtype="float32")
    assert backend._path.name == "fast"
    assert isinstance(backend._path.learner._body, WholeLayers) is whole
