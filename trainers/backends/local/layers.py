"""Decoder layers of the common kind, each computed whole: few operations, its gradient by hand.

Of a decoding pass of few rows a tenth is spent between operations, and of an update a fifth in
those that are neither products nor attention: as layers are written, each norm is eight of them,
in float32, and autograd holds what each one reads. Here a layer is one node of autograd's graph.

It is for layers that are laid out as Llama's are, with or without Qwen3's norms of heads. Whether
they compute the same is tried, as for every path (``paths``); the others run as they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .attention import Plan, under_way
from .products import Together

_BODY = {"embed_tokens", "layers", "norm", "rotary_emb"}
_LAYER = {"self_attn", "mlp", "input_layernorm", "post_attention_layernorm"}
_ATTENTION = {"q_proj", "k_proj", "v_proj", "o_proj"}
_NORMS = {"q_norm", "k_norm"}
_MLP = {"gate_proj", "up_proj", "down_proj", "act_fn"}


class WholeLayers:
    """A decoder, called as transformers' is: ``(input_ids=, position_ids=)`` to hidden states.

    Args:
        body: the decoder.
        groups: its LoRA layers that compute together.

    Raises:
        ValueError: its layers are laid out in another way.
    """

    def __init__(self, body: Any, groups: Sequence[Together]) -> None:
        if _children(body) != _BODY:
            raise ValueError("another decoder")
        self._body, self._twice = body, False
        self._layers = [_Layer(layer, groups) for layer in body.layers]

    def __call__(self, input_ids: Tensor, position_ids: Tensor, **_: object) -> tuple[Tensor]:
        hidden = self._body.embed_tokens(input_ids)
        cos, sin = self._body.rotary_emb(hidden, position_ids)
        place = _Place(under_way(), tuple(input_ids.shape), *_wheel(cos, sin), self._twice)
        rows = hidden.flatten(0, 1)
        for layer in self._layers:
            rows = layer(rows, place)
        return (self._body.norm(rows.view(hidden.shape)),)

    @contextmanager
    def recomputed(self) -> Iterator[None]:
        """Hold only what enters each layer; the gradient computes the rest again."""
        self._twice = True
        try:
            yield
        finally:
            self._twice = False


def _children(module: Any) -> set[str]:
    return {name for name, _ in module.named_children()}


def _wheel(cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Return [N, 1, d] cosines, and sines with the sign that a half has when it is swapped."""
    half = sin.shape[-1] // 2
    signed = torch.cat([-sin[..., :half], sin[..., half:]], -1)
    return cos.flatten(0, -2)[:, None], signed.flatten(0, -2)[:, None]


@dataclass(frozen=True)
class _Place:
    """Where rows stand: the plan of attention, [B, T], and the rotations of their positions."""

    plan: Plan
    shape: tuple[int, ...]
    cos: Tensor
    sin: Tensor
    twice: bool

    def turned(self, heads: Tensor) -> Tensor:
        """Rotate [N, heads, d]."""
        return (heads * self.cos).addcmul_(_swapped(heads), self.sin)

    def turned_back(self, heads: Tensor) -> Tensor:
        return (heads * self.cos).addcmul_(_swapped(heads), _swapped(self.sin))

    def grid(self, heads: Tensor) -> Tensor:
        """[N, heads, d] to [B, heads, T, d], a view."""
        return heads.reshape(*self.shape, *heads.shape[1:]).transpose(1, 2)


def _swapped(heads: Tensor) -> Tensor:
    half = heads.shape[-1] // 2
    return torch.cat([heads[..., half:], heads[..., :half]], -1)


def _rows(heads: Tensor) -> Tensor:
    """[B, heads, T, d] to [N, heads * d]."""
    return heads.transpose(1, 2).flatten(0, 1).flatten(1)


class _Norm:
    """A root-mean-square norm, over the last dimension."""

    def __init__(self, weight: Tensor, eps: float) -> None:
        self._weight, self._eps = weight.detach(), eps

    def __call__(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, x.shape[-1:], None, self._eps).mul_(self._weight)

    def gradient(self, x: Tensor, given: Tensor) -> Tensor:
        """The derivative by ``x``, computed in float32."""
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
        scale = length.square_().div_(x.shape[-1]).add_(self._eps).rsqrt_()
        unit = x * scale
        by_unit = (given * self._weight).float()
        along = (by_unit * unit).mean(-1, keepdim=True)
        return by_unit.addcmul_(unit, along, value=-1.0).mul_(scale).to(x.dtype)


@dataclass(frozen=True)
class _Kept:
    """What the gradient of a layer reads."""

    normed: Tensor
    asked: Tensor  # what the first product of attention said; used with norms of heads only
    leaves: tuple[Tensor, Tensor, Tensor]  # queries, keys and values, from which a graph begins
    attended: Tensor  # ... at which it ends
    mixed: Tensor
    middle: Tensor
    normed_again: Tensor
    gates: Tensor
    gated: Tensor
    betweens: tuple[Tensor, ...]


class _Layer:
    def __init__(self, layer: Any, groups: Sequence[Together]) -> None:
        attention, mlp = layer.self_attn, layer.mlp
        norms = _children(attention) - _ATTENTION
        if (
            _children(layer) != _LAYER
            or not _children(attention) >= _ATTENTION
            or norms not in (set(), _NORMS)
            or _children(mlp) != _MLP
        ):
            raise ValueError("another layer")
        self._ask = _group(groups, attention.q_proj, attention.k_proj, attention.v_proj)
        self._say = _group(groups, attention.o_proj)
        self._gate = _group(groups, mlp.gate_proj, mlp.up_proj)
        self._down = _group(groups, mlp.down_proj)
        self._groups = (self._ask, self._say, self._gate, self._down)
        self._halves = [half for group in self._groups for half in group.halves]
        self._first, self._second = (
            _norm(layer.input_layernorm),
            _norm(layer.post_attention_layernorm),
        )
        self._index, self._scaling = attention.layer_idx, float(attention.scaling)
        self._size = int(attention.head_dim)
        self._heads, self._shared = (size // self._size for size in self._ask.sizes[:2])
        self._of_heads: _Norm | None = None
        if norms:
            each = ((attention.q_norm, self._heads), (attention.k_norm, self._shared))
            weights = [norm.weight.detach().expand(many, -1) for norm, many in each]
            self._of_heads = _Norm(torch.cat(weights), float(attention.q_norm.variance_epsilon))
        if type(mlp.act_fn).__name__ not in ("SiLU", "SiLUActivation"):
            raise ValueError("another activation")

    def __call__(self, x: Tensor, place: _Place) -> Tensor:
        if torch.is_grad_enabled():
            out: Tensor = _Whole.apply(x, self, place, *self._halves)  # type: ignore[no-untyped-call]
            return out
        return self.run(x, place, keep=False)[0]

    def run(self, x: Tensor, place: _Place, keep: bool) -> tuple[Tensor, _Kept | None]:
        """Return what the layer makes of rows [N, D], and what its gradient reads."""
        normed = self._first(x)
        asked, one = self._ask.product(normed)
        q, k, v = (part.detach().requires_grad_(keep) for part in self._parts(asked, place))
        with torch.set_grad_enabled(keep):
            attended = place.plan.attend(self._index, q, k, v, self._scaling)
        mixed = _rows(attended.detach())
        said, two = self._say.product(mixed)
        middle = said.add_(x)
        normed_again = self._second(middle)
        gates, three = self._gate.product(normed_again)
        gate, up = gates.chunk(2, -1)
        gated = F.silu(gate).mul_(up)
        out, four = self._down.product(gated)
        out.add_(middle)
        if not keep:
            return out, None
        betweens = (one, two, three, four)
        return out, _Kept(
            normed, asked, (q, k, v), attended, mixed, middle, normed_again, gates, gated, betweens
        )

    def _parts(self, asked: Tensor, place: _Place) -> Iterator[Tensor]:
        """Yield queries, keys and values [B, heads, T, d]."""
        heads = self._by_head(asked)
        turning = self._heads + self._shared
        turned = heads[:, :turning]
        if self._of_heads is not None:
            turned = self._of_heads(turned)
        turned = place.turned(turned)
        yield place.grid(turned[:, : self._heads])
        yield place.grid(turned[:, self._heads :])
        yield place.grid(heads[:, turning:])

    def _by_head(self, asked: Tensor) -> Tensor:
        return asked.view(len(asked), -1, self._size)

    def gradients(
        self, x: Tensor, place: _Place, kept: _Kept, given: Tensor, wanted: bool
    ) -> tuple[Tensor | None, list[Tensor]]:
        """Return the derivative by ``x``, if it is wanted, and those by LoRA's halves."""
        one, two, three, four = kept.betweens
        by_gated, down = self._down.gradients(kept.gated, four, given)
        gate, up = kept.gates.chunk(2, -1)
        by_gates = torch.empty_like(kept.gates)
        by_gate, by_up = by_gates.chunk(2, -1)
        torch.mul(by_gated, F.silu(gate), out=by_up)
        torch.ops.aten.silu_backward(by_gated.mul_(up), gate, grad_input=by_gate)
        by_normed, gates = self._gate.gradients(kept.normed_again, three, by_gates)
        by_middle = self._second.gradient(kept.middle, by_normed).add_(given)
        by_mixed, say = self._say.gradients(kept.mixed, two, by_middle)
        by_attended = place.grid(by_mixed.view(len(by_mixed), self._heads, -1))
        parts = torch.autograd.grad(kept.attended, kept.leaves, by_attended)
        by_asked = self._by_asked(kept.asked, place, parts)
        by_normed, ask = self._ask.gradients(kept.normed, one, by_asked, wanted)
        by_x = self._first.gradient(x, by_normed).add_(by_middle) if wanted else None
        return by_x, [*ask, *say, *gates, *down]

    def _by_asked(self, asked: Tensor, place: _Place, parts: Sequence[Tensor]) -> Tensor:
        """Put the derivatives by queries, keys and values together, [N, what was asked]."""
        heads = torch.cat([part.transpose(1, 2).flatten(0, 1) for part in parts], 1)
        turning = self._heads + self._shared
        turned = place.turned_back(heads[:, :turning])
        if self._of_heads is not None:
            before = self._by_head(asked)[:, :turning]
            turned = self._of_heads.gradient(before, turned)
        heads[:, :turning] = turned
        return heads.flatten(1)


def _group(groups: Sequence[Together], *layers: Any) -> Together:
    """Return the group of exactly these layers."""
    for group in groups:
        if len(group.layers) == len(layers) and all(map(_same, group.layers, layers)):
            return group
    raise ValueError("layers that do not compute together")


def _same(one: object, other: object) -> bool:
    return one is other


def _norm(module: Any) -> _Norm:
    return _Norm(module.weight, float(module.variance_epsilon))


class _Whole(torch.autograd.Function):
    """A layer; LoRA's halves are handed over so that autograd knows of them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, layer: _Layer, place: _Place, *halves: Tensor) -> Tensor:
        out, ctx.kept = layer.run(x, place, keep=not place.twice)
        ctx.layer, ctx.place = layer, place
        ctx.save_for_backward(x)
        return out

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        kept = ctx.kept or ctx.layer.run(x, ctx.place, keep=True)[1]
        ctx.kept = None
        wanted = ctx.needs_input_grad[0]
        by_x, halves = ctx.layer.gradients(x, ctx.place, kept, given, wanted)
        return (by_x, None, None, *halves)
